"""load_model()."""

import io
import json
import os
import zipfile

from .... import core
from ....abi import UnknownKind, Unsupported
from ..backend import global_state
from ..models.model import Model
from ..models.rebuild import from_core
from . import hdf5, legacy_h5_format
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
    elif path.endswith(".keras") and not hdf5.is_hdf5(path):
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
        model = from_core(loaded, Model, _nests(path))
    if compile and path.endswith((".keras", ".h5", ".hdf5")):
        model._resume_training(loaded, path)
    return model


def _nests(path):
    """Which tensors a model of Keras's takes and gives, in their nests, as its file says; of another nothing."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            config = archive.read("config.json") if "config.json" in archive.namelist() else None
    else:
        try:
            config = hdf5.of_path(path).texts("", "model_config") if hdf5.is_hdf5(path) else None
        except NotImplementedError:  # a form of HDF5 that the library alone reads
            config = None
    config = json.loads(config)["config"] if config else None
    return [config.get(key) if isinstance(config, dict) else None for key in ("input_layers", "output_layers")]


_SUFFIXES = (".keras", ".safetensors", ".dl4", ".onnx", ".h5", ".hdf5")


class FileNotReadable(ValueError, FileNotFoundError):
    """There is no such file, or it is no archive."""
