"""Metrics."""
import sys

from . import _kinds
from .losses import _function as _loss_function, measured


class Metric(_kinds.Kind):
    """What compile() takes; by itself, update_state() adds batches and result() gives the number for all of them."""
    category = "metric"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._batches = []

    @property
    def name(self):
        known = _kinds.facts("metric")[self.class_name]
        return self._config.get("name") or known.get("log_name")

    def update_state(self, y_true, y_pred, sample_weight=None):
        import numpy
        self._batches.append(tuple(None if v is None else numpy.array(v) for v in (y_true, y_pred, sample_weight)))

    def reset_state(self):
        self._batches = []

    def result(self):
        import numpy
        if not self._batches:
            return 0.0
        y, p, w = zip(*self._batches)
        w = None if w[0] is None else numpy.concatenate(w)
        config = {k: v for k, v in self._config.items() if k != "dtype"}
        return measured("metric", self.class_name, config, numpy.concatenate(y), numpy.concatenate(p), w)

    def __call__(self, y_true, y_pred, sample_weight=None):
        self.update_state(y_true, y_pred, sample_weight)
        return self.result()


_kinds.serve(globals(), "metric", Metric, _loss_function)
globals().update(_kinds.got("metric", Metric, sys.modules[__name__]))
