"""Objects as configs, and back."""

import codecs
import contextlib
import marshal
import sys
import types
import warnings

from .. import overrides, registry
from ..backend.eager_tensor import eager_tensor
from ..kind import as_json
from .object_registration import custom_object_scope, get_custom_objects, get_registered_name, registered


_safe = [None]  # None: as who reads says


def in_safe_mode():
    """May configs bring no code?"""
    return _safe[-1] is not False


def in_safe_loading():
    """Is a config being read that may bring no code, and name no files?"""
    return len(_safe) > 1 and in_safe_mode()


def enable_unsafe_deserialization():
    """Allows Lambda layers in files: code of theirs is run."""
    _safe[0] = False


@contextlib.contextmanager
def safely(safe_mode=True):
    _safe.append(safe_mode)
    try:
        yield
    finally:
        _safe.pop()


_shared = [None]  # while objects are written or read: those that have been, by what they are called


@contextlib.contextmanager
def _sharing():
    """Within the outermost config an object that is there twice is one."""
    outermost = _shared[-1] is None
    if outermost:
        _shared.append({})
    try:
        yield _shared[-1]
    finally:
        if outermost:
            _shared.pop()


def serialize_keras_object(thing):
    """As a config that deserialize_keras_object() reads."""
    if thing is None or isinstance(thing, (bool, int, float, str)):
        return thing
    if isinstance(thing, (list, tuple)):
        return type(thing)([serialize_keras_object(x) for x in thing]) if type(thing) in (list, tuple) else list(thing)
    if isinstance(thing, dict):
        return {k: serialize_keras_object(v) for k, v in thing.items()}
    if isinstance(thing, bytes):
        return {"class_name": "__bytes__", "config": {"value": thing.decode()}}
    if isinstance(thing, slice):
        parts = {name: serialize_keras_object(getattr(thing, name)) for name in ("start", "stop", "step")}
        return {"class_name": "__slice__", "config": parts}
    if thing is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if hasattr(thing, "tolist"):
        return _array_config(thing)
    if isinstance(thing, types.FunctionType) and thing.__name__ == "<lambda>":
        warnings.warn(
            "The object being serialized includes a `lambda`. This is unsafe. In order to reload the object, you "
            "will have to pass `safe_mode=False` to the loading function. Please avoid using `lambda` in the future, "
            "and use named Python functions instead.",
            stacklevel=2,
        )
        return lambda_config(thing)
    if hasattr(thing, "get_config"):
        with _sharing() as known:
            item = _object_config(thing)
            first = known.setdefault(("config", id(thing)), (item, thing))[0]
            if first is not item:
                first["shared_object_id"] = item["shared_object_id"] = id(thing)
        return item
    if hasattr(thing, "_to_json"):
        return thing._to_json()
    if callable(thing):
        module = str(getattr(thing, "__module__", None) or "builtins")
        ours = module.split(".")[0] == "dl4"
        return {
            "module": "builtins" if ours else module,
            "class_name": "function",
            "config": get_registered_name(thing),
            "registered_name": get_registered_name(thing),
        }
    raise TypeError(
        f"Cannot serialize object {thing} of type {type(thing)}. To be serializable, a class must implement the "
        "`get_config()` method: expected an object with a config"
    )


def copied(thing, **changed):
    """Another object of its class and config, some of which is changed: none in it is shared."""
    _shared.append(None)
    try:
        beside = {type(one).__name__: type(one) for one in thing._flatten_layers()}
        with custom_object_scope({k: c for k, c in beside.items() if c.__module__.split(".")[0] != "dl4"}):
            return type(thing).from_config({**thing.get_config(), **changed})
    finally:
        _shared.pop()


def _object_config(thing):
    cls = type(thing)
    config = thing.get_config()
    if not isinstance(config, dict):
        raise TypeError(f"The `get_config()` method of {thing} should return a dict. It returned: {config}")
    config = {k: serialize_keras_object(v) if not isinstance(v, dict) else v for k, v in config.items()}
    name = next((k for k, v in get_custom_objects().items() if v is cls), None)
    own = cls.__module__.split(".")[0] != "dl4"
    functional = cls.__name__ == "Functional" and not own  # which Keras finds in its own module alone
    item = {
        "module": "keras.src.models.functional"
        if functional
        else None
        if own and cls.__module__ == "__main__"
        else cls.__module__.replace("dl4.", "", 1),
        "class_name": cls.__name__,
        "config": config,
        "registered_name": name or (cls.__name__ if own or functional else None),
    }
    is_model = getattr(cls, "_interface", None) == "model"
    if is_model or hasattr(cls, "_category") and _says_how_it_is_built(thing):
        build_config = thing.get_build_config()
        if build_config is not None:
            item["build_config"] = serialize_keras_object(build_config)
    if is_model and thing.compiled:
        item["compile_config"] = thing.get_compile_config()
    return item


