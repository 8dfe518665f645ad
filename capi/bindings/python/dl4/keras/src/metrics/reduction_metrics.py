"""MeanMetricWrapper."""

from ..backend.eager_tensor import eager_tensor
from ..export import keras_export
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from .metric import category, Metric


@category.add
@keras_export("metrics")
class MeanMetricWrapper(Metric):
    """The mean of a function of targets and predictions, which is traced."""

    def __init__(self, fn, name=None, dtype=None, **kwargs):
        super().__init__(name=name or getattr(fn, "__name__", "mean_metric_wrapper"), dtype=dtype)
        self.total, self.count = (self.add_variable(name=n, dtype="float32") for n in ("total", "count"))
        self._arguments = kwargs
        self.function = fn
        self._fn = (lambda y, p: fn(y, p, **kwargs)) if kwargs else fn

    def update_state(self, y_true, y_pred, sample_weight=None):
        import numpy

        self._need_own()
        values = numpy.asarray(self._fn(numpy.asarray(y_true, "float32"), numpy.asarray(y_pred, "float32")))
        w = numpy.ones(values.shape, "float32")
        if sample_weight is not None:
            w = numpy.asarray(sample_weight, "float32")
            w = numpy.broadcast_to(w.reshape(w.shape + (1,) * (values.ndim - w.ndim)), values.shape)
        self.total.assign_add((values * w).sum())
        self.count.assign_add(w.sum())

    def result(self):
        import numpy

        if self._shown is not None:
            return eager_tensor(numpy.array(self._shown, "float32"))
        total, count = float(self.total), float(self.count)
        return eager_tensor(numpy.float32(total / count if count else 0.0).reshape(()))

    def get_config(self):
        return {**super().get_config(), "fn": serialize_keras_object(self.function), **self._arguments}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "fn": deserialize_keras_object(config["fn"])})
