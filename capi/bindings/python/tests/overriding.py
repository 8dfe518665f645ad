"""Classes that override one method of Keras's interface, and samples of every layer to use them on."""

import contextlib
import io
import json
import os
import pathlib
import struct
import unittest
import warnings

import numpy as np

import dl4.keras as keras
from dl4.abi import registry
from dl4.keras.src import overrides
from dl4.keras.src.interface import NAMES
from dl4.keras.src.models.calls import calls_of
from dl4.keras.src.models.rebuild import rebuild
from dl4.keras.src.symbolic.tensor import is_tensor
from dl4.keras.src.tree import flatten, map_nest

GOLDEN = pathlib.Path(__file__).resolve().parents[4] / "tests" / "golden"
ROWS = 2


def interface(category, kind):
    """The names of a class's interface, and those of this package's classes that are no words of Python's."""
    names = {}
    for key, words in NAMES[category].items():
        if not key or kind in key.split():
            names.update(dict.fromkeys(words.split()))
    return list(names)


def overriding(base, name, hits, changed=lambda result: result):
    """A subclass of `base` whose method, or property, notes that it was asked and changes what the base's gives."""
    known = getattr(base, name, None)
    if isinstance(known, property) or name in PROPERTIES:

        def get(self):
            hits.append(name)
            return changed(known.fget(self) if isinstance(known, property) else None)

        member = property(get, known.fset if isinstance(known, property) else None)
    elif name == "from_config":

        def made(cls, config, *args, **kwargs):
            hits.append(name)
            return changed(super(sub, cls).from_config(config, *args, **kwargs))

        member = classmethod(made)
    else:

        def method(self, *args, **kwargs):
            hits.append(name)
            return changed(getattr(super(sub, self), name)(*args, **kwargs) if known is not None else None)

        member = method
    sub = type("Mine", (base,), {name: member, "__module__": __name__})
    return sub


PROPERTIES = set(
    """losses weights variables metrics trainable_weights trainable_variables non_trainable_weights
    non_trainable_variables metrics_variables input_spec supports_masking input output path dtype compute_dtype
    variable_dtype input_dtype dtype_policy trainable quantization_mode layers inputs outputs input_shape output_shape
    learning_rate iterations metrics_names jit_compile run_eagerly distribute_strategy distribute_reduction_method loss
    kernel embeddings states output_size state_size thresholds model""".split()
)


def samples():
    """By kind of layer: its config, and the arguments of a call with inputs to be made for it."""
    found = {}
    for path in sorted(GOLDEN.glob("*.safetensors")):
        data = path.read_bytes()
        (size,) = struct.unpack("<Q", data[:8])
        for case in json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["cases"]):
            architecture = case.get("model")
            if not isinstance(architecture, dict) or "layers" not in architecture:
                continue
            if {layer["class_name"] for layer in architecture["layers"]} <= found.keys() | {"Input", "Constant"}:
                continue
            for layer, args, kwargs, _ in calls_of(rebuild(architecture, keras.Model)._functional):
                if layer is not None and layer._class_name not in found:
                    found[layer._class_name] = dict(layer._config), args, kwargs
    x, t, edges = keras.Input((4,)), keras.Input((5, 4)), keras.Input((3, 2), dtype="int32")
    more = {
        "Cast": ({"to": "float32"}, x),
        "GlobalAttention": ({"units": 3}, [t, t]),
        "GraphAttention": ({"units": 2}, [t, edges]),
        "GraphNetwork": ({"edge_units": 2, "node_units": 2}, [t, edges]),
        "GridSample": ({}, [keras.Input((4, 4, 2)), keras.Input((5, 2))]),
        "JoinHeads": ({}, [x, x]),
        "LinearAttention": (
            {"num_query_heads": 2, "num_key_value_heads": 1, "update_rule": "linear"},
            [t, keras.Input((5, 2)), t],
        ),
        "LocalAttention": ({"window": 1}, [t, t]),
        "LocalResponseNormalization": ({}, t),
        "LocallyConnected1D": ({"filters": 2, "kernel_size": 2}, t),
        "LocallyConnected2D": ({"filters": 2, "kernel_size": 2}, keras.Input((4, 4, 2))),
        "ReLU": ({}, x),
        "ReshapeLike": ({}, [x, x]),
        "RoiAlign": (
            {"height": 2, "width": 2, "sampling_ratio": 1},
            [keras.Input((4, 4, 2)), x, keras.Input((), dtype="int32")],
        ),
        "SegmentGather": ({}, [t, keras.Input((3,), dtype="int32")]),
        "SetLengths": ({}, [t, keras.Input((), dtype="int32")]),
        "SetMask": ({}, [t, keras.Input((5,), dtype="bool")]),
        "ReducePrecision": ({"exponent_bits": 5, "mantissa_bits": 10}, x),
        "StackedRNNCells": ({"cells": [keras.layers.SimpleRNNCell(3)]}, x),
        "StopGradient": ({}, x),
    }
    found.update({kind: (config, (arg,), {}) for kind, (config, arg) in more.items()})
    return found


