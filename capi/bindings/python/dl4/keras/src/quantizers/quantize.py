"""quantize() of layers and models: weights as whole numbers of fewer bits."""

import re
import warnings

from .... import core
from .. import dtype_policies
from ..backend.config import computed_in
from . import calibrated, fitting, numbers
from .quantization_config import (
    Int4QuantizationConfig,
    Int8QuantizationConfig,
    MODES,
    validate_and_resolve_config,
)
from .quantizers import AbsMaxQuantizer

HEADED = ("MultiHeadAttention", "GroupQueryAttention")
KINDS = ("Dense", "EinsumDense", "Embedding", "ReversibleEmbedding", *HEADED)
_MODES = ("'int8'", "'int4'", "'gptq'", "'awq'")


# ---- policies and configs as the library has them: {"mode": "int4/128", "inputs": ...}


def quantizing(dtype):
    """The policy of a dtype, if it quantizes or says policies by path."""
    if dtype is None:
        policy = dtype_policies.dtype_policy()
    elif isinstance(dtype, dict) and dtype.get("class_name") not in ("DTypePolicy", "FloatDTypePolicy"):
        policy = dtype_policies.deserialize(dtype)
    elif isinstance(dtype, str) and "_from_" in dtype:
        policy = dtype_policies.get(dtype)
    else:
        policy = dtype
    if isinstance(policy, dtype_policies.DTypePolicyMap):
        return policy
    return policy if getattr(policy, "quantization_mode", None) is not None else None


def from_float32(policy):
    """The same policy with float32 beside the whole numbers, which is said where another float was meant."""
    dtype_policies.need_no_float8(policy, "dtype")
    said = policy.get_config()
    return type(policy).from_config({**said, "source_name": computed_in(said["source_name"])})


def heads_of(layer):
    """The projections of an attention layer."""
    return ("query", "key", "value", *(["gate"] if layer.use_gate else []), "attention_output")


def for_layer(policy, layer):
    """The policy of a layer by its name, where a map says it by path; of attention that of its projections."""
    if not isinstance(policy, dtype_policies.DTypePolicyMap):
        return policy
    name, headed = layer.name, layer._class_name in HEADED
    paths = [f"{name}/{part}" for part in heads_of(layer)] if headed else [name]
    found = [_at(policy, path) for path in paths]
    if any(p != found[0] for p in found):
        raise NotImplementedError(
            f"layer {name}: the projections of an attention layer are quantized all together or not at "
            "all"
        )
    return found[0]


def _at(policies, path):
    below = [key for key in policies if key.endswith(f"/{path}")]  # layers are named, and not by path
    return policies[path] if path in policies or len(below) != 1 else policies[below[0]]


def of_policy(layer, policy, config):
    """The library's words of a policy, with the quantizers of a config; None: it does not quantize."""
    policy = for_layer(policy, layer)
    mode = policy.quantization_mode
    if mode is None:
        return None
    if layer._class_name not in KINDS or layer._class_name in HEADED and policy is layer._policy:
        raise layer._not_implemented_error(f"_{mode}_call")
    if mode in ("gptq", "awq"):
        return {"mode": f"{mode}/{policy.weight_bits}/{policy.group_size}", "inputs": None}
    if config is None:
        inputs = mode == "int8" or layer._class_name == "ReversibleEmbedding"
        config = Int8QuantizationConfig() if mode == "int8" else None
        given = _plain(AbsMaxQuantizer(), "activation_quantizer", (None,)) if inputs else None
    else:
        given = _options(config)["mode"]["inputs"]
    block = getattr(config, "block_size", None) if mode == "int4" and config else getattr(policy, "block_size", None)
    return {"mode": mode if mode == "int8" else f"int4/{-1 if block is None else block}", "inputs": given}


def mode_of(how):
    """The word of the library's words; None of one that does not quantize."""
    return how and (how if isinstance(how, str) else how["mode"]).split("/")[0]


