"""keras.ops: functions of symbolic tensors, which make layers, and of arrays, which compute."""

import sys as _sys

from . import _state
from ._functions import axes, function, symbolic
from ._shapes import (  # noqa: F401
    concatenate,
    expand_dims,
    flip,
    get_item,
    moveaxis,
    ravel,
    repeat,
    reshape,
    slice,
    split,
    squeeze,
    stack,
    swapaxes,
    take,
    tile,
    transpose,
)
from ._made import *  # noqa: F401, F403
from ._made import Size as _Size
from ._math import *  # noqa: F401, F403
from ._math import alike as _alike
from ._products import *  # noqa: F401, F403
from ._products import tensordot
from ._tensors import as_tensor, cast as _cast, is_number, is_tensor, layer_of, operate, promoted

pi = 3.141592653589793


def _unary(kind, doc):
    def f(x):
        return layer_of(kind)(_float(as_tensor(x)))

    f.__doc__, f.__name__ = doc, _state.snake_case(kind)
    return function(f)


def _float(x):
    return x if x.dtype == "float32" else _cast(x, "float32")


for _name, _kind in {
    "sqrt": "Sqrt",
    "rsqrt": "Rsqrt",
    "exp": "Exp",
    "log": "Log",
    "log1p": "Log1p",
    "log2": "Log2",
    "log10": "Log10",
    "expm1": "Expm1",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "erf": "Erf",
    "floor": "Floor",
    "ceil": "Ceil",
    "isinf": "Isinf",
    "isfinite": "Isfinite",
    "tanh": "Tanh",
    "reciprocal": "Reciprocal",
    "isnan": "Isnan",
}.items():
    globals()[_name] = _unary(_kind, f"keras.ops.{_name}")


@function
def abs(x):  # noqa: A001
    x = as_tensor(x)
    return layer_of("Absolute")(x)


absolute = abs


@function
def negative(x):
    return -as_tensor(x)


@function
def sign(x):
    return layer_of("Sign")(as_tensor(x))


@function
def square(x):
    x = as_tensor(x)
    return layer_of("Square")(x) if x.dtype == "float32" else x * x


@function
def logical_not(x):
    return layer_of("LogicalNot")(cast(as_tensor(x), "bool"))


def _binary(kind, name):
    def f(x1, x2):
        if is_number(x1) and is_number(x2):
            x1 = as_tensor(x1)
        return operate(kind, x1, x2) if is_tensor(x1) or is_tensor(x2) else operate(kind, as_tensor(x1), x2)

    f.__doc__, f.__name__ = f"keras.ops.{name}", name
    return function(f)


for _name, _kind in {
    "add": "Add",
    "subtract": "Subtract",
    "multiply": "Multiply",
    "divide": "Divide",
    "true_divide": "Divide",
    "power": "Power",
    "maximum": "Maximum",
    "minimum": "Minimum",
    "equal": "Equal",
    "not_equal": "NotEqual",
    "less": "Less",
    "less_equal": "LessEqual",
    "greater": "Greater",
    "greater_equal": "GreaterEqual",
    "logical_and": "LogicalAnd",
    "logical_or": "LogicalOr",
}.items():
    globals()[_name] = _binary(_kind, _name)
add, subtract, multiply, divide, power = (globals()[n] for n in ("add", "subtract", "multiply", "divide", "power"))
maximum, minimum, equal, not_equal = (globals()[n] for n in ("maximum", "minimum", "equal", "not_equal"))
sqrt, exp, log, tanh, isnan, rsqrt = (globals()[n] for n in ("sqrt", "exp", "log", "tanh", "isnan", "rsqrt"))
less, less_equal, greater, greater_equal = (globals()[n] for n in ("less", "less_equal", "greater", "greater_equal"))


@function
def divide_no_nan(x1, x2):
    x2 = as_tensor(x2)
    zero = equal(x2, 0.0)
    return where(zero, 0.0, divide(x1, where(zero, 1.0, x2)))


