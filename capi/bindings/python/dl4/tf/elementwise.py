"""Elementwise functions, and those over axes."""

import collections

import numpy as np

from ..keras import activations, ops
from ..keras.src.ops.dispatch import is_symbolic
from .dispatch import array, either, tensor
from .segments import (  # noqa: F401 names of tf.math
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
    unsorted_segment_sum,
)


def _one(name, numpy_name=None, ops_name=None):
    return either(name, getattr(np, numpy_name or name), getattr(ops, ops_name or numpy_name or name, None))


def _two(name, numpy_name=None, ops_name=None):
    return either(name, getattr(np, numpy_name or name), getattr(ops, ops_name or numpy_name or name, None), True)


abs, exp, log, log1p, expm1, sqrt, square, sign = map(  # noqa: A001
    _one, "abs exp log log1p expm1 sqrt square sign".split()
)
sin, cos, tan, sinh, cosh, tanh, floor, ceil, negative, reciprocal = map(
    _one, "sin cos tan sinh cosh tanh floor ceil negative reciprocal".split()
)
asin, acos, atan = _one("asin", "arcsin"), _one("acos", "arccos"), _one("atan", "arctan")
round = _one("round")  # noqa: A001
is_nan, is_inf, is_finite = _one("is_nan", "isnan"), _one("is_inf", "isinf"), _one("is_finite", "isfinite")
rsqrt = either("rsqrt", lambda x: 1 / np.sqrt(x), ops.rsqrt)
sigmoid = either("sigmoid", lambda x: 1 / (1 + np.exp(-x)), ops.sigmoid)
softplus = either("softplus", lambda features: np.logaddexp(features, 0), ops.softplus)
erf = ops.erf
add, subtract, multiply, divide, maximum, minimum = map(_two, "add subtract multiply divide maximum minimum".split())
truediv = divide
pow = _two("pow", "power")  # noqa: A001
mod = floormod = _two("mod")
floordiv = _two("floordiv", "floor_divide")
atan2 = either("atan2", np.arctan2, None, True)
equal, not_equal, less, less_equal, greater, greater_equal = map(
    _two, "equal not_equal less less_equal greater greater_equal".split()
)
logical_and, logical_or, logical_xor = map(_two, "logical_and logical_or logical_xor".split())
logical_not = _one("logical_not")
squared_difference = either("squared_difference", lambda x, y: (x - y) ** 2, lambda x, y: ops.square(x - y), True)


def divide_no_nan(x, y, name=None):
    """x / y, and 0 where y is 0."""
    if is_symbolic(x, y):
        return ops.divide_no_nan(x, y)
    x, y = np.broadcast_arrays(array(x), array(y))
    return tensor(np.divide(x, y, out=np.zeros(x.shape, "float32"), where=y != 0))


def multiply_no_nan(x, y, name=None):
    return tensor(np.where(array(y) == 0, np.float32(0), array(x) * array(y)))


def clip_by_value(t, clip_value_min, clip_value_max, name=None):
    if is_symbolic(t):
        return ops.clip(t, clip_value_min, clip_value_max)
    t = array(t)
    return tensor(np.clip(t, clip_value_min, clip_value_max).astype(t.dtype))


def where(condition, x=None, y=None, name=None):
    """x where the condition holds, else y; without them the places where it holds."""
    if x is None and y is None:
        return tensor(np.argwhere(array(condition)))
    if is_symbolic(condition, x, y):
        return ops.where(condition, x, y)
    x, y = (v if hasattr(v, "dtype") else array(v) for v in (x, y))
    return tensor(np.where(array(condition), x, y))


def add_n(inputs, name=None):
    total = inputs[0]
    for x in inputs[1:]:
        total = total + x
    return total


# ---- over axes


