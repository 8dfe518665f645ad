"""Builds Keras models from architecture JSON and records what they compute.

The architecture a case stores is the one the Keras model is built from, so the two cannot drift apart.
"""
import copy
import json
import zlib

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from keras.src import backend
from safetensors.numpy import save

FORWARD = 1e-5
GRADIENT = 1e-4
SEPARATE = ("MultiHeadAttention", "GroupQueryAttention")  # call arguments of their own
LISTS = ("Add", "Average", "Maximum", "Minimum", "Subtract", "Multiply", "Concatenate", "Attention", "AdditiveAttention",
         "MatMul", "Dot", "Stack", "Take", "Where", "Divide", "Power", "Equal", "NotEqual", "Less", "LessEqual", "Greater",
         "GreaterEqual", "LogicalAnd", "LogicalOr", "SegmentSum", "SegmentMax")


class Ref(tuple):
    """[layer, call, output] of the architecture format."""


def kind(class_name, **config):
    return {"class_name": class_name, "config": config}


def matmul(inputs, transpose_a=False, transpose_b=False):
    a, b = inputs
    return ops.matmul(ops.swapaxes(a, -1, -2) if transpose_a else a, ops.swapaxes(b, -1, -2) if transpose_b else b)


class Nested(dict):
    """A model as a layer: what its JSON is, and Keras's model, whose weights take the layer's name."""

    def __init__(self, net, outputs, name):
        model = net.build(outputs)
        inputs, outputs = (l if len(l) > 1 else l[0] for l in (model.inputs, model.outputs))
        self.keras = keras.Model(inputs, outputs, name=name)
        for variable in self.keras.weights:
            variable._path = f"{name}/{weight_name(variable)}"
        super().__init__(kind("Functional", name=name, model=net.json))


def inner(value):
    """A layer as an attribute, or a list of them, else the value itself."""
    if isinstance(value, Nested):
        return value.keras
    if isinstance(value, list):
        return [inner(v) for v in value]
    if not isinstance(value, dict) or value.get("class_name") not in vars(keras.layers):
        return value
    return getattr(keras.layers, value["class_name"])(**{key: inner(v) for key, v in value["config"].items()})


def pairwise(f):
    """f of two inputs, or of one and a number in place of x1 or x2."""
    def call(inputs, x1=None, x2=None):
        return f(*([] if x1 is None else [x1]), *inputs, *([] if x2 is None else [x2]))
    return call


def where(inputs, x1=None, x2=None):
    condition, *rest = inputs
    return ops.where(condition, x1 if x1 is not None else rest.pop(0), x2 if x2 is not None else rest.pop(0))


def take(inputs, indices=None, axis=None):
    return ops.take(inputs[0], inputs[1] if indices is None else indices, axis)


# Functions of keras.ops that are layers here: by inputs and attributes.
OPS = {"MatMul": matmul, "Transpose": lambda x, perm=None: ops.transpose(x, perm), "Where": where, "Take": take,
       "Isnan": ops.isnan, "LogicalNot": ops.logical_not, "Clip": ops.clip, "Slice": ops.slice, "Flip": ops.flip,
       "Stack": ops.stack, "Repeat": ops.repeat,
       "SegmentSum": lambda x, **how: ops.segment_sum(*x, **how),
       "SegmentMax": lambda x, **how: ops.segment_max(*x, **how), "ExpandDims": ops.expand_dims, "Squeeze": ops.squeeze}


def arange(x, axis=1):
    ones = ops.ones_like(ops.max(ops.moveaxis(x, axis, 0), axis=list(range(1, len(x.shape)))), dtype="int32")
    return ops.cumsum(ones, 0) - 1


OPS["Arange"] = arange
for _name in ("Absolute", "Negative", "Sign", "Square", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Log", "Log1p", "Log2",
              "Expm1", "Sin", "Cos", "Tan", "Erf", "Floor", "Ceil", "Round", "Isinf", "Isfinite", "Log10", "Tanh", "Sum",
              "Mean", "Max", "Min", "Prod", "Var", "Std", "Any", "All", "Argmax"):
    OPS[_name] = getattr(ops, _name.lower())
