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


__all__ = ["frame", "hamming_window", "hann_window", "irfft", "rfft", "stft"]