@function
def matmul(x1, x2):
    x1, x2 = promoted([as_tensor(x1), as_tensor(x2)])
    if len(x1.shape) == 1 and len(x2.shape) == 1:
        return sum(x1 * x2)
    if len(x2.shape) == 1:
        return squeeze(layer_of("MatMul")([x1, expand_dims(x2, -1)]), -1)
    if len(x1.shape) == 1:
        return squeeze(layer_of("MatMul")([expand_dims(x1, 0), x2]), -2)
    return layer_of("MatMul")([x1, x2])


@function
def dot(x1, x2):
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.shape or not x2.shape:
        return x1 * x2
    return matmul(x1, x2) if len(x2.shape) <= 2 else tensordot(x1, x2, [[-1], [-2]])


def _reduction(kind, name, floats):
    def f(x, axis=None, keepdims=False):
        x = as_tensor(x)
        x = _float(x) if floats or x.dtype == "bool" and kind == "Sum" else x
        axis = axes(axis)
        if axis == []:
            return x
        return layer_of(kind, axis=axis, keepdims=bool(keepdims))(x)

    f.__doc__, f.__name__ = f"keras.ops.{name}", name
    return function(f)


for _name, _kind, _floats in (
    ("sum", "Sum", False),
    ("mean", "Mean", True),
    ("max", "Max", False),
    ("prod", "Prod", False),
    ("min", "Min", False),
    ("var", "Var", True),
    ("std", "Std", True),
    ("any", "Any", False),
    ("all", "All", False),
):
    globals()[_name] = _reduction(_kind, _name, _floats)
sum, mean, max, min = (globals()[n] for n in ("sum", "mean", "max", "min"))  # noqa: A001
amax, amin = max, min


@function
def argmax(x, axis=None, keepdims=False):
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    return layer_of("Argmax", axis=int(axis), keepdims=bool(keepdims))(x)


@function
def argmin(x, axis=None, keepdims=False):
    return argmax(-as_tensor(x), axis, keepdims)


@function
def logsumexp(x, axis=None, keepdims=False):
    x = as_tensor(x)
    top = stop_gradient(max(x, axis, True))
    y = log(sum(exp(x - top), axis, True)) + top
    return y if keepdims else squeeze(y, axis)


@function
def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    if ord not in (None, 2, "fro", "euclidean"):
        raise NotImplementedError(f"norm: expected ord None or 2, got {ord!r}")
    return sqrt(sum(square(as_tensor(x)), axis, keepdims))


@function
def normalize(x, axis=-1, order=2, epsilon=None):
    if order != 2:
        raise NotImplementedError(f"normalize: expected order 2, got {order!r}")
    x = as_tensor(x)
    return x * rsqrt(maximum(sum(square(x), axis, True), (epsilon or 1e-7) ** 2))


@function
def clip(x, x_min, x_max):
    return layer_of("Clip", x_min=float(x_min), x_max=float(x_max))(as_tensor(x))


@function
def where(condition, x1=None, x2=None):
    condition = cast(as_tensor(condition), "bool")
    config = {k: float(v) for k, v in (("x1", x1), ("x2", x2)) if is_number(v)}
    tensors = [as_tensor(v) for v in (x1, x2) if not is_number(v)]
    return layer_of("Where", **config)([condition] + (promoted(tensors) if len(tensors) == 2 else tensors))


def cast(x, dtype):
    """The same numbers in another type of data."""
    dtype = str(getattr(dtype, "name", dtype))
    dtype = {"float64": "float32", "float": "float32", "int": "int32", "float16": "float32"}.get(dtype, dtype)
    if symbolic(x):
        x = as_tensor(x)
        return _cast(x, dtype)
    import numpy
    from ._eager import eager

    return eager(numpy.asarray(x).astype(dtype))


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    if is_tensor(x):
        return x if dtype is None else cast(x, dtype)
    if hasattr(x, "symbolic") and _state.owner() is not None:
        return x.symbolic()
    import numpy
    from ._eager import eager

    array = numpy.asarray(x)
    if dtype in (None, str(array.dtype)) and getattr(x, "_keras_mask", None) is not None:
        return x  # the same, with its mask
    if dtype is None and array.dtype == numpy.float64:
        dtype = "float32"
    if dtype is None and array.dtype == numpy.int64 and not hasattr(x, "dtype"):
        dtype = "int32"
    return eager(array if dtype is None else array.astype(str(dtype)))


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
    ones = _alike(x, 1.0)
    others = [i for i in range(len(x.shape)) if i != axis]
    for i in reversed(others):
        ones = layer_of("Take", indices=0, axis=i)(ones)
    n = cast(sum(ones), "int32")
    size = _Size(n.call, n.index, n.shape, n.dtype)
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


