"""Regularizers: the library's, with Keras's names."""
import sys

from . import _kinds


class Regularizer(_kinds.Kind):
    category = "regularizer"


_kinds.serve(globals(), "regularizer", Regularizer)
globals().update(_kinds.got("regularizer", Regularizer, sys.modules[__name__]))
