"""The library's kinds as classes, made from its registry when they are first asked for."""

import difflib
import inspect
import re

from ...abi import InvalidType, Unsupported, check_kind, registry
from ...remedies import MORE

_OTHERS = {"lr": "learning_rate"}  # names that other programs have
_facts, _categories = {}, {}
# Arguments of every class of a category.
FIRST = {"layer": ("name", "trainable", "dtype"), "loss": ("name",), "metric": ("name",)}
_OURS = __package__.rpartition(".")[0]


def facts(category):
    """The library's description of a category, by class name."""
    if category not in _facts:
        _facts[category] = registry(category)[category]
    return _facts[category]


def snake_case(name):
    """Keras's name of a class in snake case."""
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def absent(owner, name, known=()):
    """The AttributeError for a name that only Keras has, or nobody."""
    close = difflib.get_close_matches(name, list(known), 1, 0.8)
    meant = f"; did you mean '{close[0]}'?" if close else f": {MORE}"
    return AttributeError(f"{owner} has no attribute '{name}'{meant}")


def unsupported(who, what):
    """The error for what only Keras has."""
    return Unsupported(f"{who}: {what}; {MORE}")


def only_default(who, **given):
    """Refuses arguments that have a value other than their default: name=(value, default)."""
    for name, (value, default) in given.items():
        if not (value is default or value == default):
            raise unsupported(who, f"{name}={value!r} is not in dl4.keras")


class Closed:
    """A class that programs don't derive from: what a subclass overrides would not be called."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if not cls.__module__.startswith(_OURS):
            raise unsupported(cls.__name__, f"subclasses of {cls.__mro__[1].__name__} are not in dl4.keras")


class Kind(Closed):
    """An object with a config: a layer, a loss, an optimizer, an initializer, ..."""

    _category = None
    _class_name = None

    def __init__(self, *args, **kwargs):
        if self._class_name is None:
            raise unsupported(type(self).__name__, "only the kinds of the library can be made")
        self._config = self._bound(args, kwargs)
        self._check()

    def _check(self):
        check_kind(self._category, self._class_name, as_json(self._config))

    def _bound(self, args, kwargs):
        """The config of the arguments of __init__()."""
        try:
            config = dict(self.__signature__.bind(*args, **kwargs).arguments)
        except TypeError as e:
            raise InvalidType(f"{type(self).__name__}: {e}") from None
        known = {a["name"] for a in facts(self._category)[self._class_name]["attributes"]}
        for name in config.pop("kwargs", {}):
            close = difflib.get_close_matches(name, known, 1, 0.7) or [k for k in known if k == _OTHERS.get(name)]
            meant = f"; did you mean '{close[0]}'?" if close else ""
            raise InvalidType(f"{type(self).__name__}() got an unexpected keyword argument '{name}'{meant}")
        # Keras's arguments that the library lacks may be given as what means nothing.
        return {k: v for k, v in config.items() if k in known or v is not None and (k, v) != ("use_cudnn", "auto")}

    def __getattr__(self, key):
        config = self.__dict__.get("_config")
        if config is not None and not key.startswith("_"):
            if key in config:
                return config[key]
            attributes = facts(self._category)[self._class_name]["attributes"]
            for attribute in attributes:
                if attribute["name"] == key:
                    return attribute.get("default")
            raise absent(f"'{type(self).__name__}' object", key, {*config, *(a["name"] for a in attributes)})
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{key}'")

    def __dir__(self):
        attributes = facts(self._category)[self._class_name]["attributes"] if self._class_name else ()
        return sorted({*super().__dir__(), *(a["name"] for a in attributes)})

    def get_config(self):
        """Every attribute, with its default where none was given."""
        known = facts(self._category)[self._class_name]["attributes"]
        return {**{a["name"]: a.get("default") for a in known}, **as_json(self._config)}

    @classmethod
    def from_config(cls, config):
        """An object of what get_config() gave."""
        known = {a["name"]: a.get("default") for a in facts(cls._category)[cls._class_name]["attributes"]}
        return cls(**{k: v for k, v in config.items() if k not in known or v != known[k]})

    def _to_json(self):
        return {"class_name": self._class_name, "config": as_json(self._config)}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._config.items())})"


def as_json(value):
    """A value as the library's JSON has it."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if hasattr(value, "_to_json"):
        return value._to_json()
    if isinstance(value, type) and issubclass(value, Kind):
        return value()._to_json()
    if hasattr(value, "_kind"):
        return value._kind
    if hasattr(value, "tolist"):
        return value.tolist()
    if callable(value):
        name = getattr(value, "__name__", repr(value))
        raise unsupported(name, "functions and classes of Python in a layer, loss or metric are not in dl4.keras")
    return value


