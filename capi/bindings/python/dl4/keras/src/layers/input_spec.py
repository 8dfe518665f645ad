"""InputSpec."""

from ..export import keras_export


@keras_export("layers")
class InputSpec:
    """What a layer expects of an input, as Keras programs state it."""

    def __init__(self, dtype=None, shape=None, ndim=None, max_ndim=None, min_ndim=None, axes=None, optional=False):
        self.dtype, self.shape, self.ndim = dtype, shape, len(shape) if shape is not None else ndim
        self.max_ndim, self.min_ndim, self.axes, self.optional = max_ndim, min_ndim, axes or {}, optional

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
