"""Constraints."""

from .src.kinds import Category as _Category
from .src.kinds import Kind as _Kind


class Constraint(_Kind):
    """Applied to a weight after every update."""


category = _Category("constraint", "constraints", Constraint, lambda cls, name: cls)
get = deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
