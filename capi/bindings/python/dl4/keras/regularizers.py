"""Regularizers."""

from .src.kinds import Category as _Category
from .src.kinds import Kind as _Kind


class Regularizer(_Kind):
    """A penalty on a weight or an output."""


category = _Category("regularizer", "regularizers", Regularizer, lambda cls, name: cls)
get = deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
