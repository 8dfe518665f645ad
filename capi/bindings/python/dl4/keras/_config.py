"""Architectures of models as Keras's config, and back; clones."""

import codecs
import marshal
import types

from . import _overrides
from ._tensors import Input, flatten, is_tensor, map_nest


def _steps(functional):
    """The calls of a model as a user made them, with what each gave: of a layer of one's own the outermost call."""
    done, steps = set(), []
    for call in functional.calls:
        record = call.owner if call.owner is not None and call.owner.layer is not None else None
        if call.layer is None and record is None:
            if call.value is None:
                steps.append((None, (), {}, call.outputs[0]))
            continue
        if record is not None:
            if id(record) not in done:
                done.add(id(record))
                steps.append((record.layer, record.args, record.kwargs, record.outputs))
            continue
        outputs = call.outputs[0] if len(call.outputs) == 1 else list(call.outputs)
        many = call.layer.class_name in _MANY or len(call.inputs) > 1 and not _ports(call)
        args = (list(call.inputs),) if many else tuple(call.inputs)
        steps.append((call.layer, args, {**call.plain, **call.tensors}, outputs))
    return steps


_MANY = {
    "Add",
    "Subtract",
    "Multiply",
    "Average",
    "Maximum",
    "Minimum",
    "Concatenate",
    "Dot",
    "Stack",
    "MatMul",
    "Attention",
    "AdditiveAttention",
}


def _ports(call):
    from ._kinds import facts

    return (
        bool(facts("layer")[call.layer.class_name].get("call_positional"))
        and facts("layer")[call.layer.class_name]["call_positional"][0] == "query"
    )


def cloned(model, input_tensors=None, clone_function=None, recursive=False):
    """The same calls of other layers."""
    from .models import Model, Sequential
    from .layers import InputLayer

    copy = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if _overrides.overrides(model, "call"):
        return type(model).from_config(model.get_config())

    def clone(layer):
        if isinstance(layer, Model) and (clone_function is None or recursive):
            return cloned(layer, None, clone_function, recursive)
        return copy(layer)

    if isinstance(model, Sequential):
        if input_tensors is not None:
            first = [input_tensors[0] if isinstance(input_tensors, list) else input_tensors]
        else:
            first = [
                Input(batch_shape=x.tensor.shape, dtype=x.tensor.dtype, name=x.name)
                for x in model._list[:1]
                if isinstance(x, InputLayer)
            ]
        made = Sequential(first + [clone(layer) for layer in model.layers], name=model.name)
        if not first and model._functional is not None:
            made.build(model._functional.inputs[0].shape)
        return made
    functional, now, layers = model._need(), {}, {}
    if input_tensors is not None and isinstance(input_tensors, dict) != isinstance(functional.nest_in, dict):
        raise ValueError(
            f"`input_tensors` must have the same structure as model.input. Received: input_tensors={input_tensors}"
        )
    given = (
        flatten(input_tensors)
        if input_tensors is not None
        else [Input(batch_shape=t.shape, dtype=t.dtype, name=t.name) for t in functional.inputs]
    )
    now.update(zip(functional.inputs, given))
    for layer, args, kwargs, outputs in _steps(functional):
        if layer is None:
            continue
        if layer not in layers:
            layers[layer] = clone(layer)
            layers[layer].is_operation = layer.is_operation

        def other(x):
            return now.get(x, x) if is_tensor(x) else x

        got = layers[layer](*map_nest(other, list(args)), **map_nest(other, dict(kwargs)))
        now.update(zip(flatten(outputs), flatten(got)))
    new_in = map_nest(lambda t: now[t], functional.nest_in)
    return type(model)(new_in, map_nest(lambda t: now[t], functional.nest_out), name=model.name)


def function_config(function):
    """A function by its name, a lambda as its code."""
    from .saving import serialize_keras_object

    if getattr(function, "__name__", "") != "<lambda>":
        return serialize_keras_object(function)
    closure = tuple(c.cell_contents for c in function.__closure__) if function.__closure__ else None
    code = codecs.encode(marshal.dumps(function.__code__), "base64").decode("ascii")
    return {
        "class_name": "__lambda__",
        "config": {"code": code, "defaults": function.__defaults__, "closure": closure},
    }


def function_of(config, safe_mode=None):
    """The function of such a config; the code of a lambda only where that was allowed."""
    from . import saving

    if not isinstance(config, dict) or config.get("class_name") != "__lambda__":
        return saving.deserialize_keras_object(config)
    if saving.safe_mode() if safe_mode is None else safe_mode:
        raise ValueError(
            "Requested the deserialization of a `Lambda` layer whose `function` is a Python lambda. This carries a "
            "potential risk of arbitrary code execution and thus it is disallowed by default. If you trust the source "
            "of the artifact, you can override this error by passing `safe_mode=False` to the loading function, or "
            "calling `keras.config.enable_unsafe_deserialization()`."
        )
    inner = config["config"]
    code = marshal.loads(codecs.decode(inner["code"].encode("ascii"), "base64"))
    cells = tuple(types.CellType(v) for v in inner["closure"]) if inner["closure"] is not None else None
    defaults = tuple(inner["defaults"]) if inner["defaults"] is not None else None
    return types.FunctionType(code, globals(), code.co_name, defaults, cells)


def model_config(model):
    """Keras's config of a functional model: layers with their calls, by reference to tensors of other calls."""
    from .saving import serialize_keras_object

    functional = model._need()
    where, layers, counts = {}, {}, {}
    for layer, args, kwargs, outputs in _steps(functional):
        name = outputs.name if layer is None else layer.name
        number = counts.get(name, 0)
        counts[name] = number + 1
        for i, t in enumerate(flatten(outputs)):
            where[t] = [name, number, i]

        def ref(x):
            if not is_tensor(x):
                return x
            if x not in where:
                raise NotImplementedError("the config of a model with a constant is not in this version")
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
                    "optional": False,
                },
                "inbound_nodes": [],
            }
            continue
        item = layers.setdefault(name, {**serialize_keras_object(layer), "name": name, "inbound_nodes": []})
        item["inbound_nodes"].append({"args": map_nest(ref, list(args)), "kwargs": map_nest(ref, dict(kwargs))})

    def refs(nest):
        return map_nest(lambda t: tuple(where[t]), nest)

    return {
        "name": model.name,
        "trainable": model.trainable,
        "layers": list(layers.values()),
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
    from .saving import deserialize_keras_object

    made, layers, waiting = {}, {}, []
    for item in config["layers"]:
        name = item.get("name") or item["config"]["name"]
        if item["class_name"] == "InputLayer":
            c = item["config"]
            made[name, 0] = [
                Input(
                    batch_shape=tuple(c.get("batch_shape") or c.get("batch_input_shape")),
                    dtype=c.get("dtype"),
                    name=name,
                )
            ]
            continue
        layers[name] = deserialize_keras_object({k: v for k, v in item.items() if k not in ("inbound_nodes", "name")})
        for node in item["inbound_nodes"]:
            if not isinstance(node, (dict, list)):
                raise ValueError(f"the calls of layer {name} are not as Keras writes them: {node}")
        waiting += [(name, i, _node(node)) for i, node in enumerate(item["inbound_nodes"])]

    def is_ref(x):
        return isinstance(x, dict) and x.get("class_name") == "__keras_tensor__"

    def resolved(x):
        if is_ref(x):
            name, call, i = x["config"]["keras_history"]
            return made[name, call][i]
        if isinstance(x, dict):
            return {k: resolved(v) for k, v in x.items()}
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
