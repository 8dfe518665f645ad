"""Configured objects of the library's kinds: the base class of layers, losses, metrics, optimizers, ..."""

from ...abi import InvalidType
from . import overrides
from .absent import meant
from .backend import attributes
from .registry import facts


class Kind:
    """An object with a config: an initializer, a loss, an optimizer, a layer, ..."""

    _category = None
    _class_name = None  # the library's kind; None for a class of Python's alone

    def __new__(cls, *args, **kwargs):
        overrides.need_class(cls)
        self = super().__new__(cls)
        self._config = {}  # also if an __init__() of a subclass does not call this one's
        return self

    def __init__(self, *args, **kwargs):
        self._config = self._bound(args, kwargs) if self._class_name is not None else {}

    def _bound(self, args, kwargs):
        """The config of the arguments of __init__()."""
        try:
            config = dict(self.__signature__.bind(*args, **kwargs).arguments)
        except TypeError as e:
            raise TypeError(f"{type(self).__name__}: {e}") from None
        more = config.pop("kwargs", {})
        if more and self._category != "layer":
            name = next(iter(more))
            raise InvalidType(
                f"{type(self).__name__}.__init__() got an unexpected keyword argument '{name}'"
                f"{meant(name, self.__signature__.parameters)}"
            )
        config.update(more)
        if config.get("dtype", 0) is None:
            del config["dtype"]
        return config

    def __getattr__(self, key):
        config = self.__dict__.get("_config")
        if config is not None and self._class_name is not None:
            if key in config:
                return config[key]
            for attribute in facts(self._category)[self._class_name]["attributes"]:
                if attribute["name"] == key:
                    return attribute.get("default")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")

    def __dir__(self):
        names = set(super().__dir__())
        if self._class_name is not None:
            names.update(a["name"] for a in facts(self._category)[self._class_name]["attributes"])
        return sorted(names)

    def get_config(self):
        """Every attribute, with its default where none was given."""
        config = {}
        if self._class_name is not None:
            config = {a["name"]: a.get("default") for a in facts(self._category)[self._class_name]["attributes"]}
        config.update({key: _config_value(value) for key, value in self._config.items()})
        return config

    @classmethod
    def from_config(cls, config, **_):
        """An object of what get_config() gave."""
        return cls(**config)

    def _to_json(self):
        """The JSON that the library reads; refused if a method is overridden, as the library would not call it."""
        overrides.refuse(self, "what is given it", "custom")
        return self._native()

    def _native(self):
        """The library's object, without the methods that a subclass overrides."""
        return {"class_name": self._class_name, "config": {k: as_json(v) for k, v in self._config.items()}}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._config.items())})"


attributes.watch(Kind)


def _config_value(value):
    """A value in a config: tuples stay tuples, and a model is as Keras writes it."""
    if hasattr(value, "_as_config"):
        return value._as_config()
    return tuple(_config_value(v) for v in value) if isinstance(value, tuple) else as_json(value)


def as_json(value):
    """A value as the library's JSON has it."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    for method in ("_to_json", "tolist"):
        if hasattr(value, method) and not isinstance(value, type):
            return as_json(getattr(value, method)())
    if isinstance(value, type) and issubclass(value, Kind):
        return value._class_name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"expected numbers, strings, lists or objects of this package, got {value!r}")


def is_native(thing):
    """Whether the library has it: a name, a config, or an object without overridden methods."""
    if isinstance(thing, Kind):
        return not overrides.is_custom(thing)
    return thing is None or isinstance(thing, (str, dict)) or hasattr(thing, "_to_json")


def native(thing):
    """The object if the library has it, else None."""
    return thing if is_native(thing) else None


def split_native(thing):
    """(function of Python or None, kind of the library or None)."""
    if isinstance(thing, type):
        thing = thing()
    return (None, thing) if is_native(thing) else (thing, None)
