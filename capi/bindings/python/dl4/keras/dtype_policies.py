"""keras.dtype_policies."""

from .src.absent import absent_from as _absent_from
from .src.dtype_policies import (
    AWQDTypePolicy,
    deserialize,
    DTypePolicy,
    DTypePolicyMap,
    FloatDTypePolicy,
    get,
    GPTQDTypePolicy,
    Int4DTypePolicy,
    QuantizedDTypePolicy,
    QuantizedFloat8DTypePolicy,
    serialize,
)

__getattr__ = _absent_from(__name__)
