"""Arrays as Keras's eager tensors: NumPy arrays with numpy(), a value and perhaps a mask."""

import operator

from ..symbolic.tensor import KerasTensor
from . import call_context
from .texts import string_array


def eager_tensor(array):
    """An array with what a TensorFlow tensor has beside."""
    return array.view(_class or _eager_class())


def check_shape(known, shape):
    """What a tensor's set_shape() does where its shape is known."""
    if shape is None:
        return
    sizes = tuple(shape)
    if len(sizes) != len(known) or any(s not in (None, d) for s, d in zip(sizes, known)):
        raise ValueError(f"Tensor's shape {tuple(known)} is not compatible with supplied shape {sizes}.")


_class = None
_OPERATORS = "add sub mul truediv pow matmul"


def _eager_class():
    global _class
    if _class is None:
        import numpy

        class Eager(numpy.ndarray):
            """What a layer gives for arrays: an array of NumPy's, with numpy()."""

            __module__ = "dl4.keras"

            def numpy(self):
                return numpy.asarray(self)[()]

            def __getitem__(self, key):
                if call_context.is_watched(self) and call_context.step().binds:
                    return call_context.step().symbol(self)[key]
                got = super().__getitem__(key)
                return got if isinstance(got, numpy.ndarray) else numpy.asarray(got, self.dtype).view(Eager)

            def __hash__(self):
                if self.ndim:
                    raise TypeError("a tensor with several elements is unhashable")
                return hash(self.item())

            def __str__(self):
                return str(numpy.asarray(self))

            def __repr__(self):
                return repr(numpy.asarray(self))

            def __round__(self, digits=None):
                if not self.ndim:
                    return round(self.item(), digits)
                return self.__array_wrap__(numpy.round(numpy.asarray(self), digits or 0))

            def __eq__(self, other):
                return False if other is None else super().__eq__(other)

            def __ne__(self, other):
                return True if other is None else super().__ne__(other)

            @property
            def value(self):
                return self

            def set_shape(self, shape):
                check_shape(self.shape, shape)

            def __array_wrap__(self, array, context=None, return_scalar=False):
                if array.dtype == numpy.float64:  # of integers, or of a number: there is no wider type than float32
                    array = array.astype("float32")
                return array.view(Eager)  # also of one number, as a tensor is

        def recorded(name):
            plain = getattr(numpy.ndarray, name)

            def method(self, *other):
                step = call_context.step() if call_context.tapes() else None
                if step is not None and step.binds:
                    return getattr(step.symbol(self), name)(*other)
                return plain(self, *other)

            return method

        def in_place(name):
            """Makes another tensor, as a += b does of a TensorFlow tensor."""
            function = getattr(operator, name)
            return lambda self, other: function(self, other)

        def of_texts(name):
            """With texts, which are bytes in tensors, str are met as such."""
            plain = getattr(Eager, name)

            def method(self, other):
                if self.dtype == object and (
                    isinstance(other, (str, list)) or isinstance(other, numpy.ndarray) and other.dtype.kind in "US"
                ):
                    other = string_array(other)
                return plain(self, other)

            return method

        for name in ("__neg__", "__abs__"):
            setattr(Eager, name, recorded(name))
        for name in _OPERATORS.split():
            for full in (f"__{name}__", f"__r{name}__"):
                setattr(Eager, full, recorded(full))
            setattr(Eager, f"__i{name}__", in_place(name))
        for name in ("__add__", "__radd__", "__eq__", "__ne__"):
            setattr(Eager, name, of_texts(name))
        _class = Eager
    return _class


def is_array(x):
    return not isinstance(x, KerasTensor) and (
        hasattr(x, "__array__") or hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__")
    )


def with_mask(array, mask):
    """An array of its own that carries a mask, as what a layer gives may."""
    if mask is None:
        return array
    array = array.view(type(array))
    array._keras_mask = mask
    return array
