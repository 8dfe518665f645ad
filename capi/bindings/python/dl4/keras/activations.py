"""Activations: functions of symbolic tensors and arrays, and what `activation=` takes."""

from ..abi import registry
from . import _kinds


class _Function:
    def __init__(self, name):
        self._eager = {}
        self.__name__, self.__doc__ = name, _kinds.documentation(_kinds.facts("activation")[name])

    def __call__(self, x, *args, **config):
        from . import layers, ops
        from ._eager import computed
        from ._functions import symbolic

        names = [a["name"] for a in _kinds.facts("activation")[self.__name__]["attributes"]]
        config = {**dict(zip(names, args)), **config}
        how = {"class_name": self.__name__, "config": config} if config else self.__name__
        x = ops.convert_to_tensor(x)
        if self.__name__ == "linear":
            return x
        if isinstance(config.get("axis"), (list, tuple)) and self.__name__ in ("softmax", "log_softmax"):
            return getattr(ops, self.__name__)(x, **config)
        if not symbolic(x):
            return computed(self, [x], config)
        layer = layers.Activation(activation=how)
        layer.is_operation = True
        return layer(x)

    def to_json_value(self):
        return self.__name__

    def __repr__(self):
        return f"<activation {self.__name__}>"


_functions = {}


def get(identifier):
    if identifier is None:
        return get("linear")
    if callable(identifier):
        return identifier
    from . import saving

    own = saving.registered(identifier) if isinstance(identifier, str) else None
    if own is not None:
        return own
    if not isinstance(identifier, (str, dict)):
        raise ValueError(f"Could not interpret activation function identifier: {identifier}")
    name = identifier["class_name"] if isinstance(identifier, dict) else identifier
    ((name, _),) = registry("activation", name)["activation"].items()
    return _functions.setdefault(name, _Function(name))


def serialize(activation):
    return _kinds.as_json(activation)


def deserialize(config, custom_objects=None):
    from . import saving

    with saving.custom_object_scope(custom_objects):
        return get(config)


def __getattr__(name):
    if name in _kinds.facts("activation") or name in ("swish", "hard_swish"):
        return get(name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_kinds.facts("activation")])
