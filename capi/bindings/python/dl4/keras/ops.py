"""Functions of the library under the names of keras.ops, on symbolic tensors and on arrays.

Each is a layer of the registry: `ops.mean(x, axis=1)` is the layer Mean(axis=1). On arrays they compute in float32, or
in integers.
"""

import inspect as _inspect

import numpy as _np

from . import activations as _activations
from .src.eager import compute as _compute
from .src.kinds import absent as _absent
from .src.kinds import facts as _facts
from .src.tensor import as_tensor as _as_tensor
from .src.tensor import cast as _cast
from .src.tensor import is_tensor as _is_tensor
from .src.tensor import operation as _operation
from .src.tensor import promoted as _promoted

_ACTIVATIONS = """celu elu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid
log_softmax relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparsemax squareplus swish
tanh_shrink threshold""".split()
# Keras's names of arguments that the library calls otherwise.
_ARGUMENTS = {"Cast": {"to": "dtype"}, "Transpose": {"perm": "axes"}, "ReshapeBatch": {"shape": "newshape"}}
_LISTS = {"Stack", "Concatenate"}
_APART = {"Take", "Where", "SegmentSum", "SegmentMax"}  # whose inputs are of several types
_kinds, _made = {"concatenate": "Concatenate", "abs": "Absolute"}, {}


def _known_kinds():
    """Kinds by the names of Keras's functions."""
    if len(_kinds) < 3:
        for kind, known in _facts("layer").items():
            place, _, name = ((known.get("names") or {}).get("keras") or "").rpartition(".")
            if place == "keras.ops" and kind != "Einsum":
                _kinds[name] = kind
    return _kinds


def _parts(kind):
    """The inputs, and the attributes by Keras's names."""
    known, names = _facts("layer")[kind], _ARGUMENTS.get(kind, {})
    ports = [p["name"].rstrip(".") for p in known["inputs"] if p["name"] != "rows"]
    return ports, {names.get(a["name"], a["name"]): a for a in known["attributes"] if a["name"] not in ports}


def _signature(ports, attributes):
    parameter, empty = _inspect.Parameter, _inspect.Parameter.empty
    either = parameter.POSITIONAL_OR_KEYWORD
    found = [parameter(p, either) for p in ports]
    found += [parameter(n, either, default=empty if a["required"] else a["default"]) for n, a in attributes.items()]
    return _inspect.Signature(sorted(found, key=lambda p: p.default is not empty))


def _function(name, kind):
    ports, attributes = _parts(kind)
    signature, optional = _signature(ports, attributes), {a["name"] for a in _facts("layer")[kind]["attributes"]}

    def function(*args, **kwargs):
        bound = signature.bind(*args, **kwargs).arguments
        config = {attributes[key]["name"]: value for key, value in bound.items() if key in attributes}
        given = []
        for port in ports:
            value = bound[port]
            if port in optional and _is_plain(value) and (given or port != ports[-1]):
                config[port] = value if port == "indices" else float(value)
            else:
                given += list(value) if kind in _LISTS else [value]
        return _called(kind, config, given)

    function.__name__ = function.__qualname__ = name
    function.__doc__, function.__signature__ = _facts("layer")[kind]["doc"], signature
    return function


def _is_plain(value):
    """A number, or numbers as indices, which are attributes of the layer."""
    return type(value) in (int, float) or isinstance(value, (list, tuple)) and not any(map(_is_tensor, value))


def _called(kind, config, given):
    takes = _facts("layer")[kind].get("takes")
    if not any(map(_is_tensor, given)):
        arrays = [_np.asarray(v) for v in given]
        if len(arrays) > 1 and kind not in _APART:
            dtype = _np.result_type(*arrays)
            arrays = [a.astype("float32" if dtype.kind == "f" or kind == "MatMul" else dtype) for a in arrays]
        if any(type(v) is float for v in config.values()) and takes == "any":
            arrays = [a.astype(_np.result_type(a, "float32")) if not _whole(config) else a for a in arrays]
        return _compute(kind, config, [_np.ascontiguousarray(a, _single(a)).reshape(a.shape) for a in arrays])
    like = next(t for t in given if _is_tensor(t))
    given = [_as_tensor(v, like) for v in given]
    if takes == "float32" or kind == "MatMul":
        given = [_cast(t, "float32") for t in given]
    elif len(given) > 1 and kind not in _APART:
        given = _promoted(given)
    return _operation(kind, **config)(given if len(given) > 1 or kind in _LISTS else given[0])


def _whole(config):
    return all(v.is_integer() for v in config.values() if type(v) is float)


def _single(array):
    return "float32" if array.dtype.kind == "f" else array.dtype


def shape(x):
    """The shape of a tensor or array; None where free."""
    return x.shape if _is_tensor(x) else _np.shape(x)


def gelu(x, approximate=True):
    """The activation, as Keras's function has it by default: by tanh."""
    return _activations.gelu(x, approximate=approximate)


def __getattr__(name):
    if name[:2] != "__":
        if name in _ACTIVATIONS:
            return getattr(_activations, name)
        if name in _known_kinds():
            return _made.setdefault(name, _function(name, _kinds[name]))
    raise _absent("module 'dl4.keras.ops'", name, () if name[:2] == "__" else __dir__())


def __dir__():
    return sorted({*_known_kinds(), *_ACTIVATIONS})
