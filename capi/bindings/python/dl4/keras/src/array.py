"""Arrays as results: NumPy's, with the method numpy() that programs for TensorFlow call."""

import numpy as np

from .kinds import unsupported


class Array(np.ndarray):
    """An array of NumPy's with numpy()."""

    _masked = False  # whether it comes with a mask, which only a model passes on

    def numpy(self):
        """The plain array."""
        return self.view(np.ndarray)


def as_result(array, masked=False):
    """An array of NumPy's as a result."""
    if not isinstance(array, np.ndarray):
        return array
    result = array.view(Array)
    result._masked = masked
    return result


def need_no_masks(who, arrays):
    """Refuses arrays that a layer gave with a mask."""
    if any(getattr(a, "_masked", False) for a in arrays):
        raise unsupported(who, "arrays that a layer gave with a mask: masks pass from layer to layer in a model")
