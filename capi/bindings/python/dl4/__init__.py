"""libdl4 for Python: `dl4.keras` has Keras's words; Graph, Model, Session, Dataset and Trainer are the C interface's.

`import dl4 as tf` serves the few names of TensorFlow that small Keras programs use beside it."""

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
from .core import Context, Dataset, Graph, Model, Session, Stream, Tensor, Trainer

__version__ = abi.library.dl4_version_string().decode()


def __getattr__(name):
    if name in ("keras", "nn", "plot", "random"):
        import importlib

        return importlib.import_module("." + name, __name__)
    raise AttributeError(f"module 'dl4' has no attribute '{name}'")


def matmul(a, b, transpose_a=False, transpose_b=False):
    """The product of the last two axes, of symbolic tensors or arrays."""
    from .keras import layers

    return layers.MatMul(transpose_a=transpose_a, transpose_b=transpose_b)([a, b])
