"""Elementwise functions."""

import math

from ..symbolic.tensor import as_tensor, cast_tensor, is_number, is_tensor, operate, operation, promoted
from ..utils.naming import snake_case
from .dispatch import dispatched, floats, of


def _unary(kind):
    def f(x):
        return operation(kind)(floats(x))

    f.__name__ = snake_case(kind)
    f.__doc__ = f"keras.ops.{f.__name__}"
    return dispatched(f)


sqrt = _unary("Sqrt")
rsqrt = _unary("Rsqrt")
exp = _unary("Exp")
log = _unary("Log")
log1p = _unary("Log1p")
log2 = _unary("Log2")
log10 = _unary("Log10")
expm1 = _unary("Expm1")
sin = _unary("Sin")
cos = _unary("Cos")
tan = _unary("Tan")
erf = _unary("Erf")
floor = _unary("Floor")
ceil = _unary("Ceil")
isinf = _unary("Isinf")
isfinite = _unary("Isfinite")
tanh = _unary("Tanh")
reciprocal = _unary("Reciprocal")
isnan = _unary("Isnan")


@dispatched
def abs(x):  # noqa: A001
    x = as_tensor(x)
    return operation("Absolute")(x)


absolute = abs


@dispatched
def negative(x):
    return -as_tensor(x)


@dispatched
def sign(x):
    return operation("Sign")(as_tensor(x))


@dispatched
def square(x):
    x = as_tensor(x)
    return operation("Square")(x) if x.dtype == "float32" else x * x


@dispatched
def logical_not(x):
    return operation("LogicalNot")(cast_tensor(as_tensor(x), "bool"))


def _binary(kind, name):
    def f(x1, x2):
        if is_number(x1) and is_number(x2):
            x1 = as_tensor(x1)
        return operate(kind, x1, x2) if is_tensor(x1) or is_tensor(x2) else operate(kind, as_tensor(x1), x2)

    f.__doc__, f.__name__ = f"keras.ops.{name}", name
    return dispatched(f)


add = _binary("Add", "add")
subtract = _binary("Subtract", "subtract")
multiply = _binary("Multiply", "multiply")
divide = _binary("Divide", "divide")
true_divide = _binary("Divide", "true_divide")
power = _binary("Power", "power")
maximum = _binary("Maximum", "maximum")
minimum = _binary("Minimum", "minimum")
equal = _binary("Equal", "equal")
not_equal = _binary("NotEqual", "not_equal")
less = _binary("Less", "less")
less_equal = _binary("LessEqual", "less_equal")
greater = _binary("Greater", "greater")
greater_equal = _binary("GreaterEqual", "greater_equal")
logical_and = _binary("LogicalAnd", "logical_and")
logical_or = _binary("LogicalOr", "logical_or")


@dispatched
def divide_no_nan(x1, x2):
    x2 = as_tensor(x2)
    zero = equal(x2, 0.0)
    return where(zero, 0.0, divide(x1, where(zero, 1.0, x2)))


@dispatched
def clip(x, x_min, x_max):
    return operation("Clip", x_min=float(x_min), x_max=float(x_max))(as_tensor(x))


@dispatched
def where(condition, x1=None, x2=None):
    condition = cast_tensor(as_tensor(condition), "bool")
    config = {k: float(v) for k, v in (("x1", x1), ("x2", x2)) if is_number(v)}
    tensors = [as_tensor(v) for v in (x1, x2) if not is_number(v)]
    return operation("Where", **config)([condition] + (promoted(tensors) if len(tensors) == 2 else tensors))


@dispatched
def round(x, decimals=0):  # noqa: A001
    scale = 10.0**decimals
    return of("Round", floats(x) * scale) / scale if decimals else of("Round", floats(x))


@dispatched
def trunc(x):
    x = floats(x)
    return of("Sign", x) * of("Floor", of("Absolute", x))


@dispatched
def sinh(x):
    x = floats(x)
    return (of("Expm1", x) - of("Expm1", -x)) * 0.5


@dispatched
def cosh(x):
    x = floats(x)
    return (of("Exp", x) + of("Exp", -x)) * 0.5


@dispatched
def exp2(x):
    return operate("Power", 2.0, floats(x))


@dispatched
def cbrt(x):
    x = floats(x)
    return of("Sign", x) * of("Absolute", x) ** (1 / 3)


@dispatched
def erfc(x):
    return 1.0 - of("Erf", floats(x))


@dispatched
def deg2rad(x):
    return floats(x) * (math.pi / 180)


@dispatched
def rad2deg(x):
    return floats(x) * (180 / math.pi)


