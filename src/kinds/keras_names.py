#!/usr/bin/env python3
"""Writes keras_names.hpp: the names of Keras's kinds, by category.

    python src/kinds/keras_names.py        with the Keras of tests/golden/requirements.txt"""
import inspect
import pathlib
import textwrap

import keras

CATEGORIES = {
    "layer": (keras.layers, keras.layers.Layer),
    "initializer": (keras.initializers, keras.initializers.Initializer),
    "regularizer": (keras.regularizers, keras.regularizers.Regularizer),
    "constraint": (keras.constraints, keras.constraints.Constraint),
    "loss": (keras.losses, keras.losses.Loss),
    "metric": (keras.metrics, keras.metrics.Metric),
    "optimizer": (keras.optimizers, keras.optimizers.Optimizer),
}
SKIPPED = {"InputLayer"}  # a graph's input is no layer of the registry


def names(module, base):
    kinds = {n: getattr(module, n) for n in dir(module)}
    return sorted(n for n, k in kinds.items() if inspect.isclass(k) and issubclass(k, base) and k is not base and n not in SKIPPED)


lines = [f"// The names of Keras {keras.__version__}'s kinds, by category, written by keras_names.py: those that are not registered are",
         '// "not in this version", rather than unknown.', "#pragma once", "", "// clang-format off", "namespace dl4::kinds {", "",
         "struct KerasNames {", "  const char *category, *names;  // words with spaces between", "};", "",
         "inline constexpr KerasNames keras_names[] = {"]
for category, (module, base) in CATEGORIES.items():
    words = textwrap.wrap(" ".join(names(module, base)), 105)
    lines += [f'    {{"{category}",'] + [f'     "{w} "' for w in words]
    lines[-1] += "},"
lines += ["};", "", "}  // namespace dl4::kinds", ""]
pathlib.Path(__file__).with_name("keras_names.hpp").write_text("\n".join(lines))
