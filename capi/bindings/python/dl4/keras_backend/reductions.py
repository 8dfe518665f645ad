"""Reductions over axes, running sums, order."""

import numpy as np
from keras.src.backend.common import dtypes

from .core import cast
from .dtypes import FLOATS, is_float, name_of
from .elementwise import as_floats, const, float_type, joined_type, maximum, minimum, multiply, subtract
from .functions import op
from .shapes import axis_of, broadcast_to, expand_dims, ints, moveaxis, reshaped, take_along_axis
from .tensor import array
from .trace import emit, plain, recast, tensor


def axes_of(x, axis):
    """The axes to reduce over, from the first one."""
    rank = len(x.shape)
    return list(range(rank)) if axis is None else [axis_of(a, rank) for a in ints(axis)]


def over(kind, x, axis, keepdims=False, to=None):
    """A kind over axes, in the type in which x is computed."""
    axes = axes_of(x, axis)
    if not axes:
        return x if to is None else cast(x, to)
    return emit(kind, x, to=to, axis=axes, keepdims=bool(keepdims))


def _wide(t):
    """The type of sums of a type."""
    return "int32" if t in ("bool", "int8", "int16") else "uint32" if t in ("uint8", "uint16") else t


@op("x")
def sum(x, axis=None, keepdims=False):  # noqa: A001
    t = _wide(x.type_name)
    return over("Sum", cast(x, t), axis, keepdims, t)


@op("x")
def prod(x, axis=None, keepdims=False, dtype=None):
    t = _wide(x.type_name) if dtype is None else name_of(dtype)
    return over("Prod", cast(x, t), axis, keepdims, t)


def _mean_type(x):
    return dtypes.result_type(x.type_name, "float32") if not is_float(x.type_name) else x.type_name


@op("x")
def mean(x, axis=None, keepdims=False):
    return over("Mean", cast(x, "float32"), axis, keepdims, _mean_type(x))


def _moment(kind):
    def f(x, axis=None, keepdims=False):
        t = float_type(x)
        if axis is not None and not axes_of(x, axis):
            return emit("BroadcastMultiply", cast(x, "float32"), array(0.0, "float32"), to=t)
        return over(kind, cast(x, "float32"), axis, keepdims, t)

    f.__name__ = kind.lower()
    return op("x")(f)


var, std = _moment("Var"), _moment("Std")


def _extreme(kind, of_two, least):
    def f(x, axis=None, keepdims=False, initial=None):
        if not x.size:
            if initial is None:
                raise ValueError(f"{kind.lower()}: expected at least one element, got shape {tuple(x.shape)}")
            axes = axes_of(x, axis)
            sizes = [1 if i in axes else d for i, d in enumerate(x.shape) if keepdims or i not in axes]
            return cast(broadcast_to(initial, sizes), x.type_name)
        if x.type_name == "bool":
            y = cast(over(kind, cast(x, "int32"), axis, keepdims), "bool")
        else:
            y = over(kind, x, axis, keepdims, x.type_name)
        return y if initial is None else cast(of_two(y, cast(initial, x.type_name)), x.type_name)

    f.__name__ = kind.lower()
    return op("x initial")(f)


max = _extreme("Max", maximum, True)  # noqa: A001
min = _extreme("Min", minimum, False)  # noqa: A001


def amax(x, axis=None, keepdims=False):
    return max(x, axis, keepdims)


def amin(x, axis=None, keepdims=False):
    return min(x, axis, keepdims)


@op("x")
def any(x, axis=None, keepdims=False):  # noqa: A001
    return over("Any", cast(x, "bool"), axis, keepdims)


@op("x")
def all(x, axis=None, keepdims=False):  # noqa: A001
    return over("All", cast(x, "bool"), axis, keepdims)


@op("x")
def logsumexp(x, axis=None, keepdims=False):
    x = as_floats(x)
    return over("Logsumexp", x, axis, keepdims, x.type_name)


@op("x")
def count_nonzero(x, axis=None):
    if axis is not None and not axes_of(x, axis):
        return cast(cast(x, "bool"), "int32")
    return over("Sum", cast(cast(x, "bool"), "int32"), axis)


