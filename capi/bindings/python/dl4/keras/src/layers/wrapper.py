"""Wrapper: a custom layer around another one."""

from ..export import keras_export
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from .layer import category, Layer


@category.add
@keras_export("layers")
class Wrapper(Layer):
    """A custom layer around another one."""

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
        return {**super().get_config(), "layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        return cls(deserialize_keras_object(config.pop("layer"), custom_objects), **config)
