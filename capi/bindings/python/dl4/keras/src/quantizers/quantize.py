"""model.quantize(): weights of its layers as whole numbers of fewer bits."""

import re
import warnings

from .... import core
from ..models.rebuild import from_core
from ..symbolic.function import Function
from .quantization_config import Int4QuantizationConfig, Int8QuantizationConfig, validate_and_resolve_config
from .quantizers import AbsMaxQuantizer

_KINDS = ("Dense", "EinsumDense", "Embedding", "ReversibleEmbedding", "MultiHeadAttention", "GroupQueryAttention")
_HEADS = ("query", "key", "value", "attention_output")


def _plain(quantizer, what, axes):
    """Of an AbsMaxQuantizer its numbers."""
    if type(quantizer) is not AbsMaxQuantizer or quantizer.output_dtype != "int8":
        raise NotImplementedError(f"{what}: expected an AbsMaxQuantizer to int8, got {quantizer!r}")
    if quantizer.axis not in axes:
        raise NotImplementedError(f"{what}: the axis follows from the layer, got axis={quantizer.axis}")
    return {"value_range": [float(v) for v in quantizer.value_range], "epsilon": float(quantizer.epsilon)}


def _options(config):
    """As the library is told."""
    inputs = config.activation_quantizer
    block = getattr(config, "block_size", None)
    mode = "int8" if config.mode == "int8" else f"int4/{-1 if block is None else block}"
    given = None if inputs is None else _plain(inputs, "activation_quantizer", (None, (-1,)))
    options = {"mode": {"mode": mode, "inputs": given}}
    if config.weight_quantizer is not None:
        options.update(_plain(config.weight_quantizer, "weight_quantizer", (None, (0,), (-1,))))
    return options


def _is_meant(name, filters, layer):
    if filters is None:
        return True
    if callable(filters):
        return bool(filters(layer))
    return any(re.search(f, name) for f in ([filters] if isinstance(filters, str) else filters))


def should_quantize_layer(layer, filters):
    """Does `filters` of quantize() find it?"""
    return _is_meant(layer.name, filters, layer)


def _meant(layer, filters):
    if layer._class_name not in ("MultiHeadAttention", "GroupQueryAttention") or filters is None:
        return should_quantize_layer(layer, filters)
    if callable(filters):
        raise NotImplementedError(f"`filters` as a function of the layers inside of {layer.name}: give names")
    meant = [_is_meant(part, filters, None) for part in _HEADS]
    if any(meant) and not all(meant):
        raise NotImplementedError(f"layer {layer.name}: its projections are quantized together or not at all")
    return all(meant)


def quantize_model(model, mode, config, filters, is_plain):
    """Its layers stay the same objects."""
    config = validate_and_resolve_config(mode, config)
    if config.mode not in ("int8", "int4"):
        raise NotImplementedError(f"quantize('{config.mode}') is not in this version; it has 'int8' and 'int4'")
    if type(config) not in (Int8QuantizationConfig, Int4QuantizationConfig):
        raise NotImplementedError(f"{type(config).__name__}: of configs the library's of int8 and int4 are followed")
    if filters is not None and not (isinstance(filters, (str, list, tuple)) or callable(filters)):
        raise ValueError(
            "The `filters` argument must be a regex string, a list of regex strings, or a callable. Received: "
            f"{type(filters)}"
        )
    options = _options(config)
    model._require_built()
    if not is_plain(model):
        raise NotImplementedError("quantize(): layers or models of Python's inside are not in this version")
    names = []
    for layer in model.layers:
        if getattr(layer, "_class_name", None) not in _KINDS:
            warnings.warn(f"Layer {type(layer).__name__} does not have a `quantize` method implemented.")
        elif _meant(layer, filters):
            if layer._config.get("quantization") is not None:
                raise ValueError(f"Layer '{layer.name}' is already quantized. Received: mode={config.mode}")
            names.append(layer.name)
    made = core.Model.from_bytes(model.core.to_bytes(), model.core.context, quantize={**options, "layers": names})
    layers = {x.name: x for x in model.layers if getattr(x, "_class_name", None) is not None}
    function = from_core(made, Function, layers)
    if model._base is not None:
        model._base = function
    model._set_function(function)
