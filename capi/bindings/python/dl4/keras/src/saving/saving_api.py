"""load_model()."""

import os

from .... import core
from ..backend import global_state
from ..models.model import Model
from ..models.rebuild import from_core
from .object_registration import custom_object_scope


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """A model of a file of Keras's, of ONNX or of any language's save(). Where Keras's file says with what the model
    was compiled, it is compiled and goes on from there."""
    path = os.fspath(filepath)
    loaded = core.Model.load(path, global_state.context())
    with custom_object_scope(custom_objects):
        model = from_core(loaded, Model)
    if compile and path.endswith((".keras", ".h5", ".hdf5")):
        model._resume_training(loaded, path)
    return model
