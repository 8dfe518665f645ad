"""Files, and objects as configs: keras.saving."""

import contextlib
import json
import os
import warnings

from .. import abi, core
from . import _overrides, _state

_registered, _scopes, _safe = {}, [], [True]


def safe_mode():
    """May configs bring no code?"""
    return _safe[-1]


def enable_unsafe_deserialization():
    _safe[0] = False


@contextlib.contextmanager
def _safely(safe):
    _safe.append(safe)
    try:
        yield
    finally:
        _safe.pop()


def register_keras_serializable(package="Custom", name=None):
    """A decorator: a class or function of one's own, to be found by its name."""

    def decorated(thing):
        registered_name = f"{package}>{name or thing.__name__}"
        if isinstance(thing, type) and not hasattr(thing, "get_config"):
            raise ValueError("Cannot register a class that does not have a get_config() method.")
        _registered[registered_name] = thing
        return thing

    return decorated


@contextlib.contextmanager
def custom_object_scope(custom_objects):
    """While it lasts these names are known."""
    _scopes.append(custom_objects or {})
    try:
        yield
    finally:
        _scopes.pop()


CustomObjectScope = custom_object_scope


def get_custom_objects():
    return _registered


def registered(name):
    """The class or function of one's own of that name."""
    for scope in reversed(_scopes):
        if name in scope:
            return scope[name]
    if name in _registered:
        return _registered[name]
    return next((v for k, v in _registered.items() if k.split(">")[-1] == name), None)


get_registered_object = registered


def get_registered_name(thing):
    return next((k for k, v in _registered.items() if v is thing), thing.__name__)


def serialize_keras_object(thing):
    """As a config that deserialize_keras_object() reads."""
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return thing
    if isinstance(thing, (list, tuple)):
        return [serialize_keras_object(x) for x in thing]
    if isinstance(thing, dict):
        return {k: serialize_keras_object(v) for k, v in thing.items()}
    if hasattr(thing, "tolist"):
        return thing.tolist()
    if hasattr(thing, "get_config"):
        cls = type(thing)
        config = {k: serialize_keras_object(v) if not isinstance(v, dict) else v for k, v in thing.get_config().items()}
        name = next((k for k, v in _registered.items() if v is cls), None)
        own = cls.__module__.split(".")[0] != "dl4"
        item = {
            "module": None if own else cls.__module__.replace("dl4.", "", 1),
            "class_name": cls.__name__,
            "config": config,
            "registered_name": name or (cls.__name__ if own else None),
        }
        if hasattr(cls, "category") and _overrides.overrides(thing, "get_build_config"):
            item["build_config"] = thing.get_build_config()
        return item
    if hasattr(thing, "to_json_value"):
        return thing.to_json_value()
    if callable(thing):
        return {
            "module": "builtins",
            "class_name": "function",
            "config": thing.__name__,
            "registered_name": get_registered_name(thing),
        }
    raise TypeError(f"expected an object with a config, got {thing!r}")


def deserialize_keras_object(config, custom_objects=None, safe_mode=None):
    """The object of a config."""
    with custom_object_scope(custom_objects), _safely(_safe[-1] if safe_mode is None else safe_mode):
        if not isinstance(config, dict) or "class_name" not in config:
            return config
        name = config["class_name"]
        if name == "function":
            found = registered(config["registered_name"]) or registered(config["config"])
            if found is None:
                raise ValueError(
                    f"Unknown function '{config['config']}'. Please ensure you are using a "
                    "`keras.saving.custom_object_scope` and that this object is included in the scope."
                )
            return found
        cls = registered(config.get("registered_name") or name) or registered(name) or _known(name, config)
        if cls is None:
            raise TypeError(
                f"Could not locate class '{name}'. Make sure custom classes are decorated with "
                f"`@keras.saving.register_keras_serializable()`. Full object config: {config}"
            )
        inner = dict(config["config"])
        made = cls.from_config({k: _inside(v) for k, v in inner.items()} if not _is_model(cls) else inner)
        if config.get("build_config") and hasattr(made, "build_from_config"):
            made.build_from_config(config["build_config"])
        return made


def _inside(value):
    if isinstance(value, dict) and value.get("class_name") and value.get("registered_name") and "config" in value:
        return deserialize_keras_object(value)
    if isinstance(value, dict) and value.get("class_name") == "function":
        return deserialize_keras_object(value)
    return value


def _is_model(cls):
    from .models import Model

    return isinstance(cls, type) and issubclass(cls, Model)


def _known(name, config):
    """The class of the library's kinds; one word may be a loss and a metric, and then the module decides."""
    from . import _kinds, models

    if name in ("Functional", "Model"):
        return models.Functional
    if name == "Sequential":
        return models.Sequential
    wanted = str(config.get("module") or "").split(".")[-1]
    modules = sorted(_kinds.modules, key=lambda m: (not m.__name__.endswith(f".{wanted}"), "layers" not in m.__name__))
    return next((getattr(m, name) for m in modules if name in dir(m)), None)


# ---- files


def _need_files(model, who):
    """Raises for what would have to be called for a file, where the library writes and reads it."""
    for layer in model._flatten_layers():
        _overrides.refuse(layer, who, "save")


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
    path = _path(filepath, overwrite)
    constrained = [w.path for w in model._constrained()]
    if constrained:
        warnings.warn(f"{path}: saved without the constraints in Python of {', '.join(constrained)}", stacklevel=3)
    if path.endswith(".keras") and model.compiled:
        try:
            return model._save_training(path)
        except (ValueError, abi.Error) as e:  # the model is saved in any case, as Keras does
            warnings.warn(f"{path}: saved without what the model was compiled with: {e}", stacklevel=3)
    model.core.save(path)


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
        return _state.changed()
    other = core.Model.load(path, _state.context())
    mine = [(name, shape) for name, shape, _ in model.core.weights()]
    theirs = [(name, shape) for name, shape, _ in other.weights()]
    if len(mine) != len(theirs):
        raise ValueError(f"the file has {len(theirs)} weights, the model {len(mine)}")
    for (name, shape), (their, its) in zip(mine, theirs):
        if shape != its and skip_mismatch:
            continue
        model.core.set_weight(name, other.get_weight(their))
    _state.changed()


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """A model of a file of Keras's, of ONNX or of any language's save(). Where Keras's file says with what the model
    was compiled, it is compiled and goes on from there."""
    path = os.fspath(filepath)
    loaded = core.Model.load(path, _state.context())
    model = from_core(loaded)
    if compile and path.endswith((".keras", ".h5", ".hdf5")):
        model._resume_training(loaded, path)
    return model


def from_core(core_model):
    """A model of a graph that is made of the architecture, with the weights of a core model."""
    from ._rebuilt import rebuilt

    model = rebuilt(json.loads(core_model.describe(0)))
    learned = {name: trainable for name, _, trainable in model.core.weights()}
    for name, _, trainable in core_model.weights():
        model.core.set_weight(name, core_model.get_weight(name))
        if learned[name] and not trainable:
            model.core.set_trainable(name, False)
    return model


def unpickled(name, data):
    return from_core(core.Model.from_bytes(data, _state.context()))


_IMPORTED = ("abi", "contextlib", "core", "json", "os", "warnings")
__all__ = [n for n in list(globals()) if not n.startswith("_") and n not in _IMPORTED]
