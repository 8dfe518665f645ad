"""Metrics."""

import numpy as _np

from .src.kinds import Category as _Category
from .src.kinds import Kind as _Kind
from .src.kinds import facts as _facts
from .losses import category as _losses
from .src.measure import measure as _measure


class Metric(_Kind):
    """A metric: of compile(), or of the arrays that update_state() takes, which it keeps until reset_state()."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._seen = []

    @property
    def name(self):
        """Its name in logs."""
        return self._config.get("name") or _facts("metric")[self._class_name]["log_name"]

    def update_state(self, y_true, y_pred=None, sample_weight=None):
        """Takes arrays; of Mean and Sum values and their weights."""
        if self._class_name in ("Mean", "Sum"):
            y_true, sample_weight = (
                _np.atleast_1d(_np.asarray(y_true, "float32")).ravel(),
                y_pred if sample_weight is None else sample_weight,
            )
            weights = 1.0 if sample_weight is None else _np.asarray(sample_weight, "float32")
            self._seen.append((y_true, None, _np.broadcast_to(weights, y_true.shape)))
            return
        self._seen.append((_np.asarray(y_true), _np.asarray(y_pred), sample_weight))

    def result(self):
        """The metric of all that was taken."""
        if not self._seen:
            return 0.0
        trues, preds, weights = zip(*self._seen)
        if preds[0] is None:
            values, weights = _np.concatenate(trues), _np.concatenate(weights)
            total = float((values * weights).sum(dtype="float64"))
            return total if self._class_name == "Sum" else total / float(weights.sum(dtype="float64") or 1)
        weights = [
            _np.ones(len(p), "float32") if w is None else _np.asarray(w, "float32") for w, p in zip(weights, preds)
        ]
        weight = _np.concatenate(weights) if any(w is not None for _, _, w in self._seen) else None
        arrays = _np.concatenate(trues), _np.concatenate(preds)
        return _measure("metric", self._class_name, self._config, *arrays, weight)

    def reset_state(self):
        """Forgets what was taken."""
        self._seen = []

    def __call__(self, y_true, y_pred=None, sample_weight=None):
        self.update_state(y_true, y_pred, sample_weight)
        return self.result()


def function_of(cls, name):
    """Of a loss's name its function; of others the metric of each call's arrays."""
    loss = _losses.find(name)
    if loss is not None:
        return loss

    def function(y_true, y_pred, **config):
        return _measure("metric", cls._class_name, config, y_true, y_pred)

    function.__name__, function._kind, function.__doc__ = name, name, cls.__doc__
    return function


category = _Category("metric", "metrics", Metric, function_of)
get = deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