def policy_of(how, source="float32"):
    """The policy of the library's words."""
    return dtype_policies.get(f"{how['mode'] if isinstance(how, dict) else how}_from_{source}")


def quantizer_of(inputs):
    """The quantizer of the library's words of inputs."""
    return inputs and AbsMaxQuantizer(value_range=tuple(map(int, inputs["value_range"])), epsilon=inputs["epsilon"])


def config_of(how):
    """The config of the library's words."""
    mode, inputs = how["mode"], quantizer_of(how["inputs"])
    if mode == "int8":
        return Int8QuantizationConfig(activation_quantizer=inputs)
    return Int4QuantizationConfig(None, inputs, int(mode.split("/")[1])) if mode.startswith("int4/") else None


def config_of_policy(policy):
    """With which quantize() gives a layer a policy: also its blocks, where Keras takes those of 128 rows."""
    if not isinstance(policy, dtype_policies.Int4DTypePolicy):
        return validate_and_resolve_config(policy.quantization_mode, None)
    return Int4QuantizationConfig(block_size=None if policy.block_size == -1 else policy.block_size)


def map_of(layer, how):
    """Of attention: the policies of its projections, by which Keras makes them as if no config had been given."""
    inputs, default = how["inputs"], mode_of(how) == "int8" and _plain(AbsMaxQuantizer(), "activation_quantizer")
    if (inputs or None) != (default or None):
        raise NotImplementedError(
            f"layer {layer.name}: Keras's config of attention has no place for an activation_quantizer, expected "
            f"{default or None}, got {inputs or None}; .safetensors keeps it"
        )
    policies = {f"{layer.name}/{part}": policy_of(how) for part in heads_of(layer)}
    return dtype_policies.DTypePolicyMap("float32", policies)


def _plain(quantizer, what, axes=None):
    """Of an AbsMaxQuantizer its numbers; its axis is one of `axes`."""
    if type(quantizer) is not AbsMaxQuantizer or quantizer.output_dtype != "int8":
        raise NotImplementedError(f"{what}: expected an AbsMaxQuantizer to int8, got {quantizer!r}")
    if axes is not None and quantizer.axis not in axes:
        raise NotImplementedError(f"{what}: the axis follows from the layer, got axis={quantizer.axis}")
    return {"value_range": [float(v) for v in quantizer.value_range], "epsilon": float(quantizer.epsilon)}


def _options(config):
    """As the library is told."""
    if type(config) not in (Int8QuantizationConfig, Int4QuantizationConfig):
        raise NotImplementedError(f"{type(config).__name__} is not supported: only the int8 and int4 configs are")
    inputs = config.activation_quantizer
    block = getattr(config, "block_size", None)
    mode = "int8" if config.mode == "int8" else f"int4/{-1 if block is None else block}"
    given = None if inputs is None else _plain(inputs, "activation_quantizer", (None, (-1,)))
    options = {"mode": {"mode": mode, "inputs": given}}
    if config.weight_quantizer is not None:
        options.update(_plain(config.weight_quantizer, "weight_quantizer"))
    return options


# ---- a layer


def checked(layer, mode, config):
    """The config of quantize(), where it may be called."""
    config = validate_and_resolve_config(mode, config)
    if not layer.built:
        raise ValueError(
            f"Cannot quantize a layer that isn't yet built. Layer '{layer.name}' (of type '{type(layer).__name__}') is "
            "not built yet."
        )
    how = layer._how()
    if how is not None:
        name = heads_of(layer)[-1] if layer._class_name in HEADED else layer.name
        policy = policy_of(how) if layer._class_name in HEADED else layer.dtype_policy
        raise ValueError(
            f"Layer '{name}' is already quantized with dtype_policy='{policy.name}'. Received: mode={config.mode}"
        )
    if config.mode not in MODES:
        raise ValueError(f"Invalid quantization mode. Expected one of {MODES}. Received: mode={config.mode}")
    return config


