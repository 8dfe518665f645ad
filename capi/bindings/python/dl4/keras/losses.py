"""Losses: classes, and functions that give a value for each item."""
import sys

from .. import core
from ..abi import Attrs, encoded, made
from . import _kinds, _state


def measured(category, kind, config, y_true, y_pred, sample_weight=None):
    """A loss or metric of arrays."""
    given = [core.Tensor.of(y_true), core.Tensor.of(y_pred, "float32")]
    w = None if sample_weight is None else core.Tensor.of(sample_weight, "float32")
    return core.Tensor(made("dl4_measure", _state.context(), encoded(category), encoded(kind),
                            Attrs({k: _kinds.as_json(v) for k, v in config.items()}), *given, w)).numpy()


class Loss(_kinds.Kind):
    """Called on targets and predictions it gives a number, or with reduction="none" one for each item."""
    category = "loss"

    def __call__(self, y_true, y_pred, sample_weight=None):
        from ._tensors import is_tensor
        if is_tensor(y_true) or is_tensor(y_pred):
            from . import layers
            return layers.Loss(loss=self.to_json_value())([y_true, y_pred] if sample_weight is None else
                                                          [y_true, y_pred, sample_weight])
        config = {k: v for k, v in self._config.items() if k not in ("name", "dtype")}
        return measured("loss", self.class_name, config, y_true, y_pred, sample_weight)

    def to_json_value(self):
        value = super().to_json_value()
        value["config"].pop("name", None)
        return value


def _function(cls, name):
    def function(y_true, y_pred, **kwargs):
        return cls(reduction="none", **kwargs)(y_true, y_pred)
    function.__name__, function.__doc__ = name, cls.__doc__
    function.to_json_value = lambda: name
    return function


_kinds.serve(globals(), "loss", Loss, _function)
globals().update(_kinds.got("loss", Loss, sys.modules[__name__]))
