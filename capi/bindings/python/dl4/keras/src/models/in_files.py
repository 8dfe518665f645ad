"""Models in files: what they are built and compiled with, and their weights."""

import warnings

from .. import overrides
from ..saving.saving_lib import load_weights, save_model, save_weights
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ..symbolic.tensor import Input
from ..tree import flatten, map_nest


class InFiles:
    """A model's part in files."""

    def get_build_config(self):
        """The shapes of the inputs that it was built for, and their types where they are not float32."""
        if self._functional is None:
            return None
        inputs = self._functional.nest_in
        config = {"input_shape": map_nest(lambda t: list(t.shape), inputs)}
        if any(t.dtype != "float32" for t in flatten(inputs)):
            config["input_dtype"] = map_nest(lambda t: t.dtype, inputs)
        return config

    def build_from_config(self, config):
        if not config or self._functional is not None:
            return
        shapes, types = config.get("input_shape"), config.get("input_dtype")
        try:
            if types is None or overrides.is_overridden(self, "build"):
                self.build(shapes)
            else:
                self._trace(_inputs_for(shapes, types))
        except Exception:
            warnings.warn(
                f"Model '{self.name}' had a build config, but the model cannot be built automatically in "
                "`build_from_config(config)`. You should implement `def build_from_config(self, config)`, and you "
                "might also want to implement the method that generates the config at saving time, "
                "`def get_build_config(self)`.",
                stacklevel=2,
            )

    def get_compile_config(self):
        """What it was compiled with, as a config."""
        if not self.compiled:
            return {}
        return {
            "optimizer": serialize_keras_object(self.optimizer),
            **{key: serialize_keras_object(value) for key, value in self._compiled.items()},
            "run_eagerly": self.run_eagerly,
            "steps_per_execution": self.steps_per_execution,
            "jit_compile": False,
        }

    def compile_from_config(self, config):
        """Compiles it with what such a config says."""
        if overrides.is_overridden(self, "compile"):
            warnings.warn(
                "`compile()` was not called as part of model loading because the model's `compile()` method is "
                "custom. All subclassed Models that have `compile()` overridden should also override "
                "`get_compile_config()` and `compile_from_config(config)`. Alternatively, you can call `compile()` "
                "manually after loading.",
                stacklevel=2,
            )
            return
        self.compile(**{key: deserialize_keras_object(value) for key, value in config.items()})

    def save(self, filepath, overwrite=True, zipped=None, **kwargs):
        """One file with architecture and weights: .safetensors, or .keras for Keras."""
        save_model(self, filepath, overwrite, zipped, **kwargs)

    def save_weights(self, filepath, overwrite=True, max_shard_size=None, **kwargs):
        save_weights(self, filepath, overwrite, max_shard_size, **kwargs)

    def load_weights(self, filepath, skip_mismatch=False, **kwargs):
        load_weights(self, filepath, skip_mismatch, **kwargs)


def _inputs_for(shapes, types):
    """Inputs of those shapes and types, in their nest."""
    if isinstance(types, dict):
        return {k: Input(batch_shape=tuple(shapes[k]), dtype=types[k], name=k) for k in types}
    if isinstance(types, (list, tuple)):
        return [_inputs_for(s, t) for s, t in zip(shapes, types)]
    return Input(batch_shape=tuple(shapes), dtype=types)
