"""The base class of layers."""

import functools
import inspect
import re
import warnings
from weakref import WeakKeyDictionary

from ....abi import Error
from .. import overrides, registry
from ..backend import call_context, global_state
from ..errors import keras_errors, typed
from ..export import keras_export
from ..interface import NAMES
from ..kind import as_json, is_native, Kind
from ..quantizers import fitting, quantize
from ..registry import Category, create
from ..saving.serialization_lib import deserialize_keras_object, layers_made, serialize_keras_object
from ..symbolic.eager import call_eagerly
from ..symbolic.execution import run_again, run_on_arrays
from ..symbolic.masks import masked_as, unmasked
from ..symbolic.tensor import as_tensor, Call, cast_tensor, Input, is_tensor, of_one_batch
from ..tree import flatten
from ..utils.naming import snake_case, unique_name
from . import arguments, cells, copies, lora, normalization
from .custom import CustomLayer
from .input_layer import InputLayer
from .quantized import complete as complete_fitted, QuantizedLayer
from .tracing import TracedCalls
from .weights import LayerWeights, reset_state, states

_READ = {c: functools.partial(registry.get, c) for c in ("activation", "initializer", "regularizer", "constraint")}
_PROMOTE = {"Dense", "LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"}  # integers become float32 with their weights
_WITH_MASKS = {"SetMask", "GetMask", "Identity", "Loss", "Metric"}  # operations of this package's, not of keras.ops
_LISTS = {"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot", "Stack"}


