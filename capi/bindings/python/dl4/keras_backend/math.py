"""Keras's contract of `backend.math`."""

import numpy as np

from .core import cast
from .dtypes import Unsupported, is_float
from .elementwise import erf, erfc, erfinv, joined_type, rsqrt  # noqa: F401
from .fallback import fft, fft2, ifft2, irfft, logdet, rfft  # noqa: F401
from .functions import op
from .reductions import logsumexp, over, top_k  # noqa: F401
from .shapes import expand_dims, pad, reshaped, transpose
from .tensor import array
from .trace import emit, has_traced, tensor


def _count(segment_ids, num_segments):
    if num_segments is not None:
        return int(num_segments)
    if has_traced(segment_ids):
        raise Unsupported("segment functions of traced segment_ids: expected `num_segments`")
    return int(np.max(np.asarray(tensor(segment_ids).value), initial=-1)) + 1


def _segments(reduce):
    def f(data, segment_ids, num_segments=None, sorted=False):  # noqa: A002
        data, segment_ids = tensor(data), tensor(segment_ids)
        if len(segment_ids.shape) != 1 or data.shape[:1] != segment_ids.shape:
            raise ValueError(
                "Argument `segment_ids` should be an 1-D vector of the first size of `data`, got shape: "
                f"{tuple(segment_ids.shape)} for data of shape {tuple(data.shape)}"
            )
        return reduce(data, segment_ids, _count(segment_ids, num_segments))

    return f


def _by_rows(kind):
    def f(data, at, n):
        flat = reshaped(data, [data.shape[0], -1] if data.size else [data.shape[0], 1])
        y = emit(kind, cast(flat, "float32"), cast(at, "int32"), num_segments=n)
        return cast(reshaped(y, [n, *data.shape[1:]]), data.type_name)

    return f


def _chosen(at, n, rank):
    """Which rows are in which segments: (segments, rows, 1 ...)."""
    here = emit("Equal", array(np.arange(n)[:, None], "int32"), expand_dims(cast(at, "int32"), 0))
    return reshaped(here, [n, at.shape[0], *[1] * (rank - 1)])


def _by_choice(kind, start):
    """Of integers, and what the library has no kind for: each segment over all rows."""

    def f(data, at, n):
        nothing = array(start(data.type_name), data.type_name)
        rows = emit("Where", _chosen(at, n, len(data.shape)), data, nothing, to=data.type_name)
        return over(kind, rows, 1, to=data.type_name)

    return f


def _least(name):
    return -np.inf if is_float(name) else np.iinfo(name).min if name != "bool" else 0


def _most(name):
    return np.inf if is_float(name) else np.iinfo(name).max if name != "bool" else 1


_sum_of = op("data segment_ids")(
    lambda data, segment_ids, n: (
        _by_rows("SegmentSum") if is_float(data.type_name) else _by_choice("Sum", lambda _: 0)
    )(data, segment_ids, n)
)
_max_of = op("data segment_ids")(lambda data, segment_ids, n: _by_choice("Max", _least)(data, segment_ids, n))
_min_of = op("data segment_ids")(lambda data, segment_ids, n: _by_choice("Min", _most)(data, segment_ids, n))
_prod_of = op("data segment_ids")(lambda data, segment_ids, n: _by_choice("Prod", lambda _: 1)(data, segment_ids, n))
segment_sum, segment_max, segment_min, segment_prod = map(_segments, (_sum_of, _max_of, _min_of, _prod_of))


@op("targets predictions")
def in_top_k(targets, predictions, k):
    wanted = reshaped(cast(targets, "int32"), [-1, 1] if targets.size else [0, 1])
    rows = reshaped(cast(predictions, "float32"), [wanted.shape[0], predictions.shape[-1]])
    here = emit("Equal", array(np.arange(rows.shape[1]), "int32"), wanted)
    value = over("Sum", emit("Where", here, rows, array(0.0, "float32")), 1, True)
    above = over("Sum", cast(emit("Greater", rows, value), "int32"), 1)
    fine = over("All", emit("Isfinite", value), 1)
    y = emit("LogicalAnd", emit("Less", above, array(int(k), "int32")), fine)
    return reshaped(y, targets.shape)


@op("x y")
def cdist(x, y):
    t = joined_type(x, y)
    t = t if is_float(t) else "float32"
    apart = emit("BroadcastSubtract", expand_dims(cast(x, t), -2), expand_dims(cast(y, t), -3))
    return emit("Sqrt", over("Sum", emit("Square", apart), -1), to=t)


@op("x")
def extract_sequences(x, sequence_length, sequence_stride):
    n = (x.shape[-1] - sequence_length) // sequence_stride + 1
    at = np.arange(n)[:, None] * sequence_stride + np.arange(sequence_length)
    return emit("Take", x, array(at, "int32"), to=x.type_name, axis=-1)


# ---- short spectra


def _window(window, length, fft_length):
    """Of the length of a spectrum, with zeros on both sides."""
    if window is None:
        values = np.ones(length)
    elif isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(
                f"If a string is passed to `window`, it must be one of `'hann'`, `'hamming'`. Received: window={window}"
            )
        a = 0.5 if window == "hann" else 0.54
        values = a - (1 - a) * np.cos(2 * np.pi * np.arange(length) / length)
    else:
        values = np.asarray(tensor(window).value, "float64")
        if values.shape != (length,):
            raise ValueError(
                f"The shape of `window` must be equal to [sequence_length].Received: window shape={values.shape}"
            )
    before = (fft_length - length) // 2
    return np.pad(values, (before, fft_length - length - before)).astype("float32")


def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    x = tensor(x)
    if not is_float(x.type_name):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={x.type_name}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )
    window = _window(window, sequence_length, fft_length)
    if center:
        sides = [(0, 0)] * (len(x.shape) - 1) + [(fft_length // 2, fft_length // 2)]
        x = pad(x, sides, mode="reflect")
    return rfft(_windowed(x, window, fft_length, sequence_stride))


@op("x")
def _windowed(x, window, size, stride):
    parts = extract_sequences(x, size, stride)
    return emit("BroadcastMultiply", cast(parts, "float32"), array(window, "float32"), to=x.type_name)


def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    values = _window(window, sequence_length, fft_length)
    start = fft_length // 2 if center else 0
    return _overlapped(irfft(x, fft_length), values, sequence_stride, length, start, window is not None)


@op("parts")
def _overlapped(parts, window, stride, length, start, divides):
    """Windows are divided by what their squares add up to in an endless sequence."""
    t, (count, size) = parts.type_name, parts.shape[-2:]
    if divides:
        squares = np.pad(np.square(window, dtype="float64"), (0, -size % stride)).reshape(-1, stride).sum(0)
        squares = np.resize(squares, size)
        scale = np.divide(window, squares, out=np.zeros(size), where=squares != 0)
        parts = emit("BroadcastMultiply", cast(parts, "float32"), array(scale, "float32"))
    total = size + stride * (count - 1)
    at = array((np.arange(count)[:, None] * stride + np.arange(size)).ravel(), "int32")
    rows = transpose(reshaped(parts, [-1, count * size]), [1, 0])
    y = transpose(emit("SegmentSum", cast(rows, "float32"), at, num_segments=total), [1, 0])
    end = total - start if length is None else min(start + length, total)
    y = emit("Slice", y, start_indices=[0, start], shape=[-1, end - start])
    return cast(reshaped(y, [*parts.shape[:-2], end - start]), t)