def _numbers_or_tensors(*values):
    return [x if is_number(x) else as_tensor(x) for x in values]


def _are_whole(*values):
    dtypes = ("bool", "uint8", "int32", "int64")
    return all(isinstance(x, int) or str(getattr(x, "dtype", "")) in dtypes for x in values)


def _divided(*pair):
    """The quotient of integers, rounded down, and the rest; both 0 where the divisor is, as NumPy's.

    It counts below zero, where the least integer has its place. A float32 quotient that is made a little too small
    leaves a rest each time: after four of 63 bits at most the divisor once."""
    dtypes = {str(getattr(x, "dtype", "int32")) for x in pair}
    pair = [x if is_number(x) or x.dtype in ("int32", "int64") else cast_tensor(x, "int32") for x in pair]
    a, b = promoted([as_tensor(pair[0], pair[1]), as_tensor(pair[1], pair[0])])
    none = operate("Equal", b, 0)
    rest, by = (of("Where", [operate("Greater", x, 0), -x, x]) for x in (a, b))
    by, q = of("Where", [none, by], x1=-1.0), None
    for _ in range(4):
        part = cast_tensor(operate("Divide", rest, by) * (1 - 2**-20), a.dtype)
        q, rest = part if q is None else q + part, rest - part * by
    once = operate("LessEqual", rest, by)
    q, rest = q + cast_tensor(once, a.dtype), of("Where", [once, rest - by, rest])
    unlike = operate("NotEqual", operate("Less", a, 0), operate("Less", b, 0))
    down = operate("LogicalAnd", unlike, operate("NotEqual", rest, 0))
    q = of("Where", [unlike, -q, q]) - cast_tensor(down, a.dtype)
    rest = of("Where", [operate("Greater", a, 0), -rest, rest])
    rest = of("Where", [down, rest + b, rest])
    return [cast_tensor(of("Where", [none, x], x1=0.0), "uint8" if dtypes == {"uint8"} else a.dtype) for x in (q, rest)]


@dispatched
def floor_divide(x1, x2):
    x1, x2 = _numbers_or_tensors(x1, x2)
    if _are_whole(x1, x2):
        return _divided(x1, x2)[0]
    return of("Floor", operate("Divide", x1, x2))


@dispatched
def mod(x1, x2):
    x1, x2 = _numbers_or_tensors(x1, x2)
    if _are_whole(x1, x2):
        return _divided(x1, x2)[1]
    return operate("Subtract", x1, operate("Multiply", floor_divide(x1, x2), x2))


@dispatched
def logical_xor(x1, x2):
    return operate("NotEqual", cast_tensor(as_tensor(x1), "bool"), cast_tensor(as_tensor(x2), "bool"))


@dispatched
def hypot(x1, x2):
    return of("Sqrt", operate("Add", of("Square", floats(x1)), of("Square", floats(x2))))


@dispatched
def logaddexp(x1, x2):
    x1, x2 = floats(x1), floats(x2)
    apart = x1 - x2
    near = operate("Maximum", x1, x2) + of("Log1p", of("Exp", -of("Absolute", apart)))
    return of("Where", [of("Isnan", apart), x1 + x2, near])  # two infinities of one sign are not apart


@dispatched
def heaviside(x1, x2):
    x1 = floats(x1)
    above = cast_tensor(operate("Greater", x1, 0.0), "float32")
    return of("Where", [operate("Equal", x1, 0.0), floats(x2), above])


@dispatched
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    most = 3.4028234663852886e38
    x = floats(x)
    x = of("Where", [of("Isnan", x), x], x1=float(nan))
    x = of("Where", [operate("Greater", x, most), x], x1=most if posinf is None else float(posinf))
    return of("Where", [operate("Less", x, -most), x], x1=-most if neginf is None else float(neginf))


def _infinite(x, sign):
    x = floats(x)
    return operate("LogicalAnd", of("Isinf", x), operate("Greater", x * sign, 0.0))


@dispatched
def isposinf(x):
    return _infinite(x, 1.0)


@dispatched
def isneginf(x):
    return _infinite(x, -1.0)


@dispatched
def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = floats(x1), floats(x2)
    near = operate("LessEqual", of("Absolute", x1 - x2), of("Absolute", x2) * rtol + atol)
    near = operate("LogicalOr", operate("Equal", x1, x2), operate("LogicalAnd", near, of("Isfinite", x2)))
    both = operate("LogicalAnd", of("Isnan", x1), of("Isnan", x2))
    return operate("LogicalOr", near, both) if equal_nan else near


@dispatched
def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return of("All", isclose(x1, x2, rtol, atol, equal_nan))
