"""Tensors that have numbers."""

import numpy as np

from .dtypes import CARRIERS, numpy_dtype


class Tensor:
    """What all tensors have. `operators` adds arithmetic."""

    __slots__ = ()
    __array_priority__ = 1000
    sparse = ragged = False
    weak = None  # of a Python number: its type

    @property
    def dtype(self):
        return numpy_dtype(self.type_name)

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        n = 1
        for d in self.shape:
            n *= d
        return n

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of a tensor without axes")
        return self.shape[0]

    def __iter__(self):
        if not self.shape:
            raise TypeError("iteration over a tensor without axes")
        return (self[i] for i in range(self.shape[0]))

    __hash__ = object.__hash__


class Array(Tensor):
    """A tensor over memory of the library's or of NumPy's. It does not change."""

    __slots__ = ("value", "type_name", "shape", "_keras_mask", "__weakref__", "__dict__")

    def __init__(self, value, type_name):
        self.value, self.type_name, self.shape = value, type_name, value.shape

    def __repr__(self):
        return f"<dl4.Array shape={self.shape}, dtype={self.type_name}, value={self.value}>"

    def __array__(self, dtype=None, copy=None):
        value = self.value
        if dtype is not None and np.dtype(dtype) != value.dtype:
            return value.astype(dtype)
        return value.copy() if copy or copy is None else value

    def numpy(self):
        return self.value.copy()

    def tolist(self):
        return self.value.tolist()

    def item(self, *at):
        return self.value.item(*at)

    def __float__(self):
        return float(self.value)

    def __int__(self):
        return int(self.value)

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return self.value.__index__()

    def __complex__(self):
        return complex(self.value)

    def __format__(self, spec):
        return format(self.value[()] if not self.shape else self.value, spec)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return Array, (self.value, self.type_name)

    def __dlpack__(self, **options):
        return self.value.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.value.__dlpack_device__()


def array(value, type_name):
    """A tensor of that type with a NumPy array's numbers, which it shares if the type is the array's."""
    return Array(np.asarray(value, numpy_dtype(type_name)), type_name)


def carried(x):
    """The numbers of an array in the type in which the library computes them."""
    wanted = CARRIERS[x.type_name]
    return x.value if x.type_name == wanted else x.value.astype(wanted)
