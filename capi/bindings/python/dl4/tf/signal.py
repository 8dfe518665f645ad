"""tf.signal: frames of sound and their spectra, of arrays."""

import numpy as np

from .dispatch import array, name_of, tensor


def _window(a):
    def window(window_length, periodic=True, dtype="float32", name=None):
        n = int(window_length)
        size = n + 1 - n % 2 if periodic else n
        return tensor((a - (1 - a) * np.cos(2 * np.pi * np.arange(n) / max(size - 1, 1))).astype(name_of(dtype)))

    return window


hann_window, hamming_window = _window(0.5), _window(0.54)


def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Parts of the last axis, each a step behind the one before."""
    if axis != -1:
        raise NotImplementedError(f"tf.signal.frame: `axis`: expected -1, got {axis}")
    x, length, step = array(signal), int(frame_length), int(frame_step)
    size = x.shape[-1]
    count = -(-size // step) if pad_end else max((size - length) // step + 1, 0)
    short = (count - 1) * step + length - size
    if short > 0:
        x = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, short)], constant_values=pad_value)
    return tensor(x[..., np.arange(count)[:, None] * step + np.arange(length)])


def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """The spectrum of each frame, complex."""
    frames = np.asarray(frame(array(signals).astype("float32"), frame_length, frame_step, pad_end))
    size = int(fft_length or 2 ** int(np.ceil(np.log2(frame_length))))
    if window_fn is not None:
        frames = frames * np.asarray(window_fn(frame_length))
    return tensor(np.fft.rfft(frames, size).astype("complex64"))


def rfft(input_tensor, fft_length=None, name=None):
    return tensor(
        np.fft.rfft(array(input_tensor), None if fft_length is None else int(np.ravel(fft_length)[0])).astype(
            "complex64"
        )
    )


def irfft(input_tensor, fft_length=None, name=None):
    return tensor(
        np.fft.irfft(array(input_tensor), None if fft_length is None else int(np.ravel(fft_length)[0])).astype(
            "float32"
        )
    )


def _transform(name):
    def f(input, name=None):  # noqa: A002
        return tensor(getattr(np.fft, transform)(array(input)).astype("complex64"))

    transform, f.__name__ = name, name.rstrip("n")
    return f


fft, ifft, fft2d, ifft2d = map(_transform, ("fft", "ifft", "fft2", "ifft2"))


def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """What frames of these spectra give, one a step behind the other."""
    size = int(fft_length or 2 ** int(np.ceil(np.log2(frame_length))))
    frames = np.fft.irfft(array(stfts), size)[..., :frame_length]
    frames = np.pad(frames, [(0, 0)] * (frames.ndim - 1) + [(0, max(frame_length - size, 0))])
    if window_fn is not None:
        frames = frames * np.asarray(window_fn(frame_length))
    return overlap_and_add(frames.astype("float32"), frame_step)


def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window with which what inverse_stft() gives is the signal."""

    def window(frame_length, dtype="float32"):
        forward, length = np.asarray(forward_window_fn(frame_length)), int(frame_length)
        squares = np.pad(forward**2, (0, -length % frame_step)).reshape(-1, frame_step).sum(0)
        return tensor((forward / np.resize(squares, length)).astype(name_of(dtype)))

    return window


def overlap_and_add(signal, frame_step, name=None):
    """The sum of frames, each a step behind the one before."""
    x = array(signal)
    count, length = x.shape[-2:]
    out = np.zeros((*x.shape[:-2], length + (count - 1) * frame_step), x.dtype)
    for i in range(count):
        out[..., i * frame_step : i * frame_step + length] += x[..., i, :]
    return tensor(out)


def linear_to_mel_weight_matrix(
    num_mel_bins=20,
    num_spectrogram_bins=129,
    sample_rate=8000,
    lower_edge_hertz=125.0,
    upper_edge_hertz=3800.0,
    dtype="float32",
    name=None,
):
    """Triangles between frequencies that stand evenly on the mel scale."""

    def mel(hertz):
        return 1127.0 * np.log1p(np.asarray(hertz, "float64") / 700.0)

    bins = mel(np.linspace(0.0, sample_rate / 2, num_spectrogram_bins))[1:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    below, middle, above = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(0.0, np.minimum((bins - below) / (middle - below), (above - bins) / (above - middle)))
    return tensor(np.pad(weights, ((1, 0), (0, 0))).astype(name_of(dtype)))


__all__ = ["fft", "fft2d", "ifft", "ifft2d", "inverse_stft", "inverse_stft_window_fn", "overlap_and_add"]
__all__ += ["frame", "hamming_window", "hann_window", "irfft", "linear_to_mel_weight_matrix", "rfft", "stft"]
