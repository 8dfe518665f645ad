"""Of keras.ops, arithmetic that is made of other functions: round to dstack."""

import math

from . import _state
from ._functions import axes, function, symbolic
from ._shapes import (
    concatenate,
    expand_dims,
    flip,
    get_item,
    repeat,
    reshape,
    slice_,
    squeeze,
    stack,
    take,
    tile,
    transpose,
)
from ._tensors import as_tensor, cast, is_number, layer_of, operate, promoted


def floats(x):
    return cast(as_tensor(x), "float32")


def of(kind, x, **config):
    return layer_of(kind, **config)(x)


def alike(x, value):
    """One number as float32 in the shape of a tensor."""
    return of("Where", of("Isnan", floats(x)), x1=value, x2=value)


@function
def round(x, decimals=0):  # noqa: A001
    scale = 10.0**decimals
    return of("Round", floats(x) * scale) / scale if decimals else of("Round", floats(x))


@function
def trunc(x):
    x = floats(x)
    return of("Sign", x) * of("Floor", of("Absolute", x))


@function
def sinh(x):
    x = floats(x)
    return (of("Expm1", x) - of("Expm1", -x)) * 0.5


@function
def cosh(x):
    x = floats(x)
    return (of("Exp", x) + of("Exp", -x)) * 0.5


@function
def exp2(x):
    return operate("Power", 2.0, floats(x))


@function
def cbrt(x):
    x = floats(x)
    return of("Sign", x) * of("Absolute", x) ** (1 / 3)


@function
def erfc(x):
    return 1.0 - of("Erf", floats(x))


@function
def deg2rad(x):
    return floats(x) * (math.pi / 180)


@function
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
    pair = [x if is_number(x) or x.dtype in ("int32", "int64") else cast(x, "int32") for x in pair]
    a, b = promoted([as_tensor(pair[0], pair[1]), as_tensor(pair[1], pair[0])])
    none = operate("Equal", b, 0)
    rest, by = (of("Where", [operate("Greater", x, 0), -x, x]) for x in (a, b))
    by, q = of("Where", [none, by], x1=-1.0), None
    for _ in range(4):
        part = cast(operate("Divide", rest, by) * (1 - 2**-20), a.dtype)
        q, rest = part if q is None else q + part, rest - part * by
    once = operate("LessEqual", rest, by)
    q, rest = q + cast(once, a.dtype), of("Where", [once, rest - by, rest])
    unlike = operate("NotEqual", operate("Less", a, 0), operate("Less", b, 0))
    down = operate("LogicalAnd", unlike, operate("NotEqual", rest, 0))
    q = of("Where", [unlike, -q, q]) - cast(down, a.dtype)
    rest = of("Where", [operate("Greater", a, 0), -rest, rest])
    rest = of("Where", [down, rest + b, rest])
    return [cast(of("Where", [none, x], x1=0.0), "uint8" if dtypes == {"uint8"} else a.dtype) for x in (q, rest)]


@function
def floor_divide(x1, x2):
    x1, x2 = _numbers_or_tensors(x1, x2)
    if _are_whole(x1, x2):
        return _divided(x1, x2)[0]
    return of("Floor", operate("Divide", x1, x2))


@function
def mod(x1, x2):
    x1, x2 = _numbers_or_tensors(x1, x2)
    if _are_whole(x1, x2):
        return _divided(x1, x2)[1]
    return operate("Subtract", x1, operate("Multiply", floor_divide(x1, x2), x2))


@function
def logical_xor(x1, x2):
    return operate("NotEqual", cast(as_tensor(x1), "bool"), cast(as_tensor(x2), "bool"))


@function
def hypot(x1, x2):
    return of("Sqrt", operate("Add", of("Square", floats(x1)), of("Square", floats(x2))))


@function
def logaddexp(x1, x2):
    x1, x2 = floats(x1), floats(x2)
    apart = x1 - x2
    near = operate("Maximum", x1, x2) + of("Log1p", of("Exp", -of("Absolute", apart)))
    return of("Where", [of("Isnan", apart), x1 + x2, near])  # two infinities of one sign are not apart


@function
def heaviside(x1, x2):
    x1 = floats(x1)
    above = cast(operate("Greater", x1, 0.0), "float32")
    return of("Where", [operate("Equal", x1, 0.0), floats(x2), above])


@function
def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    most = 3.4028234663852886e38
    x = floats(x)
    x = of("Where", [of("Isnan", x), x], x1=float(nan))
    x = of("Where", [operate("Greater", x, most), x], x1=most if posinf is None else float(posinf))
    return of("Where", [operate("Less", x, -most), x], x1=-most if neginf is None else float(neginf))


def _infinite(x, sign):
    x = floats(x)
    return operate("LogicalAnd", of("Isinf", x), operate("Greater", x * sign, 0.0))


@function
def isposinf(x):
    return _infinite(x, 1.0)


