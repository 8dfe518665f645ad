"""The merging layers as functions: keras.layers.add, ..."""

from ..registry import create


def _merging_function(kind):
    def function(inputs, **kwargs):
        return create("layer", kind, **kwargs)(inputs)

    function.__name__ = function.__qualname__ = kind.lower()
    function.__doc__ = f"Calls a layer {kind} on a list of inputs."
    return function


add = _merging_function("Add")
subtract = _merging_function("Subtract")
multiply = _merging_function("Multiply")
average = _merging_function("Average")
maximum = _merging_function("Maximum")
minimum = _merging_function("Minimum")
concatenate = _merging_function("Concatenate")
dot = _merging_function("Dot")
