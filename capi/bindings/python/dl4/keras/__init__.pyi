"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

from . import activations as activations
from . import callbacks as callbacks
from . import constraints as constraints
from . import initializers as initializers
from . import layers as layers
from . import losses as losses
from . import metrics as metrics
from . import models as models
from . import ops as ops
from . import optimizers as optimizers
from . import regularizers as regularizers
from . import saving as saving
from . import schedules as schedules
from . import utils as utils
from .callbacks import Callback as Callback
from .constraints import Constraint as Constraint
from .initializers import Initializer as Initializer
from .layers import InputSpec as InputSpec
from ._tensors import KerasTensor as KerasTensor
from .layers import Layer as Layer
from .losses import Loss as Loss
from .metrics import Metric as Metric
from .models import Model as Model
from .optimizers import Optimizer as Optimizer
from .regularizers import Regularizer as Regularizer
from .models import Sequential as Sequential
from ._variables import Variable as Variable
from .layers import Input as Input

__version__: str

class backend:
    @staticmethod
    def clear_session(free_memory: _Any = True) -> _Any: ...
    @staticmethod
    def backend() -> _Any: ...
    @staticmethod
    def epsilon() -> _Any: ...
    @staticmethod
    def floatx() -> _Any: ...
    @staticmethod
    def image_data_format() -> _Any: ...
    @staticmethod
    def is_keras_tensor(x: _Any) -> _Any: ...

config = backend
