"""Keras's variables on the library."""

import numpy as np
from keras.src.backend.common import KerasVariable

from ..core import Tensor as Buffer
from . import trace
from .dtypes import CARRIERS, numpy_dtype
from .tensor import Array
from .trace import Traced


class Variable(KerasVariable):
    """Its numbers are an array, or in one of two buffers: a step of training reads the one and writes the other."""

    _array = _buffers = None
    _turn, _in_buffer = 0, False
    version = 0  # changes with the value

    @property
    def _value(self):
        if self._array is None and self._buffers is not None:
            values = self._buffers[self._turn].array
            self._array = Array(values.astype(numpy_dtype(self._dtype)), self._dtype)
        return self._array

    @_value.setter
    def _value(self, value):
        self._array, self._in_buffer, self.version = value, False, self.version + 1

    def source(self):
        """The buffer that a step reads."""
        if not self._in_buffer:
            np.copyto(self._buffer(self._turn).array, self._array.value, "unsafe")
            self._in_buffer = True
        return self._buffers[self._turn]

    def _buffer(self, at):
        if self._buffers is None:
            self._buffers = [None, None]
        if self._buffers[at] is None:
            carrier = CARRIERS[self._dtype]
            self._buffers[at] = Buffer.of(np.empty(tuple(self.shape), carrier), carrier)
        return self._buffers[at]

    def target(self):
        """The buffer that a step writes, after source()."""
        return self._buffer(1 - self._turn)

    def turn(self):
        """The step has been: what it wrote is the value."""
        self._turn, self._array, self.version = 1 - self._turn, None, self.version + 1

    def settle(self):
        """Training has ended: one array is enough."""
        if self._buffers is not None:
            if self._array is None:
                values = self._buffers[self._turn].array
                self._array = Array(values.astype(numpy_dtype(self._dtype), copy=False), self._dtype)
            self._buffers, self._in_buffer = None, False

    def __getstate__(self):
        value = self._value
        return {**self.__dict__, "_array": value, "_buffers": None, "_in_buffer": False}

    def _initialize(self, value):
        self._value = trace.convert(value, self._dtype)

    def _direct_assign(self, value):
        if isinstance(value, Traced):
            raise ValueError(
                f"{self.path}: assigned in a traced function outside of a StatelessScope, where it can't be kept"
            )
        self._value = value

    def _convert_to_tensor(self, value, dtype=None):
        return trace.convert(value, dtype)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value, dtype=dtype)
