"""Models: what lies between symbolic inputs and outputs."""

import importlib
import json
import os
import zipfile
from io import BytesIO

import numpy as np

from ... import core
from ...abi import InvalidArgument, content, made, options_text
from . import state
from .array import Array, as_result, need_no_masks
from .kinds import absent, as_json, create, only_default, unsupported
from .layer import InputLayer, assign_all
from .tensor import Input, check_nest, is_tensor
from .training import Training
from .tree import flatten, pack_like
from .variable import Variable


class Model(Training):
    """A model of symbolic inputs and outputs: Model(inputs, outputs)."""

    core: core.Model  # a Sequential model has it when it is built
    inputs: list
    outputs: list
    layers: list
    optimizer: object
    loss: object
    history: object
    stop_training: bool

    def __new__(cls, *args, **kwargs):
        """As in Keras, one of inputs and outputs is Functional."""
        return super().__new__(Functional if cls is Model else cls)

    def __init__(self, inputs=None, outputs=None, name=None, trainable=True):
        super().__init__()
        if inputs is None or outputs is None:
            raise InvalidArgument("Model: expected inputs and outputs, symbolic tensors or lists or dicts of such")
        self.name = name or state.unique_name("functional")
        self._set(inputs, outputs)
        self._trainable = bool(trainable)

    def _set(self, inputs, outputs):
        """Its graph."""
        if any(t.call.layer is not None for t in check_nest(inputs, "inputs")):
            inputs, outputs = _from_the_middle(inputs, outputs)
        self._nest_in, self._nest_out = inputs, outputs
        self.inputs, self.outputs = check_nest(inputs, "inputs"), check_nest(outputs, "outputs")
        calls = list(dict.fromkeys(c for t in self.outputs for c in _between(t, self.inputs)))
        self.layers = _layers_of(calls, self.inputs, self.outputs)
        names = [layer.name for layer in self.layers]
        for name in names:
            if names.count(name) > 1:
                raise InvalidArgument(
                    f'Model: expected layers of different names, got {names.count(name)} named "{name}"'
                )
        self._calls, self._says = calls, any(call.said for call in calls)
        graph = next((t.call.home for t in self.outputs if t.call.home), None) or state.graph()
        self._place(graph)

    def _place(self, graph):
        self._graph = graph
        with state.building:
            self.core = graph.build([t.node(graph) for t in self.inputs], [t.node(graph) for t in self.outputs])
        state.finish(graph)
        self._layer = self._masked = None
        self._forget()

    def _all_layers(self):
        """The layers, those of arithmetic too."""
        made = [c.layer for c in self._calls if c.layer is not None]
        return list(dict.fromkeys([*(layer for layer in self.layers if isinstance(layer, InputLayer)), *made]))

    # ---- as a layer

    def _as_layer(self):
        """The model as a layer of another one; both have the same weights."""
        if self._layer is None:
            self._layer = create("layer", "Functional", name=self.name, model=self)
            self._layer._model = self
        return self._layer

    def _to_json(self):
        return {"class_name": "Functional", "config": {"name": self.name}}

    def __call__(self, inputs, training=None, mask=None):
        """The outputs for arrays, or symbolic ones for symbolic inputs."""
        leaves = self._in_order(inputs)
        if any(map(is_tensor, leaves)):
            more = {"training": training, "mask": mask}
            outputs = self._as_layer()(leaves, **{k: v for k, v in more.items() if v is not None})
            outputs = list(outputs) if isinstance(outputs, tuple) else [outputs]
            return pack_like(self._nest_out, outputs)
        if mask is not None:
            raise unsupported(self.name, "a mask beside arrays")
        need_no_masks(self.name, leaves)
        if training is None and self._says:
            raise unsupported(self.name, "a layer called with training=True in a model that is called on arrays")
        if training:
            for layer, _ in self._flags():
                layer._need_no_moves()
        session, one = self._session(bool(training)), leaves[0]
        if len(leaves) == 1 and type(one) in (np.ndarray, Array) and one.ndim == len(self.inputs[0].shape):
            results = session.through(one)
        else:
            results = [t.numpy() for t in session.run(self._tensors(leaves))]
        if self._masked is None:
            with state.building:
                self._masked = [self._graph.carries_mask(t.node(self._graph)) for t in self.outputs]
        return pack_like(self._nest_out, [as_result(a, m) for a, m in zip(results, self._masked)])

    def session(self, **options):
        """A dl4.Session with today's weights; options as of dl4_session_create()."""
        return self.core.session(**options)

    def stream(self, batch=1, seed=0, **options):
        """A dl4.Stream, which runs this model step by step with today's weights: stream(x), stream.generate(ids)."""
        return self.core.stream(batch, seed, **options)

    # ---- parts

    @property
    def input(self):
        """The input, or the nest of inputs."""
        return self._nest_in

    @property
    def output(self):
        """The output, or the nest of outputs."""
        return self._nest_out

    @property
    def input_names(self):
        """The names of the inputs."""
        return [t.name for t in self.inputs]

    @property
    def output_names(self):
        """The names of the layers that give the outputs, or the keys of a dict."""
        nest = self._nest_out
        return sorted(nest) if isinstance(nest, dict) else [t.name for t in self.outputs]

    @property
    def input_shape(self):
        """The shape of the input, or a list of shapes."""
        shapes = [t.shape for t in self.inputs]
        return shapes[0] if len(shapes) == 1 else shapes

    @property
    def output_shape(self):
        """The shape of the output, or a list of shapes."""
        shapes = [t.shape for t in self.outputs]
        return shapes[0] if len(shapes) == 1 else shapes

    built = True

    def get_layer(self, name=None, index=None):
        """The layer of a name or a place."""
        if (name is None) == (index is None):
            raise InvalidArgument("get_layer: expected a name or an index")
        if index is not None:
            return self.layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise InvalidArgument(f"get_layer: expected one of {[v.name for v in self.layers]}, got {name!r}")

    @property
    def trainable(self):
        """Whether training changes the weights, from the next compile() on."""
        return self._trainable

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)
        for layer in self._all_layers():
            inner = getattr(layer, "_model", None) or layer
            if not isinstance(inner, InputLayer):
                inner.trainable = yes

    def _flags(self):
        """Of each layer with weights of its own, also of models in it, whether it is trained."""
        return self._flags_within(self._trainable)

    def _flags_within(self, on):
        found = []
        for layer in self._all_layers():
            if hasattr(layer, "_model"):
                found += layer._model._flags_within(on)
            elif not isinstance(layer, InputLayer):
                found.append((layer, on and layer.trainable))
        return found

    def _owners(self, prefix=""):
        """Layers with the beginning of their weights' names in the library's model, in Keras's order."""
        ordered = [layer._as_layer() if isinstance(layer, Model) else layer for layer in self.layers]
        for layer in dict.fromkeys([*ordered, *self._all_layers()]):
            if isinstance(layer, InputLayer):
                continue
            name = prefix + layer._ids[self._graph][1] + "/"
            if hasattr(layer, "_model"):
                yield from layer._model._owners(name)
            else:
                yield name, layer

    def _owned_weights(self):
        """The names of the weights in the library's model, with their layers, in Keras's order."""
        left, found = list(self.core.names(2)), []
        for begin, layer in self._owners():
            own = [full for full in left if full.startswith(begin)]
            found += [(full, layer, full[len(begin) :]) for full in own]
            left = [full for full in left if not full.startswith(begin)]
        return found

    @property
    def weights(self):
        """All weights, in Keras's order."""
        on = self._trainable
        return [Variable(self.core, full, f"{v.name}/{own}", v, on) for full, v, own in self._owned_weights()]

    @property
    def trainable_weights(self):
        """The weights that training changes."""
        return [w for w in self.weights if w.trainable]

    @property
    def non_trainable_weights(self):
        """The weights that gradients leave as they are."""
        return [w for w in self.weights if not w.trainable]

    variables, trainable_variables, non_trainable_variables = weights, trainable_weights, non_trainable_weights

    def get_weights(self):
        """The weights, as a list of arrays."""
        return [self.core.get_weight(full) for full, _, _ in self._owned_weights()]

    def set_weights(self, weights):
        """Sets the weights to a list of arrays."""
        assign_all(self.name, self.weights, weights)

    def count_params(self):
        """The number of numbers in the weights."""
        return sum(w.size for w in self.weights)

    # ---- words

    def summary(
        self,
        line_length=None,
        positions=None,
        print_fn=None,
        expand_nested=False,
        show_trainable=False,
        layer_range=None,
    ):
        """Prints a table of the layers."""
        only_default(
            "summary",
            line_length=(line_length, None),
            positions=(positions, None),
            expand_nested=(expand_nested, False),
            show_trainable=(show_trainable, False),
            layer_range=(layer_range, None),
        )
        self._apply(self._flags())
        (print_fn or print)(f'Model: "{self.name}"\n' + self.core.describe(1).split("\n", 1)[1])

    def get_config(self):
        """Keras's config of the model."""
        return self._keras_json()["config"]

    def to_json(self, **options):
        """Keras's config of the model as JSON; the options are those of json.dumps()."""
        return json.dumps(self._keras_json(), **options)

    def _settled(self):
        """Tells the library which layers are trained; refuses what files leave out."""
        if self._says:
            raise unsupported(self.name, "a layer called with training=True, which files and copies leave out")
        self._apply(self._flags())

    def _keras_json(self):
        self._settled()
        file = content(made("dl4_model_save_bytes", self.core, options_text({"format": "keras"})))
        with zipfile.ZipFile(BytesIO(file)) as archive:
            return self._named(json.loads(archive.read("config.json")))

    def _named(self, config):
        """Keras's config with the name, which the library's model has not."""
        inner = config["config"]
        inner["name"] = self.name
        for key, nest in (("input_layers", self._nest_in), ("output_layers", self._nest_out)):
            if isinstance(nest, (dict, list, tuple)):
                refs = inner[key] if isinstance(inner[key][0], list) else [inner[key]]
                inner[key] = pack_like(nest, refs)
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model of what get_config() gave."""
        word = "Functional" if "input_layers" in config else "Sequential"
        return _saving().model_from_json(json.dumps({"class_name": word, "config": config}), custom_objects)

    # ---- files

    def save(self, filepath, overwrite=True, zipped=None, include_optimizer=True):
        """Writes the model: .keras has what it was compiled with and the state of the optimizer too; .safetensors, .dl4
        and .onnx the model alone."""
        only_default("save", zipped=(zipped, None))
        path = self._path("save", filepath, overwrite)
        self._settled()
        if path.endswith(".keras") and include_optimizer and self._compiled is not None:
            self._get_trainer().save(path)
        else:
            self.core.save(path)
        if path.endswith(".keras"):
            self._name_in(path)

    def _name_in(self, path):
        """Writes name and class into a file of Keras."""
        with zipfile.ZipFile(path) as archive:
            parts = {item.filename: archive.read(item) for item in archive.infolist()}
        parts["config.json"] = json.dumps(self._named(json.loads(parts["config.json"]))).encode()
        part = f"{path}.{os.getpid()}.part"
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, data in parts.items():
                archive.writestr(name, data)
        os.replace(part, path)

    def save_weights(self, filepath, overwrite=True):
        """Writes the weights: .weights.h5 or .npz; or into .safetensors, the architecture too."""
        path = self._path("save_weights", filepath, overwrite)
        if path.endswith((".keras", ".onnx")):
            raise InvalidArgument(f"save_weights: expected a path that ends in .weights.h5, got {path}")
        self.core.save(path)

    def load_weights(self, filepath, skip_mismatch=False, **options):
        """Sets the weights to those in a file; options as of dl4_model_load_weights()."""
        only_default("load_weights", skip_mismatch=(skip_mismatch, False))
        self.core.load_weights(str(filepath), **options)
        state.changed()

    def export(self, filepath, format="tf_saved_model", **options):
        """Writes the model as ONNX: format="onnx"."""
        only_default("export", format=(format, "onnx"), **{key: (value, None) for key, value in options.items()})
        self.core.save(str(filepath), format="onnx")

    def _path(self, who, filepath, overwrite):
        path = os.fspath(filepath)
        if not overwrite and os.path.exists(path):
            raise FileExistsError(f"{who}: {path} exists, and overwrite is False")
        return path

    def quantize(self, mode, config=None, **options):
        """Keeps kernels in whole numbers: "int8", "int4", "int4/128". The layers are new objects then."""
        only_default("quantize", config=(config, None))
        if mode not in ("int8", "int4") and not str(mode).startswith("int4/"):
            raise unsupported("quantize", f"expected int8, int4 or int4/<block>, got {mode!r}")
        way = {"mode": mode, **options} if options else mode
        other = _saving().of_core(core.Model.from_bytes(self.core.to_bytes(), state.context(), quantize=way), self)
        self._nest_in, self._nest_out = pack_like(self._nest_in, other.inputs), pack_like(self._nest_out, other.outputs)
        for key in ("inputs", "outputs", "layers", "_calls", "_graph", "core"):
            setattr(self, key, getattr(other, key))
        self._layer = self._masked = None
        self._forget()

    def __reduce__(self):
        self._settled()
        compiled = state_of = None
        if self.compiled:
            compiled = {key: as_json(value) for key, value in self._compiled.items()}
            compiled["optimizer"] = as_json(self.optimizer)
            if self._trainer is not None or self._suspended is not None:
                self._suspend()
                state_of = self._suspended
        nests = [pack_like(nest, range(len(flatten(nest)))) for nest in (self._nest_in, self._nest_out)]
        return _saving().unpickled, (type(self).__name__, self.name, self.core.to_bytes(), nests, compiled, state_of)

    def __getattr__(self, key):
        raise absent(f"'{type(self).__name__}' object", key, () if key[0] == "_" else dir(type(self)))

    def __setattr__(self, key, value):
        if key[0] != "_" and key not in _ATTRIBUTES and not hasattr(type(self), key):
            raise absent(f"'{type(self).__name__}' object", key, _ATTRIBUTES)
        super().__setattr__(key, value)

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}>"


def _saving():
    """What makes models of files and of others, which itself needs this module."""
    return importlib.import_module(".saving", __package__)


class Functional(Model):
    """A model of inputs and outputs."""


_ATTRIBUTES = {"name", "core", "inputs", "outputs", "layers", "optimizer", "history", "stop_training", "loss"}


def _from_the_middle(inputs, outputs):
    """The same between tensors that layers give: inputs take the place of these."""
    now = {}
    for t in flatten(inputs):
        now[t] = t if t.call.layer is None else Input(batch_shape=t.shape, dtype=t.dtype)
    for out in check_nest(outputs, "outputs"):
        for call in _between(out, flatten(inputs)):
            if call.layer is not None and not all(t in now for t in call.outputs):
                nested = {k: [None if t is None else now.get(t, t) for t in v] for k, v in call.nested.items()}
                made = call.layer._on_tensors([now.get(t, t) for t in call.inputs], call.plain, nested)
                now.update((t, n) for t, n in zip(call.outputs, made) if t not in now)
    return (pack_like(nest, [now.get(t, t) for t in flatten(nest)]) for nest in (inputs, outputs))


def _between(tensor, inputs):
    """The calls that a tensor needs, down to the inputs, each behind what it needs."""
    ends, done, order, stack = {t.call for t in inputs}, set(), [], [(tensor.call, False)]
    while stack:
        call, ready = stack.pop()
        if ready:
            order.append(call)
        elif call not in done:
            done.add(call)
            if call.layer is None and call.value is None and call not in ends:
                raise InvalidArgument(f'Model: the outputs need the input "{call.name}", which is not among the inputs')
            stack.append((call, True))
            if call not in ends:
                stack.extend((t.call, False) for t in reversed(call.sources()))
    return order


def _layers_of(calls, inputs, outputs):
    """The layers, as in Keras by their distance from the outputs, then as they are met on the way from these."""
    depths, readers = {}, {}
    for call in calls:
        for source in call.sources():
            readers.setdefault(source.call, []).append(call)
    for call in reversed(calls):
        depths[call] = max((depths[r] + 1 for r in readers.get(call, ())), default=0)
    ends, entries = {t.call for t in inputs}, {t.call: InputLayer(input_tensor=t) for t in inputs}
    entries.update((t.call, t.call.layer) for t in inputs if t.call.layer is not None)
    order, met = {}, {}
    for out in outputs:
        stack = [(out.call, False)]
        while stack:
            call, ready = stack.pop()
            if ready:
                met.setdefault(call, len(met))
            elif call not in met and call in depths:
                stack.append((call, True))
                stack.extend((t.call, False) for t in reversed(call.sources() if call not in ends else ()))
    for call in (*met, *(c for c in ends if c not in met)):
        layer = entries.get(call) or call.layer
        if layer is not None and not layer._is_operation:
            depth, at = order.get(layer, (0, len(met)))
            order[layer] = max(depth, depths.get(call, 0)), min(at, met.get(call, len(met)))
    ranked = sorted(order, key=lambda layer: (-order[layer][0], order[layer][1]))
    return [getattr(layer, "_model", layer) for layer in ranked]
