"""Objects as configs, and back."""

import contextlib

from .. import overrides, registry
from ..kind import as_json
from .object_registration import custom_object_scope, get_custom_objects, get_registered_name, registered


_safe = [True]


def in_safe_mode():
    """May configs bring no code?"""
    return _safe[-1]


def in_safe_loading():
    """Is a config being read that may bring no code, and name no files?"""
    return len(_safe) > 1 and _safe[-1]


def enable_unsafe_deserialization():
    _safe[0] = False


@contextlib.contextmanager
def _safely(safe):
    _safe.append(safe)
    try:
        yield
    finally:
        _safe.pop()


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
        name = next((k for k, v in get_custom_objects().items() if v is cls), None)
        own = cls.__module__.split(".")[0] != "dl4"
        item = {
            "module": None if own else cls.__module__.replace("dl4.", "", 1),
            "class_name": cls.__name__,
            "config": config,
            "registered_name": name or (cls.__name__ if own else None),
        }
        if hasattr(cls, "_category") and overrides.is_overridden(thing, "get_build_config"):
            item["build_config"] = thing.get_build_config()
        return item
    if hasattr(thing, "_to_json"):
        return thing._to_json()
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
        cls = registered(config.get("registered_name") or name) or registered(name) or _known_class(name, config)
        if cls is None:
            raise TypeError(
                f"Could not locate class '{name}'. Make sure custom classes are decorated with "
                f"`@keras.saving.register_keras_serializable()`. Full object config: {config}"
            )
        inner = dict(config["config"])
        made = cls.from_config(
            {k: _inside(v) for k, v in inner.items()} if getattr(cls, "_interface", None) != "model" else inner
        )
        if config.get("build_config") and hasattr(made, "build_from_config"):
            made.build_from_config(config["build_config"])
        return made


def _inside(value):
    if isinstance(value, dict) and value.get("class_name") and value.get("registered_name") and "config" in value:
        return deserialize_keras_object(value)
    if isinstance(value, dict) and value.get("class_name") == "function":
        return deserialize_keras_object(value)
    return value


def _known_class(name, config):
    """A class of the library's kinds; if a loss and a metric share the name, the module in the config decides."""
    return registry.find_class(name, str(config.get("module") or "").split(".")[-1])


def serialize(thing):
    """An object as a config, its name or a value: serialize() of each public module."""
    return serialize_keras_object(thing) if hasattr(thing, "get_config") else as_json(thing)
