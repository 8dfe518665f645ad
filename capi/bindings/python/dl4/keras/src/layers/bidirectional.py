"""Bidirectional around a layer of one's own."""

from .. import ops
from ..kind import is_native
from ..saving.serialization_lib import copied, deserialize_keras_object, serialize_keras_object
from ..tree import flatten
from . import weights as weights_of
from .in_python import called, in_python
from .layer import category, Layer


@category.base_of("Bidirectional")
@in_python("call", "compute_mask", "get_config")
class _Bidirectional(Layer):
    """Runs a recurrent layer over the steps forwards and another one backwards"""

    def __init__(self, layer=None, merge_mode="concat", weights=None, backward_layer=None, **kwargs):
        if not any(isinstance(one, Layer) and not is_native(one) for one in (layer, backward_layer)):
            given = {"layer": layer, "merge_mode": merge_mode, "weights": weights, "backward_layer": backward_layer}
            super().__init__(**{k: v for k, v in given.items() if v is not None or k == "merge_mode"}, **kwargs)
            return
        self._class_name = None  # the wrapper is Python as its layer is
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError(
                f'Invalid merge mode. Received: {merge_mode}. Merge mode should be one of "sum", "mul", "ave", "concat"'
                ", None"
            )
        super().__init__(**kwargs)
        self.merge_mode, self._backward_given = merge_mode, backward_layer is not None
        self.forward_layer = _copied(layer, "forward")
        self.backward_layer = backward_layer or _copied(layer, "backward", go_backwards=not layer.go_backwards)
        self.stateful, self.return_sequences, self.return_state = self._need_one_form()
        self.supports_masking = True
        for one in (self.forward_layer, self.backward_layer):
            one.zero_output_for_mask = self.return_sequences

    def _need_one_form(self):
        ways = [one.go_backwards for one in (self.forward_layer, self.backward_layer)]
        if ways[0] == ways[1]:
            raise ValueError(
                "Forward layer and backward layer should have different `go_backwards` value. Received: "
                f"forward_layer.go_backwards {ways[0]}, backward_layer.go_backwards={ways[1]}"
            )
        names = "stateful", "return_sequences", "return_state"
        for name in names:
            a, b = (getattr(one, name) for one in (self.forward_layer, self.backward_layer))
            if a != b:
                raise ValueError(
                    f'Forward layer and backward layer are expected to have the same value for attribute "{name}", got '
                    f'"{a}" for forward layer and "{b}" for backward layer'
                )
        return [getattr(self.forward_layer, name) for name in names]

    def call(self, sequences, initial_state=None, mask=None, training=None):
        states = [None, None]
        if initial_state is not None:
            given = list(initial_state)
            states = [given[: len(given) // 2], given[len(given) // 2 :]]
        found = [
            called(one, sequences, initial_state=state, mask=mask, training=training)
            for one, state in zip((self.forward_layer, self.backward_layer), states)
        ]
        rest = [s for one in found for s in one[1:]] if self.return_state else []
        y, back = (one[0] if self.return_state else one for one in found)
        back = ops.flip(back, axis=1) if self.return_sequences else back
        if self.merge_mode is None:
            return (y, back, *rest)
        if self.merge_mode == "concat":
            y = ops.concatenate([y, back], axis=-1)
        else:
            y = y * back if self.merge_mode == "mul" else (y + back) / (2 if self.merge_mode == "ave" else 1)
        return (y, *rest) if rest else y

    def compute_mask(self, _, mask=None):
        mask = flatten(mask)[0] if mask is not None and self.return_sequences else None
        return [mask, mask] if self.merge_mode is None else mask

    def reset_state(self):
        """Sets the states that a stateful layer keeps back to zeros."""
        if self._class_name is not None:
            weights_of.reset_state(self)
            return
        for one in (self.forward_layer, self.backward_layer):
            one.reset_state()

    def reset_states(self):
        """Sets the states that a stateful layer keeps back to zeros."""
        self.reset_state()

    @property
    def states(self):
        """The states that a stateful layer keeps, as variables."""
        if self._class_name is not None:
            return weights_of.states(self)
        kept = self.forward_layer.states, self.backward_layer.states
        return None if kept[0] is None else (*kept[0], *kept[1])

    def get_config(self):
        config = {"layer": serialize_keras_object(self.forward_layer), "merge_mode": self.merge_mode}
        if self._backward_given:
            config["backward_layer"] = serialize_keras_object(self.backward_layer)
        return {**super().get_config(), **config}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        for key in ("layer", "backward_layer"):
            if isinstance(config.get(key), dict):
                config[key] = deserialize_keras_object(config[key], custom_objects)
        return cls(**config)


def _copied(layer, way, **changed):
    """Another layer of the same config, named after its way."""
    name = layer.name if layer.name.startswith(f"{way}_") else f"{way}_{layer.name}"
    return copied(layer, name=name, **changed)
