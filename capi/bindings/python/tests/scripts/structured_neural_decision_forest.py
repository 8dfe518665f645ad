"""A differentiable forest: trees as models of their own, whose call() walks the levels."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill, sums

num_classes = 2
r = np.random.RandomState(34)
x_train, y_train = r.normal(size=(40, 6)).astype("float32"), r.randint(0, num_classes, 40)


class NeuralDecisionTree(keras.Model):
    def __init__(self, depth, num_features, used_features_rate, num_classes):
        super().__init__()
        self.depth = depth
        self.num_leaves = 2**depth
        self.num_classes = num_classes
        num_used_features = int(num_features * used_features_rate)
        one_hot = np.eye(num_features)
        sampled_feature_indices = r.choice(np.arange(num_features), num_used_features, replace=False)
        self.used_features_mask = ops.convert_to_tensor(one_hot[sampled_feature_indices], dtype="float32")
        self.pi = self.add_weight(
            initializer="random_normal",
            shape=[self.num_leaves, self.num_classes],
            dtype="float32",
            trainable=True,
        )
        self.decision_fn = layers.Dense(units=self.num_leaves, activation="sigmoid", name="decision")

    def call(self, features):
        batch_size = ops.shape(features)[0]
        features = ops.matmul(features, ops.transpose(self.used_features_mask))
        decisions = ops.expand_dims(self.decision_fn(features), axis=2)
        decisions = layers.concatenate([decisions, 1 - decisions], axis=2)
        mu = ops.ones([batch_size, 1, 1])
        begin_idx = 1
        end_idx = 2
        for level in range(self.depth):
            mu = ops.reshape(mu, [batch_size, -1, 1])
            mu = ops.tile(mu, (1, 1, 2))
            level_decisions = decisions[:, begin_idx:end_idx, :]
            mu = mu * level_decisions
            begin_idx = end_idx
            end_idx = begin_idx + 2 ** (level + 1)
        mu = ops.reshape(mu, [batch_size, self.num_leaves])
        probabilities = keras.activations.softmax(self.pi)
        outputs = ops.matmul(mu, probabilities)
        return outputs


class NeuralDecisionForest(keras.Model):
    def __init__(self, num_trees, depth, num_features, used_features_rate, num_classes):
        super().__init__()
        self.ensemble = []
        for _ in range(num_trees):
            self.ensemble.append(NeuralDecisionTree(depth, num_features, used_features_rate, num_classes))

    def call(self, inputs):
        batch_size = ops.shape(inputs)[0]
        outputs = ops.zeros([batch_size, num_classes])
        for tree in self.ensemble:
            outputs += tree(inputs)
        outputs /= len(self.ensemble)
        return outputs


inputs = keras.Input((6,))
features = layers.BatchNormalization()(inputs)
forest_model = NeuralDecisionForest(3, 3, 6, 0.5, num_classes)
outputs = forest_model(features)
model = fill(keras.Model(inputs=inputs, outputs=outputs))
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    metrics=[keras.metrics.SparseCategoricalAccuracy()],
)
history = model.fit(x_train, y_train, batch_size=10, epochs=2, shuffle=False)
results = [curves(history), model.predict(x_train[:3]), sums(model)]
