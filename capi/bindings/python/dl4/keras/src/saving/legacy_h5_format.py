"""Models in files of Keras 2's form, `.h5`."""

import json
import warnings

from ..backend import global_state
from ..backend.config import version
from . import hdf5
from .serialization_lib import deserialize_keras_object, serialize_keras_object


def write(file, model, include_optimizer=True):
    """The model, its weights by layers and, where it is compiled, with what, and what its optimizer keeps."""
    config = serialize_keras_object(model)
    config.pop("compile_config", None)  # it has a place of its own
    metadata = {"keras_version": version(), "backend": "tensorflow", "model_config": config}
    arrays, said = {}, {}
    groups = {f"model_weights/{layer.name}": _in_order(layer) for layer in model.layers}
    groups["model_weights/top_level_model_weights"] = model._variables
    if include_optimizer and model.compiled:
        metadata["training_config"] = _training_config(model)
        groups["optimizer_weights"] = model.optimizer.variables
    for group, weights in groups.items():
        names = _names(weights)
        said[group] = {"weight_names": [name.encode() for name in names]}
        arrays.update({f"{group}/{name}": w.numpy() for name, w in zip(names, weights)})
    said["model_weights"] = {
        "layer_names": [layer.name.encode() for layer in model.layers],
        "backend": b"tensorflow",
        "keras_version": version().encode(),
    }
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in metadata.items()}
    said[""] = {key: text.encode() for key, text in texts.items()}
    hdf5.write(file, arrays, said)


def _in_order(layer):
    return layer.trainable_weights + layer.non_trainable_weights


def is_known(file):
    """Was a file written in Keras 3's way, whose weights stand as layers have them?"""
    group = "model_weights" if "model_weights" in file.groups else ""
    return (file.texts(group, "keras_version") or b"").startswith(b"3")


def read(path, compile=True, safe_mode=True):
    """The model of a file that was written in Keras 3's way, by the classes that its config names; compiled as it says,
    without what its optimizer kept."""
    file = hdf5.of_path(path)
    if not is_known(file):
        raise NotImplementedError(f"{path}: custom layers are read only from .h5 files written by Keras 3")
    model = deserialize_keras_object(json.loads(file.texts("", "model_config")), safe_mode=safe_mode)
    load(file, model)
    training = file.texts("", "training_config")
    if compile and training:
        config = json.loads(training)
        optimizer = {"module": "keras.optimizers", "registered_name": None, **config.pop("optimizer_config")}
        model.compile_from_config({**config, "optimizer": optimizer})
        warnings.warn(f"{path}: the optimizer begins anew", stacklevel=4)
    global_state.changed()
    return model


def load(file, model, by_name=False, skip_mismatch=False):
    """Weights by the order of layers that have some, or by the names of layers."""
    group = "model_weights/" if "model_weights" in file.groups else ""
    names = {n.decode(): file.texts(group + n.decode(), "weight_names") for n in file.texts(group[:-1], "layer_names")}
    names = {name: [w.decode() for w in weights] for name, weights in names.items() if weights}
    layers = [layer for layer in model.layers if layer.weights]
    if not by_name and len(layers) != len(names):
        raise ValueError(
            "Layer count mismatch when loading weights from file. "
            f"Model expected {len(layers)} layers, found {len(names)} saved layers."
        )
    places = names if not by_name else [layer.name for layer in layers]
    pairs = [(layer, place, names[place]) for layer, place in zip(layers, places) if place in names]
    top = "top_level_model_weights"
    if group + top in file.groups and model._variables:
        pairs.append((model, top, [w.decode() for w in file.texts(group + top, "weight_names")]))
    values = []
    for layer, place, wanted in pairs:
        mine = model._variables if place == top else _in_order(layer)
        arrays = [file.read(f"{group}{place}/{w}") for w in wanted]
        shapes = [tuple(w.shape) for w in mine], [a.shape for a in arrays]
        if shapes[0] == shapes[1]:
            values += zip(mine, arrays)
            continue
        said = (
            f"Weight count mismatch for layer \"{layer.name}\": it expects weights of shapes {shapes[0]}, the file has "
            f"{shapes[1]} of layer \"{place}\""
        )
        if not skip_mismatch:
            raise ValueError(said)
        warnings.warn(f"Skipping loading of weights: {said}", stacklevel=4)
    for weight, array in values:
        weight.assign(array)


def _names(weights):
    """Their paths; those that are alike are told apart."""
    names = [w.path for w in weights]
    return [name if names.count(name) == 1 else f"{name}_{i}" for i, name in enumerate(names)]


def _training_config(model):
    config = model.get_compile_config()
    optimizer = config.pop("optimizer")
    return {**config, "optimizer_config": {key: optimizer[key] for key in ("class_name", "config")}}
