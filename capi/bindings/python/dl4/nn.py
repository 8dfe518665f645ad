"""What programs for TensorFlow use of tf.nn and of tf itself: activations and products."""

from .keras import activations as _activations
from .keras import layers as _layers
from .keras import ops as _ops
from .keras.src.tensor import as_tensor as _as_tensor
from .keras.src.tensor import is_tensor as _is_tensor
from .keras.src.tensor import operation as _operation


def softmax(logits, axis=-1):
    """Softmax along an axis."""
    return _activations.softmax(logits) if axis == -1 else _layers.Softmax(axis=axis)(logits)


def matmul(a, b, transpose_a=False, transpose_b=False):
    """The product of matrices in the last two axes."""
    if _is_tensor(a) or _is_tensor(b):
        a, b = _as_tensor(a, b), _as_tensor(b, a)
        return _operation("MatMul", transpose_a=transpose_a, transpose_b=transpose_b)([a, b])
    return _ops.matmul(a, b, transpose_a, transpose_b)


def __getattr__(name):
    return getattr(_activations, name)