@op("x weights")
def average(x, axis=None, weights=None):
    if weights is None:
        return mean(x, axis)
    t = float_type(x) if joined_type(x, weights) not in FLOATS else joined_type(x, weights)
    x, weights = cast(x, t), cast(weights, t)
    if axis is not None and len(weights.shape) == 1 and len(x.shape) > 1:
        at = axis_of(int(plain(axis)), len(x.shape))
        weights = reshaped(weights, [-1 if i == at else 1 for i in range(len(x.shape))])
    total = sum(multiply(x, weights), axis)
    ones = multiply(weights, cast(np.ones(x.shape), t))
    return emit("Divide", total, sum(ones, axis), to=t)


def ptp(x, axis=None, keepdims=False):
    return subtract(max(x, axis, keepdims), min(x, axis, keepdims))


# ---- places


def _numbers(x):
    return cast(x, "int32") if x.type_name == "bool" else x


def _place(x, axis, keepdims):
    rank = len(x.shape)
    x = _numbers(x)
    if axis is None:
        y = emit("Argmax", reshaped(x, [x.size]), axis=0)
        y = reshaped(y, [1] * rank) if keepdims else y
    else:
        y = emit("Argmax", x, axis=axis_of(int(axis), rank), keepdims=bool(keepdims))
    return cast(y, "int32")


@op("x")
def argmax(x, axis=None, keepdims=False):
    return _place(x, axis, keepdims)


@op("x")
def argmin(x, axis=None, keepdims=False):
    x = _numbers(x)
    x = emit("Negative", x) if is_float(x.type_name) else emit("BitwiseNot", x)
    return _place(x, axis, keepdims)


@op("x")
def sort(x, axis=-1):
    if axis is None:
        x, axis = reshaped(x, [x.size]), 0
    y = _numbers(x)
    return cast(emit("Sort", y, to=y.type_name, axis=int(axis)), x.type_name)


@op("x")
def argsort(x, axis=-1):
    if axis is None:
        x, axis = reshaped(x, [x.size]), 0
    if not x.shape:
        return array(0, "int32")
    return cast(emit("Argsort", _numbers(x), axis=int(axis)), "int32")


def argpartition(x, kth, axis=-1):
    t = tensor(x)
    n = t.size if axis is None else t.shape[axis]
    if not -n <= kth < n:
        raise ValueError(f"argpartition: kth={kth} is out of bounds ({n})")
    return argsort(t, axis)


@op("x")
def top_k(x, k, sorted=True):  # noqa: A002
    from_ = _numbers(x)
    values = emit_pair(from_, int(k))
    return cast(values[0], x.type_name), cast(values[1], "int32")


def emit_pair(x, k):
    order = emit("Argsort", x, axis=-1, descending=True)
    order = emit("Slice", order, start_indices=[0] * len(x.shape), shape=[*x.shape[:-1], k])
    return take_along_axis(x, order, -1), order


# ---- running


def _running(kind):
    def f(x, axis=None, dtype=None):
        t = "int32" if x.type_name == "bool" else x.type_name
        t = t if dtype is None else name_of(dtype)
        t = "int32" if t == "bool" else t
        x = cast(x, t)
        if axis is None:
            x, axis = reshaped(x, [x.size]), 0
        return emit(kind, x, to=t, axis=int(axis))

    f.__name__ = kind.lower()
    return op("x")(f)


cumsum, cumprod = _running("Cumsum"), _running("Cumprod")


@op("a")
def diff(a, n=1, axis=-1):
    axis = axis_of(axis, len(a.shape))
    kind = "NotEqual" if a.type_name == "bool" else "BroadcastSubtract"
    for _ in range(n):
        at = (slice(None),) * axis
        a = emit(kind, a[(*at, slice(1, None))], a[(*at, slice(None, -1))], to=a.type_name)
    return a


@op("y x")
def trapezoid(y, x=None, dx=1.0, axis=-1):
    t = float_type(y) if x is None else dtypes.result_type(y.type_name, x.type_name, float)
    y = moveaxis(cast(y, t), axis, -1)
    if x is None:
        width = cast(dx, t)
    else:
        x = cast(x, t)
        width = diff(moveaxis(x, axis, -1) if len(x.shape) > 1 else x)
    both = emit("BroadcastAdd", y[..., 1:], y[..., :-1])
    half = emit("BroadcastMultiply", emit("BroadcastMultiply", both, width), const(y, 0.5))
    return over("Sum", half, -1, to=t)


