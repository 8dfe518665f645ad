"""Regularizers."""

from .src.regularizers import category as _category, get, l1, l1_l2, l2, Regularizer
from .src.saving.serialization_lib import serialize

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
