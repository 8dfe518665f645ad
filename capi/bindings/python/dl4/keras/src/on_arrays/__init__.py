"""keras.ops on arrays: what NumPy computes, in Keras's types of data."""

from . import convolutions, creation, elementwise, image, nn, patches, products, reduction, sequences, shapes, signals
from .arguments import FUNCTIONS
from .gradients import GRADIENTS, gradients

__all__ = ["FUNCTIONS", "GRADIENTS", "gradients"]
