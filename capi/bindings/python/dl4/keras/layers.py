"""Layers."""

from .src.layers.input_layer import InputLayer
from .src.layers.input_spec import InputSpec
from .src.layers.lambda_layer import Lambda
from .src.layers.layer import category as _category, Layer
from .src.layers.merging import add, average, concatenate, dot, maximum, minimum, multiply, subtract
from .src.layers.preprocessing.encoding import CategoryEncoding, Discretization
from .src.layers.preprocessing.hashing import HashedCrossing, Hashing
from .src.layers.preprocessing.images import colors as _colors
from .src.layers.preprocessing.images import geometric as _geometric
from .src.layers.preprocessing.images import mixing as _mixing
from .src.layers.preprocessing.images import sizes as _sizes
from .src.layers.preprocessing.images.contrast import AutoContrast, Equalization
from .src.layers.preprocessing.lookups import IntegerLookup, StringLookup
from .src.layers.preprocessing.pipeline import Pipeline
from .src.layers.preprocessing.text_vectorization import TextVectorization
from .src.layers.wrapper import Wrapper
from .src.saving.serialization_lib import serialize
from .src.symbolic.tensor import Input

deserialize = _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
