"""What a call in training changes: moving means, vectors of a spectral norm, draws; what a recorded `training` says."""

import os
import tempfile

import numpy as np

from . import numbers, program

X = numbers(5, 4, seed=3, scale=3.0) + 2.0
SAID = None, True, False


def norm(keras, **config):
    return keras.layers.BatchNormalization(momentum=0.5, **config)


def told(layer, x, training):
    return layer(x) if training is None else layer(x, training=training)


def after(model, layer, training=None):
    """What a call gives and leaves in moving means."""
    return np.asarray(told(model, X, training)), np.asarray(layer.moving_mean), np.asarray(layer.moving_variance)


@program
def recorded_training_moves_means(keras):
    found = []
    for recorded in SAID:
        for training in SAID:
            for config in ({}, {"center": False, "scale": False}, {"trainable": False}):
                x, layer = keras.Input((4,)), norm(keras, **config)
                model = keras.Model(x, told(layer, x, recorded))
                found += after(model, layer, training)
            found += after(model, layer, training), model.predict(X, verbose=0), np.asarray(layer.moving_mean)
    return found


@program
def recorded_training_of_models_moves_means(keras):
    found = []
    for inside in SAID:
        for outside in SAID:
            for training in SAID:
                x, z, layer = keras.Input((4,)), keras.Input((4,)), norm(keras)
                inner = keras.Model(x, told(layer, x, inside))
                found += after(keras.Model(z, told(inner, z, outside)), layer, training)
        z, layer = keras.Input((4,)), norm(keras)
        inner = keras.Sequential([keras.Input((4,)), layer])
        found += after(keras.Model(z, told(inner, z, inside)), layer), after(inner, layer, True)
    return found