for _name in ("Divide", "Power", "Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd",
              "LogicalOr"):
    OPS[_name] = pairwise(getattr(ops, keras.src.utils.naming.to_snake_case(_name)))


class Layer:
    def __init__(self, net, class_name, name, attributes):
        self.net, self.kind, self.name, self.attributes = net, class_name, name, attributes
        self.entry = {"class_name": class_name, "name": name, "version": 1, "config": attributes, "calls": []}
        net.layers.append(self.entry)
        if class_name == "Functional":
            self.keras = attributes.pop("keras")
        elif class_name in OPS:
            self.keras = lambda x: OPS[class_name](x, **attributes)
        else:
            given = {key: inner(value) for key, value in attributes.items()}
            self.keras = getattr(keras.layers, class_name)(name=name, **given)
            for model in (value for value in attributes.values() if isinstance(value, Nested)):
                for variable in model.keras.weights:
                    variable._path = f"{name}/{variable.path}"

    def __call__(self, *inputs, **arguments):
        tensors = self.net.tensors
        call = {"inputs": [list(r) for r in inputs]}
        given = {}
        for key, value in arguments.items():
            if isinstance(value, (list, tuple)) and not isinstance(value, Ref):
                given[key] = [None if r is None else tensors[r] for r in value]
                value = [None if r is None else list(r) for r in value]
            elif isinstance(value, Ref):
                given[key] = tensors[value]
                value = [list(value)]
            else:
                given[key] = value
            call.setdefault("arguments", {})[key] = value
        x = [tensors[r] for r in inputs]
        lists = self.kind in LISTS or self.kind == "Functional" and len(x) > 1
        apart = x if self.kind in SEPARATE else [x] if lists else x[:1]
        result = self.keras(*apart, **given)
        result = list(result) if isinstance(result, (list, tuple)) else [result]
        index = len(self.entry["calls"])
        self.entry["calls"].append(call)
        refs = [Ref((self.name, index, i)) for i in range(len(result))]
        tensors.update(zip(refs, result))
        return refs[0] if len(refs) == 1 else refs


class Net:
    """An architecture under construction together with its Keras tensors."""

    def __init__(self):
        keras.backend.clear_session(free_memory=False)  # whose collecting takes a fifth of the time
        self.layers, self.tensors, self.inputs, self.counts = [], {}, [], {}

    def input(self, name, shape, dtype="float32", batch=None):
        ref = Ref((name, 0, 0))
        self.layers.append({"class_name": "Input", "name": name,
                            "config": {"shape": [batch, *shape], "dtype": dtype}})
        self.tensors[ref] = keras.Input(shape, batch_size=batch, dtype=dtype, name=name)
        self.inputs.append(ref)
        return ref

    def layer(self, class_name, name=None, **attributes):
        if name is None:
            base = keras.src.utils.naming.to_snake_case(class_name)
            base = "joined" if base == "concatenate" else base  # Keras's mask of a Concatenate is an op of that name
            number = self.counts.get(base, 0)
            self.counts[base] = number + 1
            name = f"{base}_{number}" if number else base
        return Layer(self, class_name, name, attributes)

    def add(self, class_name, *inputs, arguments=None, **attributes):
        return self.layer(class_name, attributes.pop("name", None), **attributes)(*inputs, **(arguments or {}))

    def functional(self, nested):
        """A layer that is a model; to be called."""
        config = nested["config"]
        return self.layer("Functional", config["name"], model=config["model"], keras=nested.keras)

    def build(self, outputs):
        outputs = outputs if isinstance(outputs, list) else [outputs]
        self.json = {"format": 1, "name": "model", "layers": self.layers, "inputs": [list(r) for r in self.inputs],
                     "outputs": [list(r) for r in outputs]}
        return keras.Model([self.tensors[r] for r in self.inputs], [self.tensors[r] for r in outputs], name="model")


def weight_name(variable):
    *layers, weight = variable.path.split("/")
    return "/".join([layers[0], *(l for l in layers[1:] if not l.endswith("_cell")), weight])


