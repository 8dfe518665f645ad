"""Models of files, of JSON and of other models."""

import json
import os
import zipfile

import numpy as np

from ... import core
from ...abi import CorruptFile, InvalidArgument, call
from . import state
from .kinds import as_json, create, get, only_default, unsupported
from .model import Model
from .sequential import Sequential
from .tensor import Call, Input
from .tree import pack_like


def _constant(config):
    data = np.frombuffer(bytes.fromhex(config["data"]), config["dtype"])
    return core.Tensor.of(data.reshape(config["shape"]).copy())


def _is_ref(x):
    return isinstance(x, list) and len(x) == 3 and isinstance(x[0], str)


def rebuild(architecture, name=None, cls=Model):
    """A model whose layers have the names and configs of an architecture, as the library describes it."""
    made, waiting, layers = {}, [], {}
    for item in architecture["layers"]:
        own, config = item["name"], dict(item.get("config", {}))
        if item["class_name"] == "Input":
            made[own, 0] = [Input(batch_shape=config["shape"], dtype=config["dtype"], name=own)]
        elif item["class_name"] == "Constant":
            made[own, 0] = Call(None, value=_constant(config), name=own).infer()
        else:
            layers[own] = _layer(item["class_name"], own, config)
            waiting += [(own, i, c) for i, c in enumerate(item["calls"])]

    def tensor(ref):
        return None if ref is None else made[ref[0], ref[1]][ref[2]]

    while waiting:
        left = []
        for own, i, c in waiting:
            arguments = c.get("arguments", {})
            nested = {k: v for k, v in arguments.items() if isinstance(v, list) and any(map(_is_ref, v))}
            refs = c["inputs"] + [r for v in nested.values() for r in v]
            if all(r is None or (r[0], r[1]) in made for r in refs):
                plain = {k: v for k, v in arguments.items() if k not in nested}
                nodes = {k: [tensor(r) for r in v] for k, v in nested.items()}
                made[own, i] = layers[own]._on_tensors([tensor(r) for r in c["inputs"]], plain, nodes)
            else:
                left.append((own, i, c))
        if len(left) == len(waiting):
            raise CorruptFile("the architecture has calls of which none can be the first")
        waiting = left
    ins, outs = ([tensor(r) for r in architecture[key]] for key in ("inputs", "outputs"))
    if cls is Sequential:
        return _stacked(ins[0], layers, made, name)
    return Model(ins[0] if len(ins) == 1 else ins, outs[0] if len(outs) == 1 else outs, name=name)


def _layer(kind, name, config):
    if kind == "Functional" and isinstance(config.get("model"), dict):
        layer = rebuild(config.pop("model"), name)._as_layer()
        layer.trainable = config.get("trainable", True)
        return layer
    return create("layer", kind, **{**config, "name": name})


def _stacked(entry, layers, made, name):
    """A Sequential model of layers that were called one behind the other."""
    model = Sequential([entry], name=name)
    for own, layer in layers.items():
        model.layers.append(getattr(layer, "_model", layer))
        model._last = made[own, 0][0]
    return model


def of_core(loaded, like=None, name=None, word=None):
    """A model of a graph of its own, with the weights of one of the library's."""
    architecture = json.loads(loaded.describe(0))
    state.fresh()
    cls = type(like) if like is not None else _class_of(architecture, word)
    model = rebuild(architecture, name or (like.name if like is not None else None), cls)
    for own in loaded.names(2):
        model.core.set_weight(own, loaded.get_weight(own))
    state.fresh()
    state.changed()
    return model


def _class_of(architecture, word):
    """Sequential if Keras says so, and each layer is called once, on what the one before gives."""
    items = architecture["layers"]
    if word != "Sequential" or len(architecture["inputs"]) != 1 or len(architecture["outputs"]) != 1 or len(items) < 2:
        return Model
    before = items[0]["name"]
    for item in items[1:]:
        calls = item.get("calls", [])
        if len(calls) != 1 or calls[0]["inputs"] != [[before, 0, 0]] or calls[0].get("arguments"):
            return Model
        before = item["name"]
    return Sequential if architecture["outputs"] == [[before, 0, 0]] else Model


