"""InputLayer."""

import warnings

from ..dtype_policies import DTypePolicy
from ..export import keras_export
from ..symbolic.tensor import Input, is_tensor


@keras_export("layers")
class InputLayer:
    """An input among the layers of a model, or as the first entry of a Sequential one."""

    trainable, built, weights, _is_operation = True, True, (), False
    dtype_policy = DTypePolicy("float32")

    def __init__(
        self,
        shape=None,
        batch_size=None,
        dtype=None,
        sparse=None,
        ragged=None,
        batch_shape=None,
        input_tensor=None,
        optional=False,
        name=None,
        input_shape=None,
        batch_input_shape=None,
        input_dtype=None,
    ):
        if input_shape is not None:
            warnings.warn("Argument `input_shape` is deprecated. Use `shape` instead.", stacklevel=2)
            shape = input_shape if shape is None else shape
        batch_shape, dtype = batch_shape or batch_input_shape, dtype or input_dtype
        if input_tensor is None:
            input_tensor = Input(
                shape=shape,
                batch_size=batch_size,
                dtype=dtype,
                sparse=sparse,
                ragged=ragged,
                batch_shape=batch_shape,
                name=name,
                optional=optional,
            )
        elif not is_tensor(input_tensor):
            raise ValueError(
                f"Argument `input_tensor` must be a KerasTensor. Received invalid type: input_tensor="
                f"{input_tensor} (of type {type(input_tensor)})"
            )
        self.tensor = self.output = input_tensor
        self.name, self.dtype, self.batch_shape = input_tensor.name, input_tensor.dtype, input_tensor.shape

    trainable_weights = non_trainable_weights = variables = weights

    def call(self):
        """The input itself."""

    def get_weights(self):
        """An empty list."""
        return []

    def count_params(self):
        """0."""
        return 0

    def get_config(self):
        """The arguments of the constructor, as a dict."""
        return {
            "batch_shape": self.batch_shape,
            "dtype": self.dtype,
            "sparse": False,
            "ragged": False,
            "name": self.name,
            "optional": self.tensor.call.optional,
        }

    @classmethod
    def from_config(cls, config):
        """An input of what get_config() gave."""
        return cls(**config)

    def __repr__(self):
        return f"<InputLayer name={self.name}, built=True>"
