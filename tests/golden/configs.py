"""Writes configs.json: what Keras's get_config() gives of its kinds, made by default and as the goldens make them.

    python tests/golden/configs.py [--check]        with the Keras of requirements.txt; 77 without

A line of the file is {"category", "class_name", "config"}, as keras.saving.serialize_keras_object() writes it."""
import json
import os
import pathlib
import struct
import sys

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.dont_write_bytecode = True
try:
    import keras
except ImportError:
    print("Keras is not installed here")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "configs.json"
MODULES = {"layer": keras.layers, "initializer": keras.initializers, "regularizer": keras.regularizers,
           "constraint": keras.constraints, "loss": keras.losses, "metric": keras.metrics,
           "optimizer": keras.optimizers, "schedule": keras.optimizers.schedules}
BASES = {"layer": keras.layers.Layer, "initializer": keras.initializers.Initializer,
         "regularizer": keras.regularizers.Regularizer, "constraint": keras.constraints.Constraint,
         "loss": keras.losses.Loss, "metric": keras.metrics.Metric, "optimizer": keras.optimizers.Optimizer,
         "schedule": keras.optimizers.schedules.LearningRateSchedule}
# What Keras's constructors want, tried one after the other.
WANTED = [{}, {"units": 3}, {"filters": 4, "kernel_size": 3}, {"kernel_size": 3}, {"rate": 0.3}, {"padding": 1},
          {"input_dim": 7, "output_dim": 3}, {"n": 4}, {"target_shape": [2, -1]}, {"dims": [2, 1]}, {"axes": 1},
          {"num_heads": 2, "key_dim": 3}, {"head_dim": 4, "num_query_heads": 4, "num_key_value_heads": 2},
          {"stddev": 0.1}, {"scale": 0.5}, {"output_size": 3}, {"equation": "ab,bc->ac", "output_shape": 3},
          {"num_classes": 3}, {"num_classes": 3, "target_class_ids": [0, 2]}, {"target_class_ids": [1]},
          {"recall": 0.5}, {"precision": 0.5}, {"specificity": 0.5}, {"sensitivity": 0.5}, {"function": "relu"},
          {"activation": "relu"}, {"units": 3, "activation": "relu"},
          {"initial_learning_rate": 0.1, "decay_steps": 5},
          {"initial_learning_rate": 0.1, "decay_steps": 5, "decay_rate": 0.5},
          {"initial_learning_rate": 0.1, "first_decay_steps": 5}, {"boundaries": [3, 5], "values": [0.3, 0.2, 0.1]},
          {"layer": {"class_name": "Dense", "config": {"units": 3}}},
          {"layer": {"class_name": "LSTM", "config": {"units": 3}}},
          {"cell": {"class_name": "GRUCell", "config": {"units": 3}}},
          {"cells": [{"class_name": "LSTMCell", "config": {"units": 3}}]}]


def object_of(value):
    """A nested kind as an object, as a user of Keras gives it; else the value."""
    if isinstance(value, list):
        return [object_of(v) for v in value]
    if not isinstance(value, dict) or "class_name" not in value:
        return value
    for module in MODULES.values():
        if hasattr(module, value["class_name"]):
            return made(getattr(module, value["class_name"]), value.get("config") or {})
    raise ValueError(value["class_name"])


def made(kind, config):
    return kind(**{key: object_of(value) for key, value in config.items()})


def recorded():
    """(class name, config) of every kind in the goldens' cases."""
    def within(value):
        if isinstance(value, dict):
            if isinstance(value.get("class_name"), str) and isinstance(value.get("config"), dict):
                yield value["class_name"], value["config"]
            for part in value.values():
                yield from within(part)
        elif isinstance(value, list):
            for part in value:
                yield from within(part)

    for path in sorted(HERE.glob("*.safetensors")):
        with path.open("rb") as file:
            header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        yield from within(json.loads(header["__metadata__"]["cases"]))


def words(class_name, config):
    """What a config shows that another one may not: its attributes, each with the kind of its value."""
    def word(value):
        if isinstance(value, dict):
            return value.get("class_name", "dict")
        if isinstance(value, list):
            return f"[{len(value)}{word(value[0]) if value else ''}]"
        return value if isinstance(value, (str, bool, type(None))) else type(value).__name__
    return {f"{class_name} {key} {word(value)}" for key, value in config.items() if key not in ("name", "seed")}


def all_configs():
    known, found = set(), []

    def take(category, kind, config):
        try:
            written = keras.saving.serialize_keras_object(made(kind, config))
        except Exception:  # not how Keras makes one
            return False
        shows = words(kind.__name__, written["config"])
        if not shows <= known or not found or not any(f["class_name"] == written["class_name"] for f in found):
            known.update(shows)
            found.append({"category": category, "class_name": written["class_name"], "config": written["config"]})
        return True

    by_name = {}
    for category, module in MODULES.items():
        for name in sorted(dir(module)):
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, BASES[category]) and kind is not BASES[category]:
                by_name.setdefault(name, []).append((category, kind))
                any(take(category, kind, config) for config in WANTED)
    tried = set()
    for name, config in recorded():
        shown = name + json.dumps(config, sort_keys=True)
        if shown not in tried:
            for category, kind in by_name.get(name, []):
                take(category, kind, config)
        tried.add(shown)
    return "[\n" + ",\n".join(json.dumps(c, sort_keys=True) for c in found) + "\n]\n"


text = all_configs()
if sys.argv[1:] == ["--check"]:
    sys.exit("configs.json is not what configs.py writes" if FILE.read_text() != text else 0)
FILE.write_text(text)
print(text.count("\n") - 2, "configs,", len(text) // 1000, "kB")