# What a graph is made of inside: not called by a class of a user's.
PARTS = {"GetMask", "GraphCell", "Functional", "Loss", "Metric", "Weight", "GetWeight", "Assign", "Gradients"}
PARTS |= {"ApplyGradients", "After", "Draws", "StatelessCall", "RandomNormal", "RandomUniform"}
PARTS |= {"StringLookup", "IntegerLookup", "TextVectorization"}  # dl4.keras has classes of its own for these
PARTS |= {"CategoryEncoding", "Discretization", "Hashing", "HashedCrossing"}
PARTS |= {"Sizes", "Zeros", "Range", "NonMaxSuppression", "Cond", "WhileLoop", "Scan", "EnsureSize"}  # what files of ONNX are read as


def inputs_for(args, kwargs):
    """The same arguments of new inputs, and arrays for these."""
    new, arrays, random = {}, [], np.random.RandomState(3)
    for t in flatten([list(args), kwargs]):
        if is_tensor(t) and t not in new:
            shape = [ROWS if i == 0 else 3 if d is None else d for i, d in enumerate(t.shape)]
            new[t] = keras.Input(batch_shape=shape, dtype=t.dtype)
            arrays.append(random.randint(0, 2, shape).astype(t.dtype) if t.dtype != "float32" else random.rand(*shape))

    def other(t):
        return new.get(t, t) if is_tensor(t) else t

    return map_nest(other, list(args)), map_nest(other, dict(kwargs)), list(new.values()), arrays


class Sample:
    """A layer of a class called, as a model of its own."""

    def __init__(self, cls, config, args, kwargs):
        self.layer = cls(**config)
        args, kwargs, inputs, self.arrays = inputs_for(args, kwargs)
        self.outputs = self.layer(*args, **kwargs)
        self.model = keras.Model(inputs, self.outputs)

    def run(self):
        x = [a.astype("float32") if a.dtype == "float64" else a for a in self.arrays]
        return [np.asarray(y) for y in flatten(self.model.predict(x if len(x) > 1 else x[0], verbose=0))]


def kinds(category):
    return sorted(registry(category)[category])


X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X[:, :1] + 1.0
# What only a user calls, and finds as it is written.
LAYERS_DIRECT = """add_metric count_params get_weights set_weights stateless_call trainable_weights trainable_variables
non_trainable_weights non_trainable_variables losses metrics_variables input output path quantize quantized_build
quantized_call rematerialized_call adapt reset_state reset_states enable_lora add_loss""".split()
MODELS_DIRECT = """compile fit evaluate predict train_on_batch test_on_batch predict_on_batch get_layer layers summary
save save_weights load_weights export to_json metrics_names jit_compile run_eagerly get_state_tree set_state_tree
stateless_compute_loss get_quantization_layer_structure distribute_strategy distribute_reduction_method inputs outputs
input_shape output_shape add pop""".split()


def doubled(y):
    return map_nest(lambda t: keras.ops.cast(t, "float32") * 2 + 1, y)


def dense(base=keras.layers.Dense, **config):
    return base(1, kernel_initializer="ones", **config)


def model_of(layer, cls=keras.Sequential, **how):
    m = cls([keras.Input((3,)), layer])
    m.compile(keras.optimizers.SGD(0.1), **{"loss": "mse", **how})
    return m


def trained(m, epochs=1, **how):
    return m.fit(X, Y, batch_size=4, epochs=epochs, verbose=0, shuffle=False, **how)


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def refused(self, cls, name, f):
        """f() raises, and says of which class and which method."""
        with self.assertRaises((NotImplementedError, ValueError), msg=f"{cls.__mro__[1].__name__}.{name}") as caught:
            f()
        self.assertIn(f"{cls.__name__}.{name}", str(caught.exception))

    def is_refused(self, cls, name, make):
        """Is it refused when an object is made? Then by name."""
        if overrides.outcome(cls, name) != "made":
            return False
        self.refused(cls, name, make)
        return True

    def direct(self, thing, name, hits):
        """Its own method is found on it."""
        if name in PROPERTIES or isinstance(getattr(type(thing), name, None), property):
            with contextlib.suppress(Exception):
                getattr(thing, name)
        else:
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                getattr(thing, name)(os.path.join(os.devnull, "x"))  # which is no place
        self.assertIn(name, hits)


CONFIGS = ("get_config", "from_config", "get_build_config", "build_from_config")
CHANGES = {
    "call": doubled,
    "__call__": doubled,
    "get_config": lambda r: {**r, "name": "changed"},
    "get_build_config": lambda r: {"more": 7},
    "input_spec": lambda r: keras.layers.InputSpec(ndim=77),
    "supports_masking": lambda r: True,
}


def see_config(case, cls, name, hits, make=None):
    """Configs are written and read by a class's own methods."""
    make = make or cls
    if name == "build_from_config":
        config = {**keras.saving.serialize_keras_object(make()), "build_config": {"input_shape": (2, 3)}}
        keras.saving.deserialize_keras_object(config, {"Mine": cls})
        return case.assertTrue(hits)
    config = keras.saving.serialize_keras_object(make())
    if name == "get_build_config":
        return case.assertEqual(config["build_config"], {"more": 7})
    if name == "get_config":
        return case.assertEqual(config["config"]["name"], "changed")
    keras.saving.deserialize_keras_object(config, {"Mine": cls})
    return case.assertTrue(hits)
