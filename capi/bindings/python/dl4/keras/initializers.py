"""Initializers: the library's, with Keras's names; called with a shape they give an array."""

import sys

from . import _kinds
from ._words import keras_words


class Initializer(_kinds.Kind):
    """The first values of a weight. One of your own has __call__(shape, dtype=None)."""

    category = "initializer"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        from . import layers

        if self.class_name is not None:
            with keras_words(self.class_name, self._config):
                layers.Weight(shape=[1, 1], initializer=self._native(), name="initializer")

    def __call__(self, shape, dtype=None):
        import numpy
        from ._eager import eager
        from ._variables import Variable

        if self.class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no __call__()")
        value = Variable(self._native(), tuple(int(d) for d in shape)).numpy()
        return eager(numpy.array(value, str(dtype or "float32")))

    def clone(self):
        return type(self).from_config(self.get_config())


__getattr__, __dir__ = _kinds.served(globals(), "initializer", Initializer, lambda cls, _: cls)
globals().update(_kinds.got("initializer", Initializer, sys.modules[__name__]))
_get = globals()["get"]


def get(identifier):
    """An initializer of a name or a config; of an array a function that gives it."""
    if not hasattr(identifier, "__array__"):
        return _get(identifier)

    def values(shape, dtype=None):
        import numpy

        if tuple(shape) != tuple(identifier.shape):
            raise ValueError(
                f"Expected `shape` to be {tuple(identifier.shape)} for the array. Received: {tuple(shape)}"
            )
        return numpy.asarray(identifier, dtype)

    return values
