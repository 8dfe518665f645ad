"""Convolutions, pooling and what they take of images: by the library's layers, whose kernels are values here."""

import numpy as np
from keras.src.backend import config

from .core import cast
from .dtypes import FLOATS
from .elementwise import joined_type
from .functions import op
from .shapes import moveaxis, pad, reshaped, transpose
from .tensor import array
from .trace import emit, plain

_RANKS = {1: "1D", 2: "2D", 3: "3D"}


def several(value, rank, name):
    value = plain(value)
    value = (value,) * rank if isinstance(value, int) else tuple(int(v) for v in value)
    value = value * rank if len(value) == 1 else value
    if len(value) != rank:
        raise ValueError(f"{name}: expected one number or {rank}, got {value}")
    return list(value)


def _format(data_format):
    return data_format or config.image_data_format()


def _last(x, data_format):
    return moveaxis(x, 1, -1) if _format(data_format) == "channels_first" else x


def _back(y, data_format):
    return moveaxis(y, -1, 1) if _format(data_format) == "channels_first" else y


def layer(kind, x, *weights, to, **options):
    """A layer of the library's called with these weights."""
    given = [cast(v, "float32") for v in (x, *weights)]
    return emit("StatelessCall", *given, to=to, layer={"class_name": kind, "config": options}, inputs=1)


def _float(*xs):
    t = joined_type(*xs)
    return t if t in FLOATS else "float32"


def _of_strides(kind, x, kernel, to, strides, padding, dilation_rate, **options):
    """A convolution. The library's layers take strides or a dilation: with both, the strides choose of its result."""
    rank = len(kernel.shape) - 2
    strides, dilation = several(strides, rank, "strides"), several(dilation_rate, rank, "dilation_rate")
    steps = [1] * rank
    if max(strides) > 1 and max(dilation) > 1:
        spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel.shape)]
        x, padding, steps, strides = pad(x, _edges(x, spans, strides, padding)), "valid", strides, steps
    options.update(kernel_size=list(kernel.shape[:rank]), padding=padding, use_bias=False, data_format="channels_last")
    y = layer(f"{kind}{_RANKS[rank]}", x, kernel, to=to, strides=strides, dilation_rate=dilation, **options)
    return y if max(steps) == 1 else y[(slice(None), *(slice(None, None, s) for s in steps))]


