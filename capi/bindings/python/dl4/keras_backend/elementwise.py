"""Functions of single elements, by tables: Keras's name, the library's kind, and what becomes of types."""

import numpy as np
from keras.src.backend import config
from keras.src.backend.common import dtypes

from .core import cast
from .dtypes import CARRIERS, is_float, is_int
from .functions import op
from .tensor import array
from .trace import emit, tensor, weak_type


def type_of(x):
    """What Keras joins types by: a type's name, or of a number of Python's its class."""
    return weak_type(x) or tensor(x).type_name


def joined_type(*values):
    return dtypes.result_type(*map(type_of, values))


def float_type(x):
    """The type in which a function of floats gives its value for x."""
    t = type_of(x)
    return config.floatx() if t in ("int64", int) else dtypes.result_type(t, float)


def as_floats(x):
    return cast(x, float_type(x))


def const(x, value):
    """A number of the type in which x is computed."""
    carrier = CARRIERS[x.type_name]
    return array(value, carrier)


# ---- of one tensor

_OF_FLOATS = {
    "sqrt": "Sqrt",
    "rsqrt": "Rsqrt",
    "cbrt": "Cbrt",
    "exp": "Exp",
    "exp2": "Exp2",
    "expm1": "Expm1",
    "log": "Log",
    "log1p": "Log1p",
    "log2": "Log2",
    "log10": "Log10",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "arcsin": "Arcsin",
    "arccos": "Arccos",
    "arctan": "Arctan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "arcsinh": "Arcsinh",
    "arccosh": "Arccosh",
    "arctanh": "Arctanh",
    "deg2rad": "Deg2rad",
    "rad2deg": "Rad2deg",
    "reciprocal": "Reciprocal",
    "erf": "Erf",
    "erfc": "Erfc",
    "erfinv": "Erfinv",
    "floor": "Floor",
    "ceil": "Ceil",
}
_TESTS = {
    "isnan": "Isnan",
    "isinf": "Isinf",
    "isfinite": "Isfinite",
    "isposinf": "Isposinf",
    "isneginf": "Isneginf",
}


def _named(f, name):
    f.__name__ = f.__qualname__ = name
    return op("x")(f)


def _of_floats(name, kind):
    def f(x):
        x = as_floats(x)
        return emit(kind, x, to=x.type_name)

    return _named(f, name)


def _test(name, kind):
    def f(x):
        return emit(kind, cast(x, "float32"))

    return _named(f, name)


globals().update({name: _of_floats(name, kind) for name, kind in _OF_FLOATS.items()})
globals().update({name: _test(name, kind) for name, kind in _TESTS.items()})


def _whole(name, kind, of_integers):
    """Of floats the library's kind, of integers what a function makes of them."""

    def f(x):
        if is_float(x.type_name):
            return emit(kind, x, to=x.type_name)
        return of_integers(x)

    return _named(f, name)


def _as_int(x):
    return cast(x, "int32") if x.type_name == "bool" else x


def _negated(x):
    x = _as_int(x)
    return emit("BroadcastSubtract", const(x, 0), x, to=x.type_name)


def _absolute(x):
    return x if x.type_name == "bool" else emit("BroadcastMaximum", x, _negated(x), to=x.type_name)


def _sign(x):
    x = _as_int(x)
    y = emit("BroadcastMaximum", emit("BroadcastMinimum", x, const(x, 1)), const(x, -1))
    return emit("Identity", y, to=x.type_name)


def _squared(x):
    x = _as_int(x)
    return emit("BroadcastMultiply", x, x, to=x.type_name)


absolute = abs = _whole("absolute", "Absolute", _absolute)  # noqa: A001
negative = _whole("negative", "Negative", _negated)
sign = _whole("sign", "Sign", _sign)
square = _whole("square", "Square", _squared)
trunc = _whole("trunc", "Trunc", lambda x: x)


@op("x")
def fabs(x):
    x = as_floats(x)
    return emit("Absolute", x, to=x.type_name)


@op("x")
def round(x, decimals=0):  # noqa: A001
    if not is_float(x.type_name):
        if decimals >= 0 or x.type_name == "bool":
            return x
        return cast(round(cast(x, "float32"), decimals), x.type_name)
    if not decimals:
        return emit("Round", x, to=x.type_name)
    scale = const(x, 10.0**decimals)
    return emit("Divide", emit("Round", emit("BroadcastMultiply", x, scale)), scale, to=x.type_name)


@op("x")
def logical_not(x):
    return emit("LogicalNot", cast(x, "bool"))


@op("x")
def bitwise_not(x):
    return emit("BitwiseNot", x, to=x.type_name)


bitwise_invert = bitwise_not


