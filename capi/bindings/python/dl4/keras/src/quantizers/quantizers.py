"""Quantizers, and objects of their module by name or config."""

from ..export import keras_export
from ..registry import register_model
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..utils.naming import snake_case
from .numbers import abs_max_quantize


def known(cls):
    """A decorator: a class of this module, which configs name."""
    register_model(cls)
    OBJECTS[cls.__name__] = OBJECTS[snake_case(cls.__name__)] = cls
    return keras_export("quantizers")(cls)


OBJECTS = {}


def serialize(initializer):
    """As a config."""
    return serialize_keras_object(initializer)


def deserialize(config, custom_objects=None):
    """The object of a config."""
    return deserialize_keras_object(config, custom_objects)


def get(identifier, **kwargs):
    """A quantizer of a name, a config or itself."""
    if identifier is None:
        return None
    found = identifier
    if isinstance(identifier, dict):
        found = deserialize(identifier)
    elif isinstance(identifier, str):
        found = OBJECTS.get(identifier)
    if isinstance(found, type):
        return found(**kwargs)
    if not callable(found):
        raise ValueError(f"Could not interpret quantizer identifier: {identifier}")
    return found


@known
class Quantizer:
    """Makes whole numbers of an array."""

    def __init__(self, output_dtype="int8"):
        self.output_dtype = output_dtype

    def __call__(self, x):
        return x

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def get_config(self):
        raise NotImplementedError(f"{self} does not implement get_config()")


@known
class AbsMaxQuantizer(Quantizer):
    """By the largest magnitude along an axis."""

    def __init__(self, axis=None, value_range=(-127, 127), epsilon=1e-7, output_dtype="int8"):
        super().__init__(output_dtype)
        self.axis = None if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.value_range, self.epsilon = value_range, epsilon
        if output_dtype == "int8" and (value_range[0] < -128 or value_range[1] > 127):
            raise ValueError(
                "Quantizer with output_dtype='int8' requires value_range to be within the interval [-128, 127]. "
                f"Received: value_range={value_range}"
            )

    def __call__(self, x, axis=None, to_numpy=False):
        axis = self.axis if axis is None else axis
        axis = -1 if axis is None else axis
        return abs_max_quantize(x, axis, self.value_range, self.output_dtype, self.epsilon, to_numpy)

    def get_config(self):
        config = {"value_range": self.value_range, "epsilon": self.epsilon, "output_dtype": self.output_dtype}
        return config if self.axis is None else {**config, "axis": self.axis}


