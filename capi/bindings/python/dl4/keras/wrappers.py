"""Models as estimators of scikit-learn, which has to be installed."""

from .src.wrappers.sklearn_wrapper import SKLearnClassifier, SKLearnRegressor, SKLearnTransformer
