"""Activations, losses, normalization and attention. Layers with kernels are in `convolutions`."""

import numpy as np
from keras.src.backend import config

from .convolutions import *  # noqa: F403
from .core import cast
from .dtypes import FLOATS, name_of
from .elementwise import add, as_floats, clip, const, joined_type, multiply, subtract
from .fallback import ctc_decode  # noqa: F401
from .functions import op
from .reductions import mean, over
from .shapes import axis_of, broadcast_to, concatenate, expand_dims, reshaped, squeeze, take, transpose
from .tensor import array
from .trace import emit, emit_layer, plain, tensor

# ---- activations: by the registry

_PLAIN = {  # Keras's name and the registry's
    "relu": "relu",
    "relu6": "relu6",
    "sigmoid": "sigmoid",
    "sparse_sigmoid": "sparse_sigmoid",
    "tanh": "tanh",
    "tanh_shrink": "tanh_shrink",
    "softplus": "softplus",
    "softsign": "softsign",
    "sparse_plus": "sparse_plus",
    "silu": "silu",
    "log_sigmoid": "log_sigmoid",
    "hard_sigmoid": "hard_sigmoid",
    "hard_silu": "hard_silu",
    "selu": "selu",
    "hard_tanh": "hard_tanh",
}


def _activated(x, name, **options):
    x = as_floats(x)
    return emit("Activation", x, to=x.type_name, activation={"class_name": name, "config": options})


def _plain_activation(name, known):
    def f(x):
        if known in ("relu", "relu6") and x.type_name not in FLOATS:
            y = x if x.type_name == "bool" else emit("BroadcastMaximum", x, const(x, 0), to=x.type_name)
            return (
                y
                if known == "relu" or x.type_name == "bool"
                else emit("BroadcastMinimum", y, const(x, 6), to=x.type_name)
            )
        return _activated(x, known)

    f.__name__ = f.__qualname__ = name
    return op("x")(f)


globals().update({name: _plain_activation(name, known) for name, known in _PLAIN.items()})


@op("x")
def soft_shrink(x, threshold=0.5):
    return _activated(x, "soft_shrink", threshold=float(threshold))


@op("x")
def hard_shrink(x, threshold=0.5):
    return _activated(x, "hard_shrink", threshold=float(threshold))


@op("x")
def squareplus(x, b=4):
    return _activated(x, "squareplus", b=float(b))


@op("x")
def leaky_relu(x, negative_slope=0.2):
    return _activated(x, "leaky_relu", negative_slope=float(negative_slope))


@op("x")
def elu(x, alpha=1.0):
    return _activated(x, "elu", alpha=float(alpha))


@op("x")
def celu(x, alpha=1.0):
    return _activated(x, "celu", alpha=float(alpha))


@op("x")
def gelu(x, approximate=True):
    return _activated(x, "gelu", approximate=bool(approximate))


@op("x")
def threshold(x, threshold, default_value):
    return _activated(x, "threshold", threshold=float(threshold), default_value=float(default_value))


@op("x")
def glu(x, axis=-1):
    axis = axis_of(axis, len(x.shape))
    if x.shape[axis] % 2:
        raise ValueError(f"axis size must be divisible by 2. Received: x.shape={tuple(x.shape)} with axis={axis}")
    return _activated(x, "glu", axis=axis)


@op("x")
def sparsemax(x, axis=-1):
    x = as_floats(x)
    last = axis_of(axis, len(x.shape))
    order = [i for i in range(len(x.shape)) if i != last] + [last]
    y = emit("Activation", transpose(x, order), to=x.type_name, activation="sparsemax")
    return transpose(y, [order.index(i) for i in range(len(order))])


@op("x")
def softmax(x, axis=-1):
    x = as_floats(x)
    axes = list(range(len(x.shape))) if axis is None else plain(axis)
    return emit("Softmax", x, to=x.type_name, axis=list(axes) if isinstance(axes, (tuple, list)) else int(axes))


