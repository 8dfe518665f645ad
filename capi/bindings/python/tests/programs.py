"""Programs that run on TensorFlow with Keras and on dl4, unchanged.

programs.py MODULE RESULTS.npz   records what TensorFlow and Keras give for the PROGRAMS of a module."""

import importlib
import sys

import numpy as np


class Programs(dict):
    """Functions of `tf` and `keras` by their names. As a decorator it adds one."""

    def __call__(self, f):
        assert f.__name__ not in self, f.__name__
        self[f.__name__] = f
        return f


def plain(x):
    """Texts and arrays of a nest, in order."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x, key=str) for leaf in plain(x[key])]
    if isinstance(x, (list, tuple)) and not all(isinstance(v, (int, float, np.number)) for v in x):
        return [leaf for item in x for leaf in plain(item)]
    a = np.asarray(x.numpy() if hasattr(x, "numpy") else x)
    if a.dtype == object:
        a = np.array([v.decode() if isinstance(v, bytes) else str(v) for v in a.ravel()]).reshape(a.shape)
    return [np.char.decode(a) if a.dtype.kind == "S" else a]


def raised(f):
    try:
        f()
    except Exception as e:  # noqa: BLE001
        for kind in (ValueError, TypeError, RuntimeError, NotImplementedError):
            if isinstance(e, kind):
                return f"{kind.__name__}: {e}"
        return type(e).__name__
    return "nothing"


def keras_of_tensorflow():
    """TensorFlow, Keras, and what Keras keeps for old programs."""
    import keras
    import tensorflow as tf
    from keras.src.legacy.preprocessing import image, text

    sys.modules.update({"keras._text": text, "keras._image": image})
    return tf, keras


def record(programs, path):
    tf, keras = keras_of_tensorflow()
    results = {}
    for name, f in programs.items():
        try:
            results.update({f"{name}/{i}": leaf for i, leaf in enumerate(plain(f(tf, keras)))})
        except Exception as e:
            raise RuntimeError(f"{name}: {e}") from e
    np.savez_compressed(path, **results)


if __name__ == "__main__":
    module, path = sys.argv[1:]
    record(importlib.import_module(module).PROGRAMS, path)
