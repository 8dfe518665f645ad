"""Layers."""

from .src.layers.input_layer import InputLayer
from .src.layers.input_spec import InputSpec
from .src.layers.lambda_layer import Lambda
from .src.layers.layer import category as _category, Layer
from .src.layers.merging import add, average, concatenate, dot, maximum, minimum, multiply, subtract
from .src.layers.preprocessing import later as _later
from .src.layers import attention as _attention, bidirectional as _bidirectional  # noqa: F401 bases of kinds
from .src.layers import convolution as _convolution, rnn as _rnn, time_distributed as _td  # noqa: F401
from .src.layers.wrapper import Wrapper
from .src.saving.serialization_lib import serialize
from .src.symbolic.tensor import Input

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
