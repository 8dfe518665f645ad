"""Windows, Fourier transforms and sequences of arrays. A spectrum is a pair: its real and its imaginary part."""

from ..backend.lazy import np
from .arguments import array, on_arrays, real, wide


def _window(name):
    def f(x):
        return getattr(np, name)(int(x)).astype("float32")

    f.__name__ = name
    return on_arrays(f)


bartlett, blackman, hamming, hanning = (_window(n) for n in ("bartlett", "blackman", "hamming", "hanning"))


@on_arrays
def kaiser(x, beta):
    return np.kaiser(int(x), float(beta)).astype("float32")


def _pair(x):
    if not isinstance(x, (tuple, list)) or len(x) != 2:
        raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
    parts = [real(v) for v in x]
    if parts[0].shape != parts[1].shape:
        raise ValueError(
            "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary parts should "
            f"have the same shape. Received: x[0].shape = {parts[0].shape}, x[1].shape = {parts[1].shape}"
        )
    return wide(parts[0]) + 1j * wide(parts[1]), parts[0].dtype


def _parts(c, dtype):
    return c.real.astype(dtype), c.imag.astype(dtype)


def _of_spectrum(name, rank):
    def f(x):
        c, dtype = _pair(x)
        _need_rank(c, rank)
        return _parts(getattr(np.fft, name)(c), dtype)

    f.__name__ = name
    return on_arrays(f)


fft, fft2, ifft2 = _of_spectrum("fft", 1), _of_spectrum("fft2", 2), _of_spectrum("ifft2", 2)


def _need_rank(a, rank):
    if a.ndim < rank:
        raise ValueError(f"Input should have rank >= {rank}. Received: input.shape = {a.shape}")
    return a


@on_arrays
def rfft(x, fft_length=None):
    a = _need_rank(real(x), 1)
    return _parts(np.fft.rfft(wide(a), fft_length), a.dtype)


@on_arrays
def irfft(x, fft_length=None):
    c, dtype = _pair(x)
    _need_rank(c, 1)
    return np.fft.irfft(c, fft_length).astype(dtype)


@on_arrays
def extract_sequences(x, sequence_length, sequence_stride):
    a = _need_rank(array(x), 1)
    windows = np.lib.stride_tricks.sliding_window_view(a, sequence_length, axis=-1)
    return np.array(windows[..., ::sequence_stride, :])


def framing(window, sequence_length, fft_length, dtype):
    """A window of that length, in the middle of one of fft_length."""
    if window is None:
        w = np.ones(sequence_length)
    elif isinstance(window, str):
        if window not in ("hann", "hamming"):
            raise ValueError(
                f"If a string is passed to `window`, it must be one of `'hann'`, `'hamming'`. Received: window={window}"
            )
        w = (np.hanning if window == "hann" else np.hamming)(sequence_length + 1)[:-1]
    else:
        w = wide(array(window))
        if w.ndim != 1 or w.shape[0] != sequence_length:
            raise ValueError(
                f"The shape of `window` must be equal to [sequence_length].Received: window shape={w.shape}"
            )
    before = (fft_length - sequence_length) // 2
    return np.pad(w, (before, fft_length - sequence_length - before)).astype(dtype)


def _checked(x, sequence_length, sequence_stride, fft_length):
    for name, n in (
        ("sequence_length", sequence_length),
        ("sequence_stride", sequence_stride),
        ("fft_length", fft_length),
    ):
        if not hasattr(n, "__index__") or n < 1:
            raise ValueError(f"`{name}` must be a positive integer. Received: {name}={n}")
    if fft_length < sequence_length:
        raise ValueError(
            "`fft_length` must equal or larger than `sequence_length`. "
            f"Received: sequence_length={sequence_length}, fft_length={fft_length}"
        )


@on_arrays
def stft(x, sequence_length, sequence_stride, fft_length, window="hann", center=True):
    if str(array(x).dtype) not in ("float32", "float16", "bfloat16", "float64"):
        raise TypeError(f"Invalid input type. Expected `float32` or `float64`. Received: input type={array(x).dtype}")
    a = _need_rank(real(x), 1)
    _checked(a, sequence_length, sequence_stride, fft_length)
    w, work = framing(window, sequence_length, fft_length, "float32"), wide(a)
    if center:
        work = np.pad(work, [(0, 0)] * (work.ndim - 1) + [(fft_length // 2,) * 2], mode="reflect")
    return _parts(np.fft.rfft(extract_sequences(work, fft_length, sequence_stride) * w), a.dtype)


def dual(window, sequence_length, sequence_stride, fft_length):
    """What stands for a window in the inverse: products of both add up to 1."""
    if window is None:
        return 1.0
    w = framing(window, sequence_length, fft_length, "float64")
    times = -(-fft_length // sequence_stride)
    squares = np.pad(w * w, (0, times * sequence_stride - fft_length)).reshape(times, sequence_stride)
    with np.errstate(all="ignore"):
        return w / np.tile(squares.sum(0), times)[:fft_length]


@on_arrays
def istft(x, sequence_length, sequence_stride, fft_length, length=None, window="hann", center=True):
    c, dtype = _pair(x)
    _need_rank(c, 2)
    _checked(c, sequence_length, sequence_stride, fft_length)
    frames = np.fft.irfft(c, fft_length) * dual(window, sequence_length, sequence_stride, fft_length)
    count = frames.shape[-2]
    total = fft_length + (count - 1) * sequence_stride
    y = np.zeros((*frames.shape[:-2], total))
    for i in range(count):
        y[..., i * sequence_stride : i * sequence_stride + fft_length] += frames[..., i, :]
    start = fft_length // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = total - fft_length // 2 if center else total
    return y[..., start:end].astype(dtype)
