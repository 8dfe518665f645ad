"""Layers."""

from .src.layers.input_layer import InputLayer
from .src.layers.input_spec import InputSpec
from .src.layers.lambda_layer import Lambda
from .src.layers.layer import category as _category, Layer
from .src.layers.merging import add, average, concatenate, dot, maximum, minimum, multiply, subtract
from .src.layers.preprocessing import later as _later
from .src.layers import attention, bidirectional, convolution, rnn, time_distributed  # noqa: F401 the bases of these kinds
from .src.layers.wrapper import Wrapper
from .src.saving.serialization_lib import serialize
from .src.symbolic.tensor import Input

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
