"""Models as estimators of scikit-learn, which has to be installed."""

from .src.absent import absent_from as _absent_from
from .src.wrappers.sklearn_wrapper import SKLearnClassifier, SKLearnRegressor, SKLearnTransformer

__getattr__ = _absent_from(__name__)
