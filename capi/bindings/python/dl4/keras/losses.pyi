"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class Loss:
    """Called on targets and predictions it gives a number, or with reduction="none" one for each item."""

    name: _Any
    reduction: _Any
    dtype: _Any
    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def __call__(self, y_true: _Any, y_pred: _Any, sample_weight: _Any = None) -> _Any: ...
    call: _Any
    def __getattr__(self, name: str) -> _Any: ...

class MeanSquaredError(Loss):
    """(y_true - y_pred)^2, averaged over the last axis."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class MeanAbsoluteError(Loss):
    """|y_true - y_pred|, averaged over the last axis."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class MeanAbsolutePercentageError(Loss):
    """100 * |y_true - y_pred| / max(|y_true|, 1e-7), averaged over the last axis."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class MeanSquaredLogarithmicError(Loss):
    """(log(y_true + 1) - log(y_pred + 1))^2, both at least 1e-7, averaged over the last axis."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class LogCosh(Loss):
    """log(cosh(y_pred - y_true)), averaged over the last axis."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class KLDivergence(Loss):
    """sum over the last axis of y_true * log(y_true / y_pred), both clipped to [1e-7, 1]."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class Poisson(Loss):
    """y_pred - y_true * log(y_pred + 1e-7), averaged over the last axis."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class Hinge(Loss):
    """max(1 - y_true * y_pred, 0), averaged over the last axis; targets 0 and 1 become -1 and 1."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class SquaredHinge(Loss):
    """max(1 - y_true * y_pred, 0)^2, averaged over the last axis; targets 0 and 1 become -1 and 1."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class CategoricalHinge(Loss):
    """max(1 + the largest y_pred of the wrong classes - that of the right one, 0); y_true is one-hot."""

    def __init__(
        self, reduction: str = "sum_over_batch_size", name: str | None = None, dtype: str | None = None, **kwargs: _Any
    ) -> None: ...
    reduction: _Any

class Huber(Loss):
    """0.5 * e^2 where |e| = |y_pred - y_true| <= delta, else delta * |e| - 0.5 * delta^2, averaged over the last axis."""

    def __init__(
        self,
        delta: float = 1.0,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    delta: _Any
    reduction: _Any

class Crossentropy(Loss):
    """by the shapes: BinaryCrossentropy for one output a sample, SparseCategoricalCrossentropy for class numbers, else CategoricalCrossentropy."""

    def __init__(
        self,
        reduction: str = "sum_over_batch_size",
        *,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    reduction: _Any

class BinaryCrossentropy(Loss):
    """-y_true * log(p) - (1 - y_true) * log(1 - p), averaged over the axis."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any
    reduction: _Any

class CategoricalCrossentropy(Loss):
    """-sum(y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution."""

    def __init__(
        self,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any
    reduction: _Any

class SparseCategoricalCrossentropy(Loss):
    """-log(p[y_true]) for class numbers y_true; one outside the classes stops the run."""

    def __init__(
        self,
        from_logits: bool = False,
        ignore_class: int | None = None,
        reduction: str = "sum_over_batch_size",
        axis: int = -1,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    from_logits: _Any
    ignore_class: _Any
    axis: _Any
    reduction: _Any

class CategoricalGeneralizedCrossEntropy(Loss):
    """(1 - p[y_true]^q) / q for class numbers y_true: for labels some of which are wrong; a number outside the classes stops the run."""

    def __init__(
        self,
        q: float = 0.5,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    q: _Any
    reduction: _Any

class BinaryFocalCrossentropy(Loss):
    """BinaryCrossentropy's terms times (1 - p_t)^gamma, p_t the probability of the right answer, averaged over the axis."""

    def __init__(
        self,
        apply_class_balancing: bool = False,
        alpha: float = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    apply_class_balancing: _Any
    alpha: _Any
    gamma: _Any
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any
    reduction: _Any

class CategoricalFocalCrossentropy(Loss):
    """-alpha * sum((1 - p)^gamma * y_true * log(p)) over the axis of classes; y_true is one-hot or a distribution."""

    def __init__(
        self,
        alpha: float | Sequence[float] = 0.25,
        gamma: float = 2.0,
        from_logits: bool = False,
        label_smoothing: float = 0.0,
        axis: int = -1,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    alpha: _Any
    gamma: _Any
    from_logits: _Any
    label_smoothing: _Any
    axis: _Any
    reduction: _Any

class Dice(Loss):
    """1 - 2 * sum(y_true * y_pred) / (sum(y_true) + sum(y_pred)) over the axes."""

    def __init__(
        self,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        axis: int | Sequence[int] | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    reduction: _Any

class Tversky(Loss):
    """1 - b / (b + alpha * sum(y_true * (1 - y_pred)) + beta * sum((1 - y_true) * y_pred)), b = sum(y_true * y_pred), over the axes."""

    def __init__(
        self,
        alpha: float = 0.5,
        beta: float = 0.5,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        axis: int | Sequence[int] | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    alpha: _Any
    beta: _Any
    axis: _Any
    reduction: _Any

class Circle(Loss):
    """of embeddings (B, E) of length 1 and class numbers: draws those of one class together and others apart; a sample without another of its class, or without one of another class, does not count."""

    def __init__(
        self,
        gamma: float = 80.0,
        margin: float = 0.4,
        remove_diagonal: bool = True,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    gamma: _Any
    margin: _Any
    remove_diagonal: _Any
    reduction: _Any

class CosineSimilarity(Loss):
    """minus the cosine of the angle between y_true and y_pred along the axis."""

    def __init__(
        self,
        axis: int = -1,
        reduction: str = "sum_over_batch_size",
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    axis: _Any
    reduction: _Any

class Functional(Loss):
    """A graph called on targets and predictions, both float32; its output has a value for each item."""

    def __init__(
        self,
        model: _Any,
        reduction: str = "sum_over_batch_size",
        *,
        name: str | None = None,
        dtype: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    model: _Any
    reduction: _Any

def mean_squared_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mse(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mae(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_absolute_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mape(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_absolute_percentage_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def mean_squared_logarithmic_error(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def msle(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def log_cosh(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def kl_divergence(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def kld(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def kullback_leibler_divergence(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def poisson(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def hinge(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def squared_hinge(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def categorical_hinge(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def huber(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def ce(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def crossentropy(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
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
def cosine_similarity(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def functional(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ...
def is_tensor(x: _Any) -> _Any: ...
def measured(
    category: _Any, kind: _Any, config: _Any, y_true: _Any, y_pred: _Any, sample_weight: _Any = None
) -> _Any: ...
def get(identifier: _Any) -> _Any: ...
def serialize(thing: _Any) -> _Any: ...
def deserialize(config: _Any, custom_objects: _Any = None) -> _Any: ...
