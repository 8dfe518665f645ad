"""Initializers: the library's, with Keras's names."""
import sys

from . import _kinds


class Initializer(_kinds.Kind):
    category = "initializer"


_kinds.serve(globals(), "initializer", Initializer)
globals().update(_kinds.got("initializer", Initializer, sys.modules[__name__]))
