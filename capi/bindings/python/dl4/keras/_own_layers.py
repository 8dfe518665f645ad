"""Layers that are Python: functions, and layers around layers."""

import inspect

from .layers import Layer


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
        from ._config import function_config
        from .saving import serialize_keras_object

        config = {"function": function_config(self.function), "arguments": serialize_keras_object(self.arguments)}
        for key, value in (("output_shape", self._output_shape), ("mask", self.mask)):
            if value is not None:
                config[key] = function_config(value) if callable(value) else serialize_keras_object(value)
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config, custom_objects=None, safe_mode=None):
        from ._config import function_of
        from .saving import custom_object_scope

        with custom_object_scope(custom_objects):
            functions = {
                k: function_of(config[k], safe_mode) for k in ("function", "output_shape", "mask") if k in config
            }
        return cls(**{**config, **functions})


class Wrapper(Layer):
    """A layer of one's own around another one."""

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(
                f"Layer {layer} supplied to Wrapper isn't a supported layer type. Please ensure wrapped "
                "layer is a valid Keras layer."
            )
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        if not self.layer.built:
            self.layer.build(input_shape)
            self.layer.built = True
        self.built = True

    def get_config(self):
        from .saving import serialize_keras_object

        return {**super().get_config(), "layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        from .saving import deserialize_keras_object

        config = dict(config)
        return cls(deserialize_keras_object(config.pop("layer"), custom_objects), **config)
