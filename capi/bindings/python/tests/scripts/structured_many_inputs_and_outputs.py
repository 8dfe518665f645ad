"""Inputs and outputs by name: text codes, numbers and an image in one model, losses, weights, metrics and sample
weights by output, a dataset of dicts, saved and loaded with its custom layer, and taken apart by get_layer()."""

import os
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(11)
n = 48
data = {
    "title": r.randint(1, 30, (n, 6)),
    "numbers": r.randn(n, 4).astype("float32"),
    "picture": r.rand(n, 8, 8, 3).astype("float32"),
}
data["title"][:, 4:] = 0
targets = {"priority": r.rand(n, 1).astype("float32"), "department": np.eye(3)[r.randint(0, 3, n)].astype("float32")}


@keras.saving.register_keras_serializable(package="tickets")
class FiLM(layers.Layer):
    """Scales and shifts channels by what another input says."""

    def __init__(self, activation="relu", **kwargs):
        super().__init__(**kwargs)
        self.activation = keras.activations.get(activation)

    def build(self, shapes):
        (*_, channels), _ = shapes
        self.scale, self.shift = layers.Dense(channels, name="scale"), layers.Dense(channels, name="shift")
        self.scale.build(shapes[1])
        self.shift.build(shapes[1])

    def call(self, inputs):
        x, by = inputs
        gamma, beta = self.scale(by)[:, None, None, :], self.shift(by)[:, None, None, :]
        return self.activation(x * (1 + gamma) + beta)

    def compute_output_shape(self, shapes):
        return shapes[0]

    def get_config(self):
        return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}


title = keras.Input((None,), name="title", dtype="int32")
numbers = keras.Input((4,), name="numbers")
picture = keras.Input((8, 8, 3), name="picture")
words = layers.Embedding(30, 6, mask_zero=True, name="words")(title)
encoded = layers.LSTM(8, name="reader")(words)
normed = layers.LayerNormalization()(numbers)
context = layers.concatenate([encoded, normed])
h = layers.Conv2D(6, 3, padding="same", name="conv")(picture)
h = FiLM(name="film")([h, context])
h = layers.SeparableConv2D(6, 3, strides=2, padding="same", depth_multiplier=2)(h)
features = layers.Concatenate(name="features")([layers.GlobalMaxPooling2D()(h), context])
features = layers.UnitNormalization()(features)
priority = layers.Dense(1, activation="sigmoid", name="priority")(features)
department = layers.Dense(3, activation="softmax", name="department")(features)
model = fill(keras.Model([title, numbers, picture], {"priority": priority, "department": department}))
model.compile(
    optimizer=keras.optimizers.Adam(1e-2, global_clipnorm=1.0),
    loss={"priority": keras.losses.LogCosh(), "department": keras.losses.CategoricalCrossentropy(label_smoothing=0.1)},
    loss_weights={"priority": 2.0, "department": 0.5},
    metrics={"priority": ["mae", keras.metrics.MeanSquaredError(name="mse")], "department": ["accuracy", "auc"][:1]},
)
results = [[layer.name for layer in model.layers][:3], model.count_params()]
history = model.fit(data, targets, batch_size=16, epochs=2, verbose=0, shuffle=False)
scores = model.evaluate(data, targets, batch_size=16, verbose=0, return_dict=True)
results += [curves(history), sums(model), sorted(scores.items())]
weights = {"priority": np.ones(n), "department": np.linspace(0, 1, n)}
dataset = tf.data.Dataset.from_tensor_slices((data, targets, weights))
dataset = dataset.batch(12).prefetch(1)
history = model.fit(dataset, epochs=1, verbose=0)
results += [curves(history), model.predict(dataset, verbose=0)]

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "tickets.keras")
    checkpoint = keras.callbacks.ModelCheckpoint(path, monitor="loss", save_best_only=True)
    model.fit(dataset, epochs=2, verbose=0, callbacks=[checkpoint, keras.callbacks.CSVLogger(path + ".csv")])
    with open(path + ".csv") as f:
        results.append(sorted(f.readline().strip().split(",")))
    loaded = keras.saving.load_model(path)
    results += [loaded.predict(data, verbose=0), type(loaded.get_layer("film")).__name__]
    results.append(int(loaded.optimizer.iterations))
    again = loaded.fit(dataset, epochs=1, verbose=0)
    results.append(curves(again))
    loaded.save_weights(os.path.join(folder, "t.weights.h5"))
    fresh = keras.Model.from_config(loaded.get_config())
    fresh.load_weights(os.path.join(folder, "t.weights.h5"))
    results.append(fresh.predict(data, verbose=0)["priority"])

inner = keras.Model(model.inputs, model.get_layer("features").output)
results.append(inner([data["title"], data["numbers"], data["picture"]])[:3])
for layer in model.layers:
    layer.trainable = layer.name in ("priority", "department")
results.append([len(model.trainable_weights), len(model.non_trainable_weights)])
model.compile("sgd", {"priority": "mse", "department": "categorical_crossentropy"})
history = model.fit(data, targets, batch_size=16, epochs=1, verbose=0, shuffle=False)
results += [curves(history), sums(model)]
