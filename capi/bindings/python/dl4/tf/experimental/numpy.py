"""tf.experimental.numpy: on arrays NumPy's functions, in its types, and on symbolic tensors those of keras.ops."""

import numpy as np

from ...keras import ops
from ...keras.src.ops.dispatch import is_symbolic
from ..dispatch import map_structure, tensor

_CONSTANTS = "bool_ e float16 float32 float64 iinfo finfo inf int8 int16 int32 int64 newaxis pi uint8 uint16 uint32"


def _function(name):
    on_arrays, in_graphs = getattr(np, name), getattr(ops, name)

    def f(*args, **kwargs):
        if is_symbolic(args, kwargs):
            return in_graphs(*args, **kwargs)
        numbers = map_structure(lambda v: np.asarray(v) if hasattr(v, "shape") else v, (args, kwargs))
        got = on_arrays(*numbers[0], **numbers[1])
        return map_structure(lambda v: tensor(v) if isinstance(v, (np.ndarray, np.generic)) else v, got)

    f.__name__ = f.__qualname__ = name
    return f


def __getattr__(name):
    if name in _CONSTANTS.split():
        return getattr(np, name)
    if name[:1] == "_" or not (hasattr(np, name) and hasattr(ops, name)):
        raise AttributeError(f"module 'dl4.tf.experimental.numpy' has no attribute '{name}'")
    return globals().setdefault(name, _function(name))
