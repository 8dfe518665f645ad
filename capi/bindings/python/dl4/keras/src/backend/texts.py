"""Texts as arrays."""

from .lazy import np


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


def string_array(x):
    """Texts as TensorFlow has them: an array of bytes objects."""
    array = (
        np.asarray(x) if isinstance(x, np.ndarray) else np.asarray(x, object)
    )  # NumPy's own texts lose zeros at their end
    if array.dtype.kind in "US" or array.dtype == object:
        flat = [as_bytes(v) for v in array.astype(object).ravel()]
        out = np.empty(len(flat), object)
        out[:] = flat
        return out.reshape(array.shape)
    raise TypeError(f"expected texts, got an array of {array.dtype}")
