#!/usr/bin/env python3
"""Writes the type stubs of dl4.keras from the library's registry and the package itself:   stubs.py [FOLDER]

wheel.py puts them into the wheel; without a folder they stand beside the modules. DL4_LIBRARY names the library."""

import inspect
import keyword
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import dl4.keras as keras  # noqa: E402
from dl4.keras.src.kinds import FIRST, facts, signature, snake_case  # noqa: E402

CATEGORIES = {
    "layers": "layer",
    "losses": "loss",
    "metrics": "metric",
    "optimizers": "optimizer",
    "schedules": "schedule",
    "initializers": "initializer",
    "regularizers": "regularizer",
    "constraints": "constraint",
    "callbacks": "callback",
}
PLAIN = ["activations", "backend", "config", "models", "ops", "saving", "utils"]
TYPES = {
    "i64": "int",
    "f64": "float",
    "bool": "bool",
    "str": "str",
    "i64s": "int | _Sequence[int]",
    "f64s": "float | _Sequence[float]",
    "strs": "_Sequence[str]",
    "layer": "Layer",
}
BASES = {
    "layer": "Layer",
    "loss": "Loss",
    "metric": "Metric",
    "optimizer": "Optimizer",
    "schedule": "LearningRateSchedule",
    "initializer": "Initializer",
    "regularizer": "Regularizer",
    "constraint": "Constraint",
    "callback": "",
}
# What a method or function gives, where it is always of one type.
GIVES = {
    "fit": "History",
    "get_weights": "list[_Any]",
    "summary": "None",
    "compile": "None",
    "save": "None",
    "save_weights": "None",
    "load_weights": "None",
    "set_weights": "None",
    "count_params": "int",
    "get_config": "dict[str, _Any]",
    "to_json": "str",
    "set_random_seed": "None",
    "plot_model": "str",
    "load_model": "Model",
    "clone_model": "Model",
    "model_from_json": "Model",
    "__init__": "None",
    "__setattr__": "None",
    "__del__": "None",
    "__repr__": "str",
    "__len__": "int",
    "__float__": "float",
    "__int__": "int",
    "Input": "KerasTensor",
    "pad_sequences": "_Any",
    "to_categorical": "_Any",
    "set_model": "None",
    "set_params": "None",
    "add": "_Any",
}
HEAD = """# Made by stubs.py.
from collections.abc import Sequence as _Sequence
from typing import Any as _Any  # a layer has that name

"""


def default(value):
    plain = value is None or isinstance(value, (bool, int, float, str))
    return repr(value) if plain and "inf" not in repr(value) else "..."


def parameters(signature, types=None, names=()):
    """Of a function; the kinds' with their types."""
    words, starred = [], False
    for p in signature.parameters.values():
        known = (types or {}).get(p.name, "_Any")
        if p.kind == p.VAR_POSITIONAL:
            words.append(f"*{p.name}: _Any")
            starred = True
        elif p.kind == p.VAR_KEYWORD:
            words.append(f"**{p.name}: _Any")
        else:
            if p.kind == p.KEYWORD_ONLY and not starred:
                words.append("*")
                starred = True
            if p.name in names:
                known = names[p.name]
            word = p.name if p.name == "self" or p.name == "cls" else f"{p.name}: {known}"
            if p.default is not p.empty:
                word += f" = {default(p.default)}"
            words.append(word)
    return ", ".join(words)


def kind_class(category, name, base):
    """A class of the registry, as its __init__() is called."""
    known = facts(category)[name]
    first = FIRST.get(category, ("name",))
    types = {"name": "str | None", "trainable": "bool | None", "dtype": "str | None"}
    for a in known["attributes"]:
        kind = "_Any" if a.get("category") and a["type"] != "layer" else TYPES.get(a["type"], "_Any")
        nullable = not a["required"] and a.get("default") is None and kind != "_Any"
        types[a["name"]] = f"{kind} | None" if nullable else kind
    lines = [f"class {name}({base}):" if base else f"class {name}:", f'    """{known["doc"]}."""', ""]
    lines.append(f"    def __init__(self, {parameters(signature(known, first), types)}) -> None: ...")
    lines += [f"    {a}: _Any" for a in types if a.isidentifier() and not keyword.iskeyword(a) and a not in FIXED]
    return lines


FIXED = ("name", "trainable", "dtype", "learning_rate")


def method(name, f, indent="    ", bound=True):
    kind = "" if not isinstance(f, (staticmethod, classmethod)) else f"@{type(f).__name__}\n{indent}"
    f = f.__func__ if kind else f
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return []
    words = parameters(signature)
    if kind.startswith("@static") is False and bound and not words.startswith(("self", "cls")):
        words = "self" + (", " + words if words else "")
    return [f"{indent}{kind}def {name}({words}) -> {GIVES.get(name, '_Any')}: ..."]


SPECIAL = {
    f"__{n}__"
    for n in """init call getitem len float int array neg abs invert add radd sub rsub mul rmul truediv
 rtruediv pow rpow matmul rmatmul lt le gt ge and or""".split()
}


def source_of_init(cls):
    init = vars(cls).get("__init__")
    return inspect.getsource(init) if init else ""


