"""Types: Keras's by name, and the one of the library's in which each is computed."""

import functools
import warnings

import ml_dtypes
import numpy as np
from keras.src.backend.common.variables import standardize_dtype

CARRIERS = {
    "float16": "float32",
    "bfloat16": "float32",
    "float32": "float32",
    "float64": "float32",
    "int8": "int32",
    "uint8": "int32",
    "int16": "int32",
    "uint16": "int32",
    "int32": "int32",
    "uint32": "int64",
    "int64": "int64",
    "uint64": "int64",
    "bool": "bool",
}
FLOATS = ("float16", "bfloat16", "float32", "float64")
NARROW = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "uint32": 32}  # bits of integers that have a wider carrier
INTEGERS = {name: (np.iinfo(name).min, np.iinfo(name).max) for name in CARRIERS if "int" in name}
PRECISION = {"float16": (5, 10), "bfloat16": (8, 7)}  # bits of exponent and mantissa


class Unsupported(NotImplementedError, ValueError):
    """A type or an operation that the backend has not."""


class NeedsNumbers(Unsupported, TypeError):
    """What Python can do with numbers alone, which a traced tensor has not."""


@functools.lru_cache(maxsize=None)
def carrier(name):
    """The library's type for one of Keras's."""
    if name not in CARRIERS:
        raise Unsupported(f"the backend dl4 has no type {name!r}: expected one of {', '.join(CARRIERS)}")
    return CARRIERS[name]


_BY_NAME = {name: np.dtype(getattr(ml_dtypes, name) if name == "bfloat16" else name) for name in CARRIERS}


def numpy_dtype(name):
    """NumPy's type by its name in Keras."""
    carrier(name)
    return _BY_NAME[name]


_NAMES = {dtype: name for name, dtype in _BY_NAME.items()}
_TAKEN = {**_NAMES, np.dtype("float64"): "float32"}


def known_name(dtype):
    """Keras's name of a type of NumPy's arrays; None if there is none. Numbers of float64 are taken as float32."""
    return _TAKEN.get(dtype)


def name_of(dtype):
    """Keras's name of a type that is asked for."""
    if isinstance(dtype, np.dtype) and dtype in _NAMES:
        return _NAMES[dtype]
    name = standardize_dtype(dtype)
    carrier(name)
    if name == "float64":
        _tell_of_float64()
    return name


@functools.lru_cache(maxsize=None)
def _tell_of_float64():
    warnings.warn("the backend dl4 computes float64 in float32", stacklevel=4)


def is_float(name):
    return name in FLOATS


def is_int(name):
    return "int" in name