@function
def isneginf(x):
    return _infinite(x, -1.0)


@function
def isclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    x1, x2 = floats(x1), floats(x2)
    near = operate("LessEqual", of("Absolute", x1 - x2), of("Absolute", x2) * rtol + atol)
    near = operate("LogicalOr", operate("Equal", x1, x2), operate("LogicalAnd", near, of("Isfinite", x2)))
    both = operate("LogicalAnd", of("Isnan", x1), of("Isnan", x2))
    return operate("LogicalOr", near, both) if equal_nan else near


@function
def allclose(x1, x2, rtol=1e-5, atol=1e-8, equal_nan=False):
    return of("All", isclose(x1, x2, rtol, atol, equal_nan))


# ---- over axes


def over(kind, x, axis, keepdims=False):
    return layer_of(kind, axis=axes(axis), keepdims=bool(keepdims))(x)


@function
def average(x, axis=None, weights=None):
    x = floats(x)
    if weights is None:
        return over("Mean", x, axis)
    w = floats(weights)
    if len(w.shape) == 1 and len(x.shape) > 1:
        at = axis % len(x.shape)
        w = expand_dims(w, [i for i in range(len(x.shape)) if i != at])
    w = w + alike(x, 0.0)
    return operate("Divide", over("Sum", x * w, axis), over("Sum", w, axis))


@function
def moments(x, axes, keepdims=False, synchronized=False):
    x = floats(x)
    return over("Mean", x, axes, keepdims), over("Var", x, axes, keepdims)


@function
def ptp(x, axis=None, keepdims=False):
    x = as_tensor(x)
    return over("Max", x, axis, keepdims) - over("Min", x, axis, keepdims)


@function
def count_nonzero(x, axis=None):
    return cast(over("Sum", cast(operate("NotEqual", as_tensor(x), 0), "float32"), axis), "int32")


def places(x, axis):
    """0, 1, 2 ... along an axis."""
    return layer_of("Arange", axis=axis)(x)


@function
def cumsum(x, axis=None, dtype=None):
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    dtype = str(dtype or ("int32" if x.dtype == "bool" else x.dtype))
    if dtype not in ("float32", "int32", "int64"):
        raise NotImplementedError(f"cumsum: expected dtype float32, int32 or int64, got {dtype}")
    axis %= len(x.shape)
    y, size = cast(x, dtype), x.shape[axis]
    at, behind = places(y, axis), list(range(1, len(x.shape) - axis))
    for step in range(31 if size is None else max(size - 1, 0).bit_length()):
        before = at - 2**step
        there = operate("GreaterEqual", before, 0)
        further = y + take(y, operate("Maximum", before, 0), axis)
        y = of("Where", [expand_dims(there, behind) if behind else there, further, y])
    return y


def _segments(kind, data, ids, count):
    if count is None:
        if symbolic(data, ids):
            raise NotImplementedError(
                f"{_state.snake_case(kind)}: expected num_segments, as the segment_ids are symbolic, got None"
            )
        import numpy

        count = int(numpy.max(numpy.asarray(ids), initial=-1)) + 1
    return _folded(data, ids, kind=kind, count=int(count))


@function
def _folded(data, ids, kind, count):
    data, ids = as_tensor(data), as_tensor(ids)
    if data.dtype != "float32":
        raise NotImplementedError(f"{_state.snake_case(kind)}: expected float32, got {data.dtype}")
    return of(kind, [data, cast(ids, "int32")], num_segments=count)


def segment_sum(data, segment_ids, num_segments=None, sorted=False):  # noqa: A002
    """The sum of each segment's rows; `sorted` is a promise that is not needed."""
    return _segments("SegmentSum", data, segment_ids, num_segments)


def segment_max(data, segment_ids, num_segments=None, sorted=False):  # noqa: A002
    """The largest of each segment's rows; `sorted` is a promise that is not needed."""
    return _segments("SegmentMax", data, segment_ids, num_segments)


@function
def diff(a, n=1, axis=-1):
    a = as_tensor(a)
    at = (slice_(None),) * (axis % len(a.shape))
    for _ in range(n):
        a = get_item(a, (*at, slice_(1, None))) - get_item(a, (*at, slice_(None, -1)))
    return a


@function
def roll(x, shift, axis=None):
    x = as_tensor(x)
    if axis is None:
        if list(x.shape).count(None) > 1:
            raise NotImplementedError(f"roll: expected an axis, as the shape {x.shape} is not known")
        return reshape(roll(reshape(x, [-1]), shift, 0), [-1 if d is None else d for d in x.shape])
    shifts, places_ = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (shift, axis))
    for k, axis in zip(shifts * len(places_) if len(shifts) == 1 else shifts, places_):
        axis %= len(x.shape)
        if x.shape[axis] is None:
            at = cast(places(x, axis), "int64")
            x = take(x, mod(at - int(k), at + flip(at, 0) + 1), axis)
            continue
        k = k % x.shape[axis] if x.shape[axis] else 0
        if k == 0:
            continue
        at = (slice_(None),) * axis
        x = concatenate([get_item(x, (*at, slice_(-k, None))), get_item(x, (*at, slice_(None, -k)))], axis)
    return x


