"""Constraints on weights."""

from . import ops
from .export import keras_export
from .kind import Kind
from .registry import Category


@keras_export("constraints")
class Constraint(Kind):
    """What a weight is brought to after each update."""

    _category = "constraint"

    def __call__(self, w):
        config, kind = Constraint.get_config(self), self._class_name
        if kind is None:
            return w
        if kind == "NonNeg":
            return ops.maximum(w, 0.0)
        norms = ops.sqrt(ops.sum(ops.square(w), config["axis"], keepdims=True))
        if kind == "UnitNorm":
            return w / (norms + 1e-7)
        if kind == "MaxNorm":
            return w * (ops.clip(norms, 0.0, config["max_value"]) / (norms + 1e-7))
        wanted = (
            config["rate"] * ops.clip(norms, config["min_value"], config["max_value"]) + (1 - config["rate"]) * norms
        )
        return w * (wanted / (norms + 1e-7))


category = Category("constraint", "constraints", Constraint, lambda cls, _: cls)
get = category.get
