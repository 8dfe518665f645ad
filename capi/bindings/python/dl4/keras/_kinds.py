"""Classes and functions for the library's kinds, made when they are asked for: what is in the library is here."""

import inspect
import sys

from ..abi import registry
from . import _overrides, _state

_facts = {}
modules = []  # those that have a category


def facts(category):
    """What the library says of a category, by class name."""
    if category not in _facts:
        _facts[category] = registry(category)[category]
    return _facts[category]


class Kind:
    """A configured kind: an initializer, loss, optimizer, ..., or (in layers.py) a layer."""

    category = None
    class_name = None

    def __new__(cls, *args, **kwargs):
        _overrides.need_class(cls)
        made = super().__new__(cls)
        made._config = {}  # also where an __init__() of its user's does not call this one's
        return made

    def __init__(self, *args, **kwargs):
        self._config = self._bound(args, kwargs) if self.class_name is not None else {}

    def _bound(self, args, kwargs):
        try:
            config = dict(self.__signature__.bind(*args, **kwargs).arguments)
        except TypeError as e:
            raise TypeError(f"{type(self).__name__}: {e}") from None
        more = config.pop("kwargs", {})
        if more and self.category != "layer":
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(more))}'")
        config.update(more)
        if config.get("dtype", 0) is None:
            del config["dtype"]
        return config

    def __getattr__(self, key):
        config = self.__dict__.get("_config")
        if config is not None and self.class_name is not None:
            if key in config:
                return config[key]
            for attribute in facts(self.category)[self.class_name]["attributes"]:
                if attribute["name"] == key:
                    return attribute.get("default")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")

    def get_config(self):
        """Every attribute, with its default where none was given."""
        config = {}
        if self.class_name is not None:
            config = {a["name"]: a.get("default") for a in facts(self.category)[self.class_name]["attributes"]}
        config.update({key: _told(value) for key, value in self._config.items()})
        return config

    @classmethod
    def from_config(cls, config, **_):
        return cls(**config)

    def to_json_value(self):
        """For the library, which has what is not its user's own."""
        _overrides.refuse(self, "what is given it", "own")
        return self._native()

    def _native(self):
        """The library's, without what a class of its user's overrides."""
        return {"class_name": self.class_name, "config": {k: as_json(v) for k, v in self._config.items()}}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._config.items())})"


def _told(value):
    """A value in a config: tuples stay what they are."""
    return tuple(_told(v) for v in value) if isinstance(value, tuple) else as_json(value)


def as_json(value):
    """A value as the library's JSON has it."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    for method in ("to_json_value", "tolist"):
        if hasattr(value, method) and not isinstance(value, type):
            return as_json(getattr(value, method)())
    if isinstance(value, type) and issubclass(value, Kind):
        return value.class_name
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"expected numbers, strings, lists or objects of this package, got {value!r}")


def signature(known, first=()):
    """Keras's: its positional arguments in order, then what only the library has, by name."""
    by_name = {a["name"]: a for a in known["attributes"]}
    parameters, kinds = [], inspect.Parameter
    names = [n for n in known["positional"]]
    names += [n for n in by_name if n not in names] + [n for n in first if n not in names]
    positional = set(known["positional"])
    required_over = False
    for name in names:
        a = by_name.get(name)
        default = kinds.empty if a and a["required"] else a["default"] if a else None
        kind = kinds.POSITIONAL_OR_KEYWORD if name in positional else kinds.KEYWORD_ONLY
        if kind == kinds.POSITIONAL_OR_KEYWORD:
            required_over |= default is not kinds.empty
            if required_over and default is kinds.empty:
                default = None
        parameters.append(kinds(name, kind, default=default))
    parameters.append(kinds("kwargs", kinds.VAR_KEYWORD))
    return inspect.Signature(parameters)


def documentation(known):
    lines = [known["doc"] + ".", ""]
    if known["attributes"]:
        lines.append("Args:")
    for a in known["attributes"]:
        default = "" if a["required"] else f" Default: {a['default']!r}."
        words = "" if "enum" not in a else f" One of {', '.join(repr(w) for w in a['enum'])}."
        lines.append(f"    {a['name']}: {a['doc']}.{words}{default}")
    for title, key in (("Inputs:", "inputs"), ("Outputs:", "outputs")):
        if known.get(key):
            lines += [title] + [
                f"    {p['name']}: {p['shape']}" + (f" if {p['if']}" if "if" in p else "") for p in known[key]
            ]
    if known.get("arguments"):
        lines += ["Call arguments:"] + [f"    {a['name']}: {a['doc']}." for a in known["arguments"]]
    return "\n".join(lines)


def made_class(category, name, base, module):
    known = facts(category)[name]
    first = {"layer": ("name", "trainable", "dtype"), "loss": ("name", "dtype"), "metric": ("name", "dtype")}.get(
        category, ("name",)
    )
    return type(
        name,
        (base,),
        {
            "category": category,
            "class_name": name,
            "__doc__": documentation(known),
            "__module__": module,
            "__signature__": signature(known, first),
        },
    )


def served(namespace, category, base, function=None):
    """__getattr__ and __dir__ of a module that has the classes of a category, made when they are asked for.

    function(class, name) makes what stands under a kind's name in snake case and under its other names."""
    module = namespace["__name__"]
    modules.append(sys.modules[module])
    functions = {}

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        for kind, known in facts(category).items():
            if name == kind:
                namespace[name] = made_class(category, kind, base, module)
                return namespace[name]
            if name in known.get("aliases", ()) or name == _state.snake_case(kind):
                cls = namespace[kind] if kind in namespace else __getattr__(kind)
                if function is not None:
                    namespace[name] = functions.setdefault(kind, function(cls, _state.snake_case(kind)))
                    return namespace[name]
                if name[0].isupper():
                    return cls
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    def __dir__():
        return sorted({*namespace, *facts(category)})

    return __getattr__, __dir__


def got(category, base, module):
    """Keras's get(), serialize() and deserialize() of a category."""

    def get(identifier):
        """An object of a name, a config or itself; None of None."""
        from . import saving

        if identifier is None or isinstance(identifier, base):
            return identifier
        if isinstance(identifier, type):
            return identifier()
        if callable(identifier):
            return identifier
        name, config = identifier, {}
        if isinstance(identifier, dict):
            name, config = identifier["class_name"], identifier.get("config", {})
        own = saving.registered(name)
        if own is not None:
            return own.from_config(config) if isinstance(own, type) else own
        if not isinstance(name, str):
            raise ValueError(f"Could not interpret {category} identifier: {identifier}")
        ((kind, _),) = registry(category, name)[category].items()
        if kind not in facts(category):
            raise ValueError(f"Could not interpret {category} identifier: {identifier}")
        return getattr(module, kind).from_config(config)

    def deserialize(config, custom_objects=None):
        from . import saving

        with saving.custom_object_scope(custom_objects):
            return get(config)

    def serialize(thing):
        from . import saving

        return saving.serialize_keras_object(thing) if hasattr(thing, "get_config") else as_json(thing)

    return {"get": get, "serialize": serialize, "deserialize": deserialize}
