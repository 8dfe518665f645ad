"""Constraints: the library's, with Keras's names; called on a weight they give what becomes of it."""

import sys

from . import _kinds


class Constraint(_kinds.Kind):
    """What a weight is brought to after each update."""

    category = "constraint"

    def __call__(self, w):
        from . import ops

        config, kind = Constraint.get_config(self), self.class_name
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


__getattr__, __dir__ = _kinds.served(globals(), "constraint", Constraint, lambda cls, _: cls)
globals().update(_kinds.got("constraint", Constraint, sys.modules[__name__]))
