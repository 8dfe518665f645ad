"""Of keras.ops, what makes arrays, also of sizes that are symbolic: zeros to tri."""

from inspect import signature

from ._functions import symbolic
from ._math import places
from ._shapes import expand_dims
from ._tensors import KerasTensor, as_tensor, cast, is_tensor


class Size(KerasTensor):
    """A free dimension's size; `one` is a vector of as many ones."""

    __slots__ = ("one",)


def _filled(shape, value, dtype):
    """A tensor of one number whose shape has symbolic sizes."""
    import numpy

    exact = str(dtype) if str(dtype) in ("int32", "int64") else "float32"
    y = as_tensor(numpy.full([1 if is_tensor(d) else int(d) for d in shape], value, exact))
    for axis, d in enumerate(shape):
        if isinstance(d, Size):
            y = y * expand_dims(cast(d.one, exact), [i for i in range(len(shape)) if i != axis])
        elif is_tensor(d):
            raise NotImplementedError("a size that is calculated: expected numbers and sizes of shape(x)")
    return cast(y, str(dtype or "float32"))


def _symbolic_made(name, given):
    dtype = given.get("dtype")
    if name in ("zeros", "ones", "full"):
        shape, value = given["shape"], given.get("fill_value", float(name == "ones"))
        if symbolic(value):
            raise NotImplementedError(f"{name}: expected a number as fill_value, got {value!r}")
        return _filled(list(shape) if isinstance(shape, (list, tuple)) else [shape], value, dtype)
    if name == "arange" and isinstance(given["stop"], Size) and given["start"] == 0 and given.get("step") in (None, 1):
        return cast(places(given["stop"].one, 0), str(dtype or "int32"))
    raise NotImplementedError(f"{name}: expected numbers, or 0 to a size of shape(x)")


def _numpy_made(name, arguments):
    def f(*args, **kwargs):
        import numpy
        from ._eager import eager

        given = arguments.bind(*args, **kwargs).arguments
        if name == "arange" and given.get("stop") is None:
            given["start"], given["stop"] = 0, given["start"]
        if symbolic(list(given.values())):
            return _symbolic_made(name, given)
        dtype = given.pop("dtype", None)
        array = getattr(numpy, name)(**given)
        if dtype is None:
            dtype = "int32" if name == "arange" and array.dtype.kind in "iu" else "float32"
        return eager(array.astype(str(dtype)))

    f.__name__, f.__doc__, f.__signature__ = name, f"keras.ops.{name}: an array.", arguments
    return f


for _name, _arguments in {
    "zeros": lambda shape, dtype=None: 0,
    "ones": lambda shape, dtype=None: 0,
    "full": lambda shape, fill_value, dtype=None: 0,
    "arange": lambda start, stop=None, step=None, dtype=None: 0,
    "linspace": lambda start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0: 0,
    "eye": lambda N, M=None, k=0, dtype=None: 0,
    "identity": lambda n, dtype=None: 0,
    "tri": lambda N, M=None, k=0, dtype=None: 0,
}.items():
    globals()[_name] = _numpy_made(_name, signature(_arguments))

__all__ = ["zeros", "ones", "full", "arange", "linspace", "eye", "identity", "tri"]
