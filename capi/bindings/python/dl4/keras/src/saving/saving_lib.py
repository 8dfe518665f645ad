"""Models and weights in files."""

import os
import warnings

from .... import abi, core
from .. import overrides
from ..backend import global_state

# ---- files


def _need_files(model, who):
    """Raises for what would have to be called for a file, where the library writes and reads it."""
    for layer in model._flatten_layers():
        overrides.refuse(layer, who, "save")


def _path(filepath, overwrite):
    path = os.fspath(filepath)
    if not overwrite and os.path.exists(path):
        raise FileExistsError(path)
    return path


def save_model(model, filepath, overwrite=True, zipped=True):
    """A whole model: .safetensors; .keras for Keras, with what it was compiled with and its optimizer's state."""
    if not zipped:
        raise NotImplementedError("a model is one file: expected zipped=True")
    _need_files(model, "save()")
    _need_no_texts(model)
    path = _path(filepath, overwrite)
    constrained = [w.path for w in model._constrained()]
    if constrained:
        warnings.warn(f"{path}: saved without the constraints in Python of {', '.join(constrained)}", stacklevel=3)
    if path.endswith(".keras") and model.compiled and model._for_training().ahead is None:
        try:
            return model._save_training(path)
        except (ValueError, abi.Error) as e:  # the model is saved in any case, as Keras does
            warnings.warn(f"{path}: saved without what the model was compiled with: {e}", stacklevel=3)
    model.core.save(path)


def _need_no_texts(model):
    """Raises where layers that are Python stand in a model: a file of the library has no place for them."""
    ahead = None if model._functional is None else model._functional.ahead
    if ahead is not None:
        names = ", ".join(layer.name for layer in ahead.layers())
        raise NotImplementedError(
            f"{model.name}: save() of a model with layers that are Python ({names}) is not in this version of "
            "the library: "
            "save the model behind them, and their configs and vocabularies"
        )


def save_weights(model, filepath, overwrite=True):
    """As .weights.h5, .npz or, with the architecture, .safetensors."""
    _need_files(model, "save_weights()")
    path = _path(filepath, overwrite)
    if not path.endswith((".weights.h5", ".npz", ".safetensors")):
        raise ValueError(f"expected a name that ends in .weights.h5, .npz or .safetensors, got {path!r}")
    model.core.save(path)


def load_weights(model, filepath, skip_mismatch=False):
    """Of Keras's files and .npz by layer and name; of this library's by position, as the weights stand in both."""
    path = os.fspath(filepath)
    _need_files(model, "load_weights()")
    if path.endswith((".h5", ".hdf5", ".keras", ".npz")):
        if skip_mismatch:
            raise NotImplementedError(f"{path}: skip_mismatch is for files of this library")
        model.core.load_weights(path)
        return global_state.changed()
    other = core.Model.load(path, global_state.context())
    mine = [(name, shape) for name, shape, _ in model.core.weights()]
    theirs = [(name, shape) for name, shape, _ in other.weights()]
    if len(mine) != len(theirs):
        raise ValueError(f"the file has {len(theirs)} weights, the model {len(mine)}")
    for (name, shape), (their, its) in zip(mine, theirs):
        if shape != its and skip_mismatch:
            continue
        model.core.set_weight(name, other.get_weight(their))
    global_state.changed()
