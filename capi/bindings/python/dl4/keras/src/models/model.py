"""Models: functional and subclassed."""

import inspect
import json

from .... import core
from .. import overrides
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor, is_array, with_mask
from ..errors import keras_errors
from ..export import keras_export
from ..layers.layer import Layer, noted
from ..layers.tracing import Traced
from ..quantizers.quantize import quantize_model
from ..registry import register_model
from ..saving.object_registration import custom_object_scope
from ..saving.serialization_lib import serialize_keras_object
from ..symbolic.eager import call_eagerly, run_eagerly
from ..symbolic.execution import run, run_on_arrays
from ..symbolic.function import Function
from ..symbolic.step_model import is_stateful
from ..symbolic.tensor import Input, is_tensor
from ..trainers.data_adapters import as_input, fed_tensors, for_input, given_arrays, rows_of
from ..trainers.trainer import Trainer
from ..tree import flatten, map_nest, pack_like
from ..utils.naming import unique_name
from ..utils.summary_utils import summary
from .added_losses import added_losses
from .functional_config import functional_of, model_config
from .in_files import InFiles
from .inputs import Inputs
from .rebuild import from_core, parts_of, rebuilt
from .state_tree import StateTree


@keras_export("models")
class Model(Layer, Trainer, Inputs, InFiles, StateTree):
    """A model of inputs and outputs, Model(inputs, outputs), or of a subclass with a call() of its layers."""

    _interface = "model"  # of Keras's that may be overridden
    _summary_needs_build = True
    _rows = None  # of the data of the call that built it
    metrics, metrics_variables = Trainer.metrics, Trainer.metrics_variables

    def __new__(cls, *args, **kwargs):
        functional = cls is Model and (len(args) > 1 or "outputs" in kwargs)
        return super().__new__(Functional if functional else cls, *args, **kwargs)

    def __init__(self, inputs=None, outputs=None, *args, name=None, trainable=True, **kwargs):
        name = args[0] if args and isinstance(args[0], str) else name
        if type(self) in (Model, Functional) and (inputs is None) != (outputs is None):
            raise ValueError(f"All `inputs` and `outputs` must be KerasTensors. Received: {inputs=}, {outputs=}")
        super().__init__(
            name=name or (None if outputs is None else unique_name("functional")), trainable=trainable, **kwargs
        )
        self._functional, self._session, self._compiled, self._trainer = None, None, None, None
        self._training_functional = self._inferring_functional = self._saying_functional = None
        self._suspended = self._as_trained = self._initial_epoch = None
        self.stop_training, self.history, self.optimizer = False, None, None
        self._base = None if inputs is None else Function(inputs, outputs)
        if inputs is not None:
            self._begin(inputs, self._base)

    def _begin(self, inputs, functional):
        """Has this graph, or where call() is its user's that of call(), traced when it is asked for: its attributes are
        there by then."""
        if not self._has_custom_call():
            return self._set_function(functional)
        self._session = self._trainer = None
        self._training_functional = self._inferring_functional = self._saying_functional = None
        self.built = True
        del self._functional
        self._pending = inputs

    def __getattr__(self, key):
        if key == "_functional" and "_pending" in self.__dict__:
            inputs, self._functional = self.__dict__.pop("_pending"), None
            self._trace(inputs)
            return self._functional
        return super().__getattr__(key)

    def _has_custom_call(self):
        """Is there more to its calls than the layers in them?"""
        return overrides.is_overridden(
            self, "call", "compute_mask", "supports_masking", "compute_output_shape", "compute_output_spec"
        )

    def _replaced(self):
        """Its call() is another one."""
        if self._base is not None:
            self._begin(self._base.nest_in, self._base)

    def _set_function(self, functional):
        self._functional, self._session, self._trainer = functional, None, None
        self._training_functional = self._inferring_functional = self._saying_functional = None
        self.built = True

    @property
    def core(self):
        """The library's model."""
        return self._require_built().core

    def _require_built(self):
        if self._functional is None:
            if not self._inner_layers():
                raise ValueError(f"Sequential model {self.name} cannot be built because it has no layers.")
            raise ValueError(f"Model {self.name} has not yet been built: call it on data, or build(input_shape) first")
        return self._functional

    def build(self, input_shape=None):
        if self._functional is not None or input_shape is None or any(r.layer is self for r in call_context.records()):
            return
        if isinstance(input_shape, dict):
            inputs = {k: Input(batch_shape=s, name=k) for k, s in input_shape.items()}
        elif input_shape and isinstance(input_shape[0], (list, tuple)):
            inputs = [Input(batch_shape=s) for s in input_shape]
        else:
            inputs = Input(batch_shape=input_shape)
        self.built = True  # a build() of its user's has been asked, and asks this one
        self._trace(inputs)

    def _trace(self, inputs):
        """Of a subclass: its call() on symbolic tensors."""
        self._set_function(Function(inputs, self._trace_call(inputs)))

    def __call__(self, *args, **kwargs):
        self._check_spec(args)
        traced = call_context.owner() is not None
        if kwargs.get("training") is not None and call_context.records():
            call_context.say(kwargs["training"])
        if len(args) == 1 and not kwargs and not traced and not call_context.training():
            with keras_errors("Functional", {}):
                got = self._run_one_array(args[0], called=True)
            if got is not None:
                return eager_tensor(got[0])
        if traced or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
            return noted(self._call_symbolic(*args, **kwargs))
        if self._has_custom_call():
            return call_eagerly(self, args, kwargs)
        training = kwargs.pop("training", None)
        training = call_context.training() if training is None else training
        mask = kwargs.pop("mask", None)
        if len(args) == 1 and not kwargs and mask is None:
            functional = self._for_given(args[0])
            masks = [getattr(v, "_keras_mask", None) for v in flatten(args[0])]
            if functional.has_custom_calls():
                given = [eager_tensor(t.numpy()) for t in self._inputs_of(args[0])]
                if len(given) == len(masks):
                    given = [with_mask(t, m) for t, m in zip(given, masks)]
                if functional.ahead is None:
                    return run_eagerly(functional, given, training)
                inputs = given_arrays(functional, self._in_input_order(args[0]))
                return run_eagerly(functional, given, training, map(eager_tensor, inputs))
            if functional.ahead is not None or not functional.is_masked() and all(m is None for m in masks):
                self._size_for(args[0])
                return self._run(args[0], training)
        more = {"training": training, "mask": mask}
        return run_on_arrays(self, args, {**kwargs, **{k: v for k, v in more.items() if v is not None}})

    def _run(self, x, training):
        """Its session on arrays."""
        functional = self._told(training)
        losses = added_losses(functional) if functional.adds_losses else []
        session = self._inference(training, losses)
        if functional.ahead is not None:
            tensors = fed_tensors(functional, self._given_arrays(x))
        elif len(functional.inputs) == 1 and is_array(x):
            tensors = [for_input(x, functional.inputs[0])]
        else:
            tensors = self._inputs_of(x)
        with keras_errors("Functional", {}):
            outputs = run(session, tensors, functional.nest_out if not losses else [*functional.outputs, losses])
        if losses:
            *outputs, self._last_losses = outputs
            outputs = pack_like(functional.nest_out, outputs)
        return outputs

    def _trace_on_symbols(self, args, kwargs, training):
        if len(args) == 1 and not kwargs:
            self._rows = rows_of(args[0]) if self._functional is None else None
            self._build_from_data(args[0])
        else:
            super()._trace_on_symbols(args, kwargs, training)

    def _run_one_array(self, x, called=False):
        """The outputs for one array of NumPy's of the input's rank; None where there is more to say."""
        functional = self._functional
        if functional is None or not functional.plain or not hasattr(x, "flags") or x.ndim != functional.plain:
            return None
        if (
            called
            and (functional.adds_losses or functional.says_training() or not functional.is_simple())
            or getattr(x, "_keras_mask", None) is not None
            or any(a != b for a, b in zip(functional.inputs[0].shape, x.shape) if a is not None)
        ):
            return None
        return self._inference(None if called else False).through(x)

    def _told(self, training):
        """The functional model where it is told whether it is training; None: where it is not."""
        if training is None and self._require_built().says_training():
            if self._saying_functional is None:
                self._saying_functional = self._functional.as_said()
            return self._saying_functional
        if training is None:
            return self._functional
        return self._for_training() if training else self._for_inference()

    def _inference(self, training=False, losses=()):
        """A session with the weights of today, whose random numbers go on from call to call; with losses behind the
        outputs."""
        if training is None and not self._require_built().says_training():
            training = False
        if self._session is None or self._session[1] != global_state.changes():
            self._session = {}, global_state.changes()
        sessions, key = self._session[0], (training, bool(losses))
        if key not in sessions:
            functional = self._told(training)
            self._need_pure(functional)
            step = functional.as_step(training, losses)
            if step is not None:
                return step
            model = functional.with_outputs(losses) if losses else functional.core
            kept = {} if any(map(is_stateful, self._flatten_layers())) else {"states": False}
            with global_state.building:
                sessions[key] = model.session(training=bool(training), **kept)
        return sessions[key]

    def stream(self, batch=1, seed=0):
        """A dl4.Stream, which runs this model step by step with today's weights: stream(x), stream.generate(ids)."""
        self._keep_up()
        self._use_all_inputs()
        functional = self._for_inference()
        self._need_pure(functional)
        with global_state.building:
            session = functional.core.session(states=True)
        return core.Stream(session, batch, seed)

    def _need_pure(self, functional):
        """Raises where a call() assigns a variable, which it can do on arrays alone."""
        if functional.assigned is not None:
            raise NotImplementedError(
                f"{functional.assigned}: call() assigns this variable, which works only when the model is called on "
                "arrays; fit(), evaluate() and predict() do not support it"
            )
        for call in functional.constants:
            if call.variable[0]._array is not call.variable[1]:
                raise NotImplementedError(
                    f"{call.variable[0].path}: variables of type {call.variable[0].dtype} are constants in a "
                    "model, and this one was assigned after the model was made: make it again, or use a float32 one"
                )

    def _for_training(self):
        """The functional model as training sees it: the same, unless a call() asks whether it is training. As in Keras,
        a call() without that argument is not told, and layers in it do what they do in inference."""
        functional = self._require_built()
        told = not self._has_custom_call() or self._takes_training()
        if told and not functional.branches() and not functional.says_training():
            return functional
        if self._training_functional is None:
            self._training_functional = functional.in_training(told)
        return self._training_functional

    def _for_inference(self):
        """The functional model as evaluate() and predict() see it: the same, unless a layer of it was told whether it
        is training, which they replace."""
        functional = self._require_built()
        if not functional.says_training():
            return functional
        if self._inferring_functional is None:
            self._inferring_functional = functional.in_training(False)
        return self._inferring_functional

    def _takes_training(self):
        return "training" in inspect.signature(self.call).parameters

    def _call_symbolic(self, *args, **kwargs):
        """Its calls again, on other tensors; of a subclass, its call()."""
        if self._functional is None or self._has_custom_call() or len(args) != 1 or kwargs.get("mask") is not None:
            return self._trace_call(*args, **kwargs)
        functional, given = self._functional.complete, self._given(args[0])
        if len(given) != len(functional.inputs):
            raise ValueError(
                f'Layer "{self.name}" expects {len(functional.inputs)} input(s), but it received '
                f"{len(given)} input tensors. Expected the inputs {[t.name for t in functional.inputs]}"
            )

        from_axis = 0 if any(map(is_stateful, self._flatten_layers())) else 1  # of a batch of any size, as Keras
        given = [as_input(t, wanted, from_axis, self.name) for t, wanted in zip(given, functional.inputs)]
        training = kwargs.get("training")
        training = training.value if isinstance(training, call_context.Flag) else training
        training = call_context.training() if training is None else training
        with call_context.traced(self, args, kwargs, training) as record:
            again = call_context.step() is not None or functional.branches() and training is not None
            again = again or any(t is None for t in given)
            outputs = functional.called(given, training, again=again)
            record.outputs, record.branches = outputs, functional.branches()
            record.said = training is not None or functional.says_training()
        self._note_call(Traced(args, outputs))
        if call_context.owner() is not None:
            call_context.owner().losses += record.losses
            call_context.owner().branches |= record.branches
        return outputs

    def _given(self, x):
        """What it is called on, in the order of its inputs."""
        named = isinstance(x, dict) or isinstance(self._functional.nest_in, dict)
        return self._in_input_order(x) if named else flatten(x)

    def call(self, inputs, training=None, mask=None):
        """The computation of the model, on tensors. Override it in a class of your own; call the model, not this."""
        if self._base is None:
            raise NotImplementedError(f"Model {self.__class__.__name__} does not have a `call()` method implemented.")
        given = flatten(inputs)
        if call_context.owner() is not None or any(is_tensor(t) for t in given):
            return self._base.called(given)
        return run_eagerly(self._base, self._base.fed_arrays(given), training)

    # ---- what it has

    @property
    def inputs(self):
        """The symbolic inputs, as a flat list."""
        return self._functional.inputs if self._functional is not None else None

    @property
    def outputs(self):
        """The symbolic outputs, as a flat list."""
        return self._functional.complete.outputs if self._functional is not None else None

    @property
    def input(self):
        """The symbolic input; of several a list or dict, as the model was made."""
        return self._require_built().nest_in

    @property
    def output(self):
        """The symbolic output; of several a list or dict, as the model was made."""
        return self._require_built().complete.nest_out

    @property
    def input_shape(self):
        """The shape of the input, None where it is free; of several a list or dict."""
        return map_nest(lambda t: t.shape, self._require_built().nest_in)

    @property
    def output_shape(self):
        """The shape of the output, None where it is free; of several a list or dict."""
        return map_nest(lambda t: t.shape, self._require_built().nest_out)

    @property
    def input_names(self):
        """The names of the inputs."""
        return [t.name for t in self._require_built().inputs]

    @property
    def output_names(self):
        """Of the layers that give them, in Keras's way; where outputs are a dict its keys are in logs."""
        return [
            t.call.owner.layer.name if t.call.owner is not None and t.call.owner.layer not in (None, self) else t.name
            for t in self._require_built().outputs
        ]

    @property
    def layers(self):
        """The layers, in the order of their calls."""
        own = self._has_custom_call() and self._base is None or overrides.own_class(self) is not type(self)
        return (
            (self._base or self._functional).layers()
            if self._functional is not None and not own
            else self._inner_layers()
        )

    @property
    def operations(self):
        """Of a functional model: its layers and the operations between them."""
        return self._require_built().complete.layers(operations=True)

    _operations = operations

    @layers.setter
    def layers(self, _):
        raise AttributeError("`Model.layers` attribute is reserved and should not be used. Please use another name.")

    def _inner_layers(self):
        base = self.__dict__.get("_base")
        found = [x for x in base.layers() if isinstance(x, Layer)] if base is not None else []
        return (
            list(dict.fromkeys(found + super()._inner_layers()))
            if self._has_custom_call() or base is None or overrides.own_class(self) is not type(self)
            else found
        )

    @property
    def weights(self):
        """All weights, layer by layer."""
        if self._functional is None and not self._variables and not any(one.built for one in self._inner_layers()):
            return []
        return super().weights

    def get_layer(self, name=None, index=None):
        """The layer of a name, or at an index; a ValueError if there is none."""
        if index is not None and name is not None:
            raise ValueError("Provide only a layer name or a layer index.")
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(self.layers)} layers."
                )
            return self.layers[index]
        if name is None:
            raise ValueError("Provide either a layer name or layer index at `get_layer`.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}. Existing layers are: {[layer.name for layer in self.layers]}.")

    def summary(
        self,
        line_length=None,
        positions=None,
        print_fn=None,
        expand_nested=False,
        show_trainable=False,
        layer_range=None,
    ):
        """Prints the layers with their output shapes and numbers of parameters.

        Args:
            line_length, positions: width of the table and of its columns.
            print_fn: gets the text instead of the standard output.
            expand_nested: show the layers of inner models.
            show_trainable: a column that says which layers are trained.
            layer_range: names of the first and the last layer to show.
        """
        if not self.built and self._summary_needs_build:
            raise ValueError(
                "This model has not yet been built. Build the model first by calling `build()` or by calling "
                "the model on a batch of data."
            )
        text = summary(self, line_length, positions, expand_nested, show_trainable, layer_range)
        (print_fn or print)(text)

    def to_json(self, **kwargs):
        """The architecture, as Keras writes it; model_from_json() reads it. kwargs: of json.dumps()."""
        return json.dumps(serialize_keras_object(self), **{"default": list, **kwargs})

    def get_config(self):
        """Of a functional or sequential model, its layers and calls; a subclass says it itself."""
        return {} if overrides.is_overridden(self, "call") else model_config(self)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A model of what get_config() gave; `custom_objects` is a dict from name to class."""
        with custom_object_scope(custom_objects):
            if "input_layers" in config:
                return functional_of(cls, config)
            return cls(**config)

    def _as_config(self):
        return serialize_keras_object(self)

    def _to_json(self):
        return {"class_name": "Functional", "config": {"model": json.loads(self.core.describe(0)), "name": self.name}}

    def get_quantization_layer_structure(self, mode=None):
        """For "gptq" and "awq": {"pre_block_layers": ..., "sequential_blocks": ...}, which a subclass says."""

    def quantize(self, mode=None, config=None, filters=None, **kwargs):
        """Weights as whole numbers of fewer bits, "int8", "int4", or fitted to texts as a config of `keras.quantizers`
        says; of all layers that can be, or of those whose names `filters` finds."""
        type_check = kwargs.pop("type_check", True)
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {kwargs}")
        quantize_model(self, mode, config, filters, type_check)

    def __reduce__(self):
        if type(self).__module__.startswith("dl4.") and (self._functional is None or not self._functional.ahead):
            try:
                return rebuilt, parts_of(self)
            except NotImplementedError:  # it has no config: what it computes is kept
                pass
        return _unpickle, (self.core.to_bytes(),)


def _unpickle(data):
    return from_core(core.Model.from_bytes(data, global_state.context()), Model)


class _OfFunctions(type(Model)):
    def __instancecheck__(cls, thing):  # models of a subclass, of inputs and outputs, are functional too
        return super().__instancecheck__(thing) or cls is Functional and getattr(thing, "_base", None) is not None


@keras_export("models")
class Functional(Model, metaclass=_OfFunctions):
    """What Model(inputs, outputs) gives."""


register_model(Functional, "Model")
