"""MonitorCallback."""

import warnings

from .. import ops
from ..export import keras_export
from .callback import Callback

_UP = {
    *("AUC", "Accuracy", "BinaryAccuracy", "BinaryIoU", "CategoricalAccuracy", "ConcordanceCorrelation"),
    *("CosineSimilarity", "F1Score", "FBetaScore", "IoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU"),
    *("PearsonCorrelation", "Precision", "PrecisionAtRecall", "R2Score", "Recall", "RecallAtPrecision"),
    *("SensitivityAtSpecificity", "SparseCategoricalAccuracy", "SparseTopKCategoricalAccuracy"),
    *("SpecificityAtSensitivity", "TopKCategoricalAccuracy"),
}


_DOWN = {
    *("BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalHinge", "Hinge", "KLDivergence", "LogCoshError"),
    *("MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError"),
    *("Poisson", "RootMeanSquaredError", "SparseCategoricalCrossentropy", "SquaredHinge"),
}


@keras_export("callbacks")
class MonitorCallback(Callback):
    """One that compares a number of the logs from epoch to epoch."""

    def __init__(self, monitor="val_loss", mode="auto", baseline=None, min_delta=0):
        super().__init__()
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{type(self).__name__} mode '{mode}' is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        self.monitor, self.mode, self.best, self.min_delta, self.monitor_op = (
            monitor,
            mode,
            baseline,
            abs(min_delta),
            None,
        )

    def _set_monitor_op(self):
        name = self.monitor[len("val_") :] if self.monitor.startswith("val_") else self.monitor
        kind = getattr(self.model, "_kinds_of_metrics", dict)().get(name)
        up = self.mode == "max" or self.mode == "auto" and kind in _UP
        if self.mode == "auto" and not up and name != "loss" and kind not in _DOWN:
            raise ValueError(
                f"{type(self).__name__} callback received monitor={self.monitor}, but Keras isn't able to "
                "automatically determine whether that metric should be maximized or minimized. Pass `mode='max'` in "
                "order to monitor based on the highest metric value, or pass `mode='min'` in order to use the lowest "
                "value."
            )
        self.monitor_op = ops.greater if up else ops.less
        self.min_delta = self.min_delta if up else -self.min_delta

    def _is_improvement(self, monitor_value, reference_value):
        import numpy

        if reference_value is None:
            return True

        value, reference = numpy.float32(monitor_value - self.min_delta), numpy.float32(reference_value)
        return bool(value > reference if self.monitor_op is ops.greater else value < reference)
