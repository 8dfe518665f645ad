"""Activations: functions of symbolic tensors and arrays, and the values of `activation=`."""

from ... import abi
from . import ops, registry
from .ops.dispatch import is_symbolic
from .registry import create, register_getter
from .saving.object_registration import custom_object_scope, registered
from .symbolic.execution import run_on_arrays


class Activation:
    def __init__(self, name):
        self._traces = {}
        self.__name__, self.__doc__ = name, registry.documentation(registry.facts("activation")[name])

    def __call__(self, x, *args, **config):
        names = [a["name"] for a in registry.facts("activation")[self.__name__]["attributes"]]
        config = {**dict(zip(names, args)), **config}
        how = {"class_name": self.__name__, "config": config} if config else self.__name__
        x = ops.convert_to_tensor(x)
        if self.__name__ == "linear":
            return x
        if isinstance(config.get("axis"), (list, tuple)) and self.__name__ in ("softmax", "log_softmax"):
            return getattr(ops, self.__name__)(x, **config)
        if not is_symbolic(x):
            return run_on_arrays(self, [x], config)
        layer = create("layer", "Activation", activation=how)
        layer._is_operation = True
        return layer(x)

    def _to_json(self):
        return self.__name__

    def __repr__(self):
        return f"<activation {self.__name__}>"


_functions = {}


def get(identifier):
    """The activation of a name, a config or a function; linear for None."""
    if identifier is None:
        return get("linear")
    if callable(identifier):
        return identifier

    own = registered(identifier) if isinstance(identifier, str) else None
    if own is not None:
        return own
    if not isinstance(identifier, (str, dict)):
        raise ValueError(f"Could not interpret activation function identifier: {identifier}")
    name = identifier["class_name"] if isinstance(identifier, dict) else identifier
    ((name, _),) = abi.registry("activation", name)["activation"].items()
    return _functions.setdefault(name, Activation(name))


register_getter("activation", get)


def deserialize(config, custom_objects=None):
    """The activation of a name or a config."""
    with custom_object_scope(custom_objects):
        return get(config)


def find(name):
    """The activation of a name; None if there is none."""
    return get(name) if name in names() else None


def names():
    """The names of all activations."""
    return [*registry.facts("activation"), "swish", "hard_swish"]
