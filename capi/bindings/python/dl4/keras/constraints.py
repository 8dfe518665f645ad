"""Constraints: the library's, with Keras's names."""
import sys

from . import _kinds


class Constraint(_kinds.Kind):
    category = "constraint"


_kinds.serve(globals(), "constraint", Constraint)
globals().update(_kinds.got("constraint", Constraint, sys.modules[__name__]))
