"""Functional models as Keras's configs, and back."""

from ..backend.eager_tensor import eager_tensor
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..symbolic.numpy_call import NumPyLayer
from ..symbolic.tensor import Input, is_tensor
from ..tree import flatten, map_nest
from .calls import calls_of
from .operations import as_keras, of_keras


def model_config(model):
    """Keras's config of a functional model: layers with their calls, by reference to tensors of other calls."""
    functional = model._require_built().complete
    where, layers, counts = {}, {}, {}
    for layer, args, kwargs, outputs in calls_of(functional):
        name = outputs.name if layer is None else layer.name
        number = counts.get(name, 0)
        counts[name] = number + 1
        for i, t in enumerate(flatten(outputs)):
            where[t] = [name, number, i]

        def ref(x):
            if not is_tensor(x):
                return x
            if x not in where:
                if x.call.value is None or x.call.variable is not None:
                    raise NotImplementedError(
                        f"{layer.name}: the config of a model: expected tensors of its calls and constants, got {x!r}"
                    )
                return serialize_keras_object(eager_tensor(x.call.value.numpy()))
            return {
                "class_name": "__keras_tensor__",
                "config": {"shape": list(x.shape), "dtype": x.dtype, "keras_history": where[x]},
            }

        if layer is None:
            layers[name] = {
                "module": "keras.layers",
                "class_name": "InputLayer",
                "name": name,
                "registered_name": None,
                "config": {
                    "batch_shape": list(outputs.shape),
                    "dtype": outputs.dtype,
                    "sparse": False,
                    "ragged": False,
                    "name": name,
                    "optional": outputs.call.optional,
                },
                "inbound_nodes": [],
            }
            continue
        if name not in layers:
            thing = layer.operation() if isinstance(layer, NumPyLayer) else layer
            layers[name] = serialize_keras_object(thing)  # which may become that of another place too
            layers[name].update(name=name, inbound_nodes=[])
            if layer._is_operation:
                layers[name]["operation"] = True  # it is not among the layers of the model
        item = layers[name]
        item["inbound_nodes"].append({"args": map_nest(ref, list(args)), "kwargs": map_nest(ref, dict(kwargs))})

    def refs(nest):
        return map_nest(lambda t: tuple(where[t]), nest)

    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": [as_keras(item) for item in layers.values()],
        "input_layers": _single(refs(functional.nest_in)),
        "output_layers": _single(refs(functional.nest_out)),
    }


def _single(nest):
    return list(nest) if isinstance(nest, tuple) and nest and isinstance(nest[0], str) else nest


def _node(node):
    """A call as Keras 3 writes it; Keras 2 has a list of references, each with the call's other arguments."""
    if isinstance(node, dict):
        return node

    def ref(item):
        return {"class_name": "__keras_tensor__", "config": {"keras_history": item[:3]}}

    refs = [ref(item) for item in node]
    return {"args": [refs[0] if len(refs) == 1 else refs], "kwargs": node[0][3] if len(node[0]) > 3 else {}}


def _read(node):
    """The names of the layers whose outputs a call reads."""
    stack, found = [node], []
    while stack:
        x = stack.pop()
        if isinstance(x, dict) and "keras_history" in x:
            found.append(x["keras_history"][0])
        elif isinstance(x, (dict, list, tuple)):
            stack += x.values() if isinstance(x, dict) else x
    return found


def functional_of(cls, config):
    """The model of such a config."""
    made, layers, waiting = {}, {}, []
    for item in config["layers"]:
        item = of_keras(item) or item
        name = item.get("name") or item["config"]["name"]
        if item["class_name"] == "InputLayer":
            c = item["config"]
            made[name, 0] = [
                Input(
                    batch_shape=tuple(c.get("batch_shape") or c.get("batch_input_shape")),
                    dtype=c.get("dtype"),
                    name=name,
                    optional=c.get("optional", False),
                )
            ]
            continue
        own = {k: v for k, v in item.items() if k not in ("inbound_nodes", "name", "operation")}
        layers[name] = deserialize_keras_object(own)
        if item.get("operation"):
            layers[name]._is_operation = True
        for node in item["inbound_nodes"]:
            if not isinstance(node, (dict, list)):
                raise ValueError(f"invalid inbound_nodes of layer {name}: {node}")
        waiting += [(name, i, _node(node)) for i, node in enumerate(item["inbound_nodes"])]

    def is_ref(x):
        return isinstance(x, dict) and x.get("class_name") == "__keras_tensor__"

    def resolved(x):
        if is_ref(x):
            name, call, i = x["config"]["keras_history"]
            return made[name, call][i]
        if isinstance(x, dict):
            constant = x.get("class_name") == "__tensor__"
            return deserialize_keras_object(x) if constant else {k: resolved(v) for k, v in x.items()}
        return type(x)(resolved(v) for v in x) if isinstance(x, (list, tuple)) else x

    while waiting:
        left = []
        for name, i, node in waiting:
            try:
                args, kwargs = resolved(node["args"]), resolved(node["kwargs"])
            except KeyError:
                left.append((name, i, node))
                continue
            made[name, i] = flatten(layers[name](*args, **kwargs))
        if len(left) == len(waiting):
            known = {*layers, *(name for name, _ in made)}
            for missing in (n for _, _, node in left for n in _read(node) if n not in known):
                raise ValueError(f"Missing node: {missing}")
            raise ValueError("the calls of the config form a loop, or read calls that are not in it")
        waiting = left

    def tensors(x):
        if isinstance(x, (list, tuple)) and len(x) == 3 and isinstance(x[0], str) and isinstance(x[1], int):
            return made[x[0], x[1]][x[2]]
        if isinstance(x, dict):
            return {k: tensors(v) for k, v in x.items()}
        items = [tensors(v) for v in x]
        return tuple(items) if isinstance(x, tuple) else items

    more = {k: v for k, v in config.items() if k not in ("layers", "input_layers", "output_layers")}
    inputs, outputs = tensors(config["input_layers"]), tensors(config["output_layers"])
    return cls(inputs=inputs, outputs=outputs, **more)
