"""Weights as objects."""

import math

import numpy as np

from ...abi import ShapeMismatch
from . import state


class Variable(np.lib.mixins.NDArrayOperatorsMixin):
    """A weight of a layer: its numbers are those of the library."""

    def __init__(self, model, full, path, layer, on=True):
        """`on`: whether the models that the layer is in are trained."""
        self._model, self._full, self.path, self._layer, self._on = model, full, path, layer, on
        self.name = path.rsplit("/", 1)[-1]
        at = model.names(2).index(full)
        self.shape, self.dtype = model.shapes(2)[at], model.dtypes(2)[at]

    @property
    def size(self):
        """The number of its numbers."""
        return math.prod(self.shape)

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    @property
    def trainable(self):
        """Whether training changes it."""
        owner = self._layer
        if not (self._on and owner.trainable):
            return False
        if owner._frozen:  # the library is not yet told
            self._model.set_trainable(self._full, True)
        trained = {name: yes for name, _, yes in self._model.weights()}[self._full]
        if owner._frozen:
            self._model.set_trainable(self._full, False)
        return trained

    def numpy(self):
        """A copy of its numbers."""
        return self._model.get_weight(self._full)

    @property
    def value(self):
        """A copy of its numbers."""
        return self.numpy()

    def check(self, value):
        """Refuses a value of another shape."""
        if np.shape(value) != self.shape:
            raise ShapeMismatch(f"{self.path}: expected shape {self.shape}, got {np.shape(value)}")

    def assign(self, value):
        """Sets its numbers."""
        self.check(value)
        self._model.set_weight(self._full, np.asarray(value, self.dtype))
        state.changed()
        return self

    def assign_add(self, value):
        """Adds to its numbers."""
        return self.assign(self.numpy() + np.asarray(value))

    def assign_sub(self, value):
        """Subtracts from its numbers."""
        return self.assign(self.numpy() - np.asarray(value))

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.numpy(), dtype)

    def __array_ufunc__(self, function, method, *inputs, **kwargs):
        given = [v.numpy() if isinstance(v, Variable) else v for v in inputs]
        return getattr(function, method)(*given, **kwargs)

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<Variable path={self.path}, shape={self.shape}, dtype={self.dtype}>"
