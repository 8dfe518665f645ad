"""tf.experimental: NumPy's functions on tensors."""

from . import numpy

__all__ = ["numpy"]
