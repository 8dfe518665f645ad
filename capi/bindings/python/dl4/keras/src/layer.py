"""The base class of layers."""

import inspect
import re
import weakref

from ... import core
from ...abi import Busy, InvalidArgument, InvalidType
from . import state
from .array import as_result, need_no_masks
from .kinds import Category, Kind, absent, as_json, check_kind, facts, snake_case, unsupported
from .tensor import Call, Input, as_tensor, is_tensor
from .tree import flatten
from .variable import Variable

_CELLS = {"LSTMCell", "GRUCell", "SimpleRNNCell", "StackedRNNCells"}
_MOVING = ("BatchNormalization", "SpectralNormalization")
_SIZES = {"kernel_size", "strides", "dilation_rate", "pool_size", "output_size", "size"}  # one for each axis
_LISTS = {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"}


class Layer(Kind):
    """A layer: called on symbolic tensors it is part of a model, called on arrays it computes."""

    _is_operation = False

    def __init__(self, *args, **kwargs):
        shape = _first_shape(kwargs, getattr(self, "__signature__", _NONE).parameters)
        super().__init__(*args, **kwargs)
        if state.policy != "float32":
            self._config.setdefault("dtype", state.policy)
        self.name = self._config.pop("name", None) or state.unique_name(snake_case(self._class_name))
        if not isinstance(self.name, str) or "/" in self.name:
            raise InvalidArgument(f"{type(self).__name__}: expected a name without /, got {self.name!r}")
        self._trainable = bool(self._config.pop("trainable", True))
        self._frozen = not self._trainable  # what the library knows
        self._first_shape, self._ids, self._home, self._call = shape, weakref.WeakKeyDictionary(), None, None
        self._sessions, self._weights = {}, None

    def __setattr__(self, key, value):
        if self.__dict__.get("_config") is not None and key[0] != "_" and key not in ("name", "trainable"):
            known = {a["name"] for a in facts("layer")[self._class_name]["attributes"]}
            if key not in known:
                raise absent(f"'{type(self).__name__}' object", key, known)
            self._change({key: value})
            return
        super().__setattr__(key, value)

    def _change(self, values):
        """Sets attributes of a layer that was not called, all or none."""
        if self._home is not None:
            raise InvalidArgument(f'layer "{self.name}": expected {", ".join(values)} before the layer is called')
        before, self._config = self._config, {**self._config, **values}
        try:
            self._check()
        except Exception:
            self._config = before
            raise
        self._ids.clear()  # of calls that were refused

    # ---- calls

    def __call__(self, *args, **kwargs):
        inputs, plain, nested = self._arguments(args, kwargs)
        leaves = [*inputs, *(t for list_ in nested.values() for t in list_)]
        if leaves and not any(map(is_tensor, leaves)):
            return self._compute(inputs, plain, nested)
        said = plain.pop("training", None)
        nested = {key: [None if t is None else as_tensor(t) for t in list_] for key, list_ in nested.items()}
        outputs = self._on_tensors([as_tensor(t) for t in inputs], plain, nested)
        outputs[0].call.said = said  # which fit() and predict() overrule, as in Keras
        return self._shown(outputs)

    def _on_tensors(self, inputs, plain, nested):
        call = Call(self, inputs, plain, nested)
        outputs = call.infer()
        self._call = self._call or call
        return outputs

    def _shown(self, outputs):
        if self._class_name in _CELLS:
            return outputs[0], outputs[1:]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _compute(self, inputs, plain, nested):
        """What it gives on arrays, by a session that is kept."""
        leaves = [*inputs, *(t for list_ in nested.values() for t in list_ if t is not None)]
        training = plain.pop("training", False)
        need_no_masks(self.name, leaves)
        if training:
            self._need_no_moves()
        tensors = [t if isinstance(t, core.Tensor) else core.Tensor.of(t) for t in leaves]
        free = 0 if self._config.get("stateful") else 1
        kept = tuple((t.shape[:1] * (1 - free) + t.shape[1:], len(t.shape), t.dtype) for t in tensors)
        key = (
            training,
            kept,
            repr(sorted(plain.items())),
            repr([(k, [t is None for t in v]) for k, v in nested.items()]),
        )
        if key not in self._sessions:
            at = f"{self.name}_input"
            entries = [Input(batch_shape=((None,) * free + s)[:rank], dtype=d, name=at) for s, rank, d in kept]
            left = iter(entries)
            ins = [next(left) for _ in inputs]
            nests = {k: [None if t is None else next(left) for t in list_] for k, list_ in nested.items()}
            outputs = self._on_tensors(ins, plain, nests)
            masked = [outputs[0].call.home.carries_mask(t.node(t.call.home)) for t in outputs]
            self._sessions[key] = [_built(entries, outputs), masked, None, None]
        entry = self._sessions[key]
        if entry[3] != state.version():
            with state.building:
                entry[2:] = entry[0].session(training=bool(training)), state.version()
        results = [as_result(t.numpy(), m) for t, m in zip(entry[2].run(tensors), entry[1])]
        return self._shown(results)

    def _need_no_moves(self):
        """Refuses a call on arrays as in training where Keras would move averages."""
        if self.trainable and any(kind in repr(as_json(self._config)) or kind == self._class_name for kind in _MOVING):
            raise unsupported(self.name, "training=True, which moves averages in Keras: here fit() does")

    def _called(self, graph, inputs, plain, nested):
        """Makes the call in a graph."""
        outputs = graph.call(self._place_in(graph), inputs, plain, nested)
        self._home = self._home or graph
        return outputs

    def _place_in(self, graph):
        """Its id in a graph; all graphs have the same weights."""
        if graph not in self._ids:
            name = graph.free_name(self.name)
            try:
                layer = self._placed(graph, name)
            except Busy:  # a model in it is being trained: its trainer goes on later
                for model in list(state.training):
                    model._suspend()
                layer = self._placed(graph, name)
            self._ids[graph] = layer, name
        return self._ids[graph][0]

    def _placed(self, graph, name):
        if self._home is not None:
            return graph.share(self._home, self._ids[self._home][0], name)
        config, models = self._parts()
        return graph.layer(self._class_name, name, {**config, "trainable": self._trainable}, models)

    def _parts(self):
        """Its config, and the models in it by their place, which the text leaves out."""
        return as_json(without_models(self._config)), dict(_models_in(self._config))

    def _check(self):
        if not any(_models_in(self._config)):  # else the graph checks it
            check_kind("layer", self._class_name, as_json(self._config))

    def _arguments(self, args, kwargs):
        """Inputs, plain call arguments and symbolic ones."""
        known, who = facts("layer")[self._class_name], type(self).__name__
        symbolic = {a["name"] for a in known["arguments"] if a["type"] != "bool"}
        flags = {a["name"] for a in known["arguments"]} - symbolic | {"training"}
        ports = [p["name"].rstrip(".") for p in known["inputs"]]
        names = known.get("call_positional") or ports
        if len(args) > len(names):
            raise InvalidType(f"{who}: expected at most {len(names)} positional call arguments, got {len(args)}")
        given = dict(zip(names, args))
        for key, value in kwargs.items():
            if key in given:
                raise InvalidType(f'{who}: got several values for "{key}"')
            given[key] = value
        inputs, plain, nested = [], {}, {}
        for key in sorted(given, key=lambda k: names.index(k) if k in names else len(names)):
            value = given[key]
            if key in symbolic:
                leaves = [] if value is None else _leaves(value)
                if any(leaf is not None for leaf in leaves):
                    nested[key] = leaves
            elif key in flags:
                if value is not None:
                    plain[key] = bool(value)
            elif key in names or key in ports:
                if self._class_name in _LISTS and not isinstance(value, (list, tuple)):
                    raise InvalidArgument(f'layer "{self.name}": expected a list of inputs, got {type(value).__name__}')
                inputs += [] if value is None else _leaves(value, self._takes_lists(names))
            else:
                raise InvalidType(f"{who}.__call__() got an unexpected keyword argument '{key}'")
        return inputs, plain, nested

    def _takes_lists(self, names):
        """Whether a list is a list of inputs; else one array."""
        ports = facts("layer")[self._class_name]["inputs"]
        several = len(ports) > 1 or any(p["name"].endswith("...") for p in ports)
        by_list = names[0] == "inputs" or facts("layer")[self._class_name].get("call_positional") is None
        return several and by_list or self._class_name in (*_LISTS, "Functional")

    # ---- what it has

    @property
    def trainable(self):
        """Whether training changes the weights, from the next compile() on."""
        return self._trainable

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)

    def _freeze(self, yes):
        """Tells the library."""
        if yes != self._frozen and self._home is not None:
            model, name = self._owned()
            if model is not None:
                model.set_trainable(name, not yes)
            self._frozen = yes

    def _owned(self):
        """A model with its weights, and its name in it; None without weights."""
        if self._weights is None:
            if self._call is None:
                raise InvalidArgument(f'layer "{self.name}": expected a layer that was called, got one without weights')
            with state.building:
                model, name = self._alone()
            has = any(n.startswith(name + "/") for n in model.names(2))
            self._weights = (model if has else None), name
        return self._weights

    def _alone(self):
        """A model of its first call, on inputs, and its name there."""
        call, graph = self._call, core.Graph(state.context())
        given = {t: graph.input(f"input_{i}", t.dtype, t.shape) for i, t in enumerate(dict.fromkeys(call.sources()))}
        layer = graph.share(self._home, self._ids[self._home][0], self.name)
        nested = {k: [None if t is None else given[t] for t in list_] for k, list_ in call.nested.items()}
        outputs = graph.call(layer, [given[t] for t in call.inputs], call.plain, nested)
        return graph.build(list(given.values()), outputs), self.name

    def reset_state(self):
        """Sets the states of a stateful layer to zeros."""
        if not self._config.get("stateful"):
            raise InvalidArgument(f'layer "{self.name}": expected stateful=True')
        model, name = self._owned()
        model.session().reset(name + "/")
        state.changed()

    reset_states = reset_state

    @property
    def built(self):
        """Whether it was called."""
        return self._call is not None

    @property
    def dtype(self):
        """The type that it computes in."""
        return "float32"

    @property
    def input(self):
        """What it was first called on."""
        sources = self._first_call().inputs
        return sources[0] if len(sources) == 1 else sources

    @property
    def output(self):
        """What its first call gave."""
        return self._shown(self._first_call().outputs)

    def _first_call(self):
        if self._call is None:
            raise AttributeError(f'layer "{self.name}" was not called: it has no input or output')
        return self._call

    def build(self, input_shape=None):
        """Makes the weights for inputs of a shape, with the batch axis, or of a list of shapes."""
        if self._call is None and input_shape is not None:
            several = input_shape and isinstance(input_shape[0], (list, tuple))
            dtype = "int32" if "Embedding" in self._class_name else "float32"
            self._on_tensors(
                [Input(batch_shape=s, dtype=dtype) for s in (input_shape if several else [input_shape])], {}, {}
            )

    def compute_output_shape(self, input_shape):
        """The shape of the output for inputs of a shape."""
        copy = type(self).from_config({**self.get_config(), "name": None})
        copy.build(input_shape)
        outputs = [t.shape for t in copy._call.outputs]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    @property
    def weights(self):
        """All weights, in Keras's order."""
        if self._call is None:
            return []
        model, name = self._owned()
        if model is None:
            return []
        owned = [full for full in model.names(2) if full.startswith(name + "/")]
        return [Variable(model, full, self.name + full[len(name) :], self) for full in owned]

    variables = weights

    @property
    def trainable_weights(self):
        """The weights that training changes."""
        return [w for w in self.weights if w.trainable]

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self):
        """The weights that gradients leave as they are."""
        return [w for w in self.weights if not w.trainable]

    non_trainable_variables = non_trainable_weights

    def get_weights(self):
        """The weights, as a list of arrays."""
        return [w.numpy() for w in self.weights]

    def set_weights(self, weights):
        """Sets the weights to a list of arrays."""
        assign_all(self.name, self.weights, weights)

    def count_params(self):
        """The number of numbers in the weights."""
        return sum(w.size for w in self.weights)

    def __getattr__(self, key):
        if key[0] != "_" and self.__dict__.get("_call") is not None:
            known = facts("layer")[self._class_name]
            if any(w["name"] == key for w in known["weights"]):
                found = next((w for w in self.weights if w.name == key), None)
                if found is not None or all(a["name"] != key for a in known["attributes"]):
                    return found
        value = super().__getattr__(key)
        axes = re.search(r"(\d)D", self._class_name or "")
        if axes and type(value) is int and key in _SIZES and self._class_name != "UpSampling1D":
            return (value,) * int(axes[1])
        return tuple(value) if isinstance(value, list) and key in _SIZES else value

    def get_config(self):
        """Every attribute, with name and trainable."""
        return {"name": self.name, "trainable": self._trainable, "dtype": "float32", **super().get_config()}

    def __reduce__(self):
        """A copy has the config, and weights of the same numbers."""
        if any(_models_in(self._config)):
            raise unsupported(self.name, "copies of a layer that has a model")
        shapes = [] if self._call is None else [(t.shape, t.dtype) for t in self._call.inputs]
        return _copied, (self._class_name, self.get_config(), shapes, self.get_weights())

    def _to_json(self):
        config = as_json(without_models(self._config))
        return {"class_name": self._class_name, "config": {**config, "name": self.name, "trainable": self._trainable}}

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"


