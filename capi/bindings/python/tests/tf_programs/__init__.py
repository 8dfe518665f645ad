"""Small programs of data and its preparation: each runs on TensorFlow with Keras and on dl4, unchanged, with equal
results. A program takes `tf` and `keras` and gives numbers, shapes or texts."""

from . import datasets, images, lookups, models, names, utils  # noqa: F401 which note their programs
from .noted import PROGRAMS  # noqa: F401
