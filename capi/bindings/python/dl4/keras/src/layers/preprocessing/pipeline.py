"""Pipeline: layers one after the other."""

from ...export import keras_export
from ...saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..in_python import called
from ..layer import category, Layer


@category.add
@keras_export("layers")
class Pipeline(Layer):
    """Layers one after the other, for data."""

    def __init__(self, layers, name=None):
        super().__init__(name=name)
        self._pipeline_layers = list(layers)
        self.built = True

    @property
    def layers(self):
        """The layers, in the order of their calls."""
        return self._pipeline_layers

    def __call__(self, inputs, training=True, **kwargs):
        return self.call(inputs, training=training, **kwargs)

    def call(self, inputs, training=True, mask=None):
        for layer in self._pipeline_layers:
            inputs = called(layer, inputs, training=training, mask=mask)
            mask = getattr(inputs, "_keras_mask", None)
        return inputs

    def get_config(self):
        return {"layers": serialize_keras_object(self._pipeline_layers), "name": self.name}

    @classmethod
    def from_config(cls, config, **_):
        layers = config.get("layers")
        if not isinstance(layers, (list, tuple)):
            raise ValueError(
                "`Pipeline` config must contain a `layers` key mapping to a list of serialized layers. Received config "
                f"with layers={layers}."
            )
        return cls(**{**config, "layers": [deserialize_keras_object(x) for x in layers]})