class Category:
    """The kinds of one category, as classes that derive from `base` and stand in the module `module`.

    `function(class, name)` makes what the module has under a kind's name in snake case and its other names."""

    def __init__(self, name, module, base, function=None):
        self.name, self.module, self.base, self.function = name, f"{_OURS}.{module}", base, function
        self.classes, self._functions, self._bases = {}, {}, {}
        _categories[name] = self

    def base_of(self, *kinds):
        """A decorator: the classes of those kinds derive from this one."""

        def decorate(cls):
            self._bases.update(dict.fromkeys(kinds, cls))
            return cls

        return decorate

    def class_of(self, kind):
        """The class of a kind."""
        if kind not in self.classes:
            known = facts(self.name)[kind]
            members = {"_category": self.name, "_class_name": kind, "__module__": self.module}
            members["__doc__"] = documentation(known)
            members["__signature__"] = signature(known, FIRST.get(self.name, ()))
            self.classes[kind] = type(kind, (self._bases.get(kind, self.base),), members)
        return self.classes[kind]

    def find(self, name):
        """The class or function that the module has under a name; None if there is none."""
        if name in facts(self.name):
            return self.class_of(name)
        for kind, known in facts(self.name).items():
            if name in known.get("aliases", ()) or name == snake_case(kind):
                if name[0].isupper():
                    return self.class_of(kind)
                if self.function is not None:
                    return self._functions.setdefault(kind, self.function(self.class_of(kind), snake_case(kind)))
        return None

    def get(self, identifier):
        """An object of a name, a config, a class or itself; None of None."""
        if identifier is None or isinstance(identifier, self.base):
            return identifier
        if isinstance(identifier, type) and issubclass(identifier, self.base):
            return identifier()
        kind, config = identifier, {}
        if isinstance(identifier, dict) and "class_name" in identifier:
            kind, config = identifier["class_name"], identifier.get("config") or {}
        kind = getattr(kind, "_kind", kind)
        if not isinstance(kind, str):
            what = getattr(kind, "__name__", repr(kind))
            raise unsupported(self.module, f"{what} is no {self.name} of the library")
        ((kind, _),) = registry(self.name, kind)[self.name].items()
        return self.class_of(kind).from_config(config)

    def serve(self, namespace):
        """__getattr__ and __dir__ of the public module that has the classes of this category."""

        def __getattr__(name):
            found = None if name.startswith("__") else self.find(name)
            if found is None:
                raise absent(f"module '{self.module}'", name, () if name.startswith("__") else __dir__())
            namespace[name] = found
            return found

        def __dir__():
            return sorted({*(n for n in namespace if n[0] != "_"), *facts(self.name)})

        return __getattr__, __dir__


def create(category, kind, **config):
    """An object of a kind."""
    return _categories[category].class_of(kind)(**config)


def get(category, identifier):
    """An object of a name, a config, a class or itself."""
    return _categories[category].get(identifier)


def signature(known, first=()):
    """Keras's signature: its positional arguments in order, then those of the library alone, by name."""
    by_name = {a["name"]: a for a in known["attributes"]}
    parameters, kinds = [], inspect.Parameter
    positional, optional = set(known["positional"]), False
    for name in dict.fromkeys((*known["positional"], *by_name, *first)):
        a = by_name.get(name)
        default = kinds.empty if a and a["required"] else a["default"] if a else None
        kind = kinds.POSITIONAL_OR_KEYWORD if name in positional else kinds.KEYWORD_ONLY
        if kind == kinds.POSITIONAL_OR_KEYWORD:
            optional |= default is not kinds.empty
            default = None if optional and default is kinds.empty else default
        parameters.append(kinds(name, kind, default=default))
    return inspect.Signature([*parameters, kinds("kwargs", kinds.VAR_KEYWORD)])


def in_python(doc):
    """What the registry says, with Python's words for JSON's."""
    words = {"null": "None", "true": "True", "false": "False"}
    return re.sub(r"\b(null|true|false)\b", lambda m: words[m[0]], doc)


def documentation(known):
    """A docstring of a kind's description."""
    lines = [known["doc"].rstrip(".") + ".", ""]
    if known["attributes"]:
        lines.append("Args:")
    for a in known["attributes"]:
        default = "" if a["required"] else f" Default: {a['default']!r}."
        values = "" if "enum" not in a else f" One of {', '.join(repr(w) for w in a['enum'])}."
        lines.append(f"    {a['name']}: {a['doc']}.{values}{default}")
    for title, key in (("Inputs:", "inputs"), ("Outputs:", "outputs")):
        if known.get(key):
            lines += [title] + [
                f"    {p['name']}: {p['shape']}" + (f" if {p['if']}" if "if" in p else "") for p in known[key]
            ]
    if known.get("arguments"):
        lines += ["Call arguments:"] + [f"    {a['name']}: {a['doc']}." for a in known["arguments"]]
    return in_python("\n".join(lines))
