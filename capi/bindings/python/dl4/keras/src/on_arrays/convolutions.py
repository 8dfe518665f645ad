"""Convolutions, pooling and patches of arrays. Inside, the channels are last."""

import itertools

from ..backend import config
from ..backend.lazy import np
from .arguments import array, common, on_arrays, real, wide


def _several(n, rank, name):
    if isinstance(n, (list, tuple)):
        if len(n) == 1:
            return tuple(n) * rank
        if len(n) != rank:
            raise ValueError(f"`{name}`: expected a number or {rank} numbers, got {n}")
        return tuple(int(v) for v in n)
    return (int(n),) * rank


def _last(a, data_format):
    data_format = data_format or config.image_data_format()
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"The `data_format` argument must be one of {{'channels_first', 'channels_last'}}. Received: {data_format}"
        )
    return (np.moveaxis(a, 1, -1), True) if data_format == "channels_first" else (a, False)


def _back(y, is_first, dtype):
    return (np.moveaxis(y, -1, 1) if is_first else y).astype(dtype, copy=False)


def _same(size, kernel, stride):
    """What "same" pads before and behind."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def _padding(padding):
    word = str(padding).lower()
    if word not in ("valid", "same"):
        raise ValueError(f"`padding`: expected 'valid' or 'same', got {padding!r}")
    return word


def _padded(x, kernel, strides, padding, value=0):
    """x (N, spatial..., C) with its borders."""
    if _padding(padding) == "valid":
        return x
    widths = [(0, 0), *(_same(s, k, t) for s, k, t in zip(x.shape[1:-1], kernel, strides)), (0, 0)]
    return np.pad(x, widths, constant_values=value)


def _windows(x, kernel, strides, dilation):
    """(N, out..., C, kernel...)"""
    rank = len(kernel)
    spread = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
    for size, k in zip(x.shape[1:-1], spread):
        if size < k:
            raise ValueError(f"Computed output size would be negative. Received: a size of {size} for a kernel of {k}")
    v = np.lib.stride_tricks.sliding_window_view(x, spread, axis=tuple(range(1, rank + 1)))
    steps = [slice(None, None, s) for s in strides]
    return v[(slice(None), *steps, slice(None), *(slice(None, None, d) for d in dilation))]


def _convolved(x, kernel, strides, padding, dilation):
    """x (N, spatial..., C), kernel (spatial..., C / groups, F)."""
    rank = kernel.ndim - 2
    spread = [(k - 1) * d + 1 for k, d in zip(kernel.shape, dilation)]
    w = _windows(_padded(x, spread, strides, padding), kernel.shape[:rank], strides, dilation)
    groups, n, rest = x.shape[-1] // kernel.shape[-2], kernel.shape[-2], kernel.shape[-1]
    if x.shape[-1] % kernel.shape[-2] or rest % groups:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {x.shape[-1]} and kernel in_channels {kernel.shape[-2]}. "
        )
    rest //= groups
    axes = [rank + 1, *range(rank + 2, 2 * rank + 2)], [rank, *range(rank)]
    parts = [
        np.tensordot(
            w[(slice(None),) * (rank + 1) + (slice(g * n, (g + 1) * n),)], kernel[..., g * rest : (g + 1) * rest], axes
        )
        for g in range(groups)
    ]
    return parts[0] if groups == 1 else np.concatenate(parts, -1)


def _given(inputs, kernel):
    a, k = common(inputs, kernel, floats=True)
    if str(array(inputs).dtype) == str(array(kernel).dtype) == "int8":
        return array(inputs).astype("int32"), array(kernel).astype("int32"), "int32"
    return wide(a), wide(k), a.dtype


@on_arrays
def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    a, k, dtype = _given(inputs, kernel)
    rank = a.ndim - 2
    strides, dilation = _several(strides, rank, "strides"), _several(dilation_rate, rank, "dilation_rate")
    x, is_first = _last(a, data_format)
    return _back(_convolved(x, k, strides, padding, dilation), is_first, dtype)


@on_arrays
def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    a, k, dtype = _given(inputs, kernel)
    rank = a.ndim - 2
    strides, dilation = _several(strides, rank, "strides"), _several(dilation_rate, rank, "dilation_rate")
    x, is_first = _last(a, data_format)
    flat = k.reshape([*k.shape[:rank], 1, k.shape[-2] * k.shape[-1]])
    return _back(_convolved(x, flat, strides, padding, dilation), is_first, dtype)


@on_arrays
def separable_conv(
    inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None, dilation_rate=1
):
    y = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(y, pointwise_kernel, 1, "valid", data_format, 1)


def transposed_sizes(size, kernel, stride, padding, output_padding, dilation):
    """Of one axis: the size of what a transposed convolution gives, and what is cut off before it."""
    spread = (kernel - 1) * dilation + 1
    if padding == "valid":
        more = max(stride - spread, 0) if output_padding is None else output_padding
        return (size - 1) * stride + spread + more, 0
    total = stride + spread - 2 if output_padding is None else spread + spread % 2 - 2 + output_padding
    before = min(total // 2 + total % 2, spread - 1)
    return (size - 1) * stride + total - spread + 2, spread - 1 - before


@on_arrays
def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    a, k, dtype = _given(inputs, kernel)
    rank = a.ndim - 2
    strides, dilation = _several(strides, rank, "strides"), _several(dilation_rate, rank, "dilation_rate")
    more = [None] * rank if output_padding is None else _several(output_padding, rank, "output_padding")
    x, is_first = _last(a, data_format)
    word = _padding(padding)
    ends = [
        transposed_sizes(n, kn, s, word, o, d)
        for n, kn, s, o, d in zip(x.shape[1:-1], k.shape[:rank], strides, more, dilation)
    ]
    full = [
        max((n - 1) * s + (kn - 1) * d + 1, cut + size)
        for n, s, kn, d, (size, cut) in zip(x.shape[1:-1], strides, k.shape[:rank], dilation, ends)
    ]
    y = np.zeros((x.shape[0], *full, k.shape[-2]), x.dtype)
    for tap in itertools.product(*(range(n) for n in k.shape[:rank])):
        at = [slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, x.shape[1:-1], strides)]
        y[(slice(None), *at)] += x @ k[tap].T
    kept = [slice(cut, cut + size) for size, cut in ends]
    return _back(y[(slice(None), *kept)], is_first, dtype)


def _pooled(inputs, pool_size, strides, padding, data_format, name):
    a = array(inputs) if name == "max" else real(inputs)
    rank = a.ndim - 2
    size = _several(pool_size, rank, "pool_size")
    strides = size if strides is None else _several(strides, rank, "strides")
    x, is_first = _last(wide(a), data_format)
    none = (1,) * rank
    over = tuple(range(-rank, 0))
    if name == "max":
        least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        y = _windows(_padded(x, size, strides, padding, least), size, strides, none).max(over)
    else:
        y = _windows(_padded(x, size, strides, padding), size, strides, none).sum(over)
        ones = _padded(np.ones((1, *x.shape[1:-1], 1), x.dtype), size, strides, padding)
        y = y / _windows(ones, size, strides, none).sum(over)
    return _back(y, is_first, a.dtype)


@on_arrays
def max_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pooled(inputs, pool_size, strides, padding, data_format, "max")


@on_arrays
def average_pool(inputs, pool_size, strides=None, padding="valid", data_format=None):
    return _pooled(inputs, pool_size, strides, padding, data_format, "average")


def _adaptive(inputs, output_size, data_format, reduce):
    a = real(inputs)
    x, is_first = _last(wide(a), data_format)
    for axis, n in enumerate(_several(output_size, x.ndim - 2, "output_size"), 1):
        size = x.shape[axis]
        parts = [
            reduce(np.take(x, range(i * size // n, -(-(i + 1) * size // n)), axis), axis=axis, keepdims=True)
            for i in range(n)
        ]
        x = np.concatenate(parts, axis)
    return _back(x, is_first, a.dtype)


@on_arrays
def adaptive_average_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, data_format, np.mean)


@on_arrays
def adaptive_max_pool(inputs, output_size, data_format=None):
    return _adaptive(inputs, output_size, data_format, np.max)


@on_arrays
def unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    a = array(x)
    k, d, p, s = (_several(v, 2, "kernel_size") for v in (kernel_size, dilation, padding, stride))
    w = np.moveaxis(np.pad(a, [(0, 0), (0, 0), (p[0],) * 2, (p[1],) * 2]), 1, -1)
    w = np.moveaxis(_windows(w, k, s, d), (3, 4, 5), (1, 2, 3))
    return w.reshape(a.shape[0], a.shape[1] * k[0] * k[1], -1)


@on_arrays
def fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    a = array(x)
    o, k, d, p, s = (_several(v, 2, "kernel_size") for v in (output_size, kernel_size, dilation, padding, stride))
    places = [(o[i] + 2 * p[i] - d[i] * (k[i] - 1) - 1) // s[i] + 1 for i in (0, 1)]
    channels = a.shape[1] // (k[0] * k[1])
    if places[0] * places[1] != a.shape[2] or channels * k[0] * k[1] != a.shape[1]:
        raise ValueError(f"fold: expected {places[0] * places[1]} places of {k} for the output {o}, got {a.shape}")
    v = a.reshape(a.shape[0], channels, *k, *places)
    y = np.zeros((a.shape[0], channels, o[0] + 2 * p[0], o[1] + 2 * p[1]), a.dtype)
    for i, j in itertools.product(range(k[0]), range(k[1])):
        at = [slice(t * d[n], t * d[n] + (places[n] - 1) * s[n] + 1, s[n]) for n, t in ((0, i), (1, j))]
        y[:, :, at[0], at[1]] += v[:, :, i, j]
    return y[:, :, p[0] : p[0] + o[0], p[1] : p[1] + o[1]]


def _blocks(block_size, data_format):
    if not hasattr(block_size, "__index__") or block_size < 2:
        raise ValueError(f"`block_size` must be an integer greater than 1. Received: block_size={block_size}")
    return int(block_size)


@on_arrays
def depth_to_space(x, block_size, data_format="channels_last"):
    a, is_first = _last(array(x), data_format)
    b = _blocks(block_size, data_format)
    n, h, w, c = a.shape
    if c % (b * b):
        raise ValueError(f"The number of channels must be divisible by block_size**2. Received: channels={c}")
    y = a.reshape(n, h, w, b, b, c // (b * b)).transpose(0, 1, 3, 2, 4, 5).reshape(n, h * b, w * b, c // (b * b))
    return _back(y, is_first, a.dtype)


@on_arrays
def space_to_depth(x, block_size, data_format="channels_last"):
    a, is_first = _last(array(x), data_format)
    b = _blocks(block_size, data_format)
    n, h, w, c = a.shape
    if h % b or w % b:
        raise ValueError(f"Height and width must be divisible by block_size. Received: height={h}, width={w}")
    y = a.reshape(n, h // b, b, w // b, b, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // b, w // b, b * b * c)
    return _back(y, is_first, a.dtype)
