"""InputLayer and InputSpec."""

from ._tensors import Input, is_tensor


class InputLayer:
    """An input among the layers of a model, or as the first entry of a Sequential one."""

    trainable, built, weights, is_operation = True, True, (), False

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
            import warnings

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
        pass  # it is not called

    def get_weights(self):
        return []

    def count_params(self):
        return 0

    def get_config(self):
        return {
            "batch_shape": self.batch_shape,
            "dtype": self.dtype,
            "sparse": False,
            "ragged": False,
            "name": self.name,
            "optional": False,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)

    def __repr__(self):
        return f"<InputLayer name={self.name}, built=True>"


class InputSpec:
    """What a layer expects of an input, as Keras programs state it."""

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None, optional=False):
        self.dtype, self.shape, self.ndim = dtype, shape, len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim, self.axes = max_ndim, min_ndim, axes or {}

    def check(self, shape, name):
        """Refuses another shape."""
        n, who = len(shape), f'Input 0 of layer "{name}" is incompatible with the layer:'
        if self.ndim is not None and n != self.ndim:
            raise ValueError(f"{who} expected ndim={self.ndim}, found ndim={n}. Full shape received: {shape}")
        if self.max_ndim is not None and n > self.max_ndim:
            raise ValueError(f"{who} expected max_ndim={self.max_ndim}, found ndim={n}")
        if self.min_ndim is not None and n < self.min_ndim:
            raise ValueError(f"{who} expected min_ndim={self.min_ndim}, found ndim={n}. Full shape received: {shape}")
        wanted = {int(k): v for k, v in self.axes.items()}
        if any(d is not None and shape[i] not in (d, None) for i, d in enumerate(self.shape or ())):
            raise ValueError(f"{who} expected shape={tuple(self.shape)}, found shape={tuple(shape)}")
        for axis, size in wanted.items():
            if size is not None and shape[axis] not in (size, None):
                raise ValueError(
                    f"{who} expected axis {axis} of input shape to have value {size}, but received input "
                    f"with shape {shape}"
                )
