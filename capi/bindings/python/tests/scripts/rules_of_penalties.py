"""Regularizers in Python, functions and classes, on weights of the library's layers: in fit(), in steps, shared, of
recurrent layers."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(63)
x, y = r.rand(32, 4).astype("float32"), r.rand(32, 2)


def l1(w):
    return 0.01 * ops.sum(ops.abs(w))


class Squares(keras.regularizers.Regularizer):
    def __init__(self, factor=0.1):
        self.factor = factor

    def __call__(self, x):
        return self.factor * ops.sum(ops.square(x))

    def get_config(self):
        return {"factor": self.factor}


class Stepping(keras.Model):
    def train_step(self, data):
        return super().train_step(data)


class Subclassed(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2, kernel_regularizer=l1, bias_regularizer="l2")

    def call(self, x):
        return self.dense(x) + 0.1 * self.dense(x * 2)


def functional(model):
    inputs = keras.Input((4,))
    dense = layers.Dense(4, kernel_regularizer=l1, bias_regularizer=Squares(0.2))
    return model(inputs, layers.Dense(2, kernel_regularizer=Squares())(dense(inputs) + dense(inputs * 2)))


results = []
for model in (
    functional(keras.Model),
    functional(Stepping),
    Subclassed(),
    keras.Sequential([layers.Reshape((1, 4)), layers.Conv1D(2, 1, kernel_regularizer=Squares()), layers.Flatten()]),
    keras.Sequential([layers.Reshape((2, 2)), layers.LSTM(2, kernel_regularizer=l1, recurrent_regularizer=Squares())]),
):
    model(x)
    fill(model)
    model.compile("sgd", "mse")
    history = model.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0, validation_data=(x, y))
    results += [curves(history), model.evaluate(x, y, verbose=0), [float(v) for v in model.losses], sums(model)]