@op("x")
def log_softmax(x, axis=-1):
    x = as_floats(x)
    return emit("BroadcastSubtract", x, over("Logsumexp", x, axis, True), to=x.type_name)


# ---- losses


def _need_alike(target, output):
    if tuple(target.shape) != tuple(output.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}"
        )


def _between(x):
    least = config.epsilon()
    return clip(x, np.float32(least).item(), (np.float32(1) - np.float32(least)).item())


def _float_pair(target, output):
    t = output.type_name if output.type_name in FLOATS else "float32"
    return cast(target, t), cast(output, t)


@op("target output")
def binary_crossentropy(target, output, from_logits=False):
    _need_alike(target, output)
    y, x = _float_pair(target, output)
    if from_logits:
        # max(x, 0) - x * y + log(1 + exp(-|x|))
        return add(subtract(globals()["relu"](x), multiply(x, y)), softplus_of_minus_abs(x))
    x = _between(x)
    one = const(x, 1)
    right = multiply(y, emit("Log", x, to=x.type_name))
    wrong = multiply(subtract(one, y), emit("Log", subtract(one, x), to=x.type_name))
    return emit("Negative", add(right, wrong), to=x.type_name)


def softplus_of_minus_abs(x):
    return emit("Log1p", emit("Exp", emit("Negative", emit("Absolute", x))), to=x.type_name)


def _need_classes(target, output):
    if len(target.shape) < 1:
        raise ValueError(
            "Arguments `target` and `output` must be at least rank 1. "
            f"Received: target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}"
        )


def _log_of(x, from_logits, axis):
    if from_logits:
        return log_softmax(x, axis)
    x = emit("Divide", x, over("Sum", x, axis, True), to=x.type_name)
    return emit("Log", _between(x), to=x.type_name)


@op("target output")
def categorical_crossentropy(target, output, from_logits=False, axis=-1):
    _need_alike(target, output)
    _need_classes(target, output)
    y, x = _float_pair(target, output)
    found = over("Sum", multiply(y, _log_of(x, from_logits, axis)), axis)
    return emit("Negative", found, to=x.type_name)


@op("target output")
def sparse_categorical_crossentropy(target, output, from_logits=False, axis=-1):
    if len(output.shape) < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={tuple(output.shape)}")
    if len(target.shape) == len(output.shape) and target.shape[-1] == 1:
        target = squeeze(target, -1)
    at = axis_of(axis, len(output.shape))
    rest = [d for i, d in enumerate(output.shape) if i != at]
    if list(target.shape) != rest:
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={tuple(target.shape)}, output.shape={tuple(output.shape)}"
        )
    x = output if output.type_name in FLOATS else cast(output, "float32")
    y = _hot(target, output.shape[at], at, "float32")
    log = _log_of(x, from_logits, at)
    # selected, not multiplied: a log of -inf elsewhere is no NaN
    picked = emit("Where", cast(y, "bool"), log, const(log, 0))
    return emit("Negative", over("Sum", picked, at), to=x.type_name)


def _hot(x, classes, axis, t):
    at = axis % (len(x.shape) + 1)
    places = array(np.arange(classes).reshape([-1 if i == at else 1 for i in range(len(x.shape) + 1)]), "int32")
    x = cast(x, "int32")
    return cast(emit("Equal", places, expand_dims(x, at)), t)


def _need_dense(sparse):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the backend dl4")


def one_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    _need_dense(sparse)
    return _one_hot(x, int(num_classes), axis, name_of(dtype or config.floatx()))


@op("x")
def _one_hot(x, num_classes, axis, dtype):
    return _hot(x, num_classes, axis, dtype)


def multi_hot(x, num_classes, axis=-1, dtype=None, sparse=False):
    _need_dense(sparse)
    x = tensor(x)
    y = _one_hot(x, int(num_classes), axis, "int32")
    y = y if len(x.shape) == 0 else over_op(y, 1 if len(x.shape) > 1 else 0)
    return cast(y, name_of(dtype or config.floatx()))


