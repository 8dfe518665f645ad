"""Activations: functions of arrays and of symbolic tensors, and arguments of layers."""

import numpy as _np

from ..abi import registry as _registry
from .src.eager import compute as _compute
from .src.kinds import absent as _absent
from .src.kinds import create as _create
from .src.kinds import facts as _facts
from .src.tensor import is_tensor as _is_tensor
from .src.tensor import operation as _operation

_made = {}


def _function(name):
    def activation(x, **config):
        identifier = {"class_name": name, "config": config} if config else name
        if _is_tensor(x):
            return _operation("Activation", activation=identifier)(x)
        return _compute("Activation", {"activation": identifier}, [_np.asarray(x, "float32")])

    activation.__name__ = activation.__qualname__ = name
    activation._kind, activation.__doc__ = name, _facts("activation")[name]["doc"]
    return activation


def get(identifier):
    """The function of a name, or itself; None is linear."""
    if identifier is None or isinstance(identifier, str):
        _registry("activation", identifier or "linear")  # which refuses other names
        return __getattr__(identifier or "linear")
    if hasattr(identifier, "_kind"):
        return identifier
    _create("layer", "Activation", activation=identifier)  # which refuses what the library has not
    return _function(identifier)


deserialize = get


def __getattr__(name):
    known = {alias: n for n, k in _facts("activation").items() for alias in (n, *k.get("aliases", ()))}
    if name not in known:
        raise _absent("module 'dl4.keras.activations'", name, () if name[:2] == "__" else known)
    return _made.setdefault(known[name], _function(known[name]))


def __dir__():
    return sorted({"get", "deserialize", *_facts("activation")})
