"""The library's kinds by category and name: their descriptions, and classes made of them when first asked for."""

import importlib
import inspect
import re

from ...abi import registry
from .absent import absent
from .saving.object_registration import custom_object_scope, registered
from .utils.naming import snake_case

_facts, _categories = {}, {}
_getters = {}  # by category: what finds an object by a name, a config or itself
_MODELS = {}  # classes of models by name


def facts(category):
    """The library's description of a category, by class name."""
    if category not in _facts:
        _facts[category] = registry(category)[category]
    return _facts[category]


def create(category, kind, *args, **config):
    """An object of a kind."""
    return _categories[category].class_of(kind)(*args, **config)


def get(category, identifier):
    """An object of a name, a config or itself; None of None."""
    return _getters[category](identifier)


def deserialize(category, config):
    return _categories[category].deserialize(config)


def register_getter(category, getter):
    """Replaces get() of a category."""
    _getters[category] = getter


def register_model(cls, *names):
    """Makes a class of models known by its name and others."""
    _MODELS.update((name, cls) for name in (cls.__name__, *names))


def find_class(name, module):
    """The class of a name; a name of several categories is looked for in `module` first."""
    if name in _MODELS:
        return _MODELS[name]
    found = sorted(_categories.values(), key=lambda c: (c.module.split(".")[-1] != module, c.name != "layer"))
    return next((c.class_of(name) for c in found if c.has(name)), None)


class Category:
    """The kinds of one category, as classes that derive from `base` and seem to be defined in `module`.

    `function(class, name)` makes what a module has under a kind's name in snake case and its other names.
    `complete(class)` adds members to a class that was made."""

    def __init__(self, name, module, base, function=None, complete=None):
        self.name, self.module, self.base, self.function, self.complete = (
            name,
            f"dl4.keras.{module}",
            base,
            function,
            complete,
        )
        self.classes, self._functions, self._bases = {base.__name__: base}, {}, {}
        self._later = {}  # modules of kinds that are Python, by the kinds' names
        _categories[name] = self
        _getters[name] = self.get

    def add(self, cls):
        """Adds a class that is Python: a decorator."""
        self.classes[cls.__name__] = cls
        return cls

    def later(self, module, *kinds):
        """A module has these kinds, and is imported when one of them is asked for."""
        self._later.update(dict.fromkeys(kinds, module))

    def has(self, name):
        """Is there a class of that name, the library's or Python's?"""
        return name in self.classes or name in self._later or name in facts(self.name)

    def _import(self, kind):
        if kind in self._later and kind not in self.classes:
            importlib.import_module(self._later[kind])  # which other threads wait for

    def base_of(self, kind):
        """A decorator: the class of that kind derives from this one, which derives from `base`."""

        def decorate(cls):
            self._bases[kind] = cls
            return cls

        return decorate

    def class_of(self, kind):
        self._import(kind)
        if kind not in self.classes:
            known, base = facts(self.name)[kind], self._bases.get(kind, self.base)
            if base is not self.base and base.__doc__:
                known = {**known, "doc": base.__doc__.rstrip(".")}
            members = {"_category": self.name, "_class_name": kind, "__module__": self.module}
            members.update(
                __doc__=documentation(known), __signature__=signature(known, FIRST.get(self.name, ("name",)))
            )
            cls = self.classes[kind] = type(kind, (base,), members)
            if self.complete is not None:
                self.complete(cls)
        return self.classes[kind]

    def find(self, name):
        """The class or function that a public module has under a name; None if there is none."""
        if name in facts(self.name) or name in self._later or self.classes.get(name) not in (None, self.base):
            return self.class_of(name)
        for kind, known in facts(self.name).items():
            if name in known.get("aliases", ()) or name == snake_case(kind):
                cls = self.class_of(kind)
                if self.function is not None:
                    if kind not in self._functions:
                        self._functions[kind] = self.function(cls, snake_case(kind))
                    return self._functions[kind]
                if name[0].isupper():
                    return cls
        return None

    def get(self, identifier):
        """An object of a name, a config or itself; None of None."""
        if identifier is None or isinstance(identifier, self.base):
            return identifier
        if isinstance(identifier, type):
            return identifier()
        if callable(identifier):
            return identifier
        name, config = identifier, {}
        if isinstance(identifier, dict):
            name, config = identifier["class_name"], identifier.get("config", {})
        custom = registered(identifier["registered_name"]) if _is_registered(identifier) else registered(name)
        if custom is not None:
            return custom.from_config(config) if isinstance(custom, type) else custom
        if not isinstance(name, str):
            raise ValueError(f"Could not interpret {self.name} identifier: {identifier}")
        if name in self._later or name in self.classes and name not in facts(self.name):
            return self.class_of(name).from_config(config)
        ((kind, _),) = registry(self.name, name)[self.name].items()
        if kind not in facts(self.name):
            raise ValueError(f"Could not interpret {self.name} identifier: {identifier}")
        return self.class_of(kind).from_config(config)

    def deserialize(self, config, custom_objects=None):
        """The object of a config or a name."""
        with custom_object_scope(custom_objects):
            return self.get(config)

    def serve(self, namespace):
        """__getattr__ and __dir__ of the public module that has the classes of this category."""

        def __getattr__(name):
            if name == "__all__":
                return __dir__()
            found = None if name.startswith("__") else self.find(name)
            if found is None:
                raise absent(f"module '{self.module}'", name, () if name.startswith("__") else __dir__())
            namespace[name] = found
            return found

        def __dir__():
            return sorted({*(n for n in namespace if n[0] != "_"), *facts(self.name), *self._later})

        return __getattr__, __dir__


def _is_registered(identifier):
    """Is it the config of a class that was registered by another name than its own?"""
    name = identifier.get("registered_name") if isinstance(identifier, dict) else None
    return name is not None and registered(name) is not None


# Arguments of every class of a category.
FIRST = {"layer": ("name", "trainable", "dtype"), "loss": ("name", "dtype"), "metric": ("name", "dtype")}


def signature(known, first=()):
    """Keras's signature: its positional arguments in order, then those of the library alone, by name."""
    by_name = {a["name"]: a for a in known["attributes"]}
    parameters, kinds = [], inspect.Parameter
    names = list(dict.fromkeys((*known["positional"], *by_name, *first)))
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
