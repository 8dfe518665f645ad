"""Small programs that a Keras user would write: each runs on Keras and on dl4.keras, unchanged, with equal results.

A program takes the module `keras` and gives numbers, shapes, names or texts. Weights are set, never drawn, so that both
compute from the same."""

import importlib

import numpy as np

PROGRAMS = {}


def program(f):
    assert f.__name__ not in PROGRAMS, f.__name__
    PROGRAMS[f.__name__] = f
    return f


def numbers(*shape, seed=0, scale=1.0):
    return (np.random.RandomState(seed).standard_normal(shape) * scale).astype("float32")


def fill(model, seed=1, scale=0.5):
    """The same weights everywhere."""
    r = np.random.RandomState(seed)
    model.set_weights([(r.standard_normal(w.shape) * scale).astype("float32") for w in model.get_weights()])
    return model


def mlp(keras, last="softmax"):
    x = keras.Input(shape=(4,), name="x")
    h = keras.layers.Dense(8, activation="tanh")(x)
    return fill(keras.Model(x, keras.layers.Dense(3, activation=last)(h)))


def through(keras, *layers, data, seed=1):
    """What a model of layers, one after the other, with weights of that seed, makes of data."""
    x = keras.Input(data.shape[1:], dtype=str(data.dtype))
    y = x
    for layer in layers:
        y = layer(y)
    return fill(keras.Model(x, y), seed).predict(data, verbose=0)


def raised(f):
    """The class of Python's or Keras's that a call raises."""
    try:
        f()
    except (ValueError, TypeError, AttributeError, NotImplementedError, RuntimeError) as e:
        for kind in (ValueError, TypeError, AttributeError, RuntimeError):
            if isinstance(e, kind):
                return kind.__name__
        return type(e).__name__
    return "nothing"


DATA, LABELS = numbers(40, 4), np.random.RandomState(2).randint(0, 3, 40)
ONE_HOT = np.eye(3, dtype="float32")[LABELS]

_TOPICS = "basics training callbacks losses layers models more_models operations more_operations recurrent details fits"
for _topic in _TOPICS.split():
    importlib.import_module("." + _topic, __name__)
