"""What quantize() is told."""

import inspect

from ..saving.serialization_lib import serialize_keras_object
from .quantizers import AbsMaxQuantizer, deserialize, known

MODES = ("int8", "float8", "int4", "gptq", "awq")


@known
class QuantizationConfig:
    """What quantize() does with weights and with inputs."""

    def __init__(self, weight_quantizer=None, activation_quantizer=None):
        self.weight_quantizer, self.activation_quantizer = weight_quantizer, activation_quantizer

    @property
    def mode(self):
        raise NotImplementedError(
            "Subclasses must implement this property. Do not instantiate QuantizationConfig directly."
        )

    def get_config(self):
        parts = ("weight_quantizer", "activation_quantizer")
        return {name: serialize_keras_object(getattr(self, name)) for name in parts}

    @classmethod
    def from_config(cls, config):
        parts = ("weight_quantizer", "activation_quantizer")
        return cls(**{**config, **{name: deserialize(config.get(name)) for name in parts}})

    @staticmethod
    def weight_quantizer_or_default(config, default):
        return default if config is None or config.weight_quantizer is None else config.weight_quantizer

    @staticmethod
    def activation_quantizer_or_default(config, default):
        return default if config is None else config.activation_quantizer


@known
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


@known
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

    def get_config(self):
        return {**super().get_config(), "block_size": self.block_size}

    @classmethod
    def from_config(cls, config):
        return super().from_config({"block_size": None, **config})


@known
class Float8QuantizationConfig(QuantizationConfig):
    """Training in floats of 8 bits, which quantize() refuses."""

    mode = "float8"

    def __init__(self):
        super().__init__()

    def get_config(self):
        return {}

    @classmethod
    def from_config(cls, config):
        return cls()


class _Calibrated(QuantizationConfig):
    """A config with data that the weights are adjusted to."""

    def __init__(self, whole, dataset, tokenizer, weight_bits, num_samples, sequence_length, group_size, structure):
        """whole: what a group_size of -1 means."""
        super().__init__()
        self.dataset, self.tokenizer, self.weight_bits, self.num_samples = dataset, tokenizer, weight_bits, num_samples
        self.sequence_length, self.group_size = sequence_length, group_size
        self.quantization_layer_structure = structure
        for name in ("num_samples", "sequence_length"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be a positive integer.")
        if group_size < -1 or group_size == 0:
            raise ValueError(
                f"Invalid group_size. Supported values are -1 ({whole}) or a positive integer, but got {group_size}."
            )

    def dtype_policy_string(self):
        return f"{self.mode}/{self.weight_bits}/{self.group_size}"

    def get_config(self):
        config = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        return {**config, "dataset": None, "tokenizer": None}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@known
class GPTQConfig(_Calibrated):
    """Weights rounded so that errors of one are made good in others, by what the layers of blocks are called on."""

    mode = "gptq"

    def __init__(
        self,
        dataset,
        tokenizer,
        *,
        weight_bits=4,
        num_samples=128,
        per_channel=True,
        sequence_length=512,
        hessian_damping=0.01,
        group_size=128,
        symmetric=False,
        activation_order=False,
        quantization_layer_structure=None,
    ):
        if weight_bits not in (2, 3, 4, 8):
            raise ValueError(f"Unsupported weight_bits {weight_bits}. Supported values are 2, 3, 4, and 8.")
        if hessian_damping < 0 or hessian_damping > 1:
            raise ValueError("hessian_damping must be between 0 and 1.")
        super().__init__(
            "whole-tensor", dataset, tokenizer, weight_bits, num_samples, sequence_length, group_size,
            quantization_layer_structure,
        )
        self.per_channel, self.hessian_damping = per_channel, hessian_damping
        self.symmetric, self.activation_order = symmetric, activation_order


@known
class AWQConfig(_Calibrated):
    """Weights of 4 bits, spread before they are rounded by the largest numbers that their layers are called on."""

    mode = "awq"

    def __init__(
        self,
        dataset,
        tokenizer,
        *,
        weight_bits=4,
        num_samples=128,
        sequence_length=512,
        group_size=128,
        num_grid_points=20,
        quantization_layer_structure=None,
    ):
        if weight_bits != 4:
            raise ValueError(f"AWQ only supports 4-bit quantization. Received weight_bits={weight_bits}.")
        super().__init__(
            "per-channel", dataset, tokenizer, weight_bits, num_samples, sequence_length, group_size,
            quantization_layer_structure,
        )
        self.num_grid_points = num_grid_points
        if num_grid_points <= 0:
            raise ValueError("num_grid_points must be a positive integer.")


_CALIBRATED = {"gptq": GPTQConfig, "awq": AWQConfig}


def validate_and_resolve_config(mode, config):
    """The config that a mode or a config says."""
    if isinstance(config, str):
        mode, config = config, None
    if mode is not None and mode not in MODES:
        raise ValueError(f"Invalid quantization mode. Expected one of {MODES}. Received: mode={mode}")
    if config is None:
        if mode is None:
            raise ValueError("You must provide either `mode` or `config` to `quantize`.")
        if mode in _CALIBRATED:
            name = _CALIBRATED[mode].__name__
            article = "an" if name[0] == "A" else "a"
            raise ValueError(
                f"For {mode.upper()}, you must pass {article} `{name}` object in the `config` argument."
            )
        return {"int8": Int8QuantizationConfig, "int4": Int4QuantizationConfig, "float8": Float8QuantizationConfig}[
            mode
        ]()
    if not isinstance(config, QuantizationConfig):
        raise ValueError(
            "Argument `config` must be an instance of `QuantizationConfig`. "
            f"Received: config={config} (of type {type(config)})"
        )
    if mode is not None and config.mode != mode:
        raise ValueError(f"Contradictory arguments: mode='{mode}' but config.mode='{config.mode}'")
    if config.mode not in MODES:
        raise ValueError(f"Invalid quantization mode. Expected one of {MODES}. Received: mode={config.mode}")
    wanted = _CALIBRATED.get(config.mode)
    if wanted and not isinstance(config, wanted):
        raise ValueError(
            f"Mode '{config.mode}' requires a valid `config` argument of type `{wanted.__name__}`. Received: "
            f"{type(config)}"
        )
    return config
