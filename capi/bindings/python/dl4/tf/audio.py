"""tf.audio."""

import io
import wave

import numpy as np

from ..keras.src.data.structure import string_array
from .dispatch import array, tensor
from .io import decode_wav


def encode_wav(audio, sample_rate, name=None):
    """The bytes of a .wav file of samples from -1 to 1, (samples, channels), in 16 bits."""
    x, file = array(audio), io.BytesIO()
    with wave.open(file, "wb") as f:
        f.setnchannels(x.shape[1])
        f.setsampwidth(2)
        f.setframerate(int(sample_rate))
        f.writeframes(np.clip(np.round(x * 32767.0), -32768, 32767).astype("<i2").tobytes())
    return tensor(string_array(file.getvalue()))


__all__ = ["decode_wav", "encode_wav"]