def initial_weight(rng, variable):
    name, shape = variable.path.rsplit("/", 1)[-1], variable.shape
    if name == "bias":
        value = rng.normal(0, 0.2, shape)
    elif shape == () or name == "scale":
        value = rng.uniform(0.6, 1.4, shape)
    elif name.endswith(("variance", "stddev")):
        value = rng.uniform(0.4, 1.6, shape)
    elif name == "embeddings":
        value = rng.normal(0, 0.5, shape)
    else:
        value = rng.normal(0, 1, shape) / np.sqrt(np.prod(shape[:-1]))
    return value.astype(np.float32)


def begin_anew(model):
    """States that layers keep from call to call are zeros again."""
    for layer in model._flatten_layers():
        for state in keras.tree.flatten(getattr(layer, "states", None) or []):  # reset_state() takes no nested ones
            state.assign(ops.zeros_like(state))


def as_list(value):
    return list(value) if isinstance(value, (list, tuple)) else [value]


def dense_gradient(gradient):
    return tf.convert_to_tensor(gradient).numpy()


class Family:
    """The cases of one golden file; `seed`: the name that its random numbers follow from, where that is another."""

    def __init__(self, name, seed=None):
        self.name, self.seed, self.cases, self.tensors = name, seed or name, [], {}

    def rng(self, key):
        return np.random.default_rng(zlib.crc32(f"{self.seed}/{key}".encode()))

    def put(self, case, role, name, value):
        key = f"{case}/{role}/{name}"
        if key in self.tensors:
            raise ValueError(f"{self.name}: {key} twice")
        value = np.asarray(value)
        self.tensors[key] = np.ascontiguousarray(value.astype(np.float32) if value.dtype == np.float64 else value)

    def note(self, name, **fields):
        """A case described by its fields alone (values are added with `put`)."""
        if any(c["name"] == name for c in self.cases):
            raise ValueError(f"{self.name}: case {name} twice")
        defaults = {"rtol": FORWARD, "atol": 1e-6, "grad_rtol": GRADIENT, "grad_atol": 1e-6}
        self.cases.append({"name": name, **defaults, **{k: v for k, v in fields.items() if v is not None}})

    def model(self, name, net, outputs, inputs, *, weights=None, seed=None, loss=None, target=None,
              sample_weight=None, loss_weights=None, metrics=None, optimizer=None, steps=0, forward=True,
              exclude_from_weight_decay=None, input_grad=True, grads=True, only="", **fields):
        """Records one model: forward, and with `loss` its value, gradients (whose names start with `only`) and
        `steps` updates."""
        model = outputs if isinstance(outputs, keras.Model) else net.build(outputs)
        self.note(name, model=json.loads(json.dumps(net.json)), loss=loss, loss_weights=loss_weights,
                  metrics=metrics, optimizer=optimizer, steps=steps or None, training=bool(loss),
                  exclude_from_weight_decay=exclude_from_weight_decay, **fields)
        rng = self.rng(seed or name)
        for variable in model.weights:
            value = initial_weight(rng, variable)
            variable.assign((weights or {}).get(weight_name(variable), value))
            self.put(name, "weight", weight_name(variable), variable.numpy().astype(np.float32))
        for layer in model.layers:
            if hasattr(layer, "finalize_state"):
                layer.finalize_state()
        x = [tf.constant(np.asarray(a)) for a in as_list(inputs)]
        for ref, value in zip(net.inputs, x):
            self.put(name, "input", ref[0], value.numpy())
        begin_anew(model)
        if forward:
            for i, value in enumerate(as_list(model(x, training=False))):
                self.put(name, "output", i, value.numpy())
                mask = backend.get_keras_mask(value)
                if mask is not None:
                    self.put(name, "output_mask", i, mask.numpy())
        if loss:
            self.train(name, net, model, x, loss, target, sample_weight, loss_weights, metrics, optimizer, steps,
                       input_grad, grads, only, exclude_from_weight_decay)
        return model

    def start(self, name, net, outputs):
        """Records how far the weights that a model begins with spread."""
        model = net.build(outputs)
        self.note(name, model=json.loads(json.dumps(net.json)), rtol=0.1, atol=1e-3,
                  why="standard deviations of thousands of random numbers")
        for variable in model.weights:
            self.put(name, "start", weight_name(variable), np.array([variable.numpy().std()], np.float32))

    def train(self, name, net, model, x, loss, target, sample_weight, loss_weights, metrics, optimizer, steps,
              input_grad, grads, only, undecayed):
        y = as_list(target)
        w = None if sample_weight is None else as_list(sample_weight)
        for i, value in enumerate(y):
            if value is not None:
                self.put(name, "target", i, value)
        for i, value in enumerate(w or []):
            if value is not None:
                self.put(name, "sample_weight", i, value)
        several = len(model.outputs) > 1
        def loss_of(l):  # compile() itself reads words: it knows more of them
            return keras.losses.get(l) if isinstance(l, dict) else l
        losses = [loss_of(l) for l in loss] if isinstance(loss, list) else loss_of(loss)
        compile_and = {"loss": losses, "loss_weights": loss_weights, "run_eagerly": True, "jit_compile": False,
                       "optimizer": optimizer_of(optimizer or kind("SGD", learning_rate=0.01))}
        if metrics:
            model.compile(metrics=[[one_metric(m) for m in l] if isinstance(l, list) else one_metric(l)
                                   for l in metrics], **compile_and)
        else:
            model.compile(**compile_and)
        y = y if several else y[0]
        w = (w if several else w[0]) if w else None
        y = tf.nest.map_structure(lambda a: a if a is None else tf.constant(a), y)
        w = tf.nest.map_structure(lambda a: a if a is None else tf.constant(a), w)
        if metrics or several:
            y_pred = model(x, training=False)
            given = y_pred if several else as_list(y_pred)[0]
            model._compute_loss(x=x, y=y, y_pred=given, sample_weight=w, training=False)
            for key, value in model.compute_metrics(x, y, given, sample_weight=w).items():
                if key != "loss":
                    self.put(name, "metric", key, np.float32(value))
        if undecayed:
            model.optimizer.exclude_from_weight_decay(var_names=undecayed)
        begin_anew(model)
        history, rates = [], []
        for step in range(max(steps, 1)):
            rates.append(float(model.optimizer.learning_rate))
            with tf.GradientTape() as tape:
                floats = [a for a in x if a.dtype.is_floating] if step == 0 and input_grad else []
                tape.watch(floats)
                y_pred = model(x, training=True)
                value = model._compute_loss(x=x, y=y, y_pred=y_pred if several else as_list(y_pred)[0],
                                            sample_weight=w, training=True)
                scaled = model.optimizer.scale_loss(value)  # as train_step does
            variables = model.trainable_weights
            found = tape.gradient(scaled, [v.value for v in variables] + floats)
            history.append(value.numpy())
            if step == 0 and grads:
                for variable, gradient in zip(variables, found):
                    if gradient is not None and weight_name(variable).startswith(only):
                        self.put(name, "grad", weight_name(variable), dense_gradient(gradient))
                names = [r[0] for r, a in zip(net.inputs, x) if a.dtype.is_floating]
                for key, gradient in zip(names, found[len(variables):]):
                    if gradient is not None and key.startswith(only):
                        self.put(name, "input_grad", key, dense_gradient(gradient))
            if steps:
                pairs = [(g, v) for g, v in zip(found, variables) if g is not None]
                model.optimizer.apply_gradients(pairs)
        self.put(name, "loss", "total", np.array(history, np.float32))
        if steps and len(set(rates)) > 1:
            self.put(name, "rate", "steps", np.array(rates, np.float32))
        if steps:
            for variable in model.weights:
                self.put(name, "after", weight_name(variable), variable.numpy().astype(np.float32))

    def bytes(self):
        return save(self.tensors, metadata={"cases": json.dumps(self.cases)})


def optimizer_of(optimizer):  # keras.optimizers.get() does not know all of them by name
    return getattr(keras.optimizers, optimizer["class_name"]).from_config(copy.deepcopy(optimizer["config"]))


def one_metric(metric):
    if not isinstance(metric, str) and metric["class_name"] == "Huber":  # Keras has the loss only
        return keras.metrics.MeanMetricWrapper(keras.losses.huber, name="huber", **metric["config"])
    if not isinstance(metric, str) and metric["class_name"] == "LogCosh":  # Keras's metric has another name
        return keras.metrics.LogCoshError()
    return metric if isinstance(metric, str) else keras.metrics.get(metric)
