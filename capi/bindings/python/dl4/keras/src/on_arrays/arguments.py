"""What the functions of arrays share: their arguments as arrays of NumPy's, and the table that they stand in."""

from importlib import import_module

from ..backend.dtypes import FLOATS, result_type
from ..backend.lazy import np

FUNCTIONS = {}  # by the names in keras.ops


def on_arrays(f):
    """Adds a function; one whose name is Python's too has an underscore behind it."""
    FUNCTIONS[f.__name__.rstrip("_")] = f
    return f


def need_dense(who, *others):
    """Refuses the types of tensors that are not here."""
    if any(others):
        raise NotImplementedError(f"{who}: sparse and ragged tensors are not in this version of the library")


class Texts(ValueError):
    """An argument is of texts where numbers are expected."""


def array(x):
    """An argument as an array: numbers of Python's have 32 bits, float64 becomes float32."""
    kind = type(x)
    if kind is not np.ndarray:
        if kind is float:
            return np.asarray(x, "float32")
        if kind is int and -(2**31) <= x < 2**31:
            return np.asarray(x, "int32")
        listed = kind in (list, tuple)
        if listed and any(hasattr(v, "_as_tensor") for v in x):
            x = [array(v) for v in x]
        x = np.asarray(x.value if hasattr(x, "_as_tensor") else x)
        if listed and x.dtype == np.int64:
            return x.astype("int32") if not x.size or abs(x).max() < 2**31 else x
        if x.dtype.kind == "c":
            raise NotImplementedError(f"complex numbers are not in this version of the library: got {x.dtype}")
        if x.dtype.kind in "OSU":
            raise Texts(f"expected numbers, got {x!r}")
    elif x.dtype.kind in "OSU":
        raise Texts(f"expected numbers, got {x!r}")
    return x.astype("float32") if x.dtype == np.float64 else x


def dtype_of(x):
    """The type of an argument; of a number of Python's its class, which is not wider than what it meets."""
    kind = type(x)
    if kind in (int, float, bool):
        return "int64" if kind is int and not -(2**31) <= x < 2**31 else kind
    if not hasattr(x, "dtype"):
        return array(x).dtype
    if x.dtype in _TEXTS:
        raise Texts(f"expected numbers, got {x!r}")
    return x.dtype


_TEXTS = ("object", "string")  # types of arrays of texts, and of symbolic ones


def cast(x, dtype):
    a = array(x)
    return a if a.dtype == dtype else a.astype(_numpy_type(dtype))


def _numpy_type(dtype):
    try:
        return np.dtype(str(dtype))
    except TypeError:
        import_module("ml_dtypes")  # which adds it to NumPy
        return np.dtype(str(dtype))


def common(*xs, floats=False, whole=False):
    """Arrays of the type that they have together; `floats`: of a type of real numbers; `whole`: integers of bool."""
    if not whole:
        first = getattr(xs[0], "dtype", None)
        if first == np.float32 and all(getattr(x, "dtype", None) == np.float32 for x in xs[1:]):
            return [array(x) for x in xs]
    dtypes = [dtype_of(x) for x in xs]
    dtype = result_type(*dtypes, *([float] if floats else []), *([int] if whole else []))
    if dtype[0] == "u" and any(type(x) is int and x < 0 for x in xs):
        dtype = result_type(dtype, "int32")
    return [cast(x, dtype) for x in xs]


def real(x):
    """An array of real numbers."""
    a = array(x)
    return a if a.dtype == np.float32 else a.astype(_numpy_type(result_type(a.dtype, float)))


def is_real(a):
    return str(a.dtype) in FLOATS


def wide(a):
    """The type in which functions of NumPy's and SciPy's compute that know no halves."""
    return a.astype("float32") if str(a.dtype) in ("float16", "bfloat16") else a


def axes_of(axis):
    return axis if axis is None or hasattr(axis, "__index__") else tuple(int(a) for a in axis)