@op("x")
def over_op(x, axis):
    return over("Max", x, axis)


# ---- normalization


@op("x")
def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("Argument synchronized=True is not supported with the backend dl4")
    t = x.type_name
    y = cast(x, "float32")
    axes = [axis_of(a, len(x.shape)) for a in (plain(axes) if isinstance(plain(axes), tuple) else [axes])]
    found = [over(kind, y, axes, keepdims) for kind in ("Mean", "Var")]
    if t == "float16":  # the greatest number instead of infinity
        found = [emit("Clip", v, x_min=-65504.0, x_max=65504.0) for v in found]
    return tuple(cast(v, t) for v in found)


@op("x mean variance offset scale")
def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    sizes = [x.shape[i] if i == axis_of(axis, len(x.shape)) else 1 for i in range(len(x.shape))]

    def wide(v):
        return cast(reshaped(v, sizes), "float32")

    t = x.type_name
    by = emit("Rsqrt", emit("BroadcastAdd", wide(variance), array(epsilon, "float32")))
    if scale is not None:
        by = emit("BroadcastMultiply", by, wide(scale))
    shift = emit("Negative", emit("BroadcastMultiply", wide(mean), by))
    if offset is not None:
        shift = emit("BroadcastAdd", shift, wide(offset))
    return emit("BroadcastAdd", emit("BroadcastMultiply", cast(x, "float32"), by), shift, to=t)


def psnr(x1, x2, max_val):
    x1, x2 = tensor(x1), tensor(x2)
    if tuple(x1.shape) != tuple(x2.shape):
        raise ValueError(f"Input shapes {x1.shape} and {x2.shape} must match for PSNR calculation. ")
    return _psnr(x1, x2, max_val)


@op("x1 x2 max_val")
def _psnr(x1, x2, max_val):
    error = mean(emit("Square", subtract(cast(x1, "float32"), cast(x2, "float32"))))
    logs = subtract(
        emit("BroadcastMultiply", emit("Log10", cast(max_val, "float32")), array(20.0, "float32")),
        emit("BroadcastMultiply", emit("Log10", error), array(10.0, "float32")),
    )
    return logs


# ---- attention


def _heads(query, key, value, scale, is_causal, t):
    """The library's layer, to which each head is a sequence of its own."""
    batch, heads = query.shape[:2]
    query = emit("BroadcastMultiply", cast(query, "float32"), array(scale, "float32"))
    rows = [reshaped(cast(x, "float32"), [batch * heads, *x.shape[2:]]) for x in (query, value, key)]
    y = emit_layer("Attention", rows, {}, arguments={"use_causal_mask": True} if is_causal else None)[0]
    return cast(reshaped(y, [batch, heads, *y.shape[1:]]), t)