def load_model(filepath, custom_objects=None, compile=True, safe_mode=True, **options):
    """A model of a file: .keras, .safetensors, .dl4, .h5, .onnx; other options are those of dl4_model_load().

    A file of Keras keeps what the model was compiled with and the state of its optimizer; compile=False leaves them.
    """
    if custom_objects:
        raise unsupported("load_model", f"custom_objects={sorted(custom_objects)}")
    path = os.fspath(filepath)
    loaded = core.Model.load(path, state.context(), **options)
    said = _said_by_keras(path)
    model = of_core(loaded, name=said.get("config", {}).get("name"), word=said.get("class_name"))
    _nest(model, said)
    if compile:
        _compile_as(model, loaded, path)
    return model


def _said_by_keras(path):
    """The config of a .keras file."""
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("config.json")) if "config.json" in archive.namelist() else {}


def _nest(model, said):
    """Gives a model the nests of its inputs and outputs in Keras's config."""
    config = said.get("config", {})
    if said.get("class_name") != "Sequential" and "input_layers" in config:
        model._nest_in = _packed(config["input_layers"], model.inputs)
        model._nest_out = _packed(config["output_layers"], model.outputs)


def _packed(nest, tensors):
    """The tensors in the place of the references in a nest."""
    if _is_ref(nest):
        return tensors[0]
    left = iter(tensors)

    def place(item):
        if _is_ref(item):
            return next(left)
        if isinstance(item, dict):
            placed = {key: place(item[key]) for key in sorted(item)}
            return {key: placed[key] for key in item}
        return [place(v) for v in item]

    packed = place(nest)
    return packed[0] if isinstance(packed, list) and len(packed) == 1 and len(tensors) == 1 else packed


def _compile_as(model, loaded, path):
    """Compiles a model as its file says, and takes the state of the optimizer."""
    try:
        options = json.loads(core.Trainer(loaded).describe(0))["options"]
    except InvalidArgument as e:
        if e.argument == "options":
            return  # it was not compiled
        raise
    optimizer = get("optimizer", options.pop("optimizer"))
    known = {key: options[key] for key in ("loss", "loss_weights", "metrics", "weighted_metrics") if key in options}
    n = len(model.outputs)
    for key, value in known.items():
        if n == 1 and isinstance(value, list) and len(value) == 1:
            known[key] = value[0]
    model.compile(optimizer, **known)
    call("dl4_trainer_load", model._get_trainer(), path.encode())
    state.changed()


def model_from_json(json_string, custom_objects=None):
    """A model of what to_json() gave, with new weights."""
    if custom_objects:
        raise unsupported("model_from_json", f"custom_objects={sorted(custom_objects)}")
    graph = core.Graph(state.context())
    graph.merge_json(json_string)
    said = json.loads(json_string)
    architecture = json.loads(graph.build().describe(0))
    state.fresh()
    cls = _class_of(architecture, said.get("class_name"))
    model = rebuild(architecture, said.get("config", {}).get("name"), cls)
    _nest(model, said)
    state.fresh()
    return model


def clone_model(model, input_tensors=None, clone_function=None):
    """A model of the same layers, with new weights."""
    only_default("clone_model", input_tensors=(input_tensors, None), clone_function=(clone_function, None))
    model._settled()
    architecture = json.loads(model.core.describe(0))
    state.fresh()
    copy = rebuild(architecture, model.name, type(model))
    if type(model) is not Sequential:
        copy._nest_in, copy._nest_out = pack_like(model._nest_in, copy.inputs), pack_like(model._nest_out, copy.outputs)
    state.fresh()
    if model.compiled:
        copy.compile(get("optimizer", as_json(model.optimizer)), **model._compiled)
    return copy


def unpickled(word, name, file, nests, compiled, trained):
    """A model that was pickled, or copied."""
    model = of_core(core.Model.from_bytes(file, state.context()), name=name, word=word)
    if word != "Sequential":
        model._nest_in, model._nest_out = pack_like(nests[0], model.inputs), pack_like(nests[1], model.outputs)
    if compiled is not None:
        model.compile(**compiled)
        model._suspended = trained
    return model


def save_model(model, filepath, overwrite=True, **options):
    """model.save()."""
    model.save(filepath, overwrite, **options)
