"""Activations and other functions of neural nets on arrays."""

import functools

from ..backend.lazy import np
from .arguments import array, cast, FUNCTIONS, need_dense, on_arrays, real, wide


def _activation(f):
    """Adds a function of float32 that takes and gives any real numbers."""

    @functools.wraps(f)
    def of_reals(x, *args, **kwargs):
        a = real(x)
        with np.errstate(all="ignore"):
            return f(wide(a), *args, **kwargs).astype(a.dtype, copy=False)

    FUNCTIONS[f.__name__] = of_reals
    return f


def _sigmoid(x):
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _softplus(x):
    return np.logaddexp(x, np.float32(0))


@on_arrays
def relu(x):
    a = array(x)
    return np.maximum(a, np.zeros((), a.dtype))


@on_arrays
def relu6(x):
    a = array(x)
    a = a.astype("int32") if a.dtype == bool else a
    return np.clip(a, np.zeros((), a.dtype), np.asarray(6).astype(a.dtype)).astype(a.dtype, copy=False)


@_activation
def leaky_relu(x, negative_slope=0.2):
    return np.where(x < 0, np.float32(negative_slope) * x, x)


@_activation
def log_sigmoid(x):
    return -_softplus(-x)


@_activation
def softplus(x):
    return _softplus(x)


@_activation
def softsign(x):
    return x / (1 + np.abs(x))


@_activation
def silu(x):
    return x * _sigmoid(x)


FUNCTIONS["swish"] = FUNCTIONS["silu"]


@_activation
def elu(x, alpha=1.0):
    return np.where(x < 0, np.float32(alpha) * np.expm1(x), x)


@_activation
def selu(x):
    return np.float32(1.0507009873554805) * np.where(x < 0, np.float32(1.6732632423543772) * np.expm1(x), x)


@_activation
def celu(x, alpha=1.0):
    a = np.float32(alpha)
    return np.maximum(x, 0) + np.minimum(a * np.expm1(np.minimum(x, 0) / a), 0)


@_activation
def mish(x):
    return x * np.tanh(_softplus(x))


@_activation
def hard_sigmoid(x):
    return np.clip(x / np.float32(6) + np.float32(0.5), 0, 1)


@_activation
def hard_silu(x):
    return x * np.clip(x / np.float32(6) + np.float32(0.5), 0, 1)


FUNCTIONS["hard_swish"] = FUNCTIONS["hard_silu"]


@_activation
def hard_tanh(x):
    return np.clip(x, -1, 1)


@_activation
def hard_shrink(x, threshold=0.5):
    return np.where(np.abs(x) > np.float32(threshold), x, np.float32(0))


@_activation
def soft_shrink(x, threshold=0.5):
    t = np.float32(threshold)
    return np.where(x > t, x - t, np.where(x < -t, x + t, np.float32(0)))


@_activation
def tanh_shrink(x):
    return x - np.tanh(x)


@_activation
def squareplus(x, b=4):
    return (x + np.sqrt(x * x + np.float32(b))) / 2


@_activation
def sparse_plus(x):
    return np.where(x <= -1, np.float32(0), np.where(x < 1, np.square(x + 1) / 4, x))


@_activation
def sparse_sigmoid(x):
    return np.clip((x + 1) / 2, 0, 1)


@_activation
def threshold(x, threshold, default_value):
    return np.where(x > np.float32(threshold), x, np.float32(default_value))


@_activation
def glu(x, axis=-1):
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={x.shape} with axis={axis}")
    a, b = np.split(x, 2, axis)
    return a * _sigmoid(b)


@_activation
def sparsemax(x, axis=-1):
    z = -np.sort(-x, axis)
    sums = np.cumsum(z, axis)
    shape = [1] * x.ndim
    shape[axis] = -1
    n = np.arange(1, x.shape[axis] + 1, dtype="float32").reshape(shape)
    k = (1 + n * z > sums).sum(axis, keepdims=True)
    return np.maximum(x - (np.take_along_axis(sums, k - 1, axis) - 1) / k, 0)


def _along(scale, shape, axes):
    """A scale of some axes for an array of a shape."""
    if scale is None:
        return None
    a = wide(real(scale))
    return (
        a
        if a.ndim < 2 and len(axes) < 2 and axes[0] == len(shape) - 1
        else a.reshape([d if i in axes else 1 for i, d in enumerate(shape)])
    )


def _axes(axis, rank):
    return sorted(int(i) % rank for i in (axis if isinstance(axis, (list, tuple)) else [axis]))


@on_arrays
def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None, rms_scaling=False):
    if rms_scaling:
        raise NotImplementedError("layer_normalization: expected `rms_scaling` False; rms_normalization() has it")
    a = real(x)
    w, axes = wide(a), tuple(_axes(axis, a.ndim))
    y = w - w.mean(axes, keepdims=True)
    y = y / np.sqrt(np.square(y).mean(axes, keepdims=True) + np.float32(epsilon or 1e-7))
    y = y if gamma is None else y * _along(gamma, a.shape, axes)
    return (y if beta is None else y + _along(beta, a.shape, axes)).astype(a.dtype, copy=False)


@on_arrays
def rms_normalization(x, scale=None, axis=-1, epsilon=None):
    a = real(x)
    w, axes = wide(a), tuple(_axes(axis, a.ndim))
    y = w / np.sqrt(np.square(w).mean(axes, keepdims=True) + np.float32(epsilon or 1e-7))
    return (y if scale is None else y * _along(scale, a.shape, axes)).astype(a.dtype, copy=False)


@on_arrays
def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    need_dense("one_hot", sparse)
    a = np.asarray(array(x), "int64")
    y = np.expand_dims(a, axis) == np.arange(num_classes).reshape(
        [-1 if i == axis % (a.ndim + 1) else 1 for i in range(a.ndim + 1)]
    )
    return cast(y, dtype or "float32")


@on_arrays
def multi_hot(inputs, num_classes=None, axis=-1, dtype=None, sparse=False, **kwargs):
    if num_classes is None and "num_tokens" in kwargs:
        num_classes = kwargs.pop("num_tokens")
    if num_classes is None:
        raise ValueError("Argument `num_classes` must be specified.")
    need_dense("multi_hot", sparse)
    y = one_hot(inputs, num_classes, axis, dtype)
    over = 1 if array(inputs).ndim > 1 else 0
    return np.max(y, axis=over)


@on_arrays
def psnr(x1, x2, max_val):
    a, b = real(x1), real(x2)
    if a.shape != b.shape:
        raise ValueError(f"Input shapes {a.shape} and {b.shape} must match for PSNR calculation. ")
    error = np.mean(np.square(wide(a) - wide(b)))
    return np.asarray(20 * np.log10(float(array(max_val))) - 10 * np.log10(error)).astype(a.dtype)
