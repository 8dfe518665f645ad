"""Reductions over axes and segments: sum, mean, argmax, cumsum, ..."""

import builtins

from ..symbolic.tensor import as_tensor, cast_tensor, operate, operation
from .dispatch import alike, axes, axis_of, dispatched, floats, of, over, places
from .elementwise import exp, log, maximum, rsqrt, sqrt, square
from .shapes import expand_dims, reshape, squeeze, take


def _reduction(kind, name, as_floats):
    def f(x, axis=None, keepdims=False):
        x = as_tensor(x)
        x = floats(x) if as_floats or x.dtype == "bool" and kind == "Sum" else x
        axis = axes(axis)
        if axis == []:
            return x
        return operation(kind, axis=axis, keepdims=bool(keepdims))(x)

    if kind in ("Max", "Min"):

        def extreme(x, axis=None, keepdims=False, initial=None):
            y = f(x, axis, keepdims)
            return y if initial is None else operate(f"{kind}imum", y, initial)

        extreme.__doc__, extreme.__name__ = f"keras.ops.{name}", name
        return dispatched(extreme)
    f.__doc__, f.__name__ = f"keras.ops.{name}", name
    return dispatched(f)


sum = _reduction("Sum", "sum", False)  # noqa: A001
mean = _reduction("Mean", "mean", True)
max = _reduction("Max", "max", False)  # noqa: A001
prod = _reduction("Prod", "prod", False)
min = _reduction("Min", "min", False)  # noqa: A001
var = _reduction("Var", "var", True)
std = _reduction("Std", "std", True)
any = _reduction("Any", "any", False)  # noqa: A001
all = _reduction("All", "all", False)  # noqa: A001
amax, amin = max, min


@dispatched
def argmax(x, axis=None, keepdims=False):
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    return operation("Argmax", axis=int(axis), keepdims=bool(keepdims))(x)


@dispatched
def argmin(x, axis=None, keepdims=False):
    return argmax(-as_tensor(x), axis, keepdims)


@dispatched
def stop_gradient(variable):
    return operation("StopGradient")(as_tensor(variable))


@dispatched
def logsumexp(x, axis=None, keepdims=False):
    x = as_tensor(x)
    top = stop_gradient(max(x, axis, True))
    y = log(sum(exp(x - top), axis, True)) + top
    return y if keepdims else squeeze(y, axis)


@dispatched
def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    if ord not in (None, 2, "fro", "euclidean"):
        raise NotImplementedError(f"norm: expected ord None or 2, got {ord!r}")
    return sqrt(sum(square(as_tensor(x)), axis, keepdims))


@dispatched
def normalize(x, axis=-1, order=2, epsilon=None):
    if order != 2:
        raise NotImplementedError(f"normalize: expected order 2, got {order!r}")
    x = as_tensor(x)
    return x * rsqrt(maximum(sum(square(x), axis, True), (epsilon or 1e-7) ** 2))


@dispatched
def average(x, axis=None, weights=None):
    x = floats(x)
    if weights is None:
        return over("Mean", x, axis)
    w = floats(weights)
    if len(w.shape) == 1 and len(x.shape) > 1:
        at = axis_of(axis, x)
        w = expand_dims(w, [i for i in range(len(x.shape)) if i != at])
    w = w + alike(x, 0.0)
    return operate("Divide", over("Sum", x * w, axis), over("Sum", w, axis))


@dispatched
def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("moments: synchronized=True is of distributed training, which is not here")
    x = floats(x)
    return over("Mean", x, axes, keepdims), over("Var", x, axes, keepdims)


@dispatched
def ptp(x, axis=None, keepdims=False):
    x = as_tensor(x)
    return over("Max", x, axis, keepdims) - over("Min", x, axis, keepdims)


@dispatched
def count_nonzero(x, axis=None):
    return cast_tensor(over("Sum", cast_tensor(operate("NotEqual", as_tensor(x), 0), "float32"), axis), "int32")


@dispatched
def cumsum(x, axis=None, dtype=None):
    x = as_tensor(x)
    if axis is None:
        x, axis = reshape(x, [-1]), 0
    dtype = str(dtype or ("int32" if x.dtype == "bool" else x.dtype))
    if dtype not in ("float32", "int32", "int64"):
        raise NotImplementedError(f"cumsum: expected dtype float32, int32 or int64, got {dtype}")
    axis = axis_of(axis, x)
    y, size = cast_tensor(x, dtype), x.shape[axis]
    at, behind = places(y, axis), list(range(1, len(x.shape) - axis))
    for step in range(31 if size is None else builtins.max(size - 1, 0).bit_length()):
        before = at - 2**step
        there = operate("GreaterEqual", before, 0)
        further = y + take(y, operate("Maximum", before, 0), axis)
        y = of("Where", [expand_dims(there, behind) if behind else there, further, y])
    return y


def _segments(name, kind):
    def f(data, segment_ids, num_segments=None, sorted=False):  # noqa: A002
        if num_segments is None:
            raise NotImplementedError(f"{name}: expected num_segments, as the segment_ids are symbolic, got None")
        data, ids = as_tensor(data), as_tensor(segment_ids)
        if data.dtype != "float32":
            raise NotImplementedError(f"{name}: expected float32, got {data.dtype}")
        return of(kind, [data, cast_tensor(ids, "int32")], num_segments=int(num_segments))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}; `sorted` is a promise that is not needed."
    return dispatched(f)


segment_sum, segment_max = _segments("segment_sum", "SegmentSum"), _segments("segment_max", "SegmentMax")