def _copied(kind, config, shapes, weights):
    layer = category.class_of(kind).from_config(config)
    if shapes:
        layer._on_tensors([Input(batch_shape=shape, dtype=dtype) for shape, dtype in shapes], {}, {})
        layer.set_weights(weights)
    return layer


def assign_all(who, variables, values):
    """Sets weights to arrays, all or none."""
    if len(values) != len(variables):
        raise InvalidArgument(f"{who}: expected {len(variables)} arrays, one for each weight, got {len(values)}")
    for w, value in zip(variables, values):
        w.check(value)
    for w, value in zip(variables, values):
        w.assign(value)


def _leaves(value, lists=True):
    """The inputs in a call's argument: a list of numbers is one array."""
    if isinstance(value, dict):
        return flatten(value)
    if isinstance(value, (list, tuple)) and (lists or any(map(is_tensor, value))):
        return (
            flatten(value)
            if any(is_tensor(v) or hasattr(v, "shape") or v is None for v in flatten(value))
            else list(value)
        )
    return [value]


def _models_in(value, path=()):
    """The models in a config, by the path to them."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        if hasattr(item, "_as_layer"):
            at = (key,) if key == "model" else (str(key), "config", "model")
            yield "/".join((*path, *at)), item.core
        elif isinstance(item, Layer):
            yield from _models_in(item._config, (*path, str(key), "config"))
        else:
            yield from _models_in(item, (*path, str(key)))


def without_models(config):
    """A config whose models the text leaves out."""
    return {key: value for key, value in config.items() if not (key == "model" and hasattr(value, "_as_layer"))}


def _built(inputs, outputs, graph=None):
    """A model between tensors."""
    graph = graph or outputs[0].call.home
    with state.building:
        return graph.build([t.node(graph) for t in inputs], [t.node(graph) for t in outputs])


_NONE = inspect.Signature()


def _first_shape(kwargs, known):
    """What is said of the input at the first layer of a Sequential model."""
    if "input_shape" in kwargs:
        return (None, *kwargs.pop("input_shape"))
    if "input_dim" in kwargs and "input_dim" not in known:
        return (None, kwargs.pop("input_dim"))
    return None


class InputLayer:
    """An input of a model, as one of its layers."""

    _is_operation = _frozen = False
    weights = variables = trainable_weights = non_trainable_weights = ()
    trainable = False

    def __init__(self, shape=None, batch_size=None, dtype=None, batch_shape=None, name=None, input_tensor=None):
        self.output = self.input = input_tensor
        if input_tensor is None:
            self.output = self.input = Input(shape, batch_size, dtype, batch_shape=batch_shape, name=name)
        self.name, self.batch_shape, self.dtype = self.output.name, self.output.shape, self.output.dtype

    def _freeze(self, yes):
        """It has nothing to train."""

    def get_weights(self):
        """None."""
        return []

    def count_params(self):
        """None."""
        return 0

    def get_config(self):
        """Shape, type and name."""
        return {"batch_shape": self.batch_shape, "dtype": self.dtype, "name": self.name}

    def __repr__(self):
        return f"<InputLayer name={self.name}, shape={self.batch_shape}>"


category = Category("layer", "layers", Layer)