@program
def means_that_a_call_of_ones_own_moves(keras):
    class Always(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.norm = norm(keras)

        def call(self, x, training=False):
            return self.norm(x, training=True)

    class AlwaysModel(keras.Model):
        def __init__(self):
            super().__init__()
            self.norm = norm(keras)

        def call(self, x):
            return self.norm(x, training=True)

    found = []
    for recorded in SAID:
        for training in SAID:
            x, layer = keras.Input((4,)), Always()
            found += after(keras.Model(x, told(layer, x, recorded)), layer.norm, training)
    model = AlwaysModel()
    found += np.asarray(model(X)), model.predict(X, verbose=0), np.asarray(model.norm.moving_mean)
    model.compile(keras.optimizers.SGD(0.0), "mse")
    found += model.evaluate(X, X, verbose=0), np.asarray(model.norm.moving_mean)
    return found


@program
def means_of_one_layer_called_twice(keras):
    found = []
    for second in SAID:
        x, layer = keras.Input((4,)), norm(keras)
        found += after(keras.Model(x, told(layer, layer(x, training=True), second)), layer)
    return found


@program
def what_was_said_holds_for_what_follows(keras):
    """In one call, layers that are told nothing hear what the last one was told."""

    class Told(keras.layers.Layer):
        def __init__(self, said):
            super().__init__()
            self.norm, self.said = norm(keras), said

        def call(self, x, training=None):
            return self.norm(x, training=self.said)

    class Both(keras.Model):
        def __init__(self, said):
            super().__init__()
            self.first, self.norm = Told(said), norm(keras)

        def call(self, x, training=None):
            return self.norm(self.first(x) + 1.0)

    found = []
    for said in (True, False):
        for training in SAID:
            model = Both(said)
            found += after(model, model.norm, training)
        model = Both(said)
        model.compile(keras.optimizers.SGD(0.0), "mse")
        found += model.fit(X, X, batch_size=5, verbose=0).history["loss"], np.asarray(model.norm.moving_mean)
        found += model.evaluate(X, X, verbose=0), np.asarray(model.norm.moving_mean)
        found += model.predict(X, verbose=0), np.asarray(model.norm.moving_mean)
        x, first, second, third = keras.Input((4,)), norm(keras), norm(keras), norm(keras)
        model = keras.Model(x, third(second(first(x, training=said) + 1.0), training=False))
        found += after(model, second), np.asarray(third.moving_mean)
        found += after(keras.Model(x, second(Told(said)(x) + 1.0)), second)
    return found


@program
def frozen_between_calls(keras):
    x, layer = keras.Input((4,)), norm(keras)
    model, found = keras.Model(x, layer(x)), []
    for trainable in (True, False, True):
        layer.trainable = trainable
        found += after(model, layer, True), after(layer, layer, True)
    return found


@program
def means_moved_between_fits(keras):
    x, layer = keras.Input((4,)), norm(keras)
    model = keras.Model(x, layer(x))
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")
    how = {"batch_size": 16, "shuffle": False, "verbose": 0}
    losses = model.fit(X, X, **how).history["loss"]
    model(X, training=True)
    losses += model.fit(X, X, epochs=2, **how).history["loss"]
    model(X, training=True)
    return losses, model.evaluate(X, X, verbose=0), model.fit(X, X, **how).history["loss"], model.get_weights()


@program
def recorded_training_and_spectral_norms(keras):
    found = []
    for recorded in SAID:
        for training in SAID:
            x, layer = keras.Input((4,)), keras.layers.SpectralNormalization(keras.layers.Dense(3))
            model = keras.Model(x, told(layer, x, recorded))
            for w in layer.weights:
                w.assign(np.ones(w.shape) / 3 if w.shape[0] == 1 else numbers(*w.shape, seed=5))
            found.append(np.asarray(told(model, X, training)))
            found += sorted([np.asarray(w) for w in layer.weights], key=lambda w: w.shape)
    return found


@program
def states_and_means_move_once(keras):
    lstm, layer = keras.layers.LSTM(3, stateful=True), norm(keras)
    model = keras.Sequential([lstm, layer])
    model.build((4, 2, 6))
    lstm.set_weights([numbers(*w.shape, seed=6) for w in lstm.get_weights()])
    x, found = numbers(4, 2, 6, seed=7), []
    for training in (True, True, False):
        found += np.asarray(model(x, training=training)), np.asarray(layer.moving_mean)
    return found


@program
def assigned_where_training_is_recorded(keras):
    class Counter(keras.layers.Layer):
        def build(self, input_shape):
            self.n = self.add_weight(shape=(), initializer="zeros", trainable=False)

        def call(self, x, training=False):
            if training:
                self.n.assign(self.n + 1.0)
            return x + self.n

    found = []
    for recorded in SAID:
        for training in SAID:
            x, layer = keras.Input((4,)), Counter()
            model = keras.Model(x, told(layer, x, recorded))
            found += np.asarray(told(model, X, training)), np.asarray(layer.n)
    return found


@program
def draws_where_training_is_recorded(keras):
    """Is anything drawn, by what was recorded and what a call says? And is it drawn anew, with moving means beside?"""
    layers, data = keras.layers, np.abs(numbers(4, 6, 6, 3, seed=8)) * 40.0 + 1.0
    kinds = layers.Dropout(0.5), layers.GaussianNoise(1.0), layers.RandomBrightness((0.3, 0.4))
    found = []
    for kind in kinds:
        for recorded in SAID:
            x = keras.Input((6, 6, 3))
            model = keras.Model(x, told(type(kind).from_config(kind.get_config()), x, recorded))
            for call in (*(lambda x, t=t: told(model, x, t) for t in SAID), lambda x: model.predict(x, verbose=0)):
                found.append(bool(np.abs(np.asarray(call(data)) - data).max() > 1e-3))
    x = keras.Input((64,))
    y = layers.Dropout(0.5)(x, training=True)
    model = keras.Model(x, [y, norm(keras)(y, training=True)])
    first, second = (np.asarray(model(np.ones((2, 64), "float32"))[0]) for _ in range(2))
    return found, bool((first != second).any())


@program
def recorded_training_in_files(keras):
    """Of a file, a clone and a config: whether they draw, and what they give."""
    found = []
    for recorded in SAID:
        x = keras.Input((4,))
        y = told(keras.layers.Dropout(0.5), x, recorded)
        model = keras.Model(x, told(norm(keras), keras.layers.Dense(4, kernel_initializer="ones")(y), recorded))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.keras")
            model.save(path)
            same = keras.models.load_model(path), keras.models.clone_model(model), keras.Model.from_config(
                model.get_config()
            )
        for m in same:
            found.append(bool((np.asarray(m(X)) != np.asarray(m(X))).any()))
            if not recorded:
                found += np.asarray(m(X)), m.predict(X, verbose=0)
    return found
