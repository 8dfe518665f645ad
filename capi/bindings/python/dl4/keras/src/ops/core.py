"""Conversion, types and shapes: cast, convert_to_tensor, shape, ..."""

from ..backend import call_context
from ..backend.eager_tensor import eager_tensor
from ..symbolic.tensor import as_tensor, cast_tensor, is_number, is_tensor, KerasTensor, operation
from .dispatch import alike, is_symbolic
from .elementwise import where
from .reduction import sum


class Size(KerasTensor):
    """A free dimension's size; `one` is a vector of as many ones."""

    __slots__ = ("one",)


def cast(x, dtype):
    """The same numbers in another type of data."""
    dtype = str(getattr(dtype, "name", dtype))
    dtype = {"float64": "float32", "float": "float32", "int": "int32", "float16": "float32"}.get(dtype, dtype)
    if is_symbolic(x):
        x = as_tensor(x)
        return cast_tensor(x, dtype)
    import numpy

    return eager_tensor(numpy.asarray(x).astype(dtype))


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    if is_tensor(x):
        return x if dtype is None else cast(x, dtype)
    if hasattr(x, "_as_tensor") and call_context.owner() is not None:
        return x._as_tensor()
    import numpy

    array = numpy.asarray(x)
    if dtype in (None, str(array.dtype)) and getattr(x, "_keras_mask", None) is not None:
        return x  # the same, with its mask
    if dtype is None and array.dtype == numpy.float64:
        dtype = "float32"
    if dtype is None and array.dtype == numpy.int64 and not hasattr(x, "dtype"):
        dtype = "int32"
    return eager_tensor(array if dtype is None else array.astype(str(dtype)))


array = convert_to_tensor


def convert_to_numpy(x):
    import numpy

    return numpy.asarray(x)


def is_keras_tensor(x):
    return is_tensor(x)


def shape(x):
    """A tuple; where a dimension is free its size is a symbolic number."""
    if not is_tensor(x):
        return tuple(x.shape)
    return tuple(_size(x, i) if d is None else d for i, d in enumerate(x.shape))


def _size(x, axis):
    ones = alike(x, 1.0)
    others = [i for i in range(len(x.shape)) if i != axis]
    for i in reversed(others):
        ones = operation("Take", indices=0, axis=i)(ones)
    n = cast(sum(ones), "int32")
    size = Size(n.call, n.index, n.shape, n.dtype)
    size.one = ones
    return size


def ndim(x):
    return len(x.shape)


def size(x):
    """How many elements; a symbolic number where a dimension is free."""
    n = 1
    for d in shape(x):
        n = n * d if not is_tensor(d) or is_number(n) and n == 1 else d * n
    return n


def dtype(x):
    return str(x.dtype)


def custom_gradient(f):
    raise NotImplementedError("custom_gradient is not in this version of the library")


def cond(pred, true_fn, false_fn):
    """Of a Python value; one that is symbolic chooses by `where`."""
    return true_fn() if not is_tensor(pred) else where(pred, true_fn(), false_fn())


def vectorized_map(function, elements):
    raise NotImplementedError("vectorized_map is not in this version of the library; use layers.TimeDistributed")
