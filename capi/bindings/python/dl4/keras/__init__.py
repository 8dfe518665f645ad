"""Keras's API on libdl4 without Keras: models of the library's layers, for where only NumPy is installed.

Input, Sequential and functional models, compile(), fit(), evaluate(), predict(), callbacks, files. What is not here is
refused by name. For all of Keras, install keras and import dl4.keras_backend.
"""

from .. import abi as _abi
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
    regularizers,
    saving,
    schedules,
    utils,
)
from .src.kinds import absent as _absent
from .src.callbacks import Callback
from .layers import Input, InputLayer, Layer
from .models import Model, Sequential
from .src.tensor import KerasTensor
from .src.variable import Variable

__version__ = _abi.version


def __getattr__(name):
    raise _absent("module 'dl4.keras'", name, () if name[:2] == "__" else globals())
