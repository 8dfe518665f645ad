"""Models in files: what they are built and compiled with, and their weights."""

import os
import warnings

from .. import overrides
from ..quantizers import fitting
from ..saving.saving_lib import load_weights, need_no_texts, save_model, save_weights
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
        self._keep_up()
        self._use_all_inputs()
        save_model(self, filepath, overwrite, zipped, **kwargs)

    def export(self, filepath, format="tf_saved_model", verbose=None, input_signature=None, **kwargs):
        """What it gives outside of training, for others: format="onnx", or "safetensors" for the library in any
        language. `verbose` says where the file is."""
        if format not in _EXPORTED:
            raise ValueError(
                f"Unrecognized format={format}. Supported formats are: 'onnx' and 'safetensors'. Keras's other formats "
                f"are not supported: {_NOT_WRITTEN}."
            )
        if not _EXPORTED[format]:
            raise NotImplementedError(
                f"{self.name}: export(format={format!r}): `export_saved_model` only currently supports the tensorflow, "
                "jax and torch backends. This library writes format='onnx' and format='safetensors'."
            )
        if input_signature is not None or kwargs:
            given = ["input_signature"] * (input_signature is not None) + list(kwargs)
            raise NotImplementedError(
                f"{self.name}: export(): {', '.join(given)} is not supported: free dimensions of inputs stay free"
            )
        if not self.built:
            raise ValueError("The layer provided has not yet been built. It must be built before export.")
        for layer in self._flatten_layers():
            overrides.refuse(layer, "export()", "save")
            fitting.need_fitted(layer, "export()")
        need_no_texts(self)
        self._keep_up()
        self._use_all_inputs()
        path = os.fspath(filepath)
        self.core.save(path, format=_EXPORTED[format])
        if verbose or verbose is None:
            print(f"Saved artifact at '{path}'.")

    def save_weights(self, filepath, overwrite=True, max_shard_size=None, **kwargs):
        """Writes the weights to a file.

        Args:
            filepath: a name that ends in .weights.h5, .safetensors or .npz.
            overwrite: False: refuse to replace a file.
            max_shard_size: largest gigabytes of a file; more are divided among several.
        """
        save_weights(self, filepath, overwrite, max_shard_size, **kwargs)

    def load_weights(self, filepath, skip_mismatch=False, **kwargs):
        """Sets the weights to those of a file.

        Args:
            filepath: .weights.h5, .keras, .h5, .safetensors or .npz of the same layers.
            skip_mismatch: leave out weights of other shapes, with a warning.

        Raises:
            ValueError: weights are missing or have other shapes.
        """
        load_weights(self, filepath, skip_mismatch, **kwargs)


_EXPORTED = {"onnx": "onnx", "safetensors": "native", "tf_saved_model": "", "openvino": "", "litert": "", "torch": ""}
_NOT_WRITTEN = ", ".join(repr(name) for name, written in _EXPORTED.items() if not written)


def _inputs_for(shapes, types):
    """Inputs of those shapes and types, in their nest."""
    if isinstance(types, dict):
        return {k: Input(batch_shape=tuple(shapes[k]), dtype=types[k], name=k) for k in types}
    if isinstance(types, (list, tuple)):
        return [_inputs_for(s, t) for s, t in zip(shapes, types)]
    return Input(batch_shape=tuple(shapes), dtype=types)