# ---- quantiles


@op("x q")
def quantile(x, q, axis=None, method="linear", keepdims=False):
    t = float_type(x)
    rank = len(x.shape)
    axes = axes_of(x, axis)
    rest = [d for i, d in enumerate(x.shape) if i not in axes]
    y = moveaxis(cast(x, "float32"), axes, list(range(rank - len(axes), rank)))
    y = reshaped(y, [*rest, -1 if x.size else 0])
    n = y.shape[-1]
    y = emit("Sort", y, axis=-1)
    at = emit("BroadcastMultiply", cast(q, "float32"), array(n - 1, "float32"))
    low = emit("Floor", at)
    if method == "nearest":
        places = [emit("Round", at)]
    else:
        places = {"lower": [low], "higher": [emit("Ceil", at)]}.get(method, [low, emit("Ceil", at)])
    found = [emit("Take", y, recast(p, "int32"), axis=-1) for p in places]
    if len(found) == 1:
        z = found[0]
    else:
        part = array(0.5, "float32") if method == "midpoint" else emit("BroadcastSubtract", at, low)
        if method == "midpoint":
            part = emit("Where", emit("Equal", at, low), array(0.0, "float32"), part)
        z = emit(
            "BroadcastAdd", found[0], emit("BroadcastMultiply", emit("BroadcastSubtract", found[1], found[0]), part)
        )
    bad = over("Any", emit("Isnan", y), -1, keepdims=bool(q.shape))
    z = emit("Where", bad, array(np.nan, "float32"), z, to=t)
    if q.shape:
        z = moveaxis(z, -1, 0)
    if keepdims:
        sizes = [1 if i in axes else d for i, d in enumerate(x.shape)]
        z = reshaped(z, [*q.shape, *sizes])
    return z


@op("x")
def median(x, axis=None, keepdims=False):
    return quantile(x, 0.5, axis, "linear", keepdims)


@op("x q")
def percentile(x, q, axis=None, method="linear", keepdims=False):
    part = emit("BroadcastMultiply", cast(q, "float32"), array(0.01, "float32"))
    return quantile(x, part, axis, method, keepdims)


# ---- without NaN


def _without(x, value):
    return emit("Where", emit("Isnan", x), cast(value, x.type_name), x, to=x.type_name) if is_float(x.type_name) else x


def _nan_sum(f, value, name):
    def g(x, axis=None, keepdims=False):
        return f(_without(x, value), axis, keepdims)

    g.__name__ = name
    return op("x")(g)


nansum, nanprod = _nan_sum(sum, 0, "nansum"), _nan_sum(prod, 1, "nanprod")


def _nan_running(f, value, name):
    def g(x, axis=None, dtype=None):
        return f(_without(x, value), axis, dtype)

    g.__name__ = name
    return op("x")(g)


nancumsum, nancumprod = _nan_running(cumsum, 0, "nancumsum"), _nan_running(cumprod, 1, "nancumprod")


def _there(x, axis, keepdims):
    return sum(cast(emit("LogicalNot", emit("Isnan", cast(x, "float32"))), "float32"), axis, keepdims)


def _nan_extreme(f, value, name):
    def g(x, axis=None, keepdims=False):
        if not is_float(x.type_name):
            return f(x, axis, keepdims)
        y = f(_without(x, value), axis, keepdims)
        none = emit("Equal", _there(x, axis, keepdims), array(0.0, "float32"))
        return emit("Where", none, cast(np.nan, x.type_name), y, to=x.type_name)

    g.__name__ = name
    return op("x")(g)


nanmax, nanmin = _nan_extreme(max, -np.inf, "nanmax"), _nan_extreme(min, np.inf, "nanmin")


@op("x")
def nanmean(x, axis=None, keepdims=False):
    if not is_float(x.type_name):
        return mean(x, axis, keepdims)
    total = sum(_without(cast(x, "float32"), 0), axis, keepdims)
    return emit("Divide", total, _there(x, axis, keepdims), to=x.type_name)


@op("x")
def nanvar(x, axis=None, keepdims=False):
    t = float_type(x)
    y = cast(x, "float32")
    middle = nanmean(y, axis, True)
    apart = emit("Square", emit("BroadcastSubtract", y, middle))
    return cast(nanmean(apart, axis, keepdims), t)


