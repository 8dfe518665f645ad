"""Arrays that are made of numbers: zeros, ranges, ..."""

from ..backend.dtypes import result_type, standardize
from ..backend.lazy import np
from .arguments import array, cast, dtype_of, on_arrays


def _size(shape):
    return [int(d) for d in shape] if isinstance(shape, (list, tuple)) or getattr(shape, "ndim", 0) else int(shape)


def _type(dtype):
    return cast(0, standardize(dtype)).dtype


@on_arrays
def zeros(shape, dtype=None):
    return np.zeros(_size(shape), _type(dtype))


@on_arrays
def empty(shape, dtype=None):
    return np.zeros(_size(shape), _type(dtype))


@on_arrays
def ones(shape, dtype=None):
    return np.ones(_size(shape), _type(dtype))


@on_arrays
def full(shape, fill_value, dtype=None):
    return np.array(np.broadcast_to(cast(fill_value, standardize(dtype)), _size(shape)))


@on_arrays
def arange(start, stop=None, step=None, dtype=None):
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if dtype is None:
        kinds = [dtype_of(v) for v in (start, stop, step)]
        dtype = result_type(*({int: "int32"}.get(k, k) for k in kinds))
        dtype = "int32" if dtype == "bool" else dtype
    work = dtype if np.dtype(_type(dtype)).kind in "iu" else "float64"
    numbers = [v if isinstance(v, (int, float)) else array(v).item() for v in (start, stop, step)]
    whole = all(isinstance(v, int) for v in numbers)
    return np.arange(*numbers, dtype=work if whole or work == "float64" else None).astype(_type(dtype))


def _between(name):
    def f(start, stop, *given, dtype):
        if dtype is None:
            dtype = result_type(dtype_of(start), dtype_of(stop), float)
        ends = [np.asarray(array(v), "float64") for v in (start, stop)]
        got = getattr(np, name)(*ends, **given[0])
        return tuple(cast(v, dtype) for v in got) if isinstance(got, tuple) else got.astype(_type(dtype))

    return f


@on_arrays
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    given = {"num": num, "endpoint": endpoint, "retstep": retstep, "axis": axis}
    return _between("linspace")(start, stop, given, dtype=dtype)


@on_arrays
def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    given = {"num": num, "endpoint": endpoint, "base": base, "axis": axis}
    return _between("logspace")(start, stop, given, dtype=dtype)


@on_arrays
def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    given = {"num": num, "endpoint": endpoint, "axis": axis}
    return _between("geomspace")(start, stop, given, dtype=dtype)


@on_arrays
def eye(N, M=None, k=0, dtype=None):
    return np.eye(N, M, k).astype(_type(dtype))


@on_arrays
def identity(n, dtype=None):
    return eye(n, dtype=dtype)


@on_arrays
def tri(N, M=None, k=0, dtype=None):
    return np.tri(N, M, k).astype(_type(dtype))