@keras_export("layers")
class Layer(CustomLayer, TracedCalls, QuantizedLayer, lora.LoraLayer, LayerWeights, Kind):
    """A layer: called on symbolic tensors it gives symbolic tensors, called on arrays it computes.

    A class of your own derives from it or from Model, makes layers and weights in __init__ or build() and uses them in
    call(), which is traced."""

    _category = "layer"
    _is_operation = False  # made by an operator or a function of ops: not among the layers of a model
    supports_masking = False
    input_spec = None
    compute_dtype = variable_dtype = "float32"

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if not overrides.is_ours(None, cls) and "build" in vars(cls):
            cls.build = _which_builds(vars(cls)["build"])

    def __new__(cls, *args, **kwargs):
        layer = super().__new__(cls)
        if cls._class_name is None:
            layer.__dict__["_init_arguments"] = args, kwargs
        return layer

    def __init__(self, *args, name=None, trainable=True, dtype=None, activity_regularizer=None, **kwargs):
        self._batch_input_shape = arguments.first_shape(self, kwargs)
        told = None
        if self._class_name in quantize.KINDS:
            told = kwargs.pop("quantization_config", None)
            self._gptq_columns = kwargs.pop("gptq_unpacked_column_size", None)  # follows from the shapes
        dtype = self._take_policy(dtype, deserialize_keras_object(told) if isinstance(told, dict) else told)
        if self._class_name in ("LSTM", "GRU"):
            kwargs.pop("use_cudnn", None)  # has no effect on the result
            if kwargs.get("implementation") == 0:  # Keras's of old, which means the one of today
                del kwargs["implementation"]
        arguments.take_old_arguments(self._class_name, kwargs)
        first = kwargs.pop("weights", None) if self._class_name in arguments.EMBEDDINGS else None
        if self._class_name is None:
            kwargs.pop("autocast", None)
            if args or kwargs:
                raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}")
            config, self.__dict__["dtype"] = {}, dtype or "float32"
        else:
            given = {"name": name, "dtype": dtype, "activity_regularizer": activity_regularizer}
            kwargs.update({k: v for k, v in given.items() if v is not None})
            if self._class_name == "LeakyReLU" and "alpha" in kwargs:
                kwargs["negative_slope"] = kwargs.pop("alpha")
                warnings.warn("Argument `alpha` is deprecated. Use `negative_slope` instead.", stacklevel=2)
            config = self._bound(args, kwargs)
            config.update({w: config[w].lower() for w in _ANY_CASE if isinstance(config.get(w), str)})
            if self._class_name == "EinsumDense" and "..." not in config["equation"]:
                config["output_shape"] = arguments.axes_of(config["output_shape"], config["equation"])
            name = config.pop("name", None)
            trainable = config.pop("trainable", trainable)
            if "data_format" in self.__signature__.parameters and config.get("data_format") is None:
                config.update(arguments.data_format())
        if not isinstance(trainable, bool):
            raise ValueError(
                f"Expected `trainable` of {type(self).__name__} to be a boolean. Received: trainable={trainable}"
            )
        if name is not None and not isinstance(name, str):
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. Received: name={name}"
            )
        if name and "/" in name:
            raise ValueError(
                f"Argument `name` must be a string and cannot contain character `/`. Received: name={name}"
            )
        self._config, self._python, self._traced_penalties = config, {}, None
        self._graphs, self._graph, self._core = WeakKeyDictionary(), None, None
        self._names_in_graphs = WeakKeyDictionary()
        self._facts, self._weights, self._traces, self._first_native_call = None, {}, {}, None
        self._native_call, self._connected = None, False
        self.name = name or unique_name(snake_case(type(self).__name__))
        self._trainable, self._calls, self.built = bool(trainable), [], False
        self._shapes = self._dtypes = None  # of the call that it is built for
        self._init_own(activity_regularizer)
        if self._class_name is not None:
            if self._policy is not None:
                how = quantize.of_policy(self, self._policy, self._quantization_config)
                if isinstance(self._policy, quantize.dtype_policies.DTypePolicyMap):
                    self._policy = None
                if how is not None:
                    self._config["quantization"] = how
            self._take_functions()
            kept = {k: self._kept(k, v) for k, v in config.items()}
            if not self._waits():
                with keras_errors(self._class_name, {**kept, **self._python}):
                    self._place_in(global_state.scratch())  # what can't be is refused here
        if first is not None:
            self.build()
            self.set_weights(first if isinstance(first, (list, tuple)) else [first])

    def _take_functions(self):
        """Activations, initializers and penalties that are functions of Python are called by us."""
        for key, value in list(self._config.items()):
            if isinstance(value, Layer) and key == "activation":
                self._python[key] = self._config.pop(key)
            if isinstance(value, type) and issubclass(value, Kind):
                self._config[key] = value = value()
            if key == "cell" and isinstance(value, (list, tuple)):
                self._config[key] = create("layer", "StackedRNNCells", cells=list(value))
            if not callable(value) or isinstance(value, Layer) or is_native(value):
                continue
            if key == "activity_regularizer":
                self._python[key] = self._config.pop(key)
            elif key == "activation" and self._class_name not in ("LSTM", "GRU", "SimpleRNN"):
                self._python[key] = self._config.pop(key)
                if self._class_name == "Activation":
                    self._config[key] = "linear"
            elif key.endswith(("_initializer", "_constraint", "_regularizer")):
                self._python[key] = self._config.pop(key)

    def _waits(self):
        """Is it around a model that is not built?"""
        return self._class_name == "TimeDistributed" and not getattr(self._config["layer"], "_functional", self)

    # ---- places in graphs

    def _place_in(self, graph):
        """Its number in a graph, made when it is asked for. The first graph that is not a scratch one is its home; in
        others it is the same layer, with the same weights."""
        if graph not in self._graphs:
            name = self._names_in_graphs[graph] = graph.free_name(self.name)
            scratch = graph.scratch
            if self._graph is not None and not scratch:
                self._graphs[graph] = graph.share(self._graph, self._graphs[self._graph], name)
                return self._graphs[graph]
            models = {k: v.core for k, v in self._config.items() if hasattr(v, "core")}
            config = {k: as_json(v) for k, v in self._config.items() if k not in models}
            if self._is_custom():
                config.pop("activity_regularizer", None)  # that is of what its call() gives
            if not models:
                config["trainable"] = self._trainable
            self._graphs[graph] = graph.layer(self._class_name, name, config, models)
            if not scratch:
                self._graph, self._home_name = graph, name
        return self._graphs[graph]

    # ---- calls

    def __call__(self, *args, **kwargs):
        traced = self.__dict__.get("_traces") if type(self).__call__ is Layer.__call__ else None
        if traced and len(args) == 1 and not kwargs and hasattr(args[0], "ndim") and not call_context.records():
            again = run_again(self, args[0])
            if again is not None:
                return again
        if kwargs.get("training") is not None and call_context.records():
            call_context.say(kwargs["training"])
        if call_context.owner() is not None or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
            return noted(self._call_symbolic(*args, **kwargs))

        return (call_eagerly if self._is_custom() else run_on_arrays)(self, args, kwargs)

    def _is_custom(self):
        """Does it do something that the library's layer would not?"""
        return overrides.is_custom(self) or "activity_regularizer" in self._python

    def _call_symbolic(self, *args, **kwargs):
        if self._is_custom():
            return self._trace_call(*args, **kwargs)
        self._check_spec(args)
        outputs = self._call_native(*args, **kwargs)
        self._note_call(self._native_call)
        return outputs

    def _note_call(self, call):
        """The first between the layers of a model says what `input` and `output` are; calls on arrays only of what
        shapes they are."""
        between = call_context.owner() is None
        if not self._calls or between and not self._connected:
            self._calls, self._connected = [call], between

    def _call_native(self, *args, **kwargs):
        """The library's layer called."""
        inputs, plain, tensors = self._arguments(args, kwargs)
        if self._class_name in ("RNN", "Bidirectional", "LSTM", "GRU", "SimpleRNN") and len(inputs) > 1:
            inputs, tensors["initial_state"] = inputs[:1], inputs[1:]
        if self._class_name in _PROMOTE:
            inputs = [cast_tensor(t, "float32") if "int" in t.dtype else t for t in inputs]
        if self._class_name == "UpSampling2D" and self.interpolation != "nearest":
            inputs = [cast_tensor(t, "float32") if "int" in t.dtype else t for t in inputs]
        if self._is_operation and self._class_name not in _WITH_MASKS:
            inputs = [unmasked(t) for t in inputs]
        if self._waits():  # as Keras, which builds it for one of the steps in time
            self._config["layer"].build((inputs[0].shape[0], *inputs[0].shape[2:]))
        call = Call(self, of_one_batch(self, inputs), plain, tensors)
        with keras_errors(self._class_name, self._config, inputs):
            outputs = call.infer_outputs()
        self._native_call, self._first_native_call = call, self._first_native_call or call
        self.built = True
        if call_context.step() is not None:
            call_context.step().called(self, outputs)
        if "activation" in self._python:
            with call_context.traced(self):
                outputs = [masked_as(outputs[0], self._python["activation"](outputs[0]))] + outputs[1:]
            call.activated = outputs
        if self._class_name in cells.KINDS:
            return cells.packed(self, outputs)
        if self._class_name == "RNN" and self.return_state:
            return cells.with_states(self.cell, outputs)
        return outputs[0] if len(outputs) == 1 else tuple(outputs) if self._class_name != "Functional" else outputs

    def _arguments(self, args, kwargs):
        """Inputs, plain call arguments and symbolic ones."""
        known = registry.facts("layer")[self._class_name]
        symbolic = {a["name"]: a for a in known["arguments"] if a["type"] != "bool"}
        flags = {a["name"] for a in known["arguments"]} | {"training"}
        ports = [p["name"] for p in known["inputs"]]
        names = known.get("call_positional") or ports
        given = dict(zip(names, args))
        if len(args) > len(names):  # several inputs, or arguments that Keras takes by name alone
            raise TypeError(
                f"{type(self).__name__}: expected at most {len(names)} positional call arguments, got {len(args)}"
            )
        for key, value in kwargs.items():
            if key in given:
                raise TypeError(f'{type(self).__name__}: got several values for "{key}"')
            given[key] = value
        first = names[0] if names else ""
        if self._class_name in _LISTS and not isinstance(given.get(first), (list, tuple)) and first in given:
            if not self._is_operation:
                raise ValueError(
                    f"A merge layer should be called on a list of inputs. Received: {first}="
                    f"{given[first]} (not a list of tensors)"
                )
        inputs, plain, tensors = [], {}, {}
        for key in sorted(given, key=lambda k: names.index(k) if k in names else len(names)):  # as by position
            value = given[key]
            if key in symbolic:
                leaves = [] if value is None else flatten(value)
                if any(leaf is not None for leaf in leaves):
                    tensors[key] = [None if t is None else as_tensor(t) for t in leaves]
            elif key in flags:
                value = None if isinstance(value, call_context.Flag) else value
                value = call_context.training() if key == "training" and value is None else value
                if value is not None:
                    plain[key] = bool(value)
            elif value is None and key in names:
                continue
            elif key in names or key in ports:
                inputs += [as_tensor(t) for t in flatten(value)]
            else:
                raise TypeError(f"{type(self).__name__}.call() got an unexpected keyword argument '{key}'")
        if "training" not in plain and call_context.training() is not None and "training" not in given:
            plain["training"] = bool(call_context.training())
        return inputs, plain, tensors

    def build(self, input_shape=None, *shapes, **named):
        """Makes the weights for inputs of a shape (or several), with the batch axis."""
        self._build_native(input_shape, *shapes, **named)

    def _build_native(self, input_shape=None, *shapes, **named):
        if self._class_name is None or self._first_native_call is not None:
            self.built = True
            return
        if input_shape is None and not named:
            if self._class_name not in arguments.EMBEDDINGS:
                return
            input_shape = (None, None)
        together = self._class_name in _LISTS
        if input_shape is not None and not isinstance(input_shape, dict):
            nested = not shapes and input_shape and isinstance(input_shape[0], (list, tuple))
            together |= bool(nested)
            shapes = list(input_shape) if nested else [input_shape, *shapes]
        else:
            shapes = list((input_shape or named).values())
        dtypes = ["int32" if self._class_name in arguments.EMBEDDINGS else "float32"] * len(shapes)
        if self._dtypes and len(self._dtypes) == len(shapes):
            dtypes = self._dtypes
        tensors = [Input(batch_shape=tuple(s), dtype=dtype) for s, dtype in zip(shapes, dtypes)]
        with call_context.traced(None):
            self._call_native(*([tensors[0] if len(tensors) == 1 else tensors] if together else tensors))
            if not self._is_custom():
                self._note_call(self._first_native_call)

    # ---- what it has

    @property
    def input(self):
        """The symbolic input of the only call."""
        inputs = self._one_call().inputs
        return inputs[0] if len(inputs) == 1 else inputs

    @property
    def output(self):
        """The symbolic output of the only call."""
        outputs = self._one_call().outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def _one_call(self):
        if not self._calls:
            raise AttributeError(f"The layer {self.name} has never been called and thus has no defined input.")
        return self._calls[0]

    def __getattr__(self, key):
        if key == "_layers":
            return self._inner_layers()
        if key.startswith("_"):
            raise AttributeError(key)
        if key == "dtype":
            dtype = self.__dict__.get("_config", {}).get("dtype") or "float32"
            return "float32" if dtype == "mixed_bfloat16" else dtype
        if key in ("input", "output"):
            self._one_call()
        if self._class_name in quantize.KINDS and self._class_name not in quantize.HEADED:
            if key == "quantization_config":
                return self._told_of_quantizers()
            if key == "inputs_quantizer" and self._quantization() is not None:
                return quantize.quantizer_of(self._quantization()["inputs"])
            if self._waiting is not None and key in self._waiting.variables:
                return self._waiting.variables[key]
        if self._class_name == "EinsumDense" and key in ("gptq_unpacked_column_size", "awq_unpacked_column_size"):
            return self._columns(key.partition("_")[0])
        if self._class_name is not None:
            known = registry.facts("layer")[self._class_name]
            for shown in (self._with_lora(key), self._unpacked(key)):
                if shown is not None:
                    return shown
            if self.__dict__.get("built") and any(w["name"] == key for w in known["weights"]):
                return self._weight(key) if key in self._weight_facts() else None
            if self._quantization() is not None and self.built and self._quantized_name(key) in self._weight_facts():
                return self._weight(self._quantized_name(key))
            if key in self.__dict__.get("_python", ()):
                return self._python[key]
            if key == "cell" and "cell" not in self._config:
                raise AttributeError(key)
        value = self._kept(key, super().__getattr__(key))
        if isinstance(value, str) or value is None:
            value = self._read(key, value)
        return value

    def _read(self, key, value):
        """The object of a kind that an attribute names, as Keras keeps it."""
        attribute = next((a for a in registry.facts("layer")[self._class_name]["attributes"] if a["name"] == key), {})
        category = attribute.get("category")
        return _READ[category](value) if category in _READ else value

    def _kept(self, key, value):
        """As Keras keeps it: a size for each axis is a tuple."""
        if key == "strides" and value is None:
            return self.pool_size
        axes = re.search(r"(\d)D", self._class_name or "")
        if key in ("padding", "cropping") and re.match("ZeroPadding|Cropping", self._class_name or ""):
            return arguments.by_side(value, int(axes[1]))
        if isinstance(value, list) and (key == "noise_shape" or key in _TUPLES):
            return tuple(value)
        if axes and key in _TUPLES and type(value) is int and self._class_name != "UpSampling1D":
            return (value,) * int(axes[1])
        return value

    @classmethod
    def from_config(cls, config, **_):
        """A layer of what get_config() gave."""
        try:
            return cls(**layers_made(config))
        except Error as e:  # Keras's is a TypeError, whatever it is of
            raise typed(e, f"Error when deserializing class '{cls.__name__}' using config={config}. {e}") from None

    def get_config(self):
        config = {"name": self.name, "trainable": self.trainable, "dtype": "float32", **super().get_config()}
        config.update(self._python)
        if config.get("activity_regularizer", 0) is None:
            del config["activity_regularizer"]
        config = self._policies_in_config({key: self._kept(key, value) for key, value in config.items()})
        if config.get("dtype") == "float32":
            config["dtype"] = {**_FLOAT, "config": dict(_FLOAT["config"])}  # no object that is shared
        config = self._lora_in_config(config)
        if self._class_name is None and type(self).get_config is Layer.get_config:
            config = {**self._own_arguments(), **config}
        return config

    def _own_arguments(self):
        """What __init__() of a custom layer was given, where it is plain."""
        args, kwargs = self._init_arguments
        signature = inspect.signature(type(self).__init__)
        parameters = signature.parameters.values()
        try:
            given = dict(signature.bind(self, *args, **kwargs).arguments)
        except TypeError:
            return {}
        rest = [p.name for p in parameters if p.kind == p.VAR_KEYWORD]
        given.update(*(given.pop(name, {}) for name in rest))
        return {k: v for k, v in given.items() if k != "self" and _plain(v)}

    def _to_json(self):
        if self._class_name is None:
            return serialize_keras_object(self)
        overrides.refuse(self, "a layer around it", "custom")
        if self._python:
            raise NotImplementedError(f"{self.name}: layers with Python functions are not supported here")
        value = self._native()
        value["config"].update(name=self.name, trainable=self._trainable)
        return value

    def __reduce__(self):
        return copies.made_of, copies.parts_of(self)

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}, built={self.built}>"