@op("query key value bias mask")
def _attention(query, key, value, bias, mask, scale, is_causal, cap):
    t = joined_type(query, key, value)
    query, key, value = (cast(x, t) for x in (query, key, value))
    heads, fewer = query.shape[2], key.shape[2]
    if heads != fewer:
        at = array(np.repeat(np.arange(fewer), heads // fewer), "int32")
        key, value = take(key, at, 2), take(value, at, 2)
    q, k, v = (transpose(x, [0, 2, 1, 3]) for x in (query, key, value))
    if bias is None and mask is None and cap is None:
        return transpose(_heads(q, k, v, scale, is_causal, t), [0, 2, 1, 3])
    scores = cast(emit("MatMul", q, k, transpose_b=True), "float32")
    scores = emit("BroadcastMultiply", scores, array(scale, "float32"))
    if cap is not None:
        scores = emit(
            "BroadcastMultiply",
            emit("Tanh", emit("BroadcastMultiply", scores, array(1.0 / cap, "float32"))),
            array(cap, "float32"),
        )
    if bias is not None:
        scores = emit("BroadcastAdd", scores, cast(bias, "float32"))
    if is_causal:
        causal = array(np.tril(np.ones(scores.shape[-2:], bool)), "bool")
        mask = causal if mask is None else emit("LogicalAnd", cast(mask, "bool"), causal)
    if mask is not None:
        scores = emit("Where", cast(mask, "bool"), scores, array(-0.7 * 3.4028235e38, "float32"))
    y = emit("MatMul", emit("Softmax", scores), cast(v, "float32"), to=t)
    return transpose(y, [0, 2, 1, 3])


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
    if flash_attention:
        raise ValueError("Flash attention is not supported with the backend dl4.")
    query, key, value = tensor(query), tensor(key), tensor(value)
    for name, x in (("query", query), ("key", key), ("value", value)):
        if len(x.shape) != 4:
            raise ValueError(
                f"`dot_product_attention` only supports 4D inputs. Received: {name}.shape={tuple(x.shape)}."
            )
    scale = query.shape[-1] ** -0.5 if scale is None else float(scale)
    return _attention(query, key, value, bias, mask, scale, bool(is_causal), attn_logits_soft_cap)


# ---- CTC


@op("target output target_length output_length")
def ctc_loss(target, output, target_length, output_length, mask_index=0):
    if len(target.shape) != 2:
        raise ValueError(f"Expected 2 dimensions for `target`, received shape {tuple(target.shape)}")
    if len(output.shape) != 3:
        raise ValueError(f"Expected 3 dimensions for `output`, received shape {tuple(output.shape)}")
    return _ctc(cast(target, "int32"), output, cast(target_length, "int32"), cast(output_length, "int32"), mask_index)


def _ctc(target, output, target_length, output_length, blank):
    """Sums of paths by logarithms, from step to step. Places: blank, label, blank, label, ..., blank."""
    batch, steps = output.shape[:2]
    labels = target.shape[1]
    states = 2 * labels + 1
    low = array(-1e30, "float32")
    log = log_softmax(cast(output, "float32"))
    blanks = array(np.full((batch, labels, 1), blank), "int32")
    path = reshaped(concatenate([blanks, expand_dims(target, -1)], -1), [batch, 2 * labels])
    path = concatenate([path, array(np.full((batch, 1), blank), "int32")], 1)
    hot = _hot(path, output.shape[2], 2, "float32")
    emitted = emit("MatMul", log, hot, transpose_b=True)  # (batch, steps, states)
    before = concatenate([array(np.full((batch, 2), -1), "int32"), path[:, :-2]], 1) if states > 2 else path
    skips = emit("LogicalAnd", emit("NotEqual", path, before), array(np.arange(states)[None] % 2 == 1, "bool"))
    first = array(np.arange(states)[None] < 2, "bool")
    alpha = emit("Where", first, emitted[:, 0], low)
    edge = array(np.full((batch, 2), -1e30), "float32")
    for t in range(1, steps):
        one = concatenate([edge[:, :1], alpha[:, :-1]], 1)
        two = concatenate([edge, alpha[:, :-2]], 1) if states > 2 else broadcast_to(low, [batch, states])
        two = emit("Where", skips, two, low)
        total = over("Logsumexp", emit("Stack", alpha, one, two, axis=0), 0)
        live = expand_dims(emit("Greater", output_length, array(t, "int32")), 1)
        alpha = emit("Where", live, emit("BroadcastAdd", total, emitted[:, t]), alpha)
    last = emit("BroadcastMultiply", target_length, array(2, "int32"))
    places = array(np.arange(states)[None], "int32")
    ends = emit(
        "LogicalOr",
        emit("Equal", places, expand_dims(last, 1)),
        emit("Equal", places, expand_dims(emit("BroadcastSubtract", last, array(1, "int32")), 1)),
    )
    y = over("Logsumexp", emit("Where", ends, alpha, low), 1)
    return emit("Negative", y)