def _over(name, numpy_function, ops_function):
    def f(input_tensor, axis=None, keepdims=False, name=None):
        if is_symbolic(input_tensor):
            return ops_function(input_tensor, axis=axis, keepdims=keepdims)
        x = array(input_tensor)
        axes = tuple(int(a) for a in np.ravel(axis)) if axis is not None else None
        out = np.asarray(numpy_function(x, axis=axes, keepdims=keepdims))
        return tensor(out.astype(x.dtype) if x.dtype.kind in "iuf" and out.dtype != bool else out)

    f.__name__ = f.__qualname__ = name
    return f


def _logsumexp(x, axis, keepdims):
    top = x.max(axis=axis, keepdims=True)
    out = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    return out if keepdims else out.squeeze(axis)


reduce_sum, reduce_mean = _over("reduce_sum", np.sum, ops.sum), _over("reduce_mean", np.mean, ops.mean)
reduce_max, reduce_min = _over("reduce_max", np.max, ops.max), _over("reduce_min", np.min, ops.min)
reduce_prod, reduce_std = _over("reduce_prod", np.prod, ops.prod), _over("reduce_std", np.std, ops.std)
reduce_variance, reduce_logsumexp = (
    _over("reduce_variance", np.var, ops.var),
    _over("reduce_logsumexp", _logsumexp, ops.logsumexp),
)
reduce_any, reduce_all = _over("reduce_any", np.any, ops.any), _over("reduce_all", np.all, ops.all)


def argmax(input, axis=0, output_type="int64", name=None):  # noqa: A002
    if is_symbolic(input):
        return ops.argmax(input, axis=axis)
    return tensor(array(input).argmax(axis).astype(str(getattr(output_type, "name", output_type))))


def argmin(input, axis=0, output_type="int64", name=None):  # noqa: A002
    if is_symbolic(input):
        return ops.argmin(input, axis=axis)
    return tensor(array(input).argmin(axis).astype(str(getattr(output_type, "name", output_type))))


def _cumulated(name, whole, none):
    """Of the first numbers of an axis; `exclusive`: without the last of them, which is `none` at the first."""

    def f(x, axis=0, exclusive=False, reverse=False, name=None):
        symbolic = is_symbolic(x)
        x = x if symbolic else np.asarray(array(x))
        y = ops.flip(x, axis) if reverse else x
        if exclusive:
            axis %= len(y.shape)
            most = -1 if y.shape[axis] is None else y.shape[axis] - 1
            y = ops.take(y, range(most), axis=axis) if most >= 0 else y[(slice(None),) * axis + (slice(0, -1),)]
            y = ops.pad(y, [(int(i == axis), 0) for i in range(len(y.shape))], constant_values=none)
        y = whole(y, axis=axis)
        y = ops.flip(y, axis) if reverse else y
        return y if symbolic else tensor(np.asarray(y).astype(x.dtype))

    f.__name__ = f.__qualname__ = name
    return f


cumsum, cumprod = _cumulated("cumsum", ops.cumsum, 0), _cumulated("cumprod", ops.cumprod, 1)


def complex(real, imag, name=None):  # noqa: A001
    """Numbers of two parts."""
    return tensor((array(real) + 1j * array(imag)).astype("complex64"))


real, imag, angle = _one("real"), _one("imag"), either("angle", np.angle, None)
conj = _one("conj")


def count_nonzero(input, axis=None, keepdims=None, dtype="int64", name=None):  # noqa: A002
    return tensor(np.asarray(np.count_nonzero(array(input), axis=axis, keepdims=bool(keepdims)), dtype))


TopKV2 = collections.namedtuple("TopKV2", "values indices")


def top_k(input, k=1, sorted=True, name=None):  # noqa: A002
    """The largest values of the last axis, and their places."""
    if is_symbolic(input):
        return TopKV2(*ops.top_k(input, k, sorted=sorted))
    x = array(input)
    places = np.argsort(-x, axis=-1, kind="stable")[..., :k]
    return TopKV2(tensor(np.take_along_axis(x, places, -1)), tensor(places.astype("int32")))


