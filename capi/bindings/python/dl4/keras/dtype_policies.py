"""keras.dtype_policies."""

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
