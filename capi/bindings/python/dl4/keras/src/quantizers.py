"""Weights as whole numbers of fewer bits: quantizers on arrays, configs, and what they make of a model."""

import math
import re
import warnings

import numpy as np

from ... import core
from .export import keras_export
from .models.rebuild import from_core
from .symbolic.function import Function

MODES = ("int8", "float8", "int4", "gptq", "awq")
_KINDS = ("Dense", "EinsumDense", "Embedding", "ReversibleEmbedding", "MultiHeadAttention", "GroupQueryAttention")
_HEADS = ("query", "key", "value", "attention_output")


def abs_max_quantize(inputs, axis, value_range=(-127, 127), dtype="int8", epsilon=1e-7, to_numpy=False):
    """Whole numbers by the largest magnitude along an axis, and their scale: `inputs` times the scale, rounded."""
    x = np.asarray(inputs)
    axis = tuple(axis) if isinstance(axis, list) else axis
    largest = np.max(np.abs(x), axis=axis, keepdims=True)
    scale = np.divide(value_range[1], np.add(largest, x.dtype.type(epsilon))).astype(x.dtype)
    return np.clip(np.round(np.multiply(x, scale)), *value_range).astype(dtype), scale


def abs_max_quantize_grouped_with_zero_point(
    inputs, block_size, value_range=(-8, 7), dtype="int8", epsilon=1e-7, to_numpy=False
):
    """By blocks of rows of a matrix: whole numbers, scales and zero points, (blocks, columns) each."""
    x = np.asarray(inputs)
    rows, columns = x.shape
    groups, (low, high) = math.ceil(rows / block_size), value_range
    blocks = np.zeros((groups * block_size, columns), x.dtype)
    blocks[:rows] = x
    blocks = blocks.reshape(groups, block_size, columns)
    least, most = blocks.min(axis=1, keepdims=True), blocks.max(axis=1, keepdims=True)
    scale = np.divide(np.subtract(most, least) + x.dtype.type(epsilon), x.dtype.type(high - low))
    zero = np.clip(np.round(np.divide(-least, scale)) + low, low, high)
    whole = np.clip(np.round(np.divide(blocks, scale)) + zero, low, high).astype(dtype)
    return whole.reshape(-1, columns)[:rows], scale[:, 0], zero[:, 0].astype("int8")


def _need_bytes(dtype):
    if dtype not in ("int8", "uint8"):
        raise ValueError(f"Expected dtype to be 'int8' or 'uint8', but got '{dtype}'.")


def pack_int4(arr, axis=0, dtype="int8"):
    """Two numbers of 4 bits in a byte, the first in its lower half: (packed, its shape, the length of the axis)."""
    _need_bytes(dtype)
    x = np.asarray(arr)
    if x.dtype != dtype:
        raise TypeError(f"Expected {dtype} tensor for packing, got {x.dtype}.")
    x = np.moveaxis(x, axis, 0)
    length = x.shape[0]
    if length % 2:
        x = np.concatenate([x, np.zeros_like(x[:1])])
    bits = x.view("uint8") & 15
    packed = np.moveaxis((bits[::2] | bits[1::2] << 4).view(dtype), 0, axis)
    return packed, packed.shape, length + length % 2


def unpack_int4(packed, orig_len, axis=0, dtype="int8"):
    """The numbers of 4 bits that pack_int4() put together."""
    _need_bytes(dtype)
    x = np.asarray(packed)
    if x.dtype not in ("int8", "uint8"):
        raise TypeError(f"Expected int8 or uint8 tensor for unpacking, got {x.dtype}")
    bits = np.moveaxis(np.ascontiguousarray(x), axis, 0).view("uint8") if x.ndim else x
    both = np.stack([bits & 15, bits >> 4], axis=1).reshape((-1,) + bits.shape[1:])[:orig_len]
    if dtype == "int8":
        both = ((both ^ 8).astype("int8") - 8).astype("int8")
    return np.moveaxis(both, 0, axis)


@keras_export("quantizers")
class Quantizer:
    """Makes whole numbers of an array."""

    def __init__(self, output_dtype="int8"):
        self.output_dtype = output_dtype

    def __call__(self, x):
        return x

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def get_config(self):
        raise NotImplementedError(f"{self} does not implement get_config()")


@keras_export("quantizers")
class AbsMaxQuantizer(Quantizer):
    """By the largest magnitude along an axis."""

    def __init__(self, axis=None, value_range=(-127, 127), epsilon=1e-7, output_dtype="int8"):
        super().__init__(output_dtype)
        self.axis = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.value_range, self.epsilon = value_range, epsilon
        if output_dtype == "int8" and (value_range[0] < -128 or value_range[1] > 127):
            raise ValueError(
                "Quantizer with output_dtype='int8' requires value_range to be within the interval [-128, 127]. "
                f"Received: value_range={value_range}"
            )

    def __call__(self, x, axis=None, to_numpy=False):
        axis = self.axis if axis is None else axis
        return abs_max_quantize(x, -1 if axis is None else axis, self.value_range, self.output_dtype, self.epsilon)

    def get_config(self):
        config = {"value_range": self.value_range, "epsilon": self.epsilon, "output_dtype": self.output_dtype}
        return config if self.axis is None else {**config, "axis": self.axis}


