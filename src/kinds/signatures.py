#!/usr/bin/env python3
"""Writes signatures.txt: Keras's kinds by category, with the arguments of each by position; --check compares.

    python src/kinds/signatures.py [--check]        with the Keras of tests/golden/requirements.txt"""
import inspect
import pathlib
import sys

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


lines = [f"# Kinds of Keras {keras.__version__} with the arguments of __init__ and, of a layer, of call by position: "
         "written by signatures.py."]
for category, (module, base) in CATEGORIES.items():
    for name, kind in kinds(module, base):
        call = positional(kind.call) if category == "layer" else ""
        lines.append("|".join([category, name, positional(kind.__init__), call]))
text, file = "\n".join(lines) + "\n", pathlib.Path(__file__).with_suffix(".txt")
if sys.argv[1:] == ["--check"]:
    sys.exit("signatures.txt is not what signatures.py writes" if file.read_text() != text else 0)
file.write_text(text)
