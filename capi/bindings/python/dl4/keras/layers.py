"""Layers: Keras's classes, made of the library's kinds."""
import inspect as _inspect

from . import _kinds, _state
from ._tensors import Call as _Call
from ._tensors import Input, KerasTensor, as_tensor as _as_tensor, flatten as _flatten, is_tensor as _is_tensor

__all__ = ["Input", "InputLayer", "Layer"]


class Layer(_kinds.Kind):
    """A layer: called on symbolic tensors it gives symbolic tensors, called on arrays it computes.

    A class of your own derives from it or from Model, makes layers in __init__ or build() and uses them in call(), which
    is traced."""
    category = "layer"
    class_name = None

    def __init__(self, *args, name=None, trainable=True, dtype=None, **kwargs):
        if self.class_name is None:
            if args or kwargs:
                raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}")
            self._config = {}
        else:
            if name is not None:
                kwargs["name"] = name
            if dtype is not None:
                kwargs["dtype"] = dtype
            config = self._bound(args, kwargs)
            name = config.pop("name", None)
            trainable = config.pop("trainable", trainable)
            self._config = config
        self._graphs, self.graph, self.core_name = {}, None, None  # numbers in graphs; where its weights live
        self.name = name or _state.unique(_state.snake_case(type(self).__name__))
        self._trainable, self._calls, self.built = bool(trainable), [], False
        if self.class_name is not None:
            self.placed(_state.scratch())  # what can't be is refused here

    # ---- places in graphs

    def placed(self, graph):
        """Its number in a graph, made when it is asked for. Weights live in the first graph that is not the scratch."""
        if graph not in self._graphs:
            scratch = graph is _state.scratch()
            config = {**{k: _kinds.as_json(v) for k, v in self._config.items()}, "trainable": self._trainable}
            name = graph.free_name(self.name)
            self._graphs[graph] = graph.layer(self.class_name, name, config)
            if not scratch:
                self.graph, self.core_name = graph, name
        return self._graphs[graph]

    # ---- calls

    def __call__(self, *args, **kwargs):
        if any(_is_tensor(leaf) for leaf in _flatten([args, kwargs])):
            return self._symbolic(*args, **kwargs)
        from .models import computed
        return computed(self, args, kwargs)

    def _symbolic(self, *args, **kwargs):
        if self.class_name is None:
            return self._traced(*args, **kwargs)
        inputs, plain, tensors = self._arguments(args, kwargs)
        call = _Call(self, [_as_tensor(t) for t in inputs], plain, tensors)
        outputs = call.try_out()
        self._calls.append(call)
        self.built = True
        return outputs[0] if len(outputs) == 1 else self._packed(outputs)

    def _packed(self, outputs):
        return list(outputs)

    def _arguments(self, args, kwargs):
        """Inputs, plain call arguments and symbolic ones."""
        known = _kinds.facts("layer")[self.class_name]
        symbolic = {a["name"]: a for a in known["arguments"] if a["type"] != "bool"}
        flags = {a["name"] for a in known["arguments"]} | {"training"}
        names = known.get("call_positional") or [p["name"] for p in known["inputs"]]
        given = dict(zip(names, args))
        if len(args) > len(names):  # several inputs, or arguments that Keras takes by name alone
            raise TypeError(f"{type(self).__name__}: expected at most {len(names)} positional call arguments, "
                            f"got {len(args)}")
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f"{type(self).__name__}: got several values for \"{key}\"")
            given[key] = value
        inputs, plain, tensors = [], {}, {}
        for key in sorted(given, key=lambda k: names.index(k) if k in names else len(names)):  # as by position
            value = given[key]
            if key in symbolic:
                leaves = [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]
                if leaves:
                    tensors[key] = [None if t is None else _as_tensor(t) for t in leaves]
            elif key in flags:
                if value is not None:
                    plain[key] = bool(value)
            elif value is None and key in names:
                continue
            elif key in names or key in [p["name"] for p in known["inputs"]]:
                inputs += _flatten(value)
            else:
                plain[key] = value  # the library refuses what it does not know
        return inputs, plain, tensors

    # ---- of one's own

    def build(self, input_shape):
        self.built = True

    def call(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no call()")

    def _traced(self, *args, **kwargs):
        if not self.built:
            shapes = [t.shape for t in _flatten(list(args)) if _is_tensor(t)]
            self.build(shapes[0] if len(shapes) == 1 else shapes)
            self.built = True
        if "training" in kwargs and "training" not in _inspect.signature(self.call).parameters:
            del kwargs["training"]
        return self.call(*args, **kwargs)

    def _inner(self):
        """The layers that are attributes of this one, in order."""
        found = []

        def look(value):
            if isinstance(value, Layer):
                if value not in found:
                    found.append(value)
            elif isinstance(value, dict):
                for item in value.values():
                    look(item)
            elif isinstance(value, (list, tuple)):
                for item in value:
                    look(item)
        for key, value in vars(self).items():
            if key not in ("_calls", "_graphs", "_config"):
                look(value)
        return found

    # ---- what it has

    @property
    def input(self):
        return self._one_call().inputs[0] if len(self._one_call().inputs) == 1 else self._one_call().inputs

    @property
    def output(self):
        outputs = self._one_call().outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def _one_call(self):
        if not self._calls:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined input.")
        return self._calls[0]

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)
        for layer in self._inner():
            layer.trainable = yes
        if self.class_name is not None and self.graph is not None:
            self._model().core.set_trainable(self.core_name, yes)

    def _model(self):
        from .models import model_with
        return model_with(self)

    @property
    def weights(self):
        if self.class_name is None:
            return [w for layer in self._inner() for w in layer.weights]
        prefix = self._model() and self.core_name + "/"
        return [w for w in self._model().weights() if w.path.startswith(prefix)]

    variables = weights

    @property
    def trainable_weights(self):
        return [w for w in self.weights if w.trainable]

    @property
    def non_trainable_weights(self):
        return [w for w in self.weights if not w.trainable]

    trainable_variables, non_trainable_variables = trainable_weights, non_trainable_weights

    def get_weights(self):
        return [w.numpy() for w in self.weights]

    def set_weights(self, values):
        weights = self.weights
        values = list(values)
        if len(weights) != len(values):
            raise ValueError(f"Layer {self.name} expected {len(weights)} weights, got {len(values)}")
        for w, value in zip(weights, values):
            w.assign(value)

    def count_params(self):
        return sum(w.size for w in self.weights)

    def get_config(self):
        return {"name": self.name, "trainable": self.trainable, **super().get_config()}

    def to_json_value(self):
        value = super().to_json_value()
        value["config"].update(name=self.name, trainable=self._trainable)
        return value

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"


class InputLayer:
    """An input among the layers of a model, or as the first entry of a Sequential one."""
    trainable, weights = False, []

    def __init__(self, shape=None, batch_size=None, dtype=None, name=None, batch_shape=None, input_shape=None,
                 input_tensor=None, **_):
        if input_tensor is None:
            input_tensor = Input(shape=shape if shape is not None else input_shape, batch_size=batch_size, dtype=dtype,
                                 batch_shape=batch_shape, name=name)
        self.tensor = self.output = input_tensor
        self.name = input_tensor.name

    def get_weights(self):
        return []

    def count_params(self):
        return 0

    def __repr__(self):
        return f"<InputLayer name={self.name}, built=True>"


_kinds.serve(globals(), "layer", Layer)
