"""libdl4 for Python.

`dl4.keras` is Keras's API; Graph, Model, Session, Dataset and Trainer are the objects of the C interface. With `import
dl4 as tf` the names of TensorFlow that Keras programs use are available too: those of `dl4.tf`.
"""

import importlib

from . import abi, imports
from .abi import (
    Busy,
    CallbackFailed,
    Cancelled,
    CorruptFile,
    Error,
    FileFailure,
    InternalError,
    InvalidArgument,
    NotFound,
    NumericError,
    OutOfMemory,
    ShapeMismatch,
    UnknownKind,
    Unsupported,
    WrongVersion,
    registry,
)
from .cancel import Cancel
from .core import Context, Dataset, Flow, Graph, Model, Session, Stream, Tensor, Trainer, adapt

__version__ = abi.version


def __getattr__(name):
    if name[:2] == "__":
        raise AttributeError(f"module 'dl4' has no attribute '{name}'")
    if name in ("keras", "nn", "plot", "random", "tf"):
        return importlib.import_module("." + name, __name__)
    return getattr(importlib.import_module(".tf", __name__), name)
