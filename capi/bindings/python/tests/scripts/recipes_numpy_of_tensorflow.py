"""Layers, models and losses in tf.experimental.numpy."""

import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(82)
x, y = r.rand(20, 4).astype("float32"), r.rand(20, 1).astype("float32")


class Regression(keras.Model):
    def __init__(self, blocks, **kwargs):
        super().__init__(**kwargs)
        self.blocks = blocks

    def build(self, input_shape):
        sizes = [input_shape[1], *self.blocks]
        self.block_weights = [
            self.add_weight(shape=pair, initializer="glorot_normal", name=f"block_{i}")
            for i, pair in enumerate(zip(sizes, sizes[1:]))
        ]
        self.biases = [self.add_weight(shape=(n,), initializer="zeros", name=f"bias_{n}") for n in self.blocks]
        self.projector = self.add_weight(shape=(sizes[-1], 1), initializer="glorot_normal", name="projector")

    def call(self, inputs):
        activations = inputs
        for w, b in zip(self.block_weights, self.biases):
            activations = tnp.maximum(tnp.matmul(activations, w) + b, 0.0)
        return tnp.matmul(activations, self.projector)


class NumpyDense(layers.Layer):
    def __init__(self, units, activation=None):
        super().__init__()
        self.units, self.activation = units, activation

    def build(self, input_shape):
        self.w = self.add_weight(name="weights", shape=(input_shape[1], self.units))
        self.bias = self.add_weight(name="bias", shape=(self.units,), initializer="zeros")

    def call(self, inputs):
        outputs = tnp.matmul(inputs, self.w) + self.bias
        return self.activation(outputs) if self.activation else outputs


def numpy_mse(y_true, y_pred):
    return tnp.mean(tnp.square(y_true - y_pred), axis=0)


def trained(model, loss):
    model.compile("sgd", loss, metrics=[keras.metrics.MeanAbsolutePercentageError()])
    model(x)
    fill(model)
    return [curves(model.fit(x, y, epochs=2, shuffle=False, verbose=0)), model.evaluate(x, y, verbose=0), sums(model)]


layered = keras.Sequential(
    [NumpyDense(3, lambda v: tnp.maximum(v, 0)), layers.Dense(3, activation="relu"), NumpyDense(1)]
)
results = [trained(Regression([3, 2]), "mean_squared_error"), trained(Regression([3]), numpy_mse)]
results.append(trained(layered, "mean_squared_error"))
results += [tnp.ones((2,)), tnp.arange(3), tnp.mean(x, axis=0), tnp.pi, tnp.concatenate([x[:2], x[2:4]], axis=1)]
results += [tnp.where(x > 0.5, x, 0.0), tnp.split(tf.constant(x), 2, axis=1), tnp.square(2.0), tnp.var(x)]
