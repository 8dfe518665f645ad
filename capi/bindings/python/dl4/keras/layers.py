"""Layers."""

from .src import preprocessing as _preprocessing  # noqa: F401 bases of kinds
from .src.layer import InputLayer, Layer, category as _category
from .src.tensor import Input

deserialize = _category.get
_MERGES = {n.lower(): n for n in "Add Average Concatenate Dot Maximum Minimum Multiply Subtract".split()}
_serve, __dir__ = _category.serve(globals())


def __getattr__(name):
    if name in _MERGES:  # Keras's functions of lists

        def merge(inputs, **config):
            return _category.class_of(_MERGES[name])(**config)(inputs)

        merge.__name__ = name
        return merge
    if name == "GroupedQueryAttention":
        name = "GroupQueryAttention"
    return _serve(name)
