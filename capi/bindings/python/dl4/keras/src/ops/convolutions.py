"""Convolutions with kernels that are tensors, and pooling: in a graph sums of products, a product for each place of the
kernel."""

import itertools

from ..backend import config
from ..on_arrays.convolutions import _padding, _same, _several, transposed_sizes
from ..symbolic.tensor import as_tensor, operate, operation
from .dispatch import dispatched, floats
from .products import matmul
from .shapes import concatenate, expand_dims, moveaxis, pad, reshape, transpose

_slice = slice


def _known(x, name):
    if None in x.shape[1:]:
        raise NotImplementedError(f"{name}: expected known sizes of images, got {x.shape}")
    return x


def _prepared(inputs, kernel, data_format, name):
    x, k = floats(inputs), floats(kernel)
    is_first = (data_format or config.image_data_format()) == "channels_first"
    return _known(moveaxis(x, 1, -1) if is_first else x, name), k, is_first


def _finished(y, is_first):
    return moveaxis(y, -1, 1) if is_first else y


def _taps(x, kernel_shape, strides, padding, dilation):
    """For each place of a kernel what of x (N, spatial..., C) lies under it."""
    spread = [(k - 1) * d + 1 for k, d in zip(kernel_shape, dilation)]
    if _padding(padding) == "same":
        sides = [_same(s, k, t) for s, k, t in zip(x.shape[1:-1], spread, strides)]
        x = pad(x, [(0, 0), *sides, (0, 0)])
    sizes = [(s - k) // t + 1 for s, k, t in zip(x.shape[1:-1], spread, strides)]
    for tap in itertools.product(*(range(k) for k in kernel_shape)):
        at = [_slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilation, sizes, strides)]
        yield tap, x[(_slice(None), *at)]


def _added(parts):
    total = None
    for part in parts:
        total = part if total is None else operate("Add", total, part)
    return total


@dispatched
def conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, k, is_first = _prepared(inputs, kernel, data_format, "conv")
    rank = len(x.shape) - 2
    strides, dilation = _several(strides, rank, "strides"), _several(dilation_rate, rank, "dilation_rate")
    groups, n, rest = x.shape[-1] // k.shape[-2], k.shape[-2], k.shape[-1]
    if x.shape[-1] % n or rest % groups:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {x.shape[-1]} and kernel in_channels {n}. "
        )
    rest //= groups

    def of_group(g):
        part = x[..., g * n : (g + 1) * n] if groups > 1 else x
        columns = k[..., g * rest : (g + 1) * rest] if groups > 1 else k
        return _added(matmul(v, columns[tap]) for tap, v in _taps(part, k.shape[:rank], strides, padding, dilation))

    parts = [of_group(g) for g in range(groups)]
    return _finished(parts[0] if groups == 1 else concatenate(parts, -1), is_first)


@dispatched
def depthwise_conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    x, k, is_first = _prepared(inputs, kernel, data_format, "depthwise_conv")
    rank = len(x.shape) - 2
    strides, dilation = _several(strides, rank, "strides"), _several(dilation_rate, rank, "dilation_rate")
    y = _added(
        operate("Multiply", expand_dims(v, -1), k[tap])
        for tap, v in _taps(x, k.shape[:rank], strides, padding, dilation)
    )
    return _finished(reshape(y, [-1, *y.shape[1:-2], k.shape[-2] * k.shape[-1]]), is_first)


@dispatched
def separable_conv(
    inputs, depthwise_kernel, pointwise_kernel, strides=1, padding="valid", data_format=None, dilation_rate=1
):
    y = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(y, pointwise_kernel, 1, "valid", data_format, 1)


@dispatched
def conv_transpose(inputs, kernel, strides=1, padding="valid", output_padding=None, data_format=None, dilation_rate=1):
    x, k, is_first = _prepared(inputs, kernel, data_format, "conv_transpose")
    rank = len(x.shape) - 2
    strides, dilation = _several(strides, rank, "strides"), _several(dilation_rate, rank, "dilation_rate")
    more = [None] * rank if output_padding is None else _several(output_padding, rank, "output_padding")
    word, sizes = _padding(padding), x.shape[1:-1]
    ends = [
        transposed_sizes(n, kn, s, word, o, d) for n, kn, s, o, d in zip(sizes, k.shape[:rank], strides, more, dilation)
    ]
    full = [
        max((n - 1) * s + (kn - 1) * d + 1, cut + size)
        for n, s, kn, d, (size, cut) in zip(sizes, strides, k.shape[:rank], dilation, ends)
    ]

    def placed(tap):
        y = matmul(x, transpose(k[tap]))
        for axis, (t, d, s, n, whole) in enumerate(zip(tap, dilation, strides, sizes, full), 1):
            if s > 1:  # zeros behind each, but for the last
                y = expand_dims(y, axis + 1)
                y = pad(y, [(0, s - 1) if i == axis + 1 else (0, 0) for i in range(len(y.shape))])
                y = reshape(y, [-1, *y.shape[1:axis], n * s, *y.shape[axis + 2 :]])
                y = y[(_slice(None),) * axis + (_slice(0, (n - 1) * s + 1),)]
            before = t * d
            behind = whole - before - y.shape[axis]
            y = pad(y, [(before, behind) if i == axis else (0, 0) for i in range(len(y.shape))])
        return y

    y = _added(placed(tap) for tap in itertools.product(*(range(n) for n in k.shape[:rank])))
    kept = [_slice(cut, cut + size) for size, cut in ends]
    return _finished(y[(_slice(None), *kept)], is_first)


def _pooling(name, kind):
    def f(inputs, pool_size, strides=None, padding="valid", data_format=None):
        x = as_tensor(inputs)
        rank = len(x.shape) - 2
        size = _several(pool_size, rank, "pool_size")
        return operation(
            f"{kind}Pooling{rank}D",
            pool_size=list(size),
            strides=list(size if strides is None else _several(strides, rank, "strides")),
            padding=_padding(padding),
            data_format=data_format or config.image_data_format(),
        )(floats(x))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}"
    return dispatched(f)


max_pool, average_pool = _pooling("max_pool", "Max"), _pooling("average_pool", "Average")


def _adaptive(name, kind):
    def f(inputs, output_size, data_format=None):
        x = as_tensor(inputs)
        rank = len(x.shape) - 2
        size = list(_several(output_size, rank, "output_size"))
        kind_ = f"Adaptive{kind}Pooling{rank}D"
        return operation(kind_, output_size=size, data_format=data_format or config.image_data_format())(floats(x))

    f.__name__, f.__doc__ = name, f"keras.ops.{name}"
    return dispatched(f)


adaptive_average_pool = _adaptive("adaptive_average_pool", "Average")
adaptive_max_pool = _adaptive("adaptive_max_pool", "Max")
