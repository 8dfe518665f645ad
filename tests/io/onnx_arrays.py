"""Two arrays compared as the tests of ONNX's models compare them: type, shape, then numbers."""

import numpy as np


def difference(got, wanted, rtol, atol, equal_nan=True):
    """What differs, in words; None if nothing does."""
    wanted = np.asarray(wanted)
    if wanted.dtype.kind in "OU":
        same = got.dtype.kind in "OUT" and got.shape == wanted.shape and got.tolist() == wanted.tolist()
        return None if same else f"expected {wanted.tolist()}, got {got.tolist()}"
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return f"expected {wanted.dtype} {wanted.shape}, got {got.dtype} {got.shape}"
    a, b = got.astype("float64"), wanted.astype("float64")
    if not np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan):
        return f"differs by {np.abs(a - b).max()}"
    return None
