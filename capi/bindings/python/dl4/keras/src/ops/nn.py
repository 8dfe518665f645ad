"""Activations, losses, attention and normalization as functions."""

from .. import registry
from ..on_arrays.arguments import need_dense
from ..registry import create
from ..symbolic.tensor import as_tensor, cast_tensor, operate, operation
from .core import cast
from .dispatch import axes, axis_of, dispatched, floats, of, over, places
from .elementwise import absolute, clip, exp, log, log1p, maximum
from .reduction import logsumexp
from .shapes import expand_dims, repeat, reshape, transpose

# ---- of keras.ops.nn


def _activation(name, **defaults):
    def f(x, *args, **kwargs):
        return registry.get("activation", name)(x, *args, **(kwargs if args else {**defaults, **kwargs}))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}"
    return dispatched(f)


relu = _activation("relu")
relu6 = _activation("relu6")
sigmoid = _activation("sigmoid")
softplus = _activation("softplus")
softsign = _activation("softsign")
silu = _activation("silu")
elu = _activation("elu")
selu = _activation("selu")
celu = _activation("celu")
glu = _activation("glu")
mish = _activation("mish")
hard_sigmoid = _activation("hard_sigmoid")
hard_silu = _activation("hard_silu")
hard_tanh = _activation("hard_tanh")
hard_shrink = _activation("hard_shrink")
soft_shrink = _activation("soft_shrink")
tanh_shrink = _activation("tanh_shrink")
leaky_relu = _activation("leaky_relu")
log_sigmoid = _activation("log_sigmoid")
squareplus = _activation("squareplus")
sparse_plus = _activation("sparse_plus")
sparse_sigmoid = _activation("sparse_sigmoid")
sparsemax = _activation("sparsemax")
threshold = _activation("threshold")

gelu = _activation("gelu", approximate=True)
swish, hard_swish = silu, hard_silu


@dispatched
def softmax(x, axis=-1):
    x = as_tensor(x)
    return operation("Softmax", axis=list(range(len(x.shape))) if axis is None else axes(axis))(x)


@dispatched
def log_softmax(x, axis=-1):
    x = as_tensor(x)
    return x - logsumexp(x, axis, True)


def _need_alike(target, output):
    if len(target.shape) != len(output.shape) or any(
        a is not None and b is not None and a != b for a, b in zip(target.shape, output.shape)
    ):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )


@dispatched
def binary_crossentropy(target, output, from_logits=False):
    target, output = floats(target), floats(output)
    _need_alike(target, output)
    if from_logits:
        return maximum(output, 0.0) - output * target + log1p(exp(-absolute(output)))
    output = clip(output, _LEAST, 1.0 - _LEAST)
    return -(target * log(output) + (1.0 - target) * log(1.0 - output))


@dispatched
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    target, output = floats(target), floats(output)
    _need_alike(target, output)
    if from_logits:
        return -over("Sum", target * log_softmax(output, axis), axis)
    output = output / over("Sum", output, axis, True)
    return -over("Sum", target * log(clip(output, _LEAST, 1.0 - _LEAST)), axis)


def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    if axis not in (-1, len(output.shape) - 1):
        raise NotImplementedError(f"sparse_categorical_crossentropy: `axis`: expected the last one, got {axis}")
    return create("loss", "SparseCategoricalCrossentropy", from_logits=from_logits, reduction="none")(target, output)


_LEAST = 1e-7


@dispatched
def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    need_dense("one_hot", sparse)
    import numpy

    x = as_tensor(x)
    if axis != -1:
        raise NotImplementedError("one_hot: expected axis -1")
    classes = as_tensor(numpy.arange(num_classes, dtype="int32"))
    return cast(operate("Equal", expand_dims(cast(x, "int32"), -1), classes), dtype or "float32")


@dispatched
def multi_hot(inputs, num_classes=None, axis=-1, dtype=None, sparse=False):
    need_dense("multi_hot", sparse)
    x = one_hot(inputs, num_classes, axis)
    return cast_tensor(over("Max", x, 0 if len(x.shape) == 2 else 1), dtype or "float32")


@dispatched
def dot_product_attention(
    query,
    key,
    value,
    bias=None,
    mask=None,
    scale=None,
    is_causal=False,
    flash_attention=None,
    attn_logits_soft_cap=None,
):
    """Of (batch, time, heads, size), as keras.ops.nn's."""
    if flash_attention:
        raise ValueError("dot_product_attention: flash attention is not supported: expected None or False")
    if attn_logits_soft_cap is not None:
        raise NotImplementedError("dot_product_attention: `attn_logits_soft_cap` is not in this version of the library")
    query, key, value = (floats(t) for t in (query, key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else float(scale)
    heads, fewer = query.shape[2], key.shape[2]
    if heads != fewer and None not in (heads, fewer) and heads % fewer == 0:  # each for a group of queries
        key, value = (repeat(t, heads // fewer, 2) for t in (key, value))
    q, k, v = (transpose(t, [0, 2, 1, 3]) for t in (query, key, value))
    scores = operation("MatMul")([q, transpose(k, [0, 1, 3, 2])]) * scale
    if bias is not None:
        scores = scores + bias
    if is_causal:
        rows, columns = places(scores, 2), places(scores, 3)
        allowed = operate("GreaterEqual", expand_dims(rows, 1), expand_dims(columns, 0))
        mask = allowed if mask is None else operate("LogicalAnd", as_tensor(mask), allowed)
    if mask is not None:
        scores = scores + (cast_tensor(as_tensor(mask), "float32") - 1.0) * 3e38
    return transpose(operation("MatMul")([operation("Softmax")(scores), v]), [0, 2, 1, 3])


@dispatched
def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = floats(x)
    others = [i for i in range(len(x.shape)) if i != axis_of(axis, x)]

    def wide(t):
        return expand_dims(floats(t), others)

    y = (x - wide(mean)) * of("Rsqrt", wide(variance) + epsilon)
    y = y if scale is None else y * wide(scale)
    return y if offset is None else y + wide(offset)


@dispatched
def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None, rms_scaling=False):
    if rms_scaling:
        raise NotImplementedError("layer_normalization: expected `rms_scaling` False; rms_normalization() has it")
    x = floats(x)
    y = (x - over("Mean", x, axis, True)) * of("Rsqrt", over("Var", x, axis, True) + (epsilon or 1e-7))
    y = y if gamma is None else y * _along(gamma, x, axis)
    return y if beta is None else y + _along(beta, x, axis)


def _along(scale, x, axis):
    """A scale of some axes of x, for x."""
    scale, rank = floats(scale), len(x.shape)
    over_ = {int(i) % rank for i in (axis if isinstance(axis, (list, tuple)) else [axis])}
    if over_ == {rank - 1}:
        return scale
    return reshape(scale, [d if i in over_ else 1 for i, d in enumerate(x.shape)])


@dispatched
def rms_normalization(x, scale=None, axis=-1, epsilon=None):
    x = floats(x)
    y = x * of("Rsqrt", over("Mean", of("Square", x), axis, True) + (epsilon or 1e-7))
    return y if scale is None else y * _along(scale, x, axis)
