"""Siamese networks: a contrastive loss of pairs, and a triplet loss in train_step() on distances of embeddings."""

import numpy as np
import tensorflow as tf
import keras
from keras import Model, layers, metrics, ops
from keras.layers import Layer
from filled import curves, fill, sums

r = np.random.RandomState(44)
images, labels = r.rand(40, 8, 8).astype("float32"), r.randint(0, 4, 40)


def make_pairs(x, y):
    num_classes = max(y) + 1
    digit_indices = [np.where(y == i)[0] for i in range(num_classes)]
    pairs, pair_labels = [], []
    for idx1 in range(len(x)):
        x1, label1 = x[idx1], y[idx1]
        idx2 = r.choice(digit_indices[label1])
        pairs += [[x1, x[idx2]]]
        pair_labels += [0]
        label2 = r.randint(0, num_classes)
        while label2 == label1:
            label2 = r.randint(0, num_classes)
        idx2 = r.choice(digit_indices[label2])
        pairs += [[x1, x[idx2]]]
        pair_labels += [1]
    return np.array(pairs), np.array(pair_labels).astype("float32")


pairs_train, labels_train = make_pairs(images, labels)
x_train_1, x_train_2 = pairs_train[:, 0], pairs_train[:, 1]


def euclidean_distance(vects):
    x, y = vects
    sum_square = ops.sum(ops.square(x - y), axis=1, keepdims=True)
    return ops.sqrt(ops.maximum(sum_square, keras.backend.epsilon()))


inputs = keras.layers.Input((8, 8, 1))
x = keras.layers.BatchNormalization()(inputs)
x = keras.layers.Conv2D(4, (5, 5), activation="tanh")(x)
x = keras.layers.AveragePooling2D(pool_size=(2, 2))(x)
x = keras.layers.Flatten()(x)
x = keras.layers.BatchNormalization()(x)
x = keras.layers.Dense(10, activation="tanh")(x)
embedding_network = keras.Model(inputs, x)
input_1, input_2 = keras.layers.Input((8, 8, 1)), keras.layers.Input((8, 8, 1))
tower_1, tower_2 = embedding_network(input_1), embedding_network(input_2)
merge_layer = keras.layers.Lambda(euclidean_distance, output_shape=(1,))([tower_1, tower_2])
normal_layer = keras.layers.BatchNormalization()(merge_layer)
output_layer = keras.layers.Dense(1, activation="sigmoid")(normal_layer)
siamese = fill(keras.Model(inputs=[input_1, input_2], outputs=output_layer))


def loss(margin=1):
    def contrastive_loss(y_true, y_pred):
        square_pred = ops.square(y_pred)
        margin_square = ops.square(ops.maximum(margin - (y_pred), 0))
        return ops.mean((1 - y_true) * square_pred + (y_true) * margin_square)

    return contrastive_loss


siamese.compile(loss=loss(margin=1), optimizer="RMSprop", metrics=["accuracy"])
siamese.summary()
history = siamese.fit([x_train_1, x_train_2], labels_train, batch_size=16, epochs=2, shuffle=False)


class DistanceLayer(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def call(self, anchor, positive, negative):
        ap_distance = ops.sum(tf.square(anchor - positive), -1)
        an_distance = ops.sum(tf.square(anchor - negative), -1)
        return (ap_distance, an_distance)


base = keras.Sequential([layers.Input((8, 8, 1)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten()])
dense1 = layers.Dense(16, activation="relu")(base.outputs[0])
dense1 = layers.BatchNormalization()(dense1)
output = layers.Dense(6)(dense1)
embedding = fill(Model(base.inputs[0], output, name="Embedding"))
trainable = False
for layer in base.layers:
    if layer.name.startswith("flatten"):
        trainable = True
    layer.trainable = trainable
anchor_input = layers.Input(name="anchor", shape=(8, 8, 1))
positive_input = layers.Input(name="positive", shape=(8, 8, 1))
negative_input = layers.Input(name="negative", shape=(8, 8, 1))
distances = DistanceLayer()(embedding(anchor_input), embedding(positive_input), embedding(negative_input))
siamese_network = Model(inputs=[anchor_input, positive_input, negative_input], outputs=distances)


class SiameseModel(Model):
    def __init__(self, siamese_network, margin=0.5):
        super().__init__()
        self.siamese_network = siamese_network
        self.margin = margin
        self.loss_tracker = metrics.Mean(name="loss")

    def call(self, inputs):
        return self.siamese_network(inputs)

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self._compute_loss(data)
        gradients = tape.gradient(loss, self.siamese_network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.siamese_network.trainable_weights))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def test_step(self, data):
        loss = self._compute_loss(data)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def _compute_loss(self, data):
        ap_distance, an_distance = self.siamese_network(data)
        loss = ap_distance - an_distance
        loss = tf.maximum(loss + self.margin, 0.0)
        return loss

    @property
    def metrics(self):
        return [self.loss_tracker]


views = [r.rand(24, 8, 8, 1).astype("float32") for _ in range(3)]
anchors, positives, negatives = [tf.data.Dataset.from_tensor_slices(view) for view in views]
dataset = tf.data.Dataset.zip((anchors, positives, negatives)).batch(8, drop_remainder=False).prefetch(8)
siamese_model = SiameseModel(siamese_network)
siamese_model.compile(optimizer=keras.optimizers.SGD(0.001), weighted_metrics=[])
triplets = siamese_model.fit(dataset, epochs=2, validation_data=dataset)
sample = next(iter(dataset))
anchor_embedding, positive_embedding = embedding(sample[0]), embedding(sample[1])
cosine_similarity = metrics.CosineSimilarity()
positive_similarity = cosine_similarity(anchor_embedding, positive_embedding)
results = [curves(history), curves(triplets), float(positive_similarity), sums(embedding)]
results.append(len(embedding.trainable_weights))
