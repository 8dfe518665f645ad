"""Keras's words on libdl4: `import dl4.keras as keras`."""

import sys as _sys

from . import (
    activations,
    callbacks,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    models,
    ops,
    optimizers,
    random,
    regularizers,
    saving,
    schedules,
    utils,
)
from ._state import clear as _clear
from ._state import image_data_format as _image_data_format, set_image_data_format as _set_image_data_format
from ._tensors import Input, KerasTensor
from ._variables import Variable
from .callbacks import Callback
from .constraints import Constraint
from .initializers import Initializer
from .layers import InputSpec, Layer
from .losses import Loss
from .metrics import Metric
from .models import Model, Sequential
from .optimizers import Optimizer
from .regularizers import Regularizer

__version__ = "3.15.1"  # of the Keras whose words these are
models.load_model, models.save_model = saving.load_model, saving.save_model
utils.clear_session, utils.register_keras_serializable = _clear, saving.register_keras_serializable
utils.custom_object_scope, utils.CustomObjectScope = saving.custom_object_scope, saving.CustomObjectScope


class backend:
    """What programs ask of keras.backend and keras.config."""

    clear_session = staticmethod(_clear)
    image_data_format = staticmethod(_image_data_format)
    set_image_data_format = staticmethod(_set_image_data_format)
    enable_unsafe_deserialization = staticmethod(saving.enable_unsafe_deserialization)

    @staticmethod
    def backend():
        return "dl4"

    @staticmethod
    def epsilon():
        return 1e-7

    @staticmethod
    def floatx():
        return "float32"

    @staticmethod
    def is_keras_tensor(x):
        return isinstance(x, KerasTensor)


config = backend
_sys.modules[__name__ + ".backend"] = _sys.modules[__name__ + ".config"] = backend
