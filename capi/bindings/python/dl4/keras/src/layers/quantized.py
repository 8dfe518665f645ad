"""A layer's policy of types, and its weights as whole numbers of fewer bits."""

import copy
import functools
import operator
from weakref import WeakKeyDictionary

from .... import core
from .. import dtype_policies
from ..backend import call_context, global_state
from ..backend.config import computed_in
from ..quantizers import fitting, quantize
from ..saving.serialization_lib import serialize_keras_object
from ..symbolic.execution import suspend_trainers
from ..symbolic.function import Function
from ..symbolic.tensor import Call, Input
from .lora import is_part

_FLOAT = dtype_policies.DTypePolicy("float32")
_BYTES = {"quantized_kernel": "uint8", "zero_point": "uint8"}  # bytes of the library that have no sign in Keras
_SHOWN = {"quantized_kernel": "kernel"}
_WRAPPERS = ("Bidirectional", "TimeDistributed", "RNN", "StackedRNNCells")
_PACKED = ("kernel", "embeddings", "reverse_embeddings")


class QuantizedLayer:
    """The part of a layer that policies and quantize() change."""

    _form = 0  # a number of its own for each change of what its weights are
    _policy = _quantization_config = _waiting = None
    _fitted = True  # are its whole numbers those of GPTQ or AWQ? Of a layer that was made of a policy not yet

    def _take_policy(self, dtype, config):
        """Of what __init__() is given as dtype what the config has; a policy that quantizes is kept."""
        self._policy, self._quantization_config = None, config
        policy = quantize.quantizing(dtype) if dtype is not None or self._class_name in quantize.KINDS else None
        if policy is None:
            mixed = dtype_policies.mixed_bfloat16(dtype)
            if mixed is None:
                return computed_in(dtype)
            self._policy = mixed
            # In the library's layers products are; of a wrapper the layer inside says it.
            multiplies = self._class_name is not None and not self._is_operation and self._class_name not in _WRAPPERS
            return mixed.name if multiplies else None
        dtype_policies.need_no_float8(policy, "dtype")
        if self._class_name is None and policy.quantization_mode is not None:
            raise NotImplementedError(
                f"{type(self).__name__}: 'dtype': a layer of one's own is not quantized in this version; expected a "
                f"plain type such as 'float32', got {policy.name!r}"
            )
        self._fitted = policy.quantization_mode not in ("gptq", "awq")
        maps = isinstance(policy, dtype_policies.DTypePolicyMap)
        self._policy = policy if maps else quantize.from_float32(policy)
        return None

    @property
    def path(self):
        """Its name, as layers are called here."""
        return self.name

    @property
    def dtype_policy(self):
        """The DTypePolicy: types of variables and of the computation."""
        policy = self._policy
        if policy is None and self._quantization() is not None:
            return quantize.policy_of(self._quantization()) if self._class_name not in quantize.HEADED else _FLOAT
        return _FLOAT if policy is None else policy

    @dtype_policy.setter
    def dtype_policy(self, value):
        policy = dtype_policies.get(value)
        if policy.quantization_mode is None:
            if self.quantization_mode is not None:
                raise NotImplementedError(f"{self.name}.dtype_policy: it is quantized, got {policy.name!r}")
            self._set_policy(value)
            return
        if self.built and self._quantization() is None:
            if policy.quantization_mode in ("gptq", "awq"):
                raise ValueError(
                    f"Implicitly enabling {policy.quantization_mode.upper()} quantization by setting `dtype_policy` to "
                    f"'{value}' is not supported. It requires a calibration dataset and a config.\n\nPlease use the "
                    "`.quantize(mode, config=...)` method on the layer or model instead."
                )
            self.quantize(config=quantize.config_of_policy(policy))
        elif self._quantization() is None:
            self._policy = quantize.from_float32(policy)
            self._config["quantization"] = quantize.of_policy(self, self._policy, self._quantization_config)
            self._graphs.clear()

    def _set_policy(self, value):
        """That of a layer that does not quantize."""
        before, dtype = self._policy, self._take_policy(value, None) or "float32"
        if self._class_name is None or dtype == self._config.get("dtype", "float32"):
            return
        if self.built:
            policy, self._policy = self.dtype_policy, before
            raise NotImplementedError(
                f"{self.name}.dtype_policy: expected it before the layer's first call, got {policy.name!r} after it"
            )
        self._config["dtype"] = dtype
        self._graphs.clear()

    def _told_of_quantizers(self):
        """What Keras has as quantization_config."""
        if self._quantization_config is None and self._policy is None and self._quantization() is not None:
            return quantize.config_of(self._quantization())
        return self._quantization_config

    def _quantization(self):
        """As the library has it."""
        return self.__dict__.get("_config", {}).get("quantization")

    def _how(self):
        """As the library has it, or will have it when the layer is fitted."""
        return self._quantization() if self._waiting is None else self._waiting.how

    @property
    def quantization_mode(self):
        """How its weights are quantized; of attention its projections are, which are no layers here."""
        return None if self._class_name in quantize.HEADED else quantize.mode_of(self._how())

    def __dir__(self):
        """Words of calibration only where one was asked for, as in Keras."""
        fitted = self.quantization_mode in ("gptq", "awq")
        return [name for name in super().__dir__() if fitted or not name.endswith("_calibrated")]

    def _is_fitted(self, mode):
        return self.quantization_mode == mode and self._waiting is None and self._fitted

    def _say_fitted(self, mode, yes):
        """Its variables are what it computes with from now on."""
        if self.quantization_mode == mode and self._waiting is None and not yes:
            raise NotImplementedError(f"{self.name}.is_{mode}_calibrated: its kernel of floats is gone, got {yes!r}")
        if self.quantization_mode == mode and yes:
            self._fitted = True
            if self._waiting is not None:
                fitting.settle(self)

    def _columns(self, mode):
        """Of an EinsumDense that GPTQ or AWQ quantizes the columns of its kernel as a matrix; None of others."""
        if self.quantization_mode != mode or not self.built:
            return self.__dict__.get(f"_{mode}_columns")
        if self._waiting is not None:
            return self._waiting.variables["kernel_scale"].shape[0]
        return self._weight_facts()["kernel_scale"][0][0]

    def quantize(self, mode=None, config=None, type_check=True):
        """Its weights become whole numbers of fewer bits."""
        quantize.quantize_layer(self, quantize.checked(self, mode, config), type_check)

    def quantized_build(self, input_shape, mode, config=None):
        """Refused: variables of whole numbers are made by quantize(), or by the build() of a dtype that quantizes."""
        if self._class_name not in quantize.KINDS or self._class_name in quantize.HEADED:
            raise self._not_implemented_error("quantized_build")
        if mode not in quantize.MODES:
            raise _mode_error(mode)
        raise NotImplementedError(
            f"{self.name}.quantized_build({input_shape}, {mode!r}, {config}) is not in this version: expected "
            "quantize(), or a `dtype` that quantizes"
        )

    def quantized_call(self, *args, **kwargs):
        """What a quantized layer computes."""
        if self.quantization_mode is None:
            raise _mode_error(None)
        return self.call(*args, **kwargs)

    def _not_implemented_error(self, name):
        return NotImplementedError(f"Layer {type(self).__name__} does not have a `{name}` method implemented.")

    def _policies_in_config(self, config):
        """As Keras's configs say it."""
        how = config.pop("quantization", None)
        if self._class_name in quantize.HEADED:
            if how is not None:
                config["dtype"] = serialize_keras_object(quantize.map_of(self, how))
        elif self._class_name in quantize.KINDS:
            told = self._told_of_quantizers()
            if getattr(told, "quantization_layer_structure", None) is not None:  # of layers, which say configs in turn
                told = copy.copy(told)
                told.quantization_layer_structure = None
            config["quantization_config"] = serialize_keras_object(told)
        if self._class_name == "EinsumDense" and self._columns("gptq"):
            config["gptq_unpacked_column_size"] = self._columns("gptq")
        if self._class_name not in quantize.HEADED and (how is not None or self._policy is not None):
            config["dtype"] = serialize_keras_object(self.dtype_policy)
        return config

    # ---- another form of the same layer

    def _alone(self):
        """A model of this layer, with its weights."""
        first = self._first_native_call
        with call_context.apart(), call_context.traced(None):
            inputs = [Input(batch_shape=t.shape, dtype=t.dtype) for t in first.inputs]
            return Function(inputs, Call(self, inputs, {}).infer_outputs(), alone=True)

    def _become(self, config, values, keep=False):
        """The same layer with other attributes of the library's and these weights; models that have it are made anew
        when they are asked for. keep: those that it had are what they were."""
        frozen = [name for name, (_, trained) in self._weight_facts().items() if not trained]
        suspend_trainers({id(self)})
        self._config.update(config)
        self._graphs, self._names_in_graphs = WeakKeyDictionary(), WeakKeyDictionary()
        self._graph = self._core = self._facts = None
        self._weights = {name: w for name, w in self._weights.items() if keep or name not in self._changed_weights()}
        self._traces, self._traced_penalties = {}, None
        self._form = global_state.formed()
        made, name = self._alone().core, self._home_name
        for key, value in values.items():
            made.set_weight(f"{name}/{key}", value)
        known = self._weight_facts()
        for key in frozen:
            if key in known and known[key][1]:
                made.set_trainable(f"{name}/{key}", False)
        self._forget_facts()
        global_state.changed()

    def _move(self, graph, model):
        """Its weights are to be found in another graph, which shares them."""
        self._graph, self._home_name, self._core = graph, self._names_in_graphs[graph], model
        self._forget_facts()

    def _changed_weights(self):
        """Of a quantized layer those that are not as they were."""
        return [name for name in self._weights if not _stays(name)]

    def _quantized_name(self, key):
        """What the library calls the weight that Keras has as an attribute."""
        turned = self.quantization_mode in ("gptq", "awq")
        return "zero_point" if key == "kernel_zero" and turned else key

    def _shown_name(self, name):
        """What Keras calls a weight that the library has under this name."""
        return "kernel_zero" if name == "zero_point" and self._class_name == "Dense" else _SHOWN.get(name, name)

    def _begin_groups(self):
        """Weights that say which group a place is in, where nobody has set them."""
        for name, (shape, _) in self._weight_facts().items() if self._quantization() is not None else ():
            if name.rsplit("/", 1)[-1] == "g_idx":
                self._core.set_weight(
                    f"{self._home_name}/{name}", quantize.first_groups(self._quantization(), shape[0]).astype("float32")
                )

    def _need_numbers(self):
        """Refuses scales, zero points and groups that can't be: what the library reads it looks at."""
        if self._quantization() is not None:
            alone = self._alone().core
            core.Model.from_bytes(alone.to_bytes(), alone.context)

    def _dtype_of(self, name):
        """The type that Keras gives to a weight of a quantized layer."""
        model, home = self._home()
        dtype = model.dtypes(2)[model.names(2).index(f"{home}/{name}")]
        return _BYTES.get(name.rsplit("/", 1)[-1], "int8") if dtype == "uint8" else dtype

    def _unpacked(self, key):
        """A kernel or table of 4 bits as Keras shows it; None of another weight."""
        how = self._quantization()
        if key not in _PACKED or how is None or not self.__dict__.get("built"):
            return None
        if key not in self._weight_facts() and (key != "kernel" or "quantized_kernel" not in self._weight_facts()):
            return None
        return quantize.unpacked(self, key, how if isinstance(how, str) else how["mode"])


def complete(cls):
    """Adds what Keras's layers have that GPTQ and AWQ fit."""
    for mode in ("gptq", "awq"):
        get, put = operator.methodcaller("_is_fitted", mode), functools.partial(_say_fitted, mode)
        setattr(cls, f"is_{mode}_calibrated", property(get, put))


def _say_fitted(mode, layer, yes):
    layer._say_fitted(mode, yes)


def _mode_error(mode):
    return NotImplementedError(
        f"Invalid quantization mode. Expected one of {dtype_policies.QUANTIZATION_MODES}. Received: "
        f"quantization_mode={mode}"
    )


def _stays(name):
    """Is a weight of that name as it was where the kernel beside it is quantized?"""
    return name.rsplit("/", 1)[-1] == "bias" or is_part(name)


def in_order(names):
    """Names of weights as Keras lists them: of a quantized kernel those that are trained first."""
    groups = {}
    for name in names:
        groups.setdefault(name.rpartition("/")[0], []).append(name)
    for group in groups.values():
        if any(name.endswith("_scale") for name in group):
            group.sort(key=lambda name: not _stays(name))
    return [name for group in groups.values() for name in group]
