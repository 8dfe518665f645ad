"""Types of data and what they become together: the lattice of JAX, which is Keras's. float64 becomes float32."""

import functools

_ABOVE = {  # the next wider types of each; "int" and "float" are of Python's numbers
    "bool": "int",
    "int": "uint8 int8",
    "uint8": "int16 uint16",
    "int8": "int16",
    "uint16": "int32 uint32",
    "int16": "int32",
    "uint32": "int64 uint64",
    "int32": "int64",
    "uint64": "float",
    "int64": "float",
    "float": "bfloat16 float16",
    "bfloat16": "float32",
    "float16": "float32",
    "float32": "float64",
    "float64": "",
}
_BITS = ("bool", "int", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float")
_WIDTHS = (*_BITS, "bfloat16", "float16", "float32", "float64")  # from the narrowest
INTEGERS = ("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
FLOATS = ("bfloat16", "float16", "float32", "float64")
_PYTHON = {bool: "bool", int: "int32", float: "float32"}


def standardize(dtype):
    """The name of a type of data."""
    name = _PYTHON.get(dtype) or getattr(dtype, "name", None) or str(dtype or "float32")
    name = {"int": "int32", "float": "float32"}.get(name, name)
    if name.startswith("complex"):
        raise NotImplementedError(f"complex numbers are not in this version of the library: got {name}")
    if name not in _ABOVE and name != "string" and not name.startswith("float8"):
        raise ValueError(f"Invalid dtype: {dtype}")
    return name


@functools.lru_cache(None)
def _wider(dtype):
    """The types that hold what a type holds, itself among them."""
    if dtype not in _ABOVE:
        standardize(dtype)
        raise ValueError(f"expected a type of numbers, got {dtype}")
    found = {dtype}
    for above in _ABOVE[dtype].split():
        found |= _wider(above)
    return found


@functools.lru_cache(None)
def _joined(dtypes):
    common = set.intersection(*(_wider(d) for d in dtypes))
    least = min(common, key=lambda d: (-len(_wider(d) & common), _WIDTHS.index(d)))
    return {"int": "int32", "float": "float32", "float64": "float32"}.get(least, least)


def result_type(*dtypes):
    """What numbers of several types become together; int and float stand for numbers of Python, which are not wider
    than what they meet."""
    weak = {int: "int", float: "float", bool: "bool"}
    return _joined(frozenset(weak.get(d) or getattr(d, "name", None) or str(d) for d in dtypes) or {"float32"})


def floating(*dtypes):
    """What a function of real numbers gives of these."""
    return result_type(*dtypes, float)
