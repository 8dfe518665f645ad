"""SKLearnClassifier, SKLearnRegressor, SKLearnTransformer."""

from ..backend.lazy import np
from ..export import keras_export
from ..models.cloning import clone_model
from ..models.model import Model

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_is_fitted

    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before scikit-learn 1.6

        def validate_data(estimator, *args, **kwargs):
            return estimator._validate_data(*args, **kwargs)

except ImportError:
    check_is_fitted = None

    class BaseEstimator:
        pass

    class ClassifierMixin:
        pass

    RegressorMixin = TransformerMixin = ClassifierMixin


class SKLBase(BaseEstimator):
    """A model that scikit-learn fits: a compiled model, or a function of X, y and `model_kwargs` that makes one."""

    def __init__(self, model, warm_start=False, model_kwargs=None, fit_kwargs=None):
        if check_is_fitted is None:
            raise ImportError(
                f"{type(self).__name__} requires `scikit-learn` to be installed. Run `pip install scikit-learn` to "
                "install it."
            )
        self.model, self.warm_start, self.model_kwargs, self.fit_kwargs = model, warm_start, model_kwargs, fit_kwargs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def __sklearn_clone__(self):
        model = _copied(self.model) if isinstance(self.model, Model) else self.model
        return type(self)(model, self.warm_start, self.model_kwargs, self.fit_kwargs)

    @property
    def epoch_(self):
        """The numbers of the epochs that fit() ran."""
        history = getattr(self, "history_", None)
        return 0 if history is None else history.epoch

    def _made(self, X, y):
        if self.warm_start and hasattr(self, "model_"):
            return self.model_
        if isinstance(self.model, Model):
            return _copied(self.model)
        return self.model(X=X, y=y, **(self.model_kwargs or {}))

    def fit(self, X, y, **kwargs):
        """Trains a model that is made anew, with `warm_start` the one that was trained before."""
        X, y = validate_data(self, X, y)
        y = self._numbers_of(y)
        model = self._made(X, y)
        if not model.compiled or not model.loss or not model.optimizer:
            raise RuntimeError("Given model needs to be compiled, and have a loss and an optimizer.")
        self.history_ = model.fit(X, y, **{**(self.fit_kwargs or {}), **kwargs})
        self.model_ = model
        return self

    def _outputs(self, X):
        check_is_fitted(self)
        return self.model_.predict(validate_data(self, X, reset=False), verbose=0)

    def predict(self, X):
        out = self._outputs(X)
        return out[:, 0] if self._flat and out.ndim == 2 else out

    def _numbers_of(self, y):
        if type_of_target(y) == "unknown":
            raise ValueError(f"Unknown label type for data: {y!r}")
        self._flat = y.ndim == 1
        return y.reshape(-1, 1) if self._flat else y


def _copied(model):
    """A model of the same layers, with weights of its own, compiled in the same way."""
    made = clone_model(model)
    if model.compiled:
        optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
        made.compile(optimizer, **model._compiled)
    return made


@keras_export("wrappers")
class SKLearnClassifier(ClassifierMixin, SKLBase):
    """A classifier: the model has an output for each class, as for one-hot targets."""

    def _numbers_of(self, y):
        kind = type_of_target(y)
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"Only binary and multiclass target types are supported. Target type: {kind}")
        self.classes_ = np.unique(y)
        if len(self.classes_) == 1:
            raise ValueError("Classifier can't train when only one class is present.")
        return (y.reshape(-1, 1) == self.classes_).astype("float32")

    def decision_function(self, X):
        """The outputs of the model."""
        return self._outputs(X)

    def predict(self, X):
        return self.classes_[self._outputs(X).argmax(-1)]


@keras_export("wrappers")
class SKLearnRegressor(RegressorMixin, SKLBase):
    """A regressor."""


@keras_export("wrappers")
class SKLearnTransformer(TransformerMixin, SKLBase):
    """A transformer: what the model gives."""

    def transform(self, X):
        return self._outputs(X)
