"""load_model()."""

import io
import os
import zipfile

from .... import core
from ....abi import UnknownKind, Unsupported
from ..backend import global_state
from ..models.model import Model
from ..models.rebuild import from_core
from . import legacy_h5_format
from .object_registration import custom_object_scope
from .saving_lib import model_of_archive


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """A model of a file of Keras's, of ONNX or of any language's save(). Where Keras's file says with what the model
    was compiled, it is compiled and goes on from there."""
    if isinstance(filepath, io.IOBase):
        return model_of_archive(filepath, custom_objects, compile, safe_mode)
    path = os.fspath(filepath)
    is_archive = path.endswith(".keras") and zipfile.is_zipfile(path)
    if is_archive or os.path.isfile(os.path.join(path, "config.json")):
        model = model_of_archive(path, custom_objects, compile, safe_mode)
        if model is not None:
            return model
    elif path.endswith(".keras"):
        raise FileNotReadable(
            f"File not found: filepath={path}. Please ensure the file is an accessible `.keras` zip file."
        )
    elif not os.path.exists(path) and os.path.splitext(path)[1] not in _SUFFIXES:
        raise ValueError(f"File format not supported: filepath={path}. Expected one of {', '.join(_SUFFIXES)}")
    try:
        return _loaded(path, custom_objects, compile)
    except (UnknownKind, Unsupported):  # it may have layers, losses or metrics of one's own
        if not path.endswith((".h5", ".hdf5")):
            raise
        with custom_object_scope(custom_objects):
            return legacy_h5_format.read(path, compile, safe_mode)


def _loaded(path, custom_objects, compile):
    """Of a file that the library reads."""
    loaded = core.Model.load(path, global_state.context())
    with custom_object_scope(custom_objects):
        model = from_core(loaded, Model)
    if compile and path.endswith((".keras", ".h5", ".hdf5")):
        model._resume_training(loaded, path)
    return model


_SUFFIXES = (".keras", ".safetensors", ".dl4", ".onnx", ".h5", ".hdf5")


class FileNotReadable(ValueError, FileNotFoundError):
    """There is no such file, or it is no archive."""