def quantize_layer(layer, config, type_check, headed=False):
    """Makes its weights whole numbers; it stays the same object."""
    kind = layer._class_name
    ours = kind in KINDS and (headed or kind not in HEADED)
    if not ours or type_check and type(layer).__name__ != kind:
        raise layer._not_implemented_error("quantize")
    if config.mode not in calibrated.METHODS:
        _need_known(config.mode)
    if layer._first_native_call is None:
        raise ValueError(
            f"layer {layer.name}: its call() does not call {kind}.call(), whose weights would be "
            "quantized"
        )
    if config.mode in calibrated.METHODS:
        fitting.begin(layer, config)
        layer._policy, layer._quantization_config = policy_of(layer._waiting.how), config
        return
    options = _options(config)
    _need_axis(layer, config)
    if _is_matrix(layer, config):
        options = {"mode": options["mode"]}
    alone = layer._alone()
    name = layer._names_in_graphs[alone.graph]
    data = alone.core.to_bytes()
    made = core.Model.from_bytes(data, alone.core.context, quantize={**options, "layers": [name]})
    layer._become(
        {"quantization": options["mode"]},
        {whole[len(name) + 1 :]: made.get_weight(whole) for whole in made.names(2) if whole.startswith(f"{name}/")},
    )
    if kind not in HEADED:
        layer._policy, layer._quantization_config = policy_of(options["mode"]), config


def _is_matrix(layer, config):
    """Is its kernel quantized as a matrix, in Keras's way and no other?"""
    return config.mode == "int4" and layer._class_name in ("EinsumDense", *HEADED)


def _need_axis(layer, config):
    """A quantizer of weights has to have the axes that the layer sums over: of an Embedding those of a row."""
    if config.weight_quantizer is None or _is_matrix(layer, config):
        return
    kind, given, axes, rank = layer._class_name, config.weight_quantizer.axis, (0,), 2
    if kind == "EinsumDense":
        kernel, outputs = re.fullmatch(r".*,(.*)->(.*)", layer.equation).groups()
        axes, rank = tuple(i for i, letter in enumerate(kernel) if letter not in outputs), len(kernel)
    elif kind in ("Embedding", "ReversibleEmbedding"):
        axes = (1,)
    one = kind not in HEADED and "reverse_embeddings" not in layer._weight_facts()
    if not one or tuple(sorted(a % rank for a in given or (-1,))) != axes:
        wanted = f"axis={axes}" if one else "none, as its kernels have different axes"
        raise ValueError(f"layer {layer.name}: weight_quantizer: expected {wanted}, got axis={given}")


def _need_known(mode):
    if mode not in ("int8", "int4"):
        raise NotImplementedError(f"quantize('{mode}') is not in this version; it has {', '.join(_MODES)}")


def unpacked(layer, key, mode):
    """A kernel or table of 4 bits as Keras shows it; None of one that is not packed."""
    word, _, rest = mode.partition("/")
    bits = int(rest.split("/")[0]) if word in ("gptq", "awq") else 4 if word == "int4" else 8
    if word in ("gptq", "awq"):
        stored = layer._weight("quantized_kernel").value
        columns = layer.units if layer._class_name == "Dense" else layer._weight_facts()["kernel_scale"][0][0]
        return numbers.unpack_int4(stored, columns, 0, "uint8") if bits == 4 else stored
    if bits != 4:
        return None
    stored = layer._weight(key).value
    if key == "reverse_embeddings":
        return numbers.unpack_int4(stored, layer.output_dim, 0)
    if key == "embeddings":
        return numbers.unpack_int4(stored, layer.output_dim, -1)
    columns = layer._weight_facts()["kernel_scale"][0][-1]
    whole = numbers.unpack_int4(stored, columns, -1)
    return whole if layer._class_name == "Dense" else whole.reshape(_kernel_shape(layer))


def _kernel_shape(layer):
    """Of an EinsumDense, by the letters of its equation and the shapes of a call."""
    call, sizes = layer._first_native_call, {}
    inputs, kernel, outputs = re.fullmatch(r"(.*),(.*)->(.*)", layer.equation).groups()
    for letters, shape in ((inputs, call.inputs[0].shape), (outputs, call.outputs[0].shape)):
        first, _, last = letters.partition("...")
        sizes.update(zip(first, shape))
        sizes.update(zip(reversed(last), reversed(shape)))
    return tuple(sizes[letter] for letter in kernel)


