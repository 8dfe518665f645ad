"""keras.dtype_policies."""

from .src.dtype_policies import deserialize, DTypePolicy, get, serialize

FloatDTypePolicy = DTypePolicy
