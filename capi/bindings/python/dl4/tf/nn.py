"""What Keras programs use of tf.nn."""

import numpy as np

from ..keras import activations, layers, ops
from .dispatch import array, refuse, tensor
from .elementwise import erf, in_top_k, l2_normalize, log_softmax, sigmoid, softplus, tanh, top_k
from .sparse import ctc_greedy_decoder


def softmax(logits, axis=-1, name=None):
    return layers.Softmax(axis=axis)(logits)


def leaky_relu(features, alpha=0.2, name=None):
    return ops.leaky_relu(features, negative_slope=alpha)


def bias_add(value, bias, data_format=None, name=None):
    if data_format is not None and data_format.startswith("NC"):
        bias = ops.reshape(bias, (-1,) + (1,) * (len(value.shape) - 2))
    return value + bias


def dropout(x, rate, noise_shape=None, seed=None, name=None):
    return layers.Dropout(rate, noise_shape=noise_shape, seed=seed)(x, training=True)


def embedding_lookup(params, ids, max_norm=None, name=None):
    if max_norm is not None:
        raise NotImplementedError("tf.nn.embedding_lookup: `max_norm` is not in this version of the library")
    return ops.take(params, ids, axis=0)


def moments(x, axes, shift=None, keepdims=False, name=None):
    """Mean and variance over axes."""
    return ops.moments(x, axes=axes, keepdims=keepdims)


def sigmoid_cross_entropy_with_logits(labels=None, logits=None, name=None):
    return ops.relu(logits) - logits * labels + ops.log1p(ops.exp(-ops.abs(logits)))


def softmax_cross_entropy_with_logits(labels, logits, axis=-1, name=None):
    return -ops.sum(ops.cast(labels, "float32") * ops.log_softmax(logits, axis=axis), axis=axis)


def sparse_softmax_cross_entropy_with_logits(labels, logits, name=None):
    return ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)


def l2_loss(t, name=None):
    return ops.sum(ops.square(t)) / 2


def zero_fraction(value, name=None):
    return tensor(np.mean(array(value) == 0, dtype="float32"))


def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):  # noqa: A002
    layer = layers.LocalResponseNormalization(depth_radius=depth_radius, bias=bias, alpha=alpha, beta=beta)
    return layer(input)


lrn = local_response_normalization


def max_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # noqa: A002
    return _pooled("MaxPooling2D", input, ksize, strides, padding, data_format)


def avg_pool2d(input, ksize, strides, padding, data_format="NHWC", name=None):  # noqa: A002
    return _pooled("AveragePooling2D", input, ksize, strides, padding, data_format)


def _windows(strides, rank):
    """The numbers of the axes of space, of one, of those or of all axes."""
    sizes = [int(n) for n in np.ravel(strides)]
    return tuple(sizes * rank if len(sizes) == 1 else sizes[1:-1] if len(sizes) == rank + 2 else sizes)


def _format(who, data_format, rank):
    wanted = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[rank]
    refuse(f"tf.nn.{who}", data_format=(data_format or wanted, wanted))


def _convolution(name, rank, op):
    def f(input, filters, strides=1, padding="VALID", data_format=None, dilations=None, name=None):  # noqa: A002
        _format(who, data_format, rank)
        if not isinstance(padding, str):
            raise NotImplementedError(f"tf.nn.{who}: `padding`: expected 'VALID' or 'SAME', got {padding!r}")
        return op(
            input,
            filters,
            strides=_windows(strides, rank),
            padding=padding.lower(),
            data_format="channels_last",
            dilation_rate=_windows(1 if dilations is None else dilations, rank),
        )

    who = f.__name__ = f.__qualname__ = name
    return f


conv1d, conv2d, conv3d = (_convolution(f"conv{n}d", n, ops.conv) for n in (1, 2, 3))
depthwise_conv2d = _convolution("depthwise_conv2d", 2, ops.depthwise_conv)


def separable_conv2d(
    input,  # noqa: A002
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    data_format=None,
    dilations=None,
    name=None,
):
    y = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(y, pointwise_filter)


def conv2d_transpose(
    input,  # noqa: A002
    filters,
    output_shape,
    strides,
    padding="SAME",
    data_format="NHWC",
    dilations=None,
    name=None,
):
    """Of the output's usual size alone."""
    _format("conv2d_transpose", data_format, 2)
    steps, rates = _windows(strides, 2), _windows(1 if dilations is None else dilations, 2)
    how = {"padding": padding.lower(), "data_format": "channels_last", "dilation_rate": rates}
    y = ops.conv_transpose(input, filters, steps, **how)
    wanted = [int(n) for n in list(output_shape)[1:3]]
    if list(y.shape[1:3]) != wanted:
        raise NotImplementedError(f"tf.nn.conv2d_transpose: `output_shape`: expected {y.shape[1:3]}, got {wanted}")
    return y


def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    y = (x - mean) * ops.rsqrt(variance + variance_epsilon)
    y = y if scale is None else y * scale
    return y if offset is None else y + offset


max_pool, avg_pool = max_pool2d, avg_pool2d


def _inner(sizes):
    sizes = np.ravel(sizes).tolist()
    return tuple(sizes[1:3]) if len(sizes) == 4 else tuple(sizes * 2)[:2]


def _pooled(kind, x, ksize, strides, padding, data_format):
    if data_format != "NHWC":
        raise NotImplementedError(f"tf.nn: `data_format`: expected 'NHWC', got {data_format!r}")
    layer = getattr(layers, kind)(_inner(ksize), _inner(strides), padding.lower())
    return layer(x)


def space_to_depth(input, block_size, data_format="NHWC", name=None):  # noqa: A002
    """Blocks of pixels as channels."""
    refuse("tf.nn.space_to_depth", data_format=(data_format, "NHWC"))
    b, h, w, c = input.shape
    n = block_size
    if None in (h, w):
        raise NotImplementedError(f"tf.nn.space_to_depth: expected images of a known size, got {input.shape}")
    x = ops.reshape(input, (-1 if b is None else b, h // n, n, w // n, n, c))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1 if b is None else b, h // n, w // n, n * n * c))


def depth_to_space(input, block_size, data_format="NHWC", name=None):  # noqa: A002
    """Channels as blocks of pixels."""
    refuse("tf.nn.depth_to_space", data_format=(data_format, "NHWC"))
    (b, h, w, c), n = ops.shape(input), block_size
    if None not in input.shape[1:3] and input.shape[0] is None:
        b = -1
    x = ops.transpose(ops.reshape(input, (b, h, w, n, n, c // (n * n))), (0, 1, 3, 2, 4, 5))
    return ops.reshape(x, (b, h * n, w * n, c // (n * n)))


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(activations, name)


__all__ = [
    *(n for n, v in list(globals().items()) if n[0] != "_" and callable(v) and v.__module__ == __name__),
    *("conv1d", "conv2d", "conv3d", "depthwise_conv2d"),
    *("ctc_greedy_decoder", "erf", "in_top_k", "l2_normalize", "log_softmax", "sigmoid", "softplus", "tanh", "top_k"),
]
