"""Quantizers and configs of quantize()."""

from .src.absent import absent_from as _absent_from
from .src.quantizers.numbers import (
    abs_max_quantize,
    abs_max_quantize_grouped_with_zero_point,
    compute_float8_amax_history,
    compute_float8_scale,
    fake_quant_with_min_max_vars,
    pack_int4,
    quantize_and_dequantize,
    unpack_int4,
)
from .src.quantizers.quantization_config import (
    AWQConfig,
    Float8QuantizationConfig,
    GPTQConfig,
    Int4QuantizationConfig,
    Int8QuantizationConfig,
    QuantizationConfig,
)
from .src.quantizers.quantizers import AbsMaxQuantizer, deserialize, get, Quantizer, serialize

__getattr__ = _absent_from(__name__)
