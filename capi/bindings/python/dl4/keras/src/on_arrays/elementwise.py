"""Elementwise functions of arrays."""

from ..backend.dtypes import result_type
from ..backend.lazy import np
from .arguments import array, cast, common, dtype_of, FUNCTIONS, is_real, on_arrays, real

_REAL = (  # of one array: real numbers of whatever is given
    "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log1p log2 log10 sqrt "
    "cbrt deg2rad rad2deg sinc floor ceil fabs"
).split()
_SAME = "absolute negative sign trunc".split()
_TESTS = "isnan isinf isfinite isposinf isneginf signbit".split()
_TWO = (
    "add subtract multiply maximum minimum power fmax fmin bitwise_and bitwise_or bitwise_xor left_shift right_shift"
).split()
_TWO_WHOLE = "fmod gcd lcm".split()
_TWO_REAL = "divide arctan2 logaddexp logaddexp2 hypot heaviside nextafter".split()
_COMPARISONS = "equal not_equal less less_equal greater greater_equal".split()
_LOGIC = "logical_and logical_or logical_xor".split()


def _one(name, prepared):
    def f(x):
        return getattr(np, name)(prepared(x))

    return f


def _integer_like(x):
    a = array(x)
    return a.astype("int32") if a.dtype == bool else a


def _two(name, **how):
    def f(x1, x2):
        a, b = common(x1, x2, **how)
        return getattr(np, name)(a, b)

    return f


def _quiet(f):
    """Without NumPy's warnings of what is not finite."""

    def quiet(*args, **kwargs):
        with np.errstate(all="ignore"):
            return f(*args, **kwargs)

    return quiet


FUNCTIONS.update({name: _quiet(_one(name, real)) for name in _REAL})
FUNCTIONS.update({name: _one(name, array) for name in _SAME})
FUNCTIONS.update({name: _one(name, lambda x: x if type(x) is float else array(x)) for name in _TESTS})
FUNCTIONS.update({name: _quiet(_two(name)) for name in _TWO})
FUNCTIONS.update({name: _quiet(_two(name, whole=True)) for name in _TWO_WHOLE})
FUNCTIONS.update({name: _quiet(_two(name, floats=True)) for name in _TWO_REAL})
FUNCTIONS.update({name: _two(name) for name in _COMPARISONS})
FUNCTIONS.update({name: (lambda x1, x2, _f=name: getattr(np, _f)(array(x1), array(x2))) for name in _LOGIC})
FUNCTIONS.update(
    abs=FUNCTIONS["absolute"],
    true_divide=FUNCTIONS["divide"],
    bitwise_left_shift=FUNCTIONS["left_shift"],
    bitwise_right_shift=FUNCTIONS["right_shift"],
    logical_not=lambda x: np.logical_not(array(x)),
)


@on_arrays
def negative(x):
    a = array(x)
    return np.logical_not(a) if a.dtype == bool else np.negative(a)


@on_arrays
def sign(x):
    a = array(x)
    return np.sign(a.astype("int32")) if a.dtype == bool else np.sign(a)


@on_arrays
def square(x):
    a = _integer_like(x)
    return a * a


@on_arrays
def subtract(x1, x2):
    a, b = common(x1, x2)
    return np.logical_xor(a, b) if a.dtype == bool else a - b


@on_arrays
def power(x1, x2):
    a, b = common(x1, x2, whole=True)
    with np.errstate(all="ignore"):
        if not is_real(a) and a.dtype.kind == "i" and (b < 0).any():
            return np.power(a.astype("float32"), b).astype(a.dtype)
        return np.power(a, b)


@on_arrays
def mod(x1, x2):
    a, b = common(x1, x2, whole=True)
    with np.errstate(all="ignore"):
        return np.mod(a, b)


@on_arrays
def floor_divide(x1, x2):
    a, b = common(x1, x2, whole=True)
    with np.errstate(all="ignore"):
        return np.floor(a / b).astype(a.dtype) if is_real(a) else np.floor_divide(a, b)


@on_arrays
def divide_no_nan(x1, x2):
    a, b = common(x1, x2, floats=True)
    with np.errstate(all="ignore"):
        return np.where(b == 0, np.zeros((), a.dtype), a / b)


@on_arrays
def reciprocal(x):
    with np.errstate(all="ignore"):
        return np.reciprocal(real(x))


@on_arrays
def rsqrt(x):
    with np.errstate(all="ignore"):
        return np.reciprocal(np.sqrt(real(x)))


@on_arrays
def bitwise_not(x):
    return np.bitwise_not(array(x))


FUNCTIONS["bitwise_invert"] = bitwise_not


@on_arrays
def ldexp(x1, x2):
    dtype = result_type(dtype_of(x1), dtype_of(x2), float)
    exponent = array(x2)
    if exponent.dtype.kind not in "iub":
        raise TypeError(f"ldexp exponent must be an integer type. Received: x2 dtype={exponent.dtype}")
    return np.ldexp(real(x1).astype("float32"), exponent.astype("int32")).astype(dtype)


@on_arrays
def i0(x):
    a = real(x)
    return np.i0(a.astype("float32")).astype(a.dtype)


@on_arrays
def clip(x, x_min, x_max):
    a = _integer_like(x)
    dtype = result_type(a.dtype, dtype_of(x_min), dtype_of(x_max))
    return np.clip(cast(a, dtype), cast(x_min, dtype), cast(x_max, dtype)).astype(cast(0, dtype).dtype, copy=False)


@on_arrays
def where(condition, x1=None, x2=None):
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    a, b = common(x1, x2)
    return np.where(np.asarray(array(condition), bool), a, b)


@on_arrays
def nonzero(x):
    return tuple(i.astype("int32") for i in np.nonzero(array(x)))


@on_arrays
def round_(x, decimals=0):
    a = array(x)
    if a.dtype == bool:
        return a.astype("int32")
    if is_real(a) or decimals < 0:
        return np.round(a.astype("float32"), decimals).astype(a.dtype)
    return a


@on_arrays
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    a = array(x)
    if str(a.dtype) != "bfloat16":
        return np.nan_to_num(a, nan=nan, posinf=posinf, neginf=neginf)
    most = 3.3895313892515355e38
    b = np.nan_to_num(
        a.astype("float32"),
        nan=nan,
        posinf=most if posinf is None else posinf,
        neginf=-most if neginf is None else neginf,
    )
    return b.astype(a.dtype)


@on_arrays
def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    a, b = common(x1, x2)
    return np.isclose(a.astype("float32"), b.astype("float32"), rtol, atol, equal_nan)


@on_arrays
def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return np.all(isclose(x1, x2, rtol, atol, equal_nan))


@on_arrays
def isreal(x):
    return np.ones(array(x).shape, bool)


@on_arrays
def real_(x):
    return array(x)


@on_arrays
def conjugate(x):
    return array(x)


FUNCTIONS["conj"] = conjugate


@on_arrays
def imag(x):
    return np.zeros_like(array(x))


@on_arrays
def copy(x):
    return np.array(array(x))


@on_arrays
def select(condlist, choicelist, default=0):
    choices = common(*choicelist, default)
    return np.select([np.asarray(array(c), bool) for c in condlist], choices[:-1], choices[-1])
