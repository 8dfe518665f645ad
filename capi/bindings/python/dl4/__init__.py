"""libdl4 for Python.

`dl4.keras` is Keras's API; Graph, Model, Session, Dataset and Trainer are the objects of the C interface. `import dl4
as tf` serves small programs for TensorFlow: keras, random.set_seed, nn, matmul.
"""

import importlib
import sys

from . import abi
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
from .remedies import MORE

__version__ = abi.version


class _Missing:
    """Says of modules that only Keras and TensorFlow have how to get them; it is asked last."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith(__name__ + ".") and not name.rpartition(".")[2].startswith("_"):
            raise ModuleNotFoundError(f"No module named '{name}': {MORE}", name=None)


sys.meta_path.append(_Missing)


def __getattr__(name):
    if name[:2] == "__":
        raise AttributeError(f"module 'dl4' has no attribute '{name}'")
    if name in ("keras", "nn", "plot", "random"):
        return importlib.import_module("." + name, __name__)
    if name == "matmul":
        return importlib.import_module(".nn", __name__).matmul
    raise importlib.import_module(".keras.src.kinds", __name__).absent("module 'dl4'", name, globals())
