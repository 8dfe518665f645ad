"""Keras's API on libdl4: `import dl4.keras as keras`."""

from . import (
    activations,
    backend,
    callbacks,
    config,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    models,
    ops,
    optimizers,
    quantizers,
    random,
    regularizers,
    saving,
    schedules,
    utils,
)
from .callbacks import Callback
from .constraints import Constraint
from .initializers import Initializer
from .layers import Input, InputSpec, Layer
from .losses import Loss
from .metrics import Metric
from .models import Model, Sequential
from .optimizers import Optimizer
from .regularizers import Regularizer
from .src.backend.config import version
from .src.backend.name_scope import name_scope
from .src.dtype_policies import DTypePolicy, FloatDTypePolicy
from .src.later import names_later as _names_later
from .src.layers.variable import Variable
from .src.models.function import Function, Operation
from .src.symbolic.tensor import KerasTensor

__version__ = version()
_LATER = "applications datasets dtype_policies mixed_precision preprocessing tree wrappers".split()
__getattr__, __dir__ = _names_later(
    __name__,
    globals(),
    {f".{name}": name for name in _LATER},
)