@op("x")
def signbit(x):
    if x.type_name == "bool" or x.type_name[0] == "u":
        return emit("Less", cast(x, "float32"), array(0.0, "float32"))
    negative_zero = emit("Less", emit("Reciprocal", cast(x, "float32")), array(0.0, "float32"))
    below = emit("Less", x, const(x, 0))
    zero = emit("Equal", x, const(x, 0))
    return emit("LogicalOr", below, emit("LogicalAnd", zero, negative_zero))


@op("x")
def sinc(x):
    x = as_floats(x)
    zero = emit("Equal", x, const(x, 0))
    by = emit("Where", zero, const(x, 1), emit("BroadcastMultiply", x, const(x, np.pi)))
    return emit("Where", zero, const(x, 1), emit("Divide", emit("Sin", by), by), to=x.type_name)


def real(x):
    return tensor(x)


conj = conjugate = real


def imag(x):
    x = tensor(x)
    return array(np.zeros(x.shape), x.type_name)


def isreal(x):
    return array(np.ones(tensor(x).shape), "bool")


@op("x")
def angle(x):
    x = as_floats(x)
    below = emit("Less", x, const(x, 0))
    return emit("Where", emit("Isnan", x), x, emit("Where", below, const(x, np.pi), const(x, 0)), to=x.type_name)


@op("x x_min x_max")
def clip(x, x_min, x_max):
    name = joined_type(x, *(v for v in (x_min, x_max) if v is not None))
    name = "int32" if name == "bool" else name
    y = cast(x, name)
    if x_min is not None:
        y = emit("BroadcastMaximum", y, cast(x_min, name), to=name)
    return y if x_max is None else emit("BroadcastMinimum", y, cast(x_max, name), to=name)


@op("x nan posinf neginf")
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    if not is_float(x.type_name):
        return x
    most = float(dtypes_max(x.type_name))
    name = x.type_name
    x = emit("Where", emit("Isnan", x), cast(nan, name), x, to=name)
    x = emit("Where", emit("Isposinf", x), cast(most if posinf is None else posinf, name), x, to=name)
    return emit("Where", emit("Isneginf", x), cast(-most if neginf is None else neginf, name), x, to=name)


def dtypes_max(name):
    return {"float16": 65504.0, "bfloat16": 3.3895313892515355e38}.get(name, 3.4028234663852886e38)


# ---- of two

_OF_TWO = {
    "add": "BroadcastAdd",
    "multiply": "BroadcastMultiply",
    "maximum": "BroadcastMaximum",
    "minimum": "BroadcastMinimum",
}
_OF_TWO_FLOATS = {
    "arctan2": "Arctan2",
    "logaddexp": "Logaddexp",
    "logaddexp2": "Logaddexp2",
    "hypot": "Hypot",
    "heaviside": "Heaviside",
}
_COMPARISONS = {
    "equal": "Equal",
    "not_equal": "NotEqual",
    "less": "Less",
    "less_equal": "LessEqual",
    "greater": "Greater",
    "greater_equal": "GreaterEqual",
}
_LOGICAL = {"logical_and": "LogicalAnd", "logical_or": "LogicalOr", "logical_xor": "LogicalXor"}
_BITS = {
    "bitwise_and": "BitwiseAnd",
    "bitwise_or": "BitwiseOr",
    "bitwise_xor": "BitwiseXor",
    "bitwise_left_shift": "LeftShift",
    "bitwise_right_shift": "RightShift",
}


def _pair(f, name):
    f.__name__ = f.__qualname__ = name
    return op("x1 x2")(f)


_OF_BOOLS = {"BroadcastAdd": "LogicalOr", "BroadcastMultiply": "LogicalAnd", "BroadcastMaximum": "LogicalOr"}
_OF_BOOLS["BroadcastMinimum"] = "LogicalAnd"


def _as_row(x, other):
    """A tensor of one row as a vector, which the library adds while it computes a product or a convolution."""
    rank = len(x.shape)
    if 1 < rank <= len(other.shape) and x.shape[-1] == other.shape[-1] == x.size != other.size:
        return emit("ReshapeBatch", x, to=x.type_name, shape=[x.size])
    return x


def _of_two(name, kind):
    def f(x1, x2):
        t = joined_type(x1, x2)
        x1, x2 = cast(x1, t), cast(x2, t)
        return emit(_OF_BOOLS[kind] if t == "bool" else kind, _as_row(x1, x2), _as_row(x2, x1), to=t)

    return _pair(f, name)


def joined_float(x1, x2):
    """The type of a quotient."""
    return dtypes.result_type(type_of(x1), type_of(x2), float)


def _of_two_floats(name, kind):
    def f(x1, x2):
        t = joined_float(x1, x2)
        return emit(kind, cast(x1, t), cast(x2, t), to=t)

    return _pair(f, name)


