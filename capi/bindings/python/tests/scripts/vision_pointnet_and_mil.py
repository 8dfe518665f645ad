"""PointNet with an orthogonal regularizer and learned transforms; bags of instances weighed by gated attention."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill

r = np.random.RandomState(83)
NUM_POINTS, NUM_CLASSES = 20, 3
points, labels = r.normal(size=(16, NUM_POINTS, 3)).astype("float32"), r.randint(0, NUM_CLASSES, 16)


def conv_bn(x, filters):
    x = layers.Conv1D(filters, kernel_size=1, padding="valid")(x)
    x = layers.BatchNormalization(momentum=0.0)(x)
    return layers.Activation("relu")(x)


def dense_bn(x, filters):
    x = layers.Dense(filters)(x)
    x = layers.BatchNormalization(momentum=0.0)(x)
    return layers.Activation("relu")(x)


@keras.saving.register_keras_serializable()
class OrthogonalRegularizer(keras.regularizers.Regularizer):
    def __init__(self, num_features, l2reg=0.001):
        self.num_features = num_features
        self.l2reg = l2reg
        self.eye = ops.eye(num_features)

    def __call__(self, x):
        x = ops.reshape(x, (-1, self.num_features, self.num_features))
        xxt = ops.tensordot(x, x, axes=(2, 2))
        xxt = ops.reshape(xxt, (-1, self.num_features, self.num_features))
        return ops.sum(self.l2reg * ops.square(xxt - self.eye))


def tnet(inputs, num_features):
    bias = keras.initializers.Constant(np.eye(num_features).flatten())
    reg = OrthogonalRegularizer(num_features)
    x = conv_bn(inputs, 8)
    x = layers.GlobalMaxPooling1D()(x)
    x = dense_bn(x, 8)
    x = layers.Dense(
        num_features * num_features,
        kernel_initializer="zeros",
        bias_initializer=bias,
        kernel_regularizer=keras.regularizers.L2(1e-4),
        name=f"transform_{num_features}",
    )(x)
    penalty = reg
    feat_T = layers.Reshape((num_features, num_features))(x)
    return layers.Dot(axes=(2, 1))([inputs, feat_T]), penalty


inputs = keras.Input(shape=(NUM_POINTS, 3))
x, _ = tnet(inputs, 3)
x = conv_bn(x, 4)
x, penalty = tnet(x, 4)
x = conv_bn(x, 8)
x = layers.GlobalMaxPooling1D()(x)
x = dense_bn(x, 8)
outputs = layers.Dense(NUM_CLASSES, activation="softmax")(x)
model = fill(keras.Model(inputs=inputs, outputs=outputs, name="pointnet"))
model.compile(
    loss="sparse_categorical_crossentropy",
    optimizer=keras.optimizers.SGD(learning_rate=0.001),
    metrics=["sparse_categorical_accuracy"],
)
history = model.fit(points, labels, epochs=2, batch_size=8, shuffle=False)
orthogonal = penalty(r.normal(size=(2, 16)).astype("float32"))


class MILAttentionLayer(layers.Layer):
    def __init__(self, weight_params_dim, use_gated=False, **kwargs):
        super().__init__(**kwargs)
        self.weight_params_dim = weight_params_dim
        self.use_gated = use_gated

    def build(self, input_shape):
        input_dim = input_shape[0][1]
        self.v_weight_params = self.add_weight(shape=(input_dim, self.weight_params_dim), name="v", trainable=True)
        self.w_weight_params = self.add_weight(shape=(self.weight_params_dim, 1), name="w", trainable=True)
        if self.use_gated:
            self.u_weight_params = self.add_weight(shape=(input_dim, self.weight_params_dim), name="u", trainable=True)
        self.input_built = True

    def call(self, inputs):
        instances = [self.compute_attention_scores(instance) for instance in inputs]
        instances = ops.stack(instances)
        alpha = ops.softmax(instances, axis=0)
        return [alpha[i] for i in range(alpha.shape[0])]

    def compute_attention_scores(self, instance):
        original_instance = instance
        instance = ops.tanh(ops.tensordot(instance, self.v_weight_params, axes=1))
        if self.use_gated:
            instance = instance * ops.sigmoid(ops.tensordot(original_instance, self.u_weight_params, axes=1))
        return ops.tensordot(instance, self.w_weight_params, axes=1)


bags, bag_labels = [r.rand(16, 6, 6) for _ in range(3)], r.randint(0, 2, 16)
inputs, embeddings = [], []
shared_dense_layer_1 = layers.Dense(12, activation="relu")
shared_dense_layer_2 = layers.Dense(6, activation="relu")
for _ in range(3):
    inp = layers.Input((6, 6))
    flatten = layers.Flatten()(inp)
    inputs.append(inp)
    embeddings.append(shared_dense_layer_2(shared_dense_layer_1(flatten)))
alpha = MILAttentionLayer(weight_params_dim=8, use_gated=True, name="alpha")(embeddings)
multiply_layers = [layers.multiply([alpha[i], embeddings[i]]) for i in range(len(alpha))]
concat = layers.concatenate(multiply_layers, axis=1)
output = layers.Dense(2, activation="softmax")(concat)
mil = fill(keras.Model(inputs, output))
mil.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
second = mil.fit(bags, bag_labels, batch_size=8, epochs=2, verbose=0, shuffle=False, class_weight={0: 1.0, 1: 2.0})
intermediate = keras.Model(mil.inputs, mil.get_layer("alpha").output)
weights = np.squeeze(np.swapaxes(intermediate.predict(bags), 1, 0))
results = [curves(history), float(orthogonal), curves(second), weights]
