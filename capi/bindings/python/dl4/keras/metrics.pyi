"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class Metric:
    """What compile() takes; by itself, update_state() adds batches and result() gives the number for all of them."""

    name: _Any
    dtype: _Any
    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def add_variable(
        self,
        shape: _Any = ...,
        initializer: _Any = None,
        dtype: _Any = None,
        aggregation: _Any = None,
        name: _Any = None,
    ) -> _Any: ...
    def add_weight(
        self, shape: _Any = ..., initializer: _Any = None, dtype: _Any = None, name: _Any = None, **_: _Any
    ) -> _Any: ...
    @property
    def variables(self) -> _Any: ...
    update_state: _Any
    def reset_state(self) -> _Any: ...
    def result(self) -> _Any: ...
    def __call__(self, *args: _Any, **kwargs: _Any) -> _Any: ...
    def stateless_update_state(self, *_: _Any, **__: _Any) -> _Any: ...
    def stateless_result(self, *_: _Any, **__: _Any) -> _Any: ...
    def stateless_reset_state(self, *_: _Any, **__: _Any) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class MeanMetricWrapper(Metric):
    """The mean of a function of targets and predictions, which is traced."""

    category: _Any
    class_name: _Any
    def __init__(self, fn: _Any, name: _Any = None, dtype: _Any = None, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    update_state: _Any
    def result(self) -> _Any: ...
    def reset_state(self) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class Accuracy(Metric):
    """share of predictions that equal their targets; the words "accuracy" and "acc" in a trainer's metrics mean by_shape."""

    def __init__(
        self, name: str | None = None, dtype: str | None = None, *, by_shape: bool = False, **kwargs: _Any
    ) -> None: ...
    by_shape: _Any

class BinaryAccuracy(Metric):
    """share of predictions that lie above the threshold exactly where the target is 1."""

    def __init__(
        self, name: str | None = None, dtype: str | None = None, threshold: float = 0.5, **kwargs: _Any
    ) -> None: ...
    threshold: _Any

class CategoricalAccuracy(Metric):
    """share of samples whose largest prediction is at the largest target."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class SparseCategoricalAccuracy(Metric):
    """share of samples whose largest prediction is at the class number."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class TopKCategoricalAccuracy(Metric):
    """share of samples whose largest target is among the k largest predictions."""

    def __init__(self, k: int = 5, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...
    k: _Any

class SparseTopKCategoricalAccuracy(Metric):
    """share of samples whose class number is among the k largest predictions."""

    def __init__(
        self,
        k: int = 5,
        name: str | None = None,
        dtype: str | None = None,
        from_sorted_ids: bool = False,
        **kwargs: _Any,
    ) -> None: ...
    k: _Any
    from_sorted_ids: _Any

class TruePositives(Metric):
    """how often 1 was said and right."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    thresholds: _Any

class FalsePositives(Metric):
    """how often 1 was said and wrong."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    thresholds: _Any

class TrueNegatives(Metric):
    """how often 0 was said and right."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    thresholds: _Any

class FalseNegatives(Metric):
    """how often 0 was said and wrong."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    thresholds: _Any

class Precision(Metric):
    """share of the targets 1 where 1 was said; 0 where it never was."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    thresholds: _Any
    top_k: _Any
    class_id: _Any

class Recall(Metric):
    """share of the targets 1 that were found; 0 where there are none."""

    def __init__(
        self,
        thresholds: float | Sequence[float] | None = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    thresholds: _Any
    top_k: _Any
    class_id: _Any

class SensitivityAtSpecificity(Metric):
    """the best recall at a threshold of at least this specificity."""

    def __init__(
        self,
        specificity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    specificity: _Any
    num_thresholds: _Any
    class_id: _Any

class SpecificityAtSensitivity(Metric):
    """the best specificity at a threshold of at least this recall."""

    def __init__(
        self,
        sensitivity: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    sensitivity: _Any
    num_thresholds: _Any
    class_id: _Any

class PrecisionAtRecall(Metric):
    """the best precision at a threshold of at least this recall."""

    def __init__(
        self,
        recall: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    recall: _Any
    num_thresholds: _Any
    class_id: _Any

class RecallAtPrecision(Metric):
    """the best recall at a threshold of at least this precision."""

    def __init__(
        self,
        precision: float,
        num_thresholds: int = 200,
        class_id: int | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    precision: _Any
    num_thresholds: _Any
    class_id: _Any

class AUC(Metric):
    """area under the curve of true over false positives (ROC), of precision over recall (PR) or of their gains, of predictions from 0 to 1."""

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str = "ROC",
        summation_method: str = "interpolation",
        name: str | None = None,
        dtype: str | None = None,
        thresholds: float | Sequence[float] | None = None,
        multi_label: bool = False,
        num_labels: int | None = None,
        label_weights: float | Sequence[float] | None = None,
        from_logits: bool = False,
        **kwargs: _Any,
    ) -> None: ...
    num_thresholds: _Any
    curve: _Any
    summation_method: _Any
    thresholds: _Any
    multi_label: _Any
    num_labels: _Any
    label_weights: _Any
    from_logits: _Any

class IoU(Metric):
    """mean over some classes of their hits over what is one in targets or predictions."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids: int | Sequence[int],
        name: str | None = None,
        dtype: str = "int64",
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    num_classes: _Any
    target_class_ids: _Any
    ignore_class: _Any
    sparse_y_true: _Any
    sparse_y_pred: _Any
    axis: _Any

class MeanIoU(Metric):
    """the same over all classes that occur."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: str = "int64",
        ignore_class: int | None = None,
        sparse_y_true: bool = True,
        sparse_y_pred: bool = True,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    num_classes: _Any
    ignore_class: _Any
    sparse_y_true: _Any
    sparse_y_pred: _Any
    axis: _Any

class OneHotIoU(Metric):
    """IoU of one-hot targets and scores."""

    def __init__(
        self,
        num_classes: int,
        target_class_ids: int | Sequence[int],
        name: str | None = None,
        dtype: str = "int64",
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    num_classes: _Any
    target_class_ids: _Any
    ignore_class: _Any
    sparse_y_pred: _Any
    axis: _Any

class OneHotMeanIoU(Metric):
    """MeanIoU of one-hot targets and scores."""

    def __init__(
        self,
        num_classes: int,
        name: str | None = None,
        dtype: str = "int64",
        ignore_class: int | None = None,
        sparse_y_pred: bool = False,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    num_classes: _Any
    ignore_class: _Any
    sparse_y_pred: _Any
    axis: _Any

class BinaryIoU(Metric):
    """mean over classes 0 and 1 of their hits over what is one in targets or predictions."""

    def __init__(
        self,
        target_class_ids: int | Sequence[int] = ...,
        threshold: float = 0.5,
        name: str | None = None,
        dtype: str = "int64",
        **kwargs: _Any,
    ) -> None: ...
    target_class_ids: _Any
    threshold: _Any

class F1Score(Metric):
    """harmonic mean of precision and recall; targets are one-hot or 0 and 1."""

    def __init__(
        self,
        average: str | None = None,
        threshold: float | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    average: _Any
    threshold: _Any

class FBetaScore(Metric):
    """(1 + beta^2) * precision * recall / (beta^2 * precision + recall); targets are one-hot or 0 and 1."""

    def __init__(
        self,
        average: str | None = None,
        beta: float = 1.0,
        threshold: float | None = None,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    average: _Any
    threshold: _Any
    beta: _Any

class RootMeanSquaredError(Metric):
    """square root of the mean of (y_true - y_pred)^2 over all batches."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class R2Score(Metric):
    """1 - squared error / variance of the targets, of predictions (B, outputs)."""

    def __init__(
        self,
        class_aggregation: str = "uniform_average",
        num_regressors: int = 0,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    class_aggregation: _Any
    num_regressors: _Any

class PearsonCorrelation(Metric):
    """mean over samples of the correlation of y_true and y_pred along the axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, axis: int = -1, **kwargs: _Any) -> None: ...
    axis: _Any

class ConcordanceCorrelation(Metric):
    """mean over samples of the concordance of y_true and y_pred along the axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, axis: int = -1, **kwargs: _Any) -> None: ...
    axis: _Any

class Mean(Metric):
    """mean of the predictions; targets are not looked at."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class Sum(Metric):
    """sum of the predictions; targets are not looked at."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class MeanSquaredError(Metric):
    """mean of (y_true - y_pred)^2, averaged over the last axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class MeanAbsoluteError(Metric):
    """mean of |y_true - y_pred|, averaged over the last axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class MeanAbsolutePercentageError(Metric):
    """mean of 100 * |y_true - y_pred| / max(|y_true|, 1e-7), averaged over the last axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class MeanSquaredLogarithmicError(Metric):
    """mean of (log(y_true + 1) - log(y_pred + 1))^2, both at least 1e-7, averaged over the last axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class LogCoshError(Metric):
    """mean of log(cosh(y_pred - y_true)), averaged over the last axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class KLDivergence(Metric):
    """mean of sum over the last axis of y_true * log(y_true / y_pred), both clipped to [1e-7, 1]."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class Poisson(Metric):
    """mean of y_pred - y_true * log(y_pred + 1e-7), averaged over the last axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class Hinge(Metric):
    """mean of max(1 - y_true * y_pred, 0), averaged over the last axis; targets 0 and 1 become -1 and 1."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class SquaredHinge(Metric):
    """mean of max(1 - y_true * y_pred, 0)^2, averaged over the last axis; targets 0 and 1 become -1 and 1."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class CategoricalHinge(Metric):
    """mean of max(1 + the largest y_pred of the wrong classes - that of the right one, 0); y_true is one-hot."""

    def __init__(self, name: str | None = None, dtype: str | None = None, **kwargs: _Any) -> None: ...

class Huber(Metric):
    """mean of 0.5 * e^2 where |e| = |y_pred - y_true| <= delta, else delta * |e| - 0.5 * delta^2, averaged over the last axis."""

    def __init__(
        self, name: str | None = None, delta: float = 1.0, *, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    delta: _Any

class BinaryCrossentropy(Metric):
    """mean of -y_true * log(p) - (1 - y_true) * log(1 - p), averaged over the axis."""

    def __init__(
        self,
        name: str | None = None,
        dtype: str | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        *,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any

class CategoricalCrossentropy(Metric):
    """mean of -sum(y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution."""

    def __init__(
        self,
        name: str | None = None,
        dtype: str | None = None,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any

class SparseCategoricalCrossentropy(Metric):
    """mean of -log(p[y_true]) for class numbers y_true; one outside the classes stops the run."""

    def __init__(
        self,
        name: str | None = None,
        dtype: str | None = None,
        from_logits: bool = False,
        ignore_class: int | None = None,
        axis: int = -1,
        **kwargs: _Any,
    ) -> None: ...
    from_logits: _Any
    ignore_class: _Any
    axis: _Any

class CategoricalGeneralizedCrossEntropy(Metric):
    """mean of (1 - p[y_true]^q) / q for class numbers y_true: for labels some of which are wrong; a number outside the classes stops the run."""

    def __init__(
        self, name: str | None = None, q: float = 0.5, *, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    q: _Any

class BinaryFocalCrossentropy(Metric):
    """mean of BinaryCrossentropy's terms times (1 - p_t)^gamma, p_t the probability of the right answer, averaged over the axis."""

    def __init__(
        self,
        name: str | None = None,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    apply_class_balancing: _Any
    alpha: _Any
    gamma: _Any
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any

class CategoricalFocalCrossentropy(Metric):
    """mean of -alpha * sum((1 - p)^gamma * y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution."""

    def __init__(
        self,
        name: str | None = None,
        alpha: float | Sequence[float] = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        *,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    alpha: _Any
    gamma: _Any
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any

class Dice(Metric):
    """mean of 1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred)) over the axes."""

    def __init__(
        self,
        name: str | None = None,
        axis: int | Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any

class Tversky(Metric):
    """mean of 1 - b / (b + alpha * sum(y_true * (1 - y_pred)) + beta * sum((1 - y_true) * y_pred)), b = sum(y_true * y_pred), over the axes."""

    def __init__(
        self,
        name: str | None = None,
        alpha: float = 0.5,
        beta: float = 0.5,
        axis: int | Sequence[int] | None = None,
        *,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    alpha: _Any
    beta: _Any
    axis: _Any

class Circle(Metric):
    """mean of of embeddings (B, E) of length 1 and class numbers: draws those of one class together and others apart; a sample without another of its class, or without one of another class, does not count."""

    def __init__(
        self,
        name: str | None = None,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        *,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    gamma: _Any
    margin: _Any
    remove_diagonal: _Any

class Functional(Metric):
    """mean of A graph called on targets and predictions, both float32; its output has a value for each item."""

    def __init__(
        self, name: str | None = None, model: _Any = None, *, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    model: _Any

class CosineSimilarity(Metric):
    """mean cosine of the angle between y_true and y_pred along the axis."""

    def __init__(self, name: str | None = None, dtype: str | None = None, axis: int = -1, **kwargs: _Any) -> None: ...
    axis: _Any

def accuracy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def binary_accuracy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def categorical_accuracy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def sparse_categorical_accuracy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def top_k_categorical_accuracy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def sparse_top_k_categorical_accuracy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def true_positives(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def false_positives(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def true_negatives(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def false_negatives(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def precision(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def recall(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def sensitivity_at_specificity(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def specificity_at_sensitivity(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def precision_at_recall(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def recall_at_precision(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def auc(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def io_u(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_io_u(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def one_hot_io_u(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def one_hot_mean_io_u(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def binary_io_u(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def f1_score(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def f_beta_score(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def root_mean_squared_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def r2_score(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def pearson_correlation(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def concordance_correlation(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def sum(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_squared_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mse(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mae(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_absolute_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mape(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_absolute_percentage_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_squared_logarithmic_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def msle(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def log_cosh_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def kl_divergence(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def kld(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def kullback_leibler_divergence(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def poisson(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def hinge(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def squared_hinge(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def categorical_hinge(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def huber(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def bce(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def binary_crossentropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def categorical_crossentropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def sparse_categorical_crossentropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def categorical_generalized_cross_entropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def binary_focal_crossentropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def categorical_focal_crossentropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def dice(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def tversky(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def circle(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def functional(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def cosine_similarity(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def measured(
    category: _Any, kind: _Any, config: _Any, y_true: _Any, y_pred: _Any, sample_weight: _Any = None
) -> _Any: ...
def get(identifier: _Any) -> _Any: ...
def serialize(thing: _Any) -> _Any: ...
def deserialize(config: _Any, custom_objects: _Any = None) -> _Any: ...
