"""Array creation: zeros, ones, full, arange, linspace, eye, tri, ..., also with symbolic sizes."""

import inspect

from ..on_arrays import FUNCTIONS
from ..symbolic.tensor import as_tensor, cast_tensor, is_tensor, operate
from .core import cast, Size
from .dispatch import alike, dispatched, given, is_symbolic, places, sizes_in
from .elementwise import where
from .shapes import expand_dims


def _filled(shape, value, dtype):
    """A tensor of one number whose shape has symbolic sizes."""
    import numpy

    exact = str(dtype) if str(dtype) in ("int32", "int64") else "float32"
    y = as_tensor(numpy.full([1 if is_tensor(d) else int(d) for d in shape], value, exact))
    for axis, d in enumerate(shape):
        if isinstance(d, Size):
            y = y * expand_dims(cast_tensor(d.one, exact), [i for i in range(len(shape)) if i != axis])
        elif is_tensor(d):
            raise NotImplementedError("a size that is calculated: expected numbers and sizes of shape(x)")
    return cast_tensor(y, str(dtype or "float32"))


def _symbolic_array(name, known):
    dtype = known.get("dtype")
    if name in ("zeros", "ones", "full", "empty"):
        shape, value = known["shape"], known.get("fill_value", float(name == "ones"))
        if is_symbolic(value):
            raise NotImplementedError(f"{name}: expected a number as fill_value, got {value!r}")
        return _filled([shape] if isinstance(shape, Size) else sizes_in(shape), value, dtype)
    if name == "arange" and isinstance(known["stop"], Size) and known["start"] == 0 and known.get("step") in (None, 1):
        return cast_tensor(places(known["stop"].one, 0), str(dtype or "int32"))
    raise NotImplementedError(f"{name}: expected numbers, or 0 to a size of shape(x)")


def _creator(name, signature_of):
    """A function of shapes and numbers, with the arguments of a lambda."""
    arguments, on_arrays = inspect.signature(signature_of), FUNCTIONS[name]

    def f(*args, **kwargs):
        if is_symbolic(args, kwargs):
            known = arguments.bind(*args, **kwargs).arguments
            if name == "arange" and known.get("stop") is None:
                known["start"], known["stop"] = 0, known["start"]
            return _symbolic_array(name, known)
        return given(on_arrays(*args, **kwargs))

    f.__name__, f.__doc__, f.__signature__ = name, f"keras.ops.{name}: an array.", arguments
    return f


zeros = _creator("zeros", lambda shape, dtype=None: 0)
ones = _creator("ones", lambda shape, dtype=None: 0)
empty = _creator("empty", lambda shape, dtype=None: 0)
full = _creator("full", lambda shape, fill_value, dtype=None: 0)
arange = _creator("arange", lambda start, stop=None, step=None, dtype=None: 0)


@dispatched
def zeros_like(x, dtype=None):
    return full_like(x, 0, dtype)


@dispatched
def ones_like(x, dtype=None):
    return full_like(x, 1, dtype)


@dispatched
def full_like(x, fill_value, dtype=None):
    x = as_tensor(x)
    return cast(alike(x, float(fill_value)), dtype or x.dtype)


def _triangle(name, upper):
    def f(x, k=0):
        import numpy

        x = as_tensor(x)
        rows, columns = x.shape[-2:]
        if rows is None or columns is None:
            raise NotImplementedError(f"{name}: expected the last two axes to be known, got {x.shape}")
        keep = numpy.tri(rows, columns, k - upper, dtype=bool) ^ upper
        return where(as_tensor(keep), x, zeros_like(x))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}"
    return dispatched(f)


tril, triu = _triangle("tril", False), _triangle("triu", True)


@dispatched
def broadcast_to(x, shape):
    x = as_tensor(x)
    kind = "LogicalOr" if x.dtype == "bool" else "Add"
    return operate(kind, x, zeros(shape, dtype=x.dtype))
