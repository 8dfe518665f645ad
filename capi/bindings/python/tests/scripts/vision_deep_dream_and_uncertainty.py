"""Gradients by the image: Deep Dream over octaves, an adversarial step, integrated gradients, Grad-CAM; Monte-Carlo
dropout and a deep ensemble as models of uncertainty."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(31)
x = r.rand(20, 12, 12, 3).astype("float32")
y = r.randint(0, 4, 20)
base = keras.Sequential(
    [
        keras.Input((12, 12, 3)),
        layers.Conv2D(6, 3, activation="elu", name="mixed0"),
        layers.Conv2D(8, 3, activation="elu", name="mixed1"),
        layers.GlobalAveragePooling2D(name="pool"),
        layers.Dense(4, activation="softmax", name="scores"),
    ]
)
fill(base)
base.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
base.fit(x, y, epochs=2, batch_size=10, verbose=0, shuffle=False)
results = [sums(base)]

settings = {"mixed0": 1.0, "mixed1": 1.5}
free = keras.Sequential(
    [
        keras.Input((None, None, 3)),
        *[keras.layers.deserialize(keras.layers.serialize(base.get_layer(n))) for n in settings],
    ]
)
free.set_weights(base.get_weights()[:4])
extractor = keras.Model(free.inputs, {layer.name: layer.output for layer in free.layers if layer.name in settings})


def compute_loss(image):
    features, loss = extractor(image), 0.0
    for name in features:
        loss += settings[name] * ops.mean(ops.square(features[name][:, 2:-2, 2:-2, :]))
    return loss


@tf.function
def ascend(image, rate):
    with tf.GradientTape() as tape:
        tape.watch(image)
        loss = compute_loss(image)
    grads = tape.gradient(loss, image)
    grads = grads / ops.maximum(ops.mean(ops.abs(grads)), 1e-6)
    return loss, image + rate * grads


original = tf.constant(x[:1])
shrunk, image, losses = tf.image.resize(original, (8, 8)), tf.image.resize(original, (8, 8)), []
for shape in [(8, 8), (10, 10), (12, 12)]:
    image = tf.image.resize(image, shape)
    for _ in range(2):
        loss, image = ascend(image, 0.01)
        losses.append(float(loss))
    again = tf.image.resize(shrunk, shape)
    image += tf.image.resize(original, shape) - again
    shrunk = tf.image.resize(original, shape)
results += [losses, image]

labels = tf.convert_to_tensor(y[:4])
batch = tf.convert_to_tensor(x[:4])
with tf.GradientTape() as tape:
    tape.watch(batch)
    loss = keras.losses.sparse_categorical_crossentropy(labels, base(batch))
signed = ops.sign(tape.gradient(loss, batch))
attacked = ops.clip(batch + 0.05 * signed, 0.0, 1.0)
results += [loss, base.predict(np.asarray(attacked), verbose=0)]

steps = 8
path = ops.linspace(0.0, 1.0, steps + 1)[:, None, None, None] * x[:1]
with tf.GradientTape() as tape:
    tape.watch(path)
    score = base(path)[:, int(y[0])]
grads = tape.gradient(score, path)
integrated = x[0] * np.asarray(ops.mean((grads[:-1] + grads[1:]) / 2.0, axis=0))
results.append(integrated)

grad_model = keras.Model(base.inputs, [base.get_layer("mixed1").output, base.outputs[0]])
with tf.GradientTape() as tape:
    maps, predictions = grad_model(x[:1])
    top = tf.argmax(predictions[0])
    score = predictions[:, top]
weights = ops.mean(tape.gradient(score, maps), axis=(0, 1, 2))
heat = ops.relu(ops.squeeze(maps[0] @ weights[..., None], -1))
results += [heat / ops.max(heat), int(top)]


class Always(layers.Dropout):
    """Drops in inference too."""

    def call(self, inputs):
        return super().call(inputs, training=True)


inputs = keras.Input((12, 12, 3))
h = Always(0.4)(layers.Flatten()(inputs))
bayesian = fill(keras.Model(inputs, layers.Dense(2)(h)))
draws = np.stack([bayesian.predict(x[:4], verbose=0) for _ in range(30)])
results += [draws.shape, bool((draws.std(0) > 1e-4).all())]


class Gaussian(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.mean, self.scale = layers.Dense(1), layers.Dense(1, activation="softplus", bias_initializer="ones")

    def call(self, h):
        return ops.concatenate([self.mean(h), self.scale(h) + 1e-3], axis=-1)


def negative_log_likelihood(y_true, y_pred):
    mean, scale = ops.split(y_pred, 2, axis=-1)
    return ops.mean(ops.log(scale) + 0.5 * ops.square((y_true - mean) / scale), axis=-1)


members = []
for seed in range(3):
    member = keras.Sequential([keras.Input((5,)), layers.Dense(6, activation="tanh"), Gaussian()])
    fill(member, seed=seed)
    member.compile(keras.optimizers.Nadam(1e-2), negative_log_likelihood)
    member.fit(x[:, 0, :5, 0], y[:, None].astype("float32"), epochs=3, verbose=0, shuffle=False, batch_size=10)
    members.append(member)
mixed = keras.Input((5,))
ensemble = keras.Model(mixed, layers.Average()([m(mixed) for m in members]))
results += [ensemble.predict(x[:3, 0, :5, 0], verbose=0), [sums(m) for m in members]]
