"""Callbacks of fit(), evaluate() and predict()."""

from .src.callback import Callback, History
from .src.callbacks import LambdaCallback, LearningRateScheduler, category as _category

__getattr__, __dir__ = _category.serve(globals())