def in_top_k(targets, predictions, k, name=None):
    x, t = array(predictions), array(targets)
    return tensor((x > np.take_along_axis(x, t[:, None], 1)).sum(1) < k)


def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype="int32", name=None):
    """How often each class (row) was predicted as each class (column)."""
    y, p = array(labels).ravel(), array(predictions).ravel()
    n = int(max(y.max(initial=-1), p.max(initial=-1)) + 1 if num_classes is None else num_classes)
    out = np.zeros((n, n), str(getattr(dtype, "name", dtype)))
    np.add.at(out, (y.astype(int), p.astype(int)), 1 if weights is None else array(weights))
    return tensor(out)


def bincount(arr, weights=None, minlength=None, maxlength=None, dtype="int32", name=None):
    given = None if weights is None else array(weights).ravel()
    out = np.bincount(array(arr).ravel(), given, minlength or 0)
    return tensor(out[:maxlength].astype(dtype if weights is None else "float32"))


def l2_normalize(x, axis=None, epsilon=1e-12, name=None):
    """x over the square root of the sum of its squares, which is at least epsilon."""
    if is_symbolic(x):
        return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=axis, keepdims=True), epsilon))
    x = array(x)
    return tensor(x / np.sqrt(np.maximum((x * x).sum(axis=axis, keepdims=True), np.float32(epsilon))))


def clip_by_norm(t, clip_norm, axes=None, name=None):
    """The same direction, of a norm of at most clip_norm."""
    axes = tuple(axes) if isinstance(axes, list) else axes
    if is_symbolic(t):
        norm = ops.sqrt(ops.sum(ops.square(t), axis=axes, keepdims=True))
        return t * clip_norm / ops.maximum(norm, clip_norm)
    t = array(t)
    norm = np.sqrt((t * t).sum(axis=axes, keepdims=True))
    return tensor((t * clip_norm / np.maximum(norm, np.float32(clip_norm))).astype(t.dtype))


def global_norm(t_list, name=None):
    if is_symbolic(t_list):
        return ops.sqrt(sum(ops.sum(ops.square(t)) for t in t_list if t is not None))
    return tensor(np.float32(np.sqrt(sum(float((array(t) ** 2).sum()) for t in t_list if t is not None))))


def clip_by_global_norm(t_list, clip_norm, use_norm=None, name=None):
    """Tensors whose norm together is at most clip_norm, and the norm they had."""
    norm = global_norm(t_list) if use_norm is None else use_norm
    if is_symbolic([t_list, clip_norm, norm]):
        factor = clip_norm / ops.maximum(norm, clip_norm)
        return [None if t is None else t * factor for t in t_list], norm
    factor = np.float32(clip_norm) / np.maximum(np.asarray(norm), np.float32(clip_norm))
    return [None if t is None else tensor(array(t) * factor) for t in t_list], norm


def _complex(name, function):
    def f(input, name=None):  # noqa: A002
        return tensor(function(array(input)))

    f.__name__ = name
    return f


real, imag, angle = _complex("real", np.real), _complex("imag", np.imag), _complex("angle", np.angle)
reduce_euclidean_norm = _over(
    "reduce_euclidean_norm",
    lambda x, axis, keepdims: np.sqrt((x * x).sum(axis=axis, keepdims=keepdims)),
    lambda x, axis, keepdims: ops.sqrt(ops.sum(ops.square(x), axis=axis, keepdims=keepdims)),
)


def softmax(logits, axis=-1, name=None):
    return activations.softmax(logits, axis=axis)


def log_softmax(logits, axis=-1, name=None):
    return ops.log_softmax(logits, axis=axis)


_OTHERS = {"array", "either", "tensor", "is_symbolic"}
__all__ = [n for n, v in list(globals().items()) if n[0] != "_" and callable(v) and n not in _OTHERS]
