"""Initializers."""

from .src.initializers import category as _category, get, Initializer
from .src.saving.serialization_lib import serialize

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
