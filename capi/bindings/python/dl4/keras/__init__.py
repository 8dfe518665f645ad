"""Keras's words on libdl4: `import dl4.keras as keras`."""
from . import (activations, callbacks, constraints, initializers, layers, losses, metrics, models, optimizers,
               regularizers, schedules, utils)
from ._state import clear as _clear
from ._tensors import Input, KerasTensor
from .callbacks import Callback
from .layers import Layer
from .models import Functional, Model, Sequential, Variable, clone_model, load_model, model_from_json

__version__ = "3.15.1"  # of the Keras whose words these are


class backend:
    """What old programs ask of keras.backend."""
    clear_session = staticmethod(_clear)

    @staticmethod
    def backend():
        return "dl4"

    @staticmethod
    def epsilon():
        return 1e-7

    @staticmethod
    def floatx():
        return "float32"


class saving:
    load_model = staticmethod(load_model)


models.Model, models.Sequential, utils.clear_session = Model, Sequential, _clear
Optimizer, Loss, Metric = optimizers.Optimizer, losses.Loss, metrics.Metric