def _which_builds(build):
    """A build() of its user's, behind which the layer is built."""

    @functools.wraps(build)
    def built(self, *args, **kwargs):
        build(self, *args, **kwargs)
        self.built = True

    return built


def noted(outputs):
    """What a layer gives; a tape on arrays is told."""
    step = call_context.step()
    if step is not None and step.binds:
        step.note(outputs)
    return outputs


_FLOAT = serialize_keras_object(quantize.dtype_policies.DTypePolicy("float32"))
_ANY_CASE = "padding", "data_format"  # words that Keras takes in capitals too
_TUPLES = {"kernel_size", "strides", "dilation_rate", "output_padding", "pool_size", "output_size", "size"}


def _plain(value):
    if isinstance(value, (list, tuple)):
        return all(_plain(v) for v in value)
    if isinstance(value, dict):
        return all(isinstance(k, str) and _plain(v) for k, v in value.items())
    return value is None or isinstance(value, (bool, int, float, str))


def _complete(cls):
    """Adds the members that a kind's class has besides those of every layer."""
    own = {w for kinds, words in NAMES["layer"].items() if cls._class_name in kinds.split() for w in words.split()}
    mask = registry.facts("layer")[cls._class_name]["mask"]
    cls.supports_masking = cls._class_name == "Dot" or not mask.startswith(_NO_MASKS)  # as Keras says of it
    if "reset_state" in own and not hasattr(cls, "reset_state"):
        cls.reset_state = cls.reset_states = reset_state
        cls.states = property(states)
    if lora.takes_lora(cls._class_name):
        lora.complete(cls)
    if cls._class_name in fitting.KINDS:
        complete_fitted(cls)
    if cls._class_name in cells.KINDS:
        cells.complete(cls)
    if cls._class_name == "Normalization":
        cls.adapt, cls.mean, cls.variance = normalization.adapt, normalization.mean, normalization.variance


_NO_MASKS = "dropped", "made with mask_zero", "used by the inner layer; passed on as"
category = Category("layer", "layers", Layer, complete=_complete)
category.add(InputLayer)