def plain_class(cls, known):
    """A class of the package's own."""
    bases = [b.__name__ for b in cls.__bases__ if b.__name__ in known]
    lines = [f"class {cls.__name__}({', '.join(bases)}):" if bases else f"class {cls.__name__}:"]
    doc = (cls.__doc__ or "").strip().splitlines()
    if doc:
        lines.append(f'    """{doc[0]}"""')
    members = {}
    for c in reversed(cls.__mro__):
        if c is cls or (c.__module__.startswith("dl4.keras") and c.__name__ not in known):
            members.update(vars(c))
    body = []
    for name in dict.fromkeys(re.findall(r"self\.([a-z]\w*)(?=[^=(\n]* = )", source_of_init(cls))):
        if name not in members:
            body.append(f"    {name}: _Any")
    ours = [c for c in cls.__mro__ if c.__module__.startswith("dl4.keras")]
    declared = dict.fromkeys(n for c in ours for n in getattr(c, "__annotations__", ()))
    body += [f"    {name}: _Any" for name in declared if not name.startswith("_") and name not in members]
    for name, f in members.items():
        if name.startswith("_") and name not in SPECIAL:
            continue
        if isinstance(f, property):
            body += ["    @property", f"    def {name}(self) -> _Any: ..."]
            if f.fset:
                body += [f"    @{name}.setter", f"    def {name}(self, value: _Any) -> None: ..."]
        elif callable(f) or isinstance(f, (staticmethod, classmethod)):
            body += method(name, f)
        else:
            body.append(f"    {name}: _Any")
    if any(hasattr(c, "_config") or c.__name__ == "Kind" for c in cls.__mro__):
        body.append("    def __getattr__(self, name: str) -> _Any: ...")
    return lines + (body or ["    pass"])


def module_stub(name):
    module, lines, known = getattr(keras, name), [], {}
    category = CATEGORIES.get(name)
    kinds = facts(category) if category in BASES else {}
    own = {n: v for n, v in vars(module).items() if not n.startswith("_") and getattr(v, "_class_name", None) is None}
    kinds = {n: k for n, k in kinds.items() if n not in own}
    classes = {n: v for n, v in own.items() if inspect.isclass(v) and v.__module__.startswith("dl4.keras")}
    here = {n: v for n, v in classes.items() if HOMES.get(v) == name}
    known.update({n: v for n, v in classes.items()})
    imports = sorted({(HOMES[v], n) for n, v in classes.items() if v in HOMES and HOMES[v] != name})
    needed = {("layers", "Layer")} if name == "models" else set()
    needed |= {(TENSOR, "KerasTensor")} if name in ("layers", "models") else set()
    needed |= {("callbacks", "History")} if name == "models" else set()
    needed |= {("models", "Model")} if name == "saving" else set()
    known.update({n: None for _, n in needed})
    for home, n in sorted(set(imports) | needed):
        lines.append(f"from .{home} import {n} as {n}")
    for n in sorted(here, key=lambda n: len(here[n].__mro__)):
        same = n == here[n].__name__
        lines += ["", *plain_class(here[n], known)] if same else [f"{n} = {here[n].__name__}"]
    for n in kinds:
        lines += ["", *kind_class(category, n, BASES[category])]
    if name in ("losses", "metrics"):
        for n, k in kinds.items():
            words = {*(a for a in k.get("aliases", ())), snake_case(n)}
            lines += [
                f"def {w}(y_true: _Any, y_pred: _Any, *args: _Any, **kwargs: _Any) -> _Any: ..."
                for w in sorted(words)
                if w.isidentifier() and not w[0].isupper()
            ]
    if name == "activations":
        lines += [
            f"def {n}(x: _Any, *args: _Any, **kwargs: _Any) -> _Any: ..." for n in facts("activation") if n not in own
        ]
    for n, f in own.items():
        if inspect.isroutine(f) and f.__module__.startswith(("dl4.keras", "functools")):
            lines += method(n, f, "", False)
        elif isinstance(f, (int, float)):
            lines.append(f"{n}: {type(f).__name__}")
    return HEAD + "\n".join(lines) + "\n"


TENSOR, VARIABLE = "src.tensor", "src.variable"
HOMES = {}
for _name in [*CATEGORIES, *PLAIN]:
    _kinds = facts(CATEGORIES[_name]) if _name in CATEGORIES else ()
    for _n in set(dir(getattr(keras, _name))) - set(_kinds):
        getattr(getattr(keras, _name), _n)  # what is imported when it is asked for
    for _n, _v in vars(getattr(keras, _name)).items():
        if inspect.isclass(_v) and not _n.startswith("_") and _v.__module__.startswith("dl4.keras"):
            HOMES.setdefault(_v, _name)
HOMES[keras.KerasTensor], HOMES[keras.Variable] = TENSOR, VARIABLE


def package_stub():
    lines = [f"from . import {n} as {n}" for n in sorted([*CATEGORIES, *PLAIN])]
    for n, v in sorted(vars(keras).items()):
        if inspect.isclass(v) and v in HOMES:
            lines.append(f"from .{HOMES[v]} import {n} as {n}")
    lines += ["from .layers import Input as Input", "", "__version__: str"]
    return HEAD + "\n".join(lines) + "\n"


def stubs():
    """Texts by file name."""
    files = {
        "__init__.pyi": package_stub(),
        f"{TENSOR.replace('.', '/')}.pyi": HEAD + "\n".join(plain_class(keras.KerasTensor, {})) + "\n",
        f"{VARIABLE.replace('.', '/')}.pyi": HEAD + "\n".join(plain_class(keras.Variable, {})) + "\n",
    }
    return {**files, **{f"{name}.pyi": module_stub(name) for name in [*CATEGORIES, *PLAIN]}}


def main(folder=HERE / "dl4" / "keras"):
    for name, text in stubs().items():
        (pathlib.Path(folder) / name).write_text(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