def _says_how_it_is_built(thing):
    return "get_build_config" in vars(type(thing)) or overrides.is_overridden(thing, "get_build_config")


def _array_config(array):
    """A number as it is; arrays with their type."""
    if not getattr(array, "ndim", 0):
        return array.tolist()
    import numpy

    name = "__numpy__" if type(array) is numpy.ndarray else "__tensor__"
    return {"class_name": name, "config": {"value": array.tolist(), "dtype": str(array.dtype)}}


def lambda_config(function):
    """A lambda as its code."""
    closure = tuple(c.cell_contents for c in function.__closure__) if function.__closure__ else None
    code = codecs.encode(marshal.dumps(function.__code__), "base64").decode("ascii")
    return {
        "class_name": "__lambda__",
        "config": {"code": code, "defaults": function.__defaults__, "closure": closure},
    }


def lambda_of(config, what="Python lambda"):
    """That lambda, where code was allowed."""
    if in_safe_mode():
        raise ValueError(
            f"Requested the deserialization of a {what}. This carries a potential risk of arbitrary code execution "
            "and thus it is disallowed by default. If you trust the source of the artifact, you can override this "
            "error by passing `safe_mode=False` to the loading function, or calling "
            "`keras.config.enable_unsafe_deserialization()`."
        )
    inner = config["config"]
    if "value" in inner:  # as Keras writes those that stand outside of a Lambda layer
        inner = dict(zip(("code", "defaults", "closure"), inner["value"]))
    code = marshal.loads(codecs.decode(inner["code"].encode("ascii"), "base64"))
    cells = tuple(types.CellType(v) for v in inner["closure"]) if inner["closure"] is not None else None
    defaults = tuple(inner["defaults"]) if inner["defaults"] is not None else None
    return types.FunctionType(code, globals(), code.co_name, defaults, cells)


def deserialize_keras_object(config, custom_objects=None, safe_mode=None):
    """The object of a config."""
    with (
        custom_object_scope(custom_objects),
        safely(safe_mode if _safe[-1] is None else _safe[-1]),  # as in Keras the outermost decides
        _sharing() as known,
    ):
        if isinstance(config, (list, tuple)):
            return [deserialize_keras_object(v) for v in config]
        if isinstance(config, str):
            found = registered(config)
            return config if found is None else found
        if not isinstance(config, dict):
            return config
        if "class_name" not in config or "config" not in config:
            return {k: deserialize_keras_object(v) for k, v in config.items()}
        name, inner = config["class_name"], config["config"]
        if name in _VALUES:
            return _VALUES[name](inner if isinstance(inner, dict) else config)
        if name == "function":
            return _function_of(config)
        shared = config.get("shared_object_id")
        if shared is not None and shared in known:
            return known[shared]
        if inner is not None and not isinstance(inner, dict):
            raise TypeError(
                f"Expected 'config' to be a dict for {name},\ninstead got {type(inner)}\nFull config: {config}"
            )
        made = _made(config, name, dict(inner or {}))
        if shared is not None:
            known[shared] = made
        return made


def _made(config, name, inner):
    own = registered(config.get("registered_name") or name) or registered(name)
    cls = own or _known_class(name, config)
    if cls is None:
        raise TypeError(
            f"Could not locate class '{name}'. Make sure custom classes are decorated with "
            f"`@keras.saving.register_keras_serializable()`. Full object config: {config}"
        )
    said = config.get("registered_name")
    if own is None and said and said != name and "module" in config and not _is_model(cls):
        raise ValueError(
            f"`registered_name={said!r}` was provided in the config, but '{config['module']}.{name}' resolved to a "
            f"Keras built-in and does not use registered names. Remove the `registered_name` field from the config. "
            f"Full object config: {config}"
        )
    if not hasattr(cls, "from_config"):
        if isinstance(cls, types.FunctionType):
            return cls
        raise TypeError(
            f"Unable to reconstruct an instance of '{name}' because the class is missing a `from_config()` method. "
            f"Full object config: {config}"
        )
    raw = _is_model(cls) or not overrides.is_ours(cls.__dict__.get("from_config"), cls)
    made = cls.from_config(inner if raw and "from_config" in vars(cls) or _is_model(cls) else _inside_all(inner))
    if config.get("build_config") and hasattr(made, "build_from_config"):
        if not (_is_model(cls) and made.built):
            made.build_from_config(_shapes(config["build_config"]))
            made.built = True
    if config.get("compile_config") and hasattr(made, "compile_from_config"):
        made.compile_from_config(config["compile_config"])
    return made


