"""Models of the library's architectures in JSON, and pickled ones."""

import json

from .... import core
from ..registry import create
from ..saving.object_registration import custom_object_scope
from ..symbolic.tensor import Call, Input


def _constant(config):
    import numpy

    data = numpy.frombuffer(bytes.fromhex(config["data"]), config["dtype"])
    return core.Tensor.of(data.reshape(config["shape"]).copy())


def _packed(nest, tensors):
    """The tensors in the nest of Keras's config, where it has more than a list of them."""

    def is_one(x):
        return isinstance(x, list) and len(x) == 3 and isinstance(x[0], str)

    def pack(x):
        if is_one(x):
            return left.pop(0)
        if isinstance(x, dict):
            packed = {key: pack(x[key]) for key in sorted(x)}
            return {key: packed[key] for key in x}
        return [pack(v) for v in x]

    left = list(tensors)
    if isinstance(nest, dict) or (isinstance(nest, list) and not is_one(nest) and not all(map(is_one, nest))):
        return pack(nest)
    return tensors[0] if len(tensors) == 1 else tensors


def rebuild(architecture, model_class, nests=(None, None)):
    """A model whose layers have the names and configs of an architecture, as the library describes it. nests: those
    of its inputs and outputs, in Keras's config."""
    made, waiting, layers = {}, [], {}
    for item in architecture["layers"]:
        name, config = item["name"], dict(item.get("config", {}))
        if item["class_name"] == "Input":
            made[name, 0] = [Input(batch_shape=config["shape"], dtype=config["dtype"], name=name)]
        elif item["class_name"] == "Constant":
            made[name, 0] = Call(None, value=_constant(config), name=name).infer_outputs()
        else:
            layers[name] = create("layer", item["class_name"], **{**config, "name": name})
            waiting += [(name, i, call) for i, call in enumerate(item["calls"])]

    def is_ref(x):
        return isinstance(x, list) and len(x) == 3 and isinstance(x[0], str)

    def ready(refs):
        return all(r is None or (r[0], r[1]) in made for r in refs)

    def tensor(ref):
        return None if ref is None else made[ref[0], ref[1]][ref[2]]

    while waiting:
        left = []
        for name, i, call in waiting:
            arguments = call.get("arguments", {})
            lists = {k: v for k, v in arguments.items() if isinstance(v, list) and any(is_ref(r) for r in v)}
            if not ready(call["inputs"] + [r for v in lists.values() for r in v]):
                left.append((name, i, call))
                continue
            plain = {k: v for k, v in arguments.items() if k not in lists}
            c = Call(
                layers[name],
                [tensor(r) for r in call["inputs"]],
                plain,
                {k: [tensor(r) for r in v] for k, v in lists.items()},
            )
            made[name, i] = c.infer_outputs()
            layer = layers[name]
            layer._calls, layer.built = layer._calls or [c], True
            layer._first_native_call = layer._first_native_call or c
        if len(left) == len(waiting):
            raise ValueError("the architecture reads calls that are not in it")
        waiting = left
    ins, outs = ([tensor(r) for r in architecture[key]] for key in ("inputs", "outputs"))
    return model_class(*map(_packed, nests, (ins, outs)))


def from_core(core_model, model_class, nests=(None, None)):
    """A model of a graph that is made of the architecture, with a core model's weights."""
    model = rebuild(json.loads(core_model.describe(0)), model_class, nests)
    learned = {name: trainable for name, _, trainable in model.core.weights()}
    for name, _, trainable in core_model.weights():
        model.core.set_weight(name, core_model.get_weight(name))
        if learned[name] and not trainable:
            model.core.set_trainable(name, False)
    return model


def rebuilt(cls, config, classes, weights, compiled, trained):
    """A pickled model."""
    with custom_object_scope(classes):
        model = cls.from_config(config)
        if weights is not None:
            model.set_weights(weights)
        if compiled is not None:
            model.compile(**compiled)
            model._take_training_state(trained)
    return model


def parts_of(model):
    """What rebuilt() takes: config, weights, what it was compiled with and the state of its training."""
    classes = {type(layer).__name__: type(layer) for layer in model._flatten_layers(include_self=False)}
    own = {name: cls for name, cls in classes.items() if not cls.__module__.startswith("dl4.")}
    weights = model.get_weights() if model._functional is not None else None
    compiled, trained = None, None
    if model.compiled:
        compiled = {"optimizer": model.optimizer, "run_eagerly": model.run_eagerly, **model._compiled}
        trained = model._training_state()
    return type(model), model.get_config(), own, weights, compiled, trained
