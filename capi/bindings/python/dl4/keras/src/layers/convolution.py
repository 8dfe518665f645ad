"""Convolutions whose convolution_op() a class of one's own calls or overrides."""

from .. import ops, overrides
from .layer import category, Layer


class Convolution(Layer):
    __doc__ = None  # that of its kind

    def convolution_op(self, inputs, kernel):
        """Without the bias and the activation."""
        padding = self.padding
        if padding == "causal":
            before = (self.dilation_rate[0] * (self.kernel_size[0] - 1), 0)
            first = self.data_format == "channels_first"
            inputs, padding = ops.pad(inputs, [(0, 0), *((0, 0), before)[:: 1 if first else -1]]), "valid"
        how = {"strides": tuple(self.strides), "padding": padding, "dilation_rate": self.dilation_rate}
        return ops.conv(inputs, kernel, data_format=self.data_format, **how)

    def call(self, inputs):
        if not overrides.is_overridden(self, "convolution_op"):
            return super().call(inputs)
        y = self.convolution_op(inputs, self.kernel)
        if self.use_bias:
            shape = (1, -1, *[1] * (len(y.shape) - 2)) if self.data_format == "channels_first" else (-1,)
            y = y + ops.reshape(self.bias, shape)
        return y if self.activation is None else self.activation(y)


for _kind in ("Conv1D", "Conv2D", "Conv3D"):
    category.base_of(_kind)(Convolution)