@keras_export("quantizers")
class QuantizationConfig:
    """What quantize() does with weights and with inputs."""

    def __init__(self, weight_quantizer=None, activation_quantizer=None):
        self.weight_quantizer, self.activation_quantizer = weight_quantizer, activation_quantizer

    @property
    def mode(self):
        raise NotImplementedError(
            "Subclasses must implement this property. Do not instantiate QuantizationConfig directly."
        )


@keras_export("quantizers")
class Int8QuantizationConfig(QuantizationConfig):
    """Weights, and by default inputs, of 8 bits."""

    mode = "int8"

    def __init__(self, weight_quantizer=None, activation_quantizer="default"):
        by_default = activation_quantizer == "default"
        super().__init__(weight_quantizer, AbsMaxQuantizer() if by_default else activation_quantizer)
        if weight_quantizer is not None and weight_quantizer.output_dtype != "int8":
            raise ValueError(
                "Int8QuantizationConfig requires a weight_quantizer with output_dtype='int8'. Received: "
                f"output_dtype={weight_quantizer.output_dtype}"
            )


@keras_export("quantizers")
class Int4QuantizationConfig(QuantizationConfig):
    """Weights of 4 bits, in blocks of rows or, with block_size=None, by column."""

    mode = "int4"

    def __init__(self, weight_quantizer=None, activation_quantizer="default", block_size=128):
        super().__init__(weight_quantizer, None if activation_quantizer == "default" else activation_quantizer)
        if block_size is not None and block_size != -1 and block_size <= 0:
            raise ValueError(f"block_size must be None, -1, or a positive integer. Received: block_size={block_size}")
        self.block_size = block_size
        by_block = block_size is not None and block_size > 0
        if by_block and (self.weight_quantizer is not None or self.activation_quantizer is not None):
            raise ValueError(
                "Int4 sub-channel quantization (block_size > 0) does not support custom quantizers. Either set "
                "block_size to None or -1 for per-channel quantization, or remove the custom quantizer arguments. "
                f"Received: block_size={block_size}"
            )
        if weight_quantizer is None:
            return
        if tuple(weight_quantizer.value_range) != (-8, 7):
            raise ValueError(
                "Int4QuantizationConfig requires a weight_quantizer with value_range=(-8, 7). Received: "
                f"value_range={weight_quantizer.value_range}"
            )
        if weight_quantizer.output_dtype != "int8":
            raise ValueError(
                "Int4QuantizationConfig requires a weight_quantizer with output_dtype='int8'. Received: "
                f"output_dtype={weight_quantizer.output_dtype}"
            )


def _config_of(mode, config):
    if isinstance(config, str):
        mode, config = config, None
    if mode is not None and mode not in MODES:
        raise ValueError(f"Invalid quantization mode. Expected one of {MODES}. Received: mode={mode}")
    if config is None:
        if mode is None:
            raise ValueError("You must provide either `mode` or `config` to `quantize`.")
        if mode in ("float8", "gptq", "awq"):
            raise NotImplementedError(f"quantize('{mode}') is not in this version; it has 'int8' and 'int4'")
        return Int8QuantizationConfig() if mode == "int8" else Int4QuantizationConfig()
    if not isinstance(config, QuantizationConfig):
        raise ValueError(
            "Argument `config` must be an instance of `QuantizationConfig`. "
            f"Received: config={config} (of type {type(config)})"
        )
    if mode is not None and config.mode != mode:
        raise ValueError(f"Contradictory arguments: mode='{mode}' but config.mode='{config.mode}'")
    if type(config) not in (Int8QuantizationConfig, Int4QuantizationConfig):
        raise NotImplementedError(f"{type(config).__name__}: of configs the library's of int8 and int4 are followed")
    return config


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


def _meant(layer, filters):
    if layer._class_name not in ("MultiHeadAttention", "GroupQueryAttention") or filters is None:
        return _is_meant(layer.name, filters, layer)
    if callable(filters):
        raise NotImplementedError(f"`filters` as a function of the layers inside of {layer.name}: give names")
    meant = [_is_meant(part, filters, None) for part in _HEADS]
    if any(meant) and not all(meant):
        raise NotImplementedError(f"layer {layer.name}: its projections are quantized together or not at all")
    return all(meant)


def quantize_model(model, mode, config, filters, is_plain):
    """Its layers stay the same objects."""
    config = _config_of(mode, config)
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
