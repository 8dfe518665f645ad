#!/usr/bin/env python3
"""Writes keras_names.hpp: Keras's kinds by category, with the arguments of each by position; --check compares.

    python src/kinds/keras_names.py [--check]        with the Keras of tests/golden/requirements.txt"""
import inspect
import pathlib
import sys
import textwrap

try:
    import keras
except ImportError:
    print("Keras is not installed here")
    sys.exit(77)

CATEGORIES = {
    "layer": (keras.layers, keras.layers.Layer),
    "initializer": (keras.initializers, keras.initializers.Initializer),
    "regularizer": (keras.regularizers, keras.regularizers.Regularizer),
    "constraint": (keras.constraints, keras.constraints.Constraint),
    "loss": (keras.losses, keras.losses.Loss),
    "metric": (keras.metrics, keras.metrics.Metric),
    "optimizer": (keras.optimizers, keras.optimizers.Optimizer),
    "schedule": (keras.optimizers.schedules, keras.optimizers.schedules.LearningRateSchedule),
    "callback": (keras.callbacks, keras.callbacks.Callback),
}
SKIPPED = {"InputLayer"}  # a graph's input is no layer of the registry


def kinds(module, base):
    found = {n: getattr(module, n) for n in dir(module)}
    return sorted((n, k) for n, k in found.items()
                  if inspect.isclass(k) and issubclass(k, base) and k is not base and n not in SKIPPED)


def positional(function):
    return " ".join(p.name for p in inspect.signature(function).parameters.values()
                    if p.kind == p.POSITIONAL_OR_KEYWORD and p.name != "self")


def quoted(words):
    parts = textwrap.wrap(words, 100) or [""]
    return "\n     ".join(f'"{w} "' for w in parts[:-1]) + ("\n     " if parts[1:] else "") + f'"{parts[-1]}"'


lines = [f"// Keras {keras.__version__}'s kinds, written by keras_names.py: those that are not registered are \"not in this version\",",
         "// rather than unknown; of the others the registry tells the arguments by position.", "#pragma once", "",
         "// clang-format off", "namespace dl4::kinds {", "", "struct KerasKind {", "  const char *category, *name;",
         "  const char *positional, *call;  // words with spaces between; of a layer also the arguments of a call", "};", "",
         "inline constexpr KerasKind keras_kinds[] = {"]
for category, (module, base) in CATEGORIES.items():
    for name, kind in kinds(module, base):
        call = positional(kind.call) if category == "layer" else ""
        lines += [f'    {{"{category}", "{name}",', f"     {quoted(positional(kind.__init__))},", f"     {quoted(call)}}},"]
lines += ["};", "", "}  // namespace dl4::kinds", ""]
text, header = "\n".join(lines), pathlib.Path(__file__).with_name("keras_names.hpp")
if sys.argv[1:] == ["--check"]:
    sys.exit("keras_names.hpp is not what keras_names.py writes" if header.read_text() != text else 0)
header.write_text(text)
