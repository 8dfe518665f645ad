"""Metrics."""

from .src.metrics.metric import category as _category, Metric
from .src.metrics.reduction_metrics import MeanMetricWrapper
from .src.saving.serialization_lib import serialize

get, deserialize = _category.get, _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