def _comparison(name, kind):
    def f(x1, x2):
        t = joined_type(x1, x2)
        t = "int32" if t == "bool" else t
        return emit(kind, cast(x1, t), cast(x2, t))

    return _pair(f, name)


def _logical(name, kind):
    def f(x1, x2):
        return emit(kind, cast(x1, "bool"), cast(x2, "bool"))

    return _pair(f, name)


def _bits(name, kind):
    def f(x, y):
        t = joined_type(x, y)
        return emit(kind, cast(x, t), cast(y, t), to=t)

    f.__name__ = f.__qualname__ = name
    return op("x y")(f)


for _table, _make in (
    (_OF_TWO, _of_two),
    (_OF_TWO_FLOATS, _of_two_floats),
    (_COMPARISONS, _comparison),
    (_LOGICAL, _logical),
    (_BITS, _bits),
):
    globals().update({name: _make(name, kind) for name, kind in _table.items()})
left_shift, right_shift = globals()["bitwise_left_shift"], globals()["bitwise_right_shift"]
exp, log, sqrt, floor, reciprocal = (globals()[n] for n in ("exp", "log", "sqrt", "floor", "reciprocal"))
add, multiply, maximum, minimum = (globals()[n] for n in ("add", "multiply", "maximum", "minimum"))


@op("x1 x2")
def subtract(x1, x2):
    t = joined_type(x1, x2)
    if t == "bool":
        raise TypeError("subtract: expected numbers, got two of bool")
    return emit("BroadcastSubtract", cast(x1, t), cast(x2, t), to=t)


@op("x1 x2")
def divide(x1, x2):
    t = joined_float(x1, x2)
    return emit("Divide", cast(x1, t), cast(x2, t), to=t)


true_divide = divide


@op("x1 x2")
def divide_no_nan(x1, x2):
    t = joined_float(x1, x2)
    return emit("DivideNoNan", cast(x1, t), cast(x2, t), to=t)


def _remainder(name, kind):
    def f(x1, x2):
        t = joined_type(x1, x2)
        t = "int32" if t == "bool" else t
        return emit(kind, cast(x1, t), cast(x2, t), to=t)

    return _pair(f, name)


mod, fmod = _remainder("mod", "Mod"), _remainder("fmod", "Fmod")
floor_divide = _remainder("floor_divide", "FloorDivide")


@op("x1 x2")
def power(x1, x2):
    t = joined_type(x1, x2)
    if not is_int(t) and t != "bool":
        return emit("Power", cast(x1, t), cast(x2, t), to=t)
    t = "int32" if t == "bool" else t
    return _whole_power(cast(x1, t), cast(x2, t), t)


def _whole_power(x, n, t):
    """By squares, as long as bits of the exponent are left."""
    n = emit("BroadcastMaximum", n, const(x, 0))
    y = None
    for bit in range(6):
        odd = emit("Equal", emit("BitwiseAnd", emit("RightShift", n, const(x, bit)), const(x, 1)), const(x, 1))
        part = emit("Where", odd, x, const(x, 1))
        y = part if y is None else emit("BroadcastMultiply", y, part)
        x = emit("BroadcastMultiply", x, x) if bit < 5 else x
    return emit("Identity", y, to=t)


def _without_nan(x1, x2):
    """Both in one type; a NaN of either gives way to the other."""
    t = joined_type(x1, x2)
    a, b = cast(x1, t), cast(x2, t)
    if not is_float(t):
        return a, b
    return emit("Where", emit("Isnan", a), b, a, to=t), emit("Where", emit("Isnan", b), a, b, to=t)


@op("x1 x2")
def fmax(x1, x2):
    return maximum(*_without_nan(x1, x2))


@op("x1 x2")
def fmin(x1, x2):
    return minimum(*_without_nan(x1, x2))


@op("x1 x2")
def ldexp(x1, x2):
    t = dtypes.result_type(type_of(x1), float)
    return emit("BroadcastMultiply", cast(x1, t), emit("Exp2", cast(x2, "float32")), to=t)


@op("condition x1 x2")
def where_of(condition, x1, x2):
    t = joined_type(x1, x2)
    return emit("Where", cast(condition, "bool"), cast(x1, t), cast(x2, t), to=t)


@op("x1 x2")
def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    a, b = cast(x1, "float32"), cast(x2, "float32")
    bound = add(multiply(absolute(b), rtol), atol)
    near = emit("LogicalAnd", emit("LessEqual", absolute(subtract(a, b)), bound), emit("Isfinite", b))
    near = emit("LogicalOr", near, emit("Equal", a, b))
    return emit("LogicalOr", near, emit("LogicalAnd", emit("Isnan", a), emit("Isnan", b))) if equal_nan else near


@op("x1 x2")
def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return emit("All", isclose(x1, x2, rtol, atol, equal_nan))