def first_groups(how, size):
    """The group of each of `size` places, as Keras has them before there are others."""
    import numpy

    block = int(how["mode"].rpartition("/")[2])
    return numpy.arange(size) // block if block > 0 else numpy.zeros(size)


# ---- a model


def _is_meant(name, filters, layer):
    if filters is None:
        return True
    if callable(filters):
        return bool(filters(layer))
    return any(re.search(f, name) for f in ([filters] if isinstance(filters, str) else filters))


def should_quantize_layer(layer, filters):
    """Does `filters` of quantize() find it?"""
    return _is_meant(layer.name, filters, layer)


def _heads_are_meant(layer, filters):
    if filters is None:
        return True
    meant = [_is_meant(part, filters, layer._filtered(part)) for part in heads_of(layer)]
    if any(meant) and not all(meant):
        raise NotImplementedError(
            f"layer {layer.name}: the projections of an attention layer are quantized all together or not at "
            "all"
        )
    return all(meant)


def quantize_model(model, mode, config, filters, type_check):
    """All layers in it that are meant and can be."""
    config = validate_and_resolve_config(mode, config)
    if filters is not None and not (isinstance(filters, (str, list, tuple)) or callable(filters)):
        raise ValueError(
            "The `filters` argument must be a regex string, a list of regex strings, or a callable. Received: "
            f"{type(filters)}"
        )
    checked(model, None, config)
    if config.mode in calibrated.METHODS:
        _calibrate(model, config, filters)
        return
    _need_known(config.mode)
    _options(config)  # what can't be followed is said before a layer changes
    layers = list(dict.fromkeys(model._flatten_layers()))
    heads = [layer for layer in layers if layer._class_name in HEADED and _heads_are_meant(layer, filters)]
    for layer in layers:
        by_name = layer._class_name not in HEADED and should_quantize_layer(layer, filters)
        if layer in heads or by_name and layer._class_name in KINDS and layer.built and layer._how() is None:
            _need_axis(layer, config)
    for layer in layers:
        if layer in heads:
            quantize_layer(layer, checked(layer, None, config), type_check, headed=True)
        elif layer._class_name in HEADED or not should_quantize_layer(layer, filters):
            continue
        elif len(layer._flatten_layers()) == 1:
            try:
                layer.quantize(config.mode, type_check=type_check, config=config)
            except NotImplementedError as e:
                warnings.warn(str(e), stacklevel=3)


def _calibrate(model, config, filters):
    """The layers of the blocks that the model or the config names; those beside them stay as they are."""
    mode = config.mode
    structure = config.quantization_layer_structure or model.get_quantization_layer_structure(mode)
    if structure is None:
        raise ValueError(
            f"For {mode=}, a valid quantization structure must be provided either via "
            "`config.quantization_layer_structure` or by overriding `model.get_quantization_layer_structure(mode)`. "
            "The structure should be a dictionary with keys 'pre_block_layers' and 'sequential_blocks'."
        )

    def become(layer, values):
        how = {"mode": config.dtype_policy_string(), "inputs": None}
        fitting.become(layer, how, values)
        if layer._class_name not in HEADED:
            layer._policy, layer._quantization_config = policy_of(how), config

    def meant(layer):
        if not should_quantize_layer(layer, filters) or checked(layer, None, config) is None:
            return False
        if type(layer).__name__ != layer._class_name:
            raise layer._not_implemented_error("quantize")
        fitting.need_no_lora(layer, mode)
        return True

    def heads_are_meant(layer):
        if not _heads_are_meant(layer, filters) or checked(layer, None, config) is None:
            return False
        fitting.need_no_lora(layer, mode)
        return True

    calibrated.quantize_blocks(config, structure, meant, heads_are_meant, become)
