"""Quantizers and configs of quantize()."""

from .src.quantizers import (
    abs_max_quantize,
    abs_max_quantize_grouped_with_zero_point,
    AbsMaxQuantizer,
    Int4QuantizationConfig,
    Int8QuantizationConfig,
    pack_int4,
    QuantizationConfig,
    Quantizer,
    unpack_int4,
)
