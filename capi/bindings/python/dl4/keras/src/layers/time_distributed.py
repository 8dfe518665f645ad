"""TimeDistributed of a layer of one's own: it is called on each step."""

from .. import ops
from ..kind import is_native
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..symbolic.step_model import MOVING
from .in_python import called, in_python
from .layer import category, Layer


@category.base_of("TimeDistributed")
@in_python("call", "compute_mask", "compute_output_shape", "get_config")
class _TimeDistributed(Layer):
    """Calls a layer on each step of time"""

    def __init__(self, layer=None, **kwargs):
        if not isinstance(layer, Layer) or is_native(layer):
            super().__init__(**({} if layer is None else {"layer": layer}), **kwargs)
            return
        self._class_name = None  # the wrapper is Python as its layer is
        super().__init__(**kwargs)
        self.layer, self.supports_masking = layer, True

    def call(self, inputs, training=None, mask=None):
        self._need_steps(inputs.shape, mask)
        steps = inputs.shape[1]
        if steps is None:
            return self._of_all_rows(inputs, training, mask)
        masks = [None if mask is None else mask[:, t] for t in range(steps)]
        found = [called(self.layer, inputs[:, t], training=training, mask=m) for t, m in enumerate(masks)]
        return ops.stack(found, 1)

    def _need_steps(self, shape, mask):
        given = shape if mask is None else tuple(mask.shape)
        if len(given) < 2 or any(None not in (a, b) and a != b for a, b in zip(given[:2], shape[:2])):
            raise ValueError(
                f"The `mask` passed to the `TimeDistributed` layer has a shape {given} that is incompatible with the "
                f"input shape {shape}: expected the same batch size and the same steps"
            )

    def _of_all_rows(self, inputs, training, mask):
        """The steps of all sequences as the rows of one batch."""
        for layer in self.layer._flatten_layers():
            if layer._class_name in MOVING:
                raise NotImplementedError(
                    f"{self.name}: {layer.name} sees the whole batch: expected a known number of steps, "
                    f"got {inputs.shape}"
                )
        sizes = ops.shape(inputs)[:2]
        rows = [None if x is None else ops.reshape(x, (-1, *x.shape[2:])) for x in (inputs, mask)]
        y = called(self.layer, rows[0], training=training, mask=rows[1])
        return ops.reshape(y, (*sizes, *y.shape[1:]))

    def compute_mask(self, inputs, mask=None):
        return mask

    def compute_output_shape(self, input_shape):
        one = self.layer.compute_output_shape((input_shape[0], *input_shape[2:]))
        return (one[0], input_shape[1], *one[1:])

    def get_config(self):
        return {**super().get_config(), "layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**{**config, "layer": deserialize_keras_object(config["layer"], custom_objects)})