def pad(x, pad_width, mode="constant", constant_values=None):
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        raise NotImplementedError(f"pad: expected constant, edge, reflect or symmetric, got {mode!r}")
    rank = len(as_tensor(x).shape)
    if isinstance(pad_width, int):
        pad_width = (pad_width, pad_width)
    if isinstance(pad_width[0], int):
        pad_width = [pad_width] * rank
    return _padded(x, widths=[(int(a), int(b)) for a, b in pad_width], mode=mode, value=float(constant_values or 0))


@function
def _padded(x, widths, mode, value):
    x = as_tensor(x)
    for axis, (before, after) in enumerate(widths):
        at = (slice_(None),) * axis

        def part(start, stop):
            return get_item(x, (*at, slice_(start, stop)))

        def edge(n, near, far):
            if mode == "constant":
                one = repeat(part(0, 1), n, axis)
                blank = alike(one, value)
                return cast(blank, x.dtype)
            if mode == "edge":
                return repeat(near, n, axis)
            return flip(far, axis)

        skip = 1 if mode == "reflect" else 0
        sides = [x]
        if before:
            sides.insert(0, edge(before, part(0, 1), part(skip, before + skip)))
        if after:
            sides.append(edge(after, part(-1, None), part(-after - skip, -skip or None)))
        x = concatenate(sides, axis) if len(sides) > 1 else x
    return x


@function
def broadcast_to(x, shape):
    from .ops import zeros

    x = as_tensor(x)
    if x.dtype == "bool":
        return operate("LogicalOr", x, zeros(shape, dtype="bool"))
    return operate("Add", x, zeros(shape, dtype=x.dtype))


@function
def unstack(x, num=None, axis=0):
    x = as_tensor(x)
    axis %= len(x.shape)
    size = x.shape[axis] if num is None else num
    if size is None:
        raise ValueError(f"Cannot infer argument `num` from shape {x.shape}. Either provide a tensor with known shape.")
    return [layer_of("Take", indices=i, axis=axis)(x) for i in range(size)]


@function
def hstack(xs):
    xs = [as_tensor(x) for x in xs]
    return concatenate(xs, 0 if len(xs[0].shape) == 1 else 1)


@function
def vstack(xs):
    xs = [as_tensor(x) for x in xs]
    return concatenate([expand_dims(x, 0) if len(x.shape) == 1 else x for x in xs], 0)


@function
def fliplr(x):
    return flip(x, 1)


@function
def flipud(x):
    return flip(x, 0)


@function
def diagonal(x, offset=0, axis1=0, axis2=1):
    import numpy

    x = as_tensor(x)
    rank = len(x.shape)
    x = transpose(x, [i for i in range(rank) if i not in (axis1 % rank, axis2 % rank)] + [axis1 % rank, axis2 % rank])
    rows, columns = x.shape[-2:]
    if rows is None or columns is None:
        raise NotImplementedError(f"diagonal: expected known axes, got {x.shape}")
    on = numpy.argwhere(numpy.eye(rows, columns, offset, dtype=bool))
    flat = concatenate([layer_of("Take", indices=i, axis=-2)(x) for i in range(rows)], -1)
    return layer_of("Take", indices=[int(i * columns + j) for i, j in on], axis=-1)(flat)


@function
def trace(x, offset=0, axis1=0, axis2=1):
    return over("Sum", diagonal(x, offset, axis1, axis2), -1)


@function
def multi_hot(inputs, num_classes=None, axis=-1, dtype=None, sparse=False):
    from .ops import one_hot

    x = one_hot(inputs, num_classes)
    return cast(over("Max", x, 0 if len(x.shape) == 2 else 1), dtype or "float32")


@function
def meshgrid(*x, indexing="xy"):
    xs = [as_tensor(t) for t in x]
    n = len(xs)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    shapes = [t.shape[0] for t in xs]
    grids = []
    for i, t in enumerate(xs):
        at = order.index(i)
        wide = expand_dims(t, [j for j in range(n) if j != at])
        grids.append(tile(wide, [1 if j == at else shapes[order[j]] for j in range(n)]))
    return grids


@function
def dstack(xs):
    xs = [as_tensor(x) for x in xs]
    if len(xs[0].shape) == 2:
        return stack(xs, -1)
    return concatenate(xs, 2)


_IMPORTED = """alike as_tensor axes cast concatenate expand_dims flip floats function get_item is_number layer_of math
of operate over places promoted repeat reshape slice_ squeeze stack symbolic take tile transpose"""
__all__ = [n for n in list(globals()) if not n.startswith("_") and n not in _IMPORTED.split()]
