"""What the functions of dl4.tf share: on arrays they are NumPy's, on symbolic tensors keras.ops's."""

import functools
import sys

import numpy as np

from ..keras.src.backend.eager_tensor import eager_tensor
from ..keras.src.data.ragged import Ragged
from ..keras.src.data.structure import as_array, map_structure
from ..keras.src.errors import refuse  # noqa: F401 its modules take it from here
from ..keras.src.ops.dispatch import is_symbolic
from ..keras.src.symbolic.tensor import is_tensor


class StringType:
    """The type of texts: arrays of bytes objects."""

    name = as_numpy_dtype = "string"
    is_integer = is_floating = is_bool = False

    def __eq__(self, other):
        return other is self or other == "string" or isinstance(other, np.dtype) and other == np.dtype(object)

    __hash__ = object.__hash__

    def __repr__(self):
        return "dl4.tf.string"


string = StringType()


def name_of(dtype):
    """The name of a type; None of None."""
    return None if dtype is None else getattr(dtype, "name", None) or str(np.dtype(dtype))


def _called():
    """The function of dl4.tf that a program has called."""
    frame, name = sys._getframe(2), "array"
    while frame is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        name = frame.f_code.co_name if frame.f_code.co_name[0] not in "<_" else name
        frame = frame.f_back
    return name


def array(x, dtype=None):
    """Anything as an array: numbers of Python in float32 and int32."""
    if is_tensor(x) and not x.call.is_bound():
        raise NotImplementedError(
            f"tf.{_called()}: symbolic tensors are not in this version: expected arrays; keras.ops may have the function"
        )
    return as_array(x, name_of(dtype))


def tensor(x):
    return x if isinstance(x, Ragged) else eager_tensor(np.asarray(x))


def tensors(*values):
    """Arrays for an operation of several: numbers of Python have the type of the others."""
    dtype = next((v.dtype for v in values if hasattr(v, "dtype") and not isinstance(v.dtype, str)), None)
    return [
        np.asarray(v, dtype) if dtype is not None and dtype != object and not hasattr(v, "dtype") else array(v)
        for v in values
    ]


def either(name, numpy_function, ops_function=None, several=False):
    """A function of a name: NumPy's on arrays. `several`: its first two arguments are tensors."""

    def f(*args, **kwargs):
        kwargs.pop("name", None)
        if is_symbolic(args, kwargs):
            if ops_function is None:
                raise NotImplementedError(f"tf.{name}: symbolic tensors are not in this version")
            return ops_function(*args, **kwargs)
        if several:
            args = [*tensors(*args[:2]), *args[2:]]
        else:
            args = [array(args[0]), *args[1:]] if args else args
        return _result(numpy_function(*args, **kwargs), args)

    f.__name__ = f.__qualname__ = name
    return f


def by_tensors(on_arrays, in_graphs):
    """A function of arrays, with another one for symbolic tensors."""

    @functools.wraps(on_arrays)
    def f(*args, **kwargs):
        return (in_graphs if is_symbolic(args, kwargs) else on_arrays)(*args, **kwargs)

    return f


def _result(out, args):
    """A tensor; of float32 where NumPy made float64 of something else."""
    out = np.asarray(out)
    if out.dtype == np.float64 and not any(getattr(a, "dtype", None) == np.float64 for a in args):
        out = out.astype("float32")
    return eager_tensor(out)


def on_texts(function):
    """A function of bytes, on each text of an array or of ragged rows."""

    @functools.wraps(function)
    def f(input, *args, **kwargs):  # noqa: A002 TensorFlow's name
        kwargs.pop("name", None)
        if isinstance(input, Ragged):
            return Ragged([[function(t, *args, **kwargs) for t in row] for row in input.rows])
        texts = array(input)
        if texts.dtype != object:
            raise TypeError(f"tf.strings.{function.__name__}: expected texts, got an array of {texts.dtype}")
        found = [function(t, *args, **kwargs) for t in texts.ravel()]
        out = np.empty(len(found), object)
        out[:] = found
        return eager_tensor(out.reshape(texts.shape))

    return f


def on_rows(function):
    """A function of each element of an array: of ragged rows it gives ragged rows."""

    @functools.wraps(function)
    def f(input, *args, **kwargs):  # noqa: A002 TensorFlow's name
        if not isinstance(input, Ragged):
            return function(input, *args, **kwargs)
        got = np.asarray(function(input.flat_values, *args, **kwargs))
        ends = np.cumsum([len(row) for row in input.rows])
        dtype = "string" if got.dtype == object else got.dtype.name
        return Ragged([part.tolist() for part in np.split(got, ends[:-1])] if len(ends) else [], dtype)

    return f


__all__ = ["array", "by_tensors", "either", "map_structure", "name_of", "on_rows", "on_texts", "refuse", "string"]
__all__ += ["tensor", "tensors"]