def _edges(x, spans, strides, padding):
    """How much is added to both ends of each axis, as Keras's padding says."""
    if padding.lower() == "same":
        whole = [max((-(-n // s) - 1) * s + k - n, 0) for n, s, k in zip(x.shape[1:], strides, spans)]
        return [[0, 0], *([w // 2, w - w // 2] for w in whole), [0, 0]]
    return [[0, 0], *([k - 1 if padding == "causal" else 0, 0] for k in spans), [0, 0]]


@op("inputs kernel")
def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, t = _last(inputs, data_format), _float(inputs, kernel)
    channels, each = x.shape[-1], kernel.shape[-2]
    if channels % each or kernel.shape[-1] % (channels // each or 1):
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {channels} and kernel in_channels {each}. "
        )
    t = "int32" if inputs.type_name == kernel.type_name == "int8" else t
    options = {"filters": kernel.shape[-1], "groups": channels // each}
    return _back(_of_strides("Conv", x, kernel, t, strides, padding, dilation_rate, **options), data_format)


@op("inputs kernel")
def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, t, each = _last(inputs, data_format), _float(inputs, kernel), kernel.shape[-1]
    y = _of_strides("DepthwiseConv", x, kernel, t, strides, padding, dilation_rate, depth_multiplier=each)
    return _back(y, data_format)


def separable_conv(
    inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None, dilation_rate=1
):
    y = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(y, pointwise_kernel, 1, "valid", data_format, 1)


@op("inputs kernel")
def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    rank = len(kernel.shape) - 2
    x = _last(inputs, data_format)
    more = None if output_padding is None else several(output_padding, rank, "output_padding")
    y = layer(
        f"Conv{_RANKS[rank]}Transpose",
        x,
        kernel,
        to=_float(inputs, kernel),
        filters=kernel.shape[-2],
        kernel_size=list(kernel.shape[:rank]),
        strides=several(strides, rank, "strides"),
        padding=padding,
        output_padding=more,
        dilation_rate=several(dilation_rate, rank, "dilation_rate"),
        use_bias=False,
        data_format="channels_last",
    )
    return _back(y, data_format)


# ---- pooling


def _pool(kind):
    @op("inputs")
    def f(inputs, pool_size, strides=None, padding="valid", data_format=None):
        rank = len(inputs.shape) - 2
        size = several(pool_size, rank, "pool_size")
        x = _last(inputs, data_format)
        t = x.type_name
        y = emit(
            f"{kind}Pooling{_RANKS[rank]}",
            cast(x, "float32"),
            pool_size=size,
            strides=size if strides is None else several(strides, rank, "strides"),
            padding=padding,
            data_format="channels_last",
        )
        return _back(cast(y, t), data_format)

    return f


max_pool, average_pool = _pool("Max"), _pool("Average")


def _adaptive(kind):
    @op("inputs")
    def f(inputs, output_size, data_format=None):
        rank = len(inputs.shape) - 2
        x = _last(inputs, data_format)
        y = emit(
            f"Adaptive{kind}Pooling{_RANKS[rank]}",
            cast(x, "float32"),
            output_size=several(output_size, rank, "output_size"),
            data_format="channels_last",
        )
        return _back(cast(y, x.type_name), data_format)

    return f


adaptive_max_pool, adaptive_average_pool = _adaptive("Max"), _adaptive("Average")


# ---- windows and blocks


@op("input")
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):  # noqa: A002
    k, d, p, s = (several(v, 2, "kernel_size") for v in (kernel_size, dilation, padding, stride))
    x = pad(input, [(0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])])
    batch, channels, height, width = x.shape
    places = [
        np.arange(k_)[:, None] * d_ + np.arange((n - d_ * (k_ - 1) - 1) // s_ + 1) * s_
        for k_, d_, s_, n in zip(k, d, s, (height, width))
    ]
    at = places[0][:, None, :, None] * width + places[1][None, :, None, :]
    flat = reshaped(x, [batch, channels, height * width])
    y = emit("Take", flat, array(at.reshape(-1), "int32"), to=x.type_name, axis=2)
    return reshaped(y, [batch, channels * k[0] * k[1], at.shape[2] * at.shape[3]])


@op("x")
def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    o, k, d, p, s = (several(v, 2, "sizes") for v in (output_size, kernel_size, dilation, padding, stride))
    height, width = (o[i] + 2 * p[i] for i in (0, 1))
    places = [
        np.arange(k[i])[:, None] * d[i] + np.arange((n - d[i] * (k[i] - 1) - 1) // s[i] + 1) * s[i]
        for i, n in enumerate((height, width))
    ]
    at = (places[0][:, None, :, None] * width + places[1][None, :, None, :]).reshape(-1)
    batch, channels = x.shape[0], x.shape[1] // (k[0] * k[1])
    rows = transpose(reshaped(x, [batch * channels, at.size]), [1, 0])
    y = emit("SegmentSum", cast(rows, "float32"), array(at, "int32"), num_segments=height * width)
    y = reshaped(transpose(y, [1, 0]), [batch, channels, height, width])
    y = y[:, :, p[0] : height - p[0], p[1] : width - p[1]]
    return cast(y, x.type_name)


@op("x")
def depth_to_space(x, block_size, data_format="channels_last"):
    y = _last(x, data_format)
    b, h, w, c = y.shape
    n = int(block_size)
    y = transpose(reshaped(y, [b, h, w, n, n, c // n**2]), [0, 1, 3, 2, 4, 5])
    return _back(reshaped(y, [b, h * n, w * n, c // n**2]), data_format)


@op("x")
def space_to_depth(x, block_size, data_format="channels_last"):
    y = _last(x, data_format)
    b, h, w, c = y.shape
    n = int(block_size)
    y = transpose(reshaped(y, [b, h // n, n, w // n, n, c]), [0, 1, 3, 2, 4, 5])
    return _back(reshaped(y, [b, h // n, w // n, n * n * c]), data_format)
