"""Constraints."""

from .src.constraints import category as _category, Constraint, get
from .src.saving.serialization_lib import serialize

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
