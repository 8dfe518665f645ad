"""Optimizers and, in `schedules`, learning rates that change."""

import sys as _sys

from . import schedules
from .src.optimizers import muon as _muon  # noqa: F401 the base of that kind
from .src.optimizers.optimizer import category as _category, Optimizer
from .src.saving.serialization_lib import serialize

_category.later("dl4.keras.src.optimizers.several", "LossScaleOptimizer", "MultiOptimizer", "OptimizerMap")
_category.later("dl4.keras.src.optimizers.schedule_free_adamw", "ScheduleFreeAdamW")
get, deserialize = _category.get, _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
_sys.modules[__name__ + ".schedules"] = schedules  # as in Keras
