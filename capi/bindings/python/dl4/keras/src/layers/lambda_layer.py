"""Lambda: a function as a layer."""

import inspect

from ..export import keras_export
from ..saving.object_registration import custom_object_scope
from ..saving.serialization_lib import (
    deserialize_keras_object,
    in_safe_mode,
    lambda_config,
    lambda_of,
    safely,
    serialize_keras_object,
)
from .layer import category, Layer


@category.add
@keras_export("layers")
class Lambda(Layer):
    """A function as a layer, traced: it is written in operators, layers and keras.ops."""

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        self.function, self.arguments, self.mask = function, arguments or {}, mask
        self.supports_masking, self._output_shape = mask is not None, output_shape  # a shape that is told is not needed
        known = inspect.signature(function).parameters if callable(function) else ()
        self._given = [name for name in ("mask", "training") if name in known]

    def call(self, inputs, mask=None, training=None):
        told = {"mask": mask, "training": training}
        return self.function(inputs, **self.arguments, **{name: told[name] for name in self._given})

    def compute_mask(self, inputs, mask=None):
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self):
        config = {"function": function_config(self.function), "arguments": serialize_keras_object(self.arguments)}
        for key, value in (("output_shape", self._output_shape), ("mask", self.mask)):
            if value is not None:
                config[key] = function_config(value) if callable(value) else serialize_keras_object(value)
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config, custom_objects=None, safe_mode=None):
        with custom_object_scope(custom_objects):
            functions = {
                k: function_of(config[k], safe_mode) for k in ("function", "output_shape", "mask") if k in config
            }
        return cls(**{**config, **functions})


def function_config(function):
    """A function by its name, a lambda as its code."""
    if getattr(function, "__name__", "") != "<lambda>":
        return serialize_keras_object(function)
    return lambda_config(function)


def function_of(config, safe_mode=None):
    """The function of such a config; the code of a lambda only where that was allowed."""
    if not isinstance(config, dict) or config.get("class_name") != "__lambda__":
        return deserialize_keras_object(config)
    with safely(in_safe_mode() if safe_mode is None else safe_mode):
        return lambda_of(config, "`Lambda` layer whose `function` is a Python lambda")
