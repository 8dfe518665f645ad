"""Losses."""

from .src.legacy.losses import Reduction
from .src.losses.loss import category as _category, get, Loss
from .src.saving.serialization_lib import serialize

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