@op("x")
def nanstd(x, axis=None, keepdims=False):
    t = float_type(x)
    return emit("Sqrt", nanvar(cast(x, "float32"), axis, keepdims), to=t)


def _nan_place(f, value, name):
    def g(x, axis=None, keepdims=False):
        if not is_float(x.type_name):
            return f(x, axis, keepdims)
        y = f(_without(x, value), axis, keepdims)
        none = all(emit("Isnan", x), axis, keepdims)
        return emit("Where", none, array(-1, "int32"), y)

    g.__name__ = name
    return op("x")(g)


nanargmax, nanargmin = _nan_place(argmax, -np.inf, "nanargmax"), _nan_place(argmin, np.inf, "nanargmin")


# ---- among values


@op("sorted_sequence values")
def _counted(sorted_sequence, values, side):
    t = joined_type(sorted_sequence, values)
    t = "int32" if t == "bool" else t
    at = expand_dims(cast(values, t), -1)
    kind = "Less" if side == "left" else "LessEqual"
    return over("Sum", cast(emit(kind, cast(sorted_sequence, t), at), "int32"), -1)


def searchsorted(sorted_sequence, values, side="left"):
    sorted_sequence = tensor(sorted_sequence)
    if len(sorted_sequence.shape) != 1:
        raise ValueError(
            f"`searchsorted` only supports 1-D sorted sequences. Received: sorted_sequence.ndim={sorted_sequence.ndim}"
        )
    return _counted(sorted_sequence, values, side)


def digitize(x, bins):
    return _counted(bins, x, "right")


@op("x1 x2")
def isin(x1, x2, assume_unique=False, invert=False):
    t = joined_type(x1, x2)
    t = "int32" if t == "bool" else t
    flat = reshaped(cast(x2, t), [x2.size])
    y = over("Any", emit("Equal", expand_dims(cast(x1, t), -1), flat), -1)
    return emit("LogicalNot", y) if invert else y


# ---- quantiles without NaN: those of the numbers that are left, so their places depend on how many there are


@op("x q")
def nanquantile(x, q, axis=None, method="linear", keepdims=False):
    if not is_float(x.type_name):
        return quantile(x, q, axis, method, keepdims)
    rank, axes = len(x.shape), axes_of(x, axis)
    rest = [d for i, d in enumerate(x.shape) if i not in axes]
    y = reshaped(moveaxis(cast(x, "float32"), axes, list(range(rank - len(axes), rank))), [*rest, -1])
    there = _there(y, -1, True)
    y = emit("Sort", _without(y, np.inf), axis=-1)
    flat = reshaped(cast(q, "float32"), [q.size])
    last = emit("BroadcastMaximum", emit("BroadcastSubtract", there, array(1.0, "float32")), array(0.0, "float32"))
    at = emit("BroadcastMultiply", last, flat)
    low, high = emit("Floor", at), emit("Ceil", at)
    if method in ("lower", "higher", "nearest"):
        place = low if method == "lower" else high if method == "higher" else emit("Round", at)
        z = take_along_axis(y, cast(place, "int32"), -1)
    else:
        a, b = (take_along_axis(y, cast(p, "int32"), -1) for p in (low, high))
        part = emit("BroadcastSubtract", at, low)
        part = emit("BroadcastMultiply", emit("Ceil", part), array(0.5, "float32")) if method == "midpoint" else part
        z = emit("BroadcastAdd", a, emit("BroadcastMultiply", emit("BroadcastSubtract", b, a), part))
        z = emit("Where", emit("Equal", a, b), a, z)  # of two infinities
    z = emit("Where", emit("Equal", there, array(0.0, "float32")), array(np.nan, "float32"), z, to=x.type_name)
    kept = [1 if i in axes else d for i, d in enumerate(x.shape)] if keepdims else rest
    return reshaped(moveaxis(z, -1, 0), [*q.shape, *kept])


@op("x")
def nanmedian(x, axis=None, keepdims=False):
    return nanquantile(x, 0.5, axis, "linear", keepdims)


@op("x q")
def nanpercentile(x, q, axis=None, method="linear", keepdims=False):
    part = emit("BroadcastMultiply", cast(q, "float32"), array(0.01, "float32"))
    return nanquantile(x, part, axis, method, keepdims)
