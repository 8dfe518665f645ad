"""Conversion, types and shapes: cast, convert_to_tensor, shape, ..."""

from ..backend import call_context
from ..backend.dtypes import standardize
from ..backend.eager_tensor import eager_tensor
from ..data.structure import string_array
from ..on_arrays import arguments
from ..on_arrays.texts import is_text
from ..symbolic.numpy_call import NATIVE, specified
from ..symbolic.tensor import as_tensor, cast_tensor, is_number, is_tensor, KerasTensor, operation
from ..tree import flatten
from .dispatch import alike, given, is_symbolic
from .reduction import sum
from .shapes import flat


class Size(KerasTensor):
    """A free dimension's size, or one times a number; `one` is a vector of as many ones."""

    __slots__ = ("one",)

    def __mul__(self, n):
        product = super().__mul__(n)
        if not isinstance(n, int) or n < 1:
            return product
        rows = operation("Reshape", target_shape=[1])(self.one)
        repeated = operation("RepeatVector", n=n)(rows)
        return _sized(product, flat(repeated))

    __rmul__ = __mul__


def cast(x, dtype):
    """The same numbers in another type of data."""
    dtype = standardize(dtype)
    if hasattr(x, "cast_to"):  # a sparse tensor of dl4.tf
        return x.cast_to(dtype)
    if dtype == "string":
        if not is_text(x) and getattr(x, "dtype", None) != "string":
            raise NotImplementedError(f'keras.ops.cast: "string": expected texts, got {x!r}')
        return x if is_tensor(x) else eager_tensor(string_array(x))
    if not is_symbolic(x):
        return given(arguments.cast(x, dtype), [x])
    x = as_tensor(x)
    dtype = "float32" if dtype == "float64" else dtype
    if dtype in NATIVE and x.dtype in NATIVE:
        y = cast_tensor(x, dtype)
        return _sized(y, x.one) if isinstance(x, Size) and y is not x else y
    return specified("cast", [x], x.shape, dtype)


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    arguments.need_dense("convert_to_tensor", sparse, ragged)
    if isinstance(x, (list, tuple)) and any(map(is_tensor, flatten(x))):
        x = as_tensor(x)
    if is_tensor(x):
        return x if dtype is None else cast(x, dtype)
    if hasattr(x, "_as_tensor") and call_context.owner() is not None:
        return x._as_tensor()
    if call_context.is_watched(x) and call_context.step().binds:
        return convert_to_tensor(call_context.step().symbol(x), dtype)
    import numpy

    array = numpy.asarray(x.value if hasattr(x, "_as_tensor") else x)
    if dtype in (None, str(array.dtype)) and getattr(x, "_keras_mask", None) is not None:
        return x  # the same, with its mask
    if array.dtype.kind in "USO":
        return eager_tensor(array)
    return eager_tensor(arguments.array(x) if dtype is None else arguments.cast(x, standardize(dtype)))


array = convert_to_tensor


def convert_to_numpy(x):
    import numpy

    return numpy.asarray(x)


def is_keras_tensor(x):
    return is_tensor(x)


def is_tensor_of_numbers(x):
    """Is it what functions of this module give for arrays?"""
    return type(x) is type(eager_tensor(arguments.array(0)))


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
    return _sized(cast(sum(ones), "int32"), ones)


def _sized(n, ones):
    size = Size(n.call, n.index, n.shape, n.dtype)
    size.one, n.call.outputs[n.index] = ones, size  # it stands for what the call gives
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