def _is_model(cls):
    return getattr(cls, "_interface", None) == "model"


def layers_made(config):
    """A config whose layers are made, of which others are made."""
    return {k: deserialize_keras_object(v) if _is_layer(k, v) else v for k, v in config.items()}


def _inside_all(inner):
    return {k: _inside(v) for k, v in layers_made(inner).items()}


_OF_LAYERS = ("keras", "keras.layers", "keras.models", "keras.src.models.functional", "keras.src.models.sequential")


def _is_layer(key, value):
    """Is it a layer that another one has as its activation, or around which it stands?"""
    named = key == "layer" or key.endswith("activation")
    return named and isinstance(value, dict) and value.get("module") in _OF_LAYERS


def _shapes(config):
    """Shapes of JSON's lists as tuples."""
    if isinstance(config, dict):
        return {k: _shapes(v) for k, v in config.items()}
    if isinstance(config, list):
        return tuple(config) if all(v is None or isinstance(v, int) for v in config) else [_shapes(v) for v in config]
    return config


def _function_of(config):
    name, module = config["config"], str(config.get("module") or "")
    if not isinstance(name, str):
        raise TypeError(
            "Expected 'config' to be a non-null str for a function classname,\n"
            f"instead got {type(name)}\nFull config: {config}"
        )
    said = config.get("registered_name")
    found = registered(said or name) or registered(name)
    if found is not None:
        return found
    places = _FUNCTIONS if module in ("builtins", "") else [module.split(".", 1)[-1]] if module[:6] == "keras." else ()
    for place in places:
        found = getattr(sys.modules.get(f"{_ROOT}.{place}"), name, None)
        if found is not None:
            if said and said not in (name, "function"):
                raise ValueError(
                    f"`registered_name={said!r}` was provided in the config, but '{module}.{name}' resolved to a Keras "
                    "built-in and does not use registered names. Remove the `registered_name` field from the config. "
                    f"Full object config: {config}"
                )
            return found
    raise ValueError(
        f"Unknown function '{name}'. Please ensure you are using a `keras.saving.custom_object_scope` and that this "
        "object is included in the scope."
    )


_ROOT = __name__.split(".src.")[0]
_FUNCTIONS = ("activations", "constraints", "initializers", "losses", "metrics", "optimizers", "regularizers")


def _array_of(inner):
    import numpy

    return numpy.array(inner["value"], inner["dtype"])


def _slice_of(inner):
    return slice(*(deserialize_keras_object(inner[name]) for name in ("start", "stop", "step")))


# What stands in configs beside objects.
_VALUES = {
    "__bytes__": lambda inner: inner["value"].encode(),
    "__ellipsis__": lambda _: Ellipsis,
    "__slice__": _slice_of,
    "__numpy__": _array_of,
    "__tensor__": lambda inner: eager_tensor(_array_of(inner)),
    "__lambda__": lambda inner: lambda_of({"config": inner}),
    "__keras_tensor__": lambda inner: {"class_name": "__keras_tensor__", "config": inner},
    "DTypePolicy": lambda inner: inner["name"],
}


def _inside(value):
    if isinstance(value, dict) and value.get("class_name") in _VALUES and "config" in value:
        return deserialize_keras_object(value)
    if isinstance(value, dict) and value.get("class_name") and value.get("registered_name") and "config" in value:
        return deserialize_keras_object(value)
    if isinstance(value, dict) and value.get("class_name") == "function":
        return deserialize_keras_object(value)
    return value


def _known_class(name, config):
    """A class of the library's kinds; if a loss and a metric share the name, the module in the config decides. Or
    another public one of that module. TFDIdentity is what Keras's FeatureSpace takes for Identity."""
    module = str(config.get("module") or "")
    found = registry.find_class("Identity" if name == "TFDIdentity" else name, module.split(".")[-1])
    if found is None and module.startswith("keras."):
        found = getattr(sys.modules.get(f"{_ROOT}.{module[len('keras.') :]}"), name, None)
    return found


def serialize(thing):
    """An object as a config, its name or a value: serialize() of each public module."""
    return serialize_keras_object(thing) if hasattr(thing, "get_config") else as_json(thing)
