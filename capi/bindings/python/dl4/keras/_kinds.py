"""Classes and functions for the library's kinds, made when they are asked for: what is in the library is here."""
import inspect

from ..abi import registry
from . import _state

_facts = {}


def facts(category):
    """What the library says of a category, by class name."""
    if category not in _facts:
        _facts[category] = registry(category)[category]
    return _facts[category]


class Kind:
    """A configured kind: an initializer, loss, optimizer, ..., or (in layers.py) a layer."""
    category = None
    class_name = None
    _own = ()  # arguments that are not the library's

    def __init__(self, *args, **kwargs):
        self._config = self._bound(args, kwargs)

    def _bound(self, args, kwargs):
        try:
            given = self.__signature__.bind(*args, **kwargs).arguments
        except TypeError as e:
            raise TypeError(f"{type(self).__name__}: {e}") from None
        config = dict(given)
        config.update(config.pop("kwargs", {}))
        for key in self._own:
            config.pop(key, None)
        if config.get("dtype", 0) is None:
            del config["dtype"]
        return {key: value for key, value in config.items()}

    def __getattr__(self, key):
        config = self.__dict__.get("_config")
        if config is not None:
            if key in config:
                return config[key]
            for attribute in facts(self.category)[self.class_name]["attributes"]:
                if attribute["name"] == key:
                    return attribute.get("default")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")

    def get_config(self):
        """Every attribute, with its default where none was given."""
        config = {a["name"]: a.get("default") for a in facts(self.category)[self.class_name]["attributes"]}
        config.update({key: as_json(value) for key, value in self._config.items()})
        return config

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def to_json_value(self):
        return {"class_name": self.class_name, "config": {k: as_json(v) for k, v in self._config.items()}}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._config.items())})"


def as_json(value):
    """A value as the library's JSON has it."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    for method in ("to_json_value", "tolist"):
        if hasattr(value, method) and not isinstance(value, type):
            return getattr(value, method)()
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
            lines += [title] + [f"    {p['name']}: {p['shape']}" + (f" if {p['if']}" if "if" in p else "")
                                for p in known[key]]
    if known.get("arguments"):
        lines += ["Call arguments:"] + [f"    {a['name']}: {a['doc']}." for a in known["arguments"]]
    return "\n".join(lines)


def made_class(category, name, base, module):
    known = facts(category)[name]
    first = ("name", "trainable", "dtype") if category == "layer" else ("name",)
    return type(name, (base,), {"category": category, "class_name": name, "__doc__": documentation(known),
                                "__module__": module, "__signature__": signature(known, first)})


def serve(namespace, category, base, functions=False):
    """__getattr__ and __dir__ of a module that has the classes of a category, and aliases as Keras has them."""
    module = namespace["__name__"]

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        for kind, known in facts(category).items():
            if name == kind:
                namespace[name] = made_class(category, kind, base, module)
                return namespace[name]
            if functions and (name in known.get("aliases", ()) or name == _state.snake_case(kind)):
                return functions(__getattr__(kind) if kind not in namespace else namespace[kind], name)
        raise AttributeError(f"module '{module}' has no attribute '{name}'")

    def __dir__():
        return sorted({*namespace, *facts(category)})

    namespace.update(__getattr__=__getattr__, __dir__=__dir__, __all__=None)
    del namespace["__all__"]


def got(category, base, module):
    """Keras's get(), serialize() and deserialize() of a category."""
    def deserialize(config, custom_objects=None):
        return get(config)

    def get(identifier):
        """An object of a name, a config or itself; None of None."""
        if identifier is None or isinstance(identifier, base) or callable(identifier):
            return identifier() if isinstance(identifier, type) else identifier
        name, config = identifier, {}
        if isinstance(identifier, dict):
            name, config = identifier["class_name"], identifier.get("config", {})
        (kind, known), = registry(category, name)[category].items()
        del known
        return getattr(module, kind)(**config)

    def serialize(thing):
        return as_json(thing)
    return {"get": get, "serialize": serialize, "deserialize": deserialize}