@function
def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    import numpy

    x = as_tensor(x)
    if axis != -1:
        raise NotImplementedError("one_hot: expected axis -1")
    classes = as_tensor(numpy.arange(num_classes, dtype="int32"))
    return cast(operate("Equal", expand_dims(cast(x, "int32"), -1), classes), dtype or "float32")


@function
def stop_gradient(variable):
    return layer_of("StopGradient")(as_tensor(variable))


@function
def zeros_like(x, dtype=None):
    return full_like(x, 0, dtype)


@function
def ones_like(x, dtype=None):
    return full_like(x, 1, dtype)


@function
def full_like(x, fill_value, dtype=None):
    x = as_tensor(x)
    return cast(_alike(x, float(fill_value)), dtype or x.dtype)


def _triangle(name, upper):
    @function
    def f(x, k=0):
        import numpy

        x = as_tensor(x)
        rows, columns = x.shape[-2:]
        if rows is None or columns is None:
            raise NotImplementedError(f"{name}: expected the last two axes to be known, got {x.shape}")
        keep = numpy.tri(rows, columns, k - upper, dtype=bool) ^ upper
        return where(as_tensor(keep), x, zeros_like(x))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}"
    return f


tril, triu = _triangle("tril", False), _triangle("triu", True)
array = convert_to_tensor


# ---- of keras.ops.nn


def _activation(name, **defaults):
    def f(x, *args, **kwargs):
        from . import activations

        return getattr(activations, name)(x, *args, **(kwargs if args else {**defaults, **kwargs}))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}"
    return f


for _name in (
    "relu",
    "relu6",
    "sigmoid",
    "softplus",
    "softsign",
    "silu",
    "elu",
    "selu",
    "gelu",
    "celu",
    "glu",
    "mish",
    "hard_sigmoid",
    "hard_silu",
    "hard_tanh",
    "hard_shrink",
    "soft_shrink",
    "tanh_shrink",
    "leaky_relu",
    "log_sigmoid",
    "squareplus",
    "sparse_plus",
    "threshold",
):
    globals()[_name] = _activation(_name)
gelu = _activation("gelu", approximate=True)
swish, hard_swish = globals()["silu"], globals()["hard_silu"]


@function
def softmax(x, axis=-1):
    return layer_of("Softmax", axis=axes(axis) if axis is not None else -1)(as_tensor(x))


@function
def log_softmax(x, axis=-1):
    x = as_tensor(x)
    return x - logsumexp(x, axis, True)


def _loss(kind):
    def f(target, output, from_logits=False, axis=-1):
        from . import losses

        return getattr(losses, kind)(target, output, from_logits=from_logits)

    return f


binary_crossentropy, categorical_crossentropy = _loss("binary_crossentropy"), _loss("categorical_crossentropy")
sparse_categorical_crossentropy = _loss("sparse_categorical_crossentropy")


def custom_gradient(f):
    raise NotImplementedError("custom_gradient is not in this version of the library")


def cond(pred, true_fn, false_fn):
    """Of a Python value; one that is symbolic chooses by `where`."""
    return true_fn() if not is_tensor(pred) else where(pred, true_fn(), false_fn())


def vectorized_map(function, elements):
    raise NotImplementedError("vectorized_map is not in this version of the library; use layers.TimeDistributed")


nn = numpy = math = linalg = core = _sys.modules[__name__]  # keras.ops.nn and the like hold the same functions
_sys.modules.update({f"{__name__}.{_n}": nn for _n in ("nn", "numpy", "math", "linalg", "core")})

_IMPORTED = "as_tensor axes function is_number is_tensor layer_of operate promoted symbolic"
__all__ = [_n for _n in list(globals()) if not _n.startswith("_") and _n not in _IMPORTED.split()]
