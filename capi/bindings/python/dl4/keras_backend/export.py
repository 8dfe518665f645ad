"""Export of models."""

import os
import tempfile

from keras.src import tree
from keras.src.utils import io_utils

from ..core import Model
from .dtypes import Unsupported

_OPSET = 20


class NumpyExportArchive:
    """Keras imports it by this name."""

    def track(self, *args, **kwargs):
        raise Unsupported(
            "`export_saved_model` only currently supports the tensorflow, jax and torch backends. With the backend dl4 "
            "save as `.keras`, which libdl4 reads, or export as ONNX"
        )

    add_endpoint = track_and_add_endpoint = track


def export_onnx(model, filepath, verbose=None, input_signature=None, opset_version=None, **kwargs):
    """Writes the forward pass of a model of Keras's own layers as ONNX. Free axes stay free."""
    if kwargs:
        raise TypeError(f"export() to ONNX got an unexpected argument {next(iter(kwargs))!r}")
    if opset_version not in (None, _OPSET):
        raise Unsupported(f"opset_version: the backend dl4 writes {_OPSET}, got {opset_version}")
    if not model.built:
        raise ValueError("The model has not been built: call it, or give its first layer an input shape")
    if input_signature is not None:
        _need_own(model, input_signature)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.keras")
        model.save(file)
        Model.load(file).save(os.fspath(filepath), format="onnx")
    if verbose is None or verbose:
        io_utils.print_msg(f"Saved artifact at '{filepath}'.")


def _need_own(model, signature):
    """Refuses an input signature of other shapes than the model's."""
    own = [(tuple(x.shape), str(x.dtype)) for x in tree.flatten(model.inputs)]
    given = tree.flatten(signature)
    types = [t for _, t in own] if len(given) == len(own) else [None] * len(given)
    found = [(tuple(s.shape), str(s.dtype or t)) for s, t in zip(given, types)]
    if found != own:
        raise Unsupported(f"input_signature: the backend dl4 exports the model's own inputs, {own}, got {found}")
