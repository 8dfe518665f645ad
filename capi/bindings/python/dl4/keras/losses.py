"""Losses: classes, and functions that give a value for each item."""

import sys

from .. import core
from ..abi import Attrs, encoded, made
from . import _kinds, _overrides, _state
from ._tensors import is_tensor
from ._words import keras_words


def measured(category, kind, config, y_true, y_pred, sample_weight=None):
    """A loss or metric of arrays."""
    given = [core.Tensor.of(y_true), core.Tensor.of(y_pred, "float32")]
    w = None if sample_weight is None else core.Tensor.of(sample_weight, "float32")
    attrs = Attrs({k: _kinds.as_json(v) for k, v in config.items()})
    with keras_words(kind, config):
        got = made("dl4_measure", _state.context(), encoded(category), encoded(kind), attrs, *given, w)
    return core.Tensor(got).numpy()


_REDUCTIONS = ("sum_over_batch_size", "sum", None, "none", "mean", "mean_with_sample_weight")


class Loss(_kinds.Kind):
    """Called on targets and predictions it gives a number, or with reduction="none" one for each item.

    One of your own derives from it and has call(y_true, y_pred), which is traced, with a value for each item."""

    category = "loss"

    def __init__(self, *args, **kwargs):
        if self.class_name is not None:
            super().__init__(*args, **kwargs)
            _need_reduction(self._config)
            return
        given = {**dict(zip(("name", "reduction", "dtype"), args)), **kwargs}
        _need_reduction(given)
        self.name = given.get("name") or _state.snake_case(type(self).__name__)
        self.reduction, self.dtype = given.get("reduction", "sum_over_batch_size"), "float32"
        self._config = {}

    def __getattr__(self, key):
        if key == "name" and self.class_name is not None:
            return self._config.get("name") or _state.snake_case(self.class_name)
        return super().__getattr__(key)

    def __call__(self, y_true, y_pred, sample_weight=None):
        if _overrides.is_own(self):
            return self._own(y_true, y_pred, sample_weight)
        return self._measured(y_true, y_pred, sample_weight)

    def _measured(self, y_true, y_pred, sample_weight=None, **other):
        """By the library, with other options."""
        if is_tensor(y_true) or is_tensor(y_pred):
            from . import layers
            from ._tensors import as_tensor

            native = self._native()
            native["config"].update(other)
            layer = layers.Loss(loss=native)
            layer.is_operation = True
            return layer([as_tensor(t) for t in (y_true, y_pred, sample_weight) if t is not None])
        config = {k: v for k, v in {**self._config, **other}.items() if k not in ("name", "dtype")}
        mask = getattr(y_pred, "_keras_mask", None)
        if mask is not None:
            raise NotImplementedError("a mask on an array is not in this version: give sample weights")
        from ._eager import eager

        return eager(measured("loss", self.class_name, config, y_true, y_pred, sample_weight))

    def _own(self, y_true, y_pred, sample_weight):
        from . import ops

        values = self.call(_floats(y_true), _floats(y_pred))
        if sample_weight is not None:
            w = _floats(sample_weight)
            while len(w.shape) < len(values.shape):
                w = ops.expand_dims(w, -1)
            values = values * w
        if self.reduction in ("none", None):
            return values
        if self.reduction == "mean_with_sample_weight" and sample_weight is not None:
            return ops.sum(values) / ops.sum(w)
        return ops.sum(values) if self.reduction == "sum" else ops.mean(values)

    def call(self, y_true, y_pred):
        if self.class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no call()")
        return self._measured(y_true, y_pred, reduction="none")

    def _native(self):
        value = super()._native()
        value["config"].pop("name", None)
        value["config"].pop("dtype", None)
        return value

    def get_config(self):
        if self.class_name is None:
            return {"name": self.name, "reduction": self.reduction}
        return {"name": self.name, **super().get_config()}


def _need_reduction(given):
    if given.get("reduction", "none") not in _REDUCTIONS:
        raise ValueError(
            "Invalid value for argument `reduction`. Expected one of "
            f"{set(_REDUCTIONS)}. Received: reduction={given['reduction']}"
        )


def _floats(x):
    from . import ops

    return ops.cast(ops.convert_to_tensor(x), "float32")


def _function(cls, name):
    def function(y_true, y_pred, *args, **kwargs):
        names = [n for n in cls.__signature__.parameters if n not in ("reduction", "name")]
        return cls(reduction="none", **dict(zip(names, args)), **kwargs)(y_true, y_pred)

    function.__name__ = function.__qualname__ = name
    function.__doc__, function.to_json_value = cls.__doc__, lambda: name
    return function


__getattr__, __dir__ = _kinds.served(globals(), "loss", Loss, _function)
globals().update(_kinds.got("loss", Loss, sys.modules[__name__]))
_get = of = globals()["get"]  # of a name the object


def get(identifier):
    """A loss of a name: the function, as in Keras; of a config, the object."""
    if isinstance(identifier, str):
        own = _registered(identifier)
        if own is not None:
            return own
        found = getattr(sys.modules[__name__], identifier, None)
        if found is None or isinstance(found, type):
            return _get(identifier)
        return found
    return _get(identifier)


def _registered(name):
    from . import saving

    return saving.registered(name)
