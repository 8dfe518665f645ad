"""tf.linalg."""

import numpy as np

from ..keras import ops
from ..keras.src.ops.dispatch import is_symbolic
from .arrays import einsum, eye, matmul, norm, tensordot
from .dispatch import array, tensor
from .elementwise import global_norm, l2_normalize


def _of(function, in_graph):
    def f(input, *args, **kwargs):  # noqa: A002
        kwargs.pop("name", None)
        if is_symbolic(input):
            return in_graph(input, *args, **kwargs)
        return tensor(function(array(input), *args, **kwargs))

    f.__name__ = function.__name__
    return f


inv, det, cholesky, pinv, matrix_rank = (
    _of(getattr(np.linalg, name), getattr(ops, name)) for name in "inv det cholesky pinv matrix_rank".split()
)
diag_part = _of(
    lambda x: np.diagonal(x, axis1=-2, axis2=-1), lambda x: ops.diagonal(x, axis1=-2, axis2=-1)
)
trace = _of(lambda x: np.trace(x, axis1=-2, axis2=-1), lambda x: ops.trace(x, axis1=-2, axis2=-1))
normalize = l2_normalize


def diag(diagonal, name=None):
    if is_symbolic(diagonal):
        return ops.expand_dims(diagonal, -1) * np.eye(diagonal.shape[-1], dtype="float32")
    x = array(diagonal)
    return tensor(x[..., None] * np.eye(x.shape[-1], dtype=x.dtype))


def matrix_transpose(a, name=None):
    return ops.swapaxes(a, -1, -2) if not isinstance(a, np.ndarray) else tensor(a.swapaxes(-1, -2))


def band_part(input, num_lower, num_upper, name=None):  # noqa: A002
    """The entries near the diagonal, the others as 0."""
    x = input if is_symbolic(input) else array(input)
    i, j = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1])
    inside = ((num_lower < 0) | (i - j <= num_lower)) & ((num_upper < 0) | (j - i <= num_upper))
    if is_symbolic(input):
        return ops.where(inside, x, ops.zeros_like(x))
    return tensor(np.where(inside, x, np.zeros((), x.dtype)))


def set_diag(input, diagonal, name=None):  # noqa: A002
    if is_symbolic(input, diagonal):
        on = np.eye(*input.shape[-2:], dtype="float32")
        least = min(input.shape[-2:])
        spread = ops.expand_dims(diagonal, -1) * on[:least]
        rows = [(0, 0)] * (len(input.shape) - 2) + [(0, input.shape[-2] - least), (0, 0)]
        return input * (1 - on) + (ops.pad(spread, rows[-len(spread.shape) :]) if rows[-2][1] else spread)
    x = array(input).copy()
    i = np.arange(min(x.shape[-2:]))
    x[..., i, i] = array(diagonal)
    return tensor(x)


def lstsq(matrix, rhs, l2_regularizer=0.0, fast=True, name=None):
    """The least squares solution."""
    a, b = array(matrix), array(rhs)
    gram = np.swapaxes(a, -1, -2) @ a + l2_regularizer * np.eye(a.shape[-1], dtype=a.dtype)
    return tensor(np.linalg.solve(gram, np.swapaxes(a, -1, -2) @ b).astype(a.dtype))


def solve(matrix, rhs, adjoint=False, name=None):
    if is_symbolic(matrix, rhs):
        return ops.solve(ops.swapaxes(matrix, -1, -2) if adjoint else matrix, rhs)
    m = array(matrix)
    return tensor(np.linalg.solve(m.swapaxes(-1, -2) if adjoint else m, array(rhs)))


def eigh(tensor_, name=None):
    return tuple(tensor(v) for v in np.linalg.eigh(array(tensor_)))


def svd(tensor_, full_matrices=False, compute_uv=True, name=None):
    """Singular values, left and right vectors."""
    if not compute_uv:
        return tensor(np.linalg.svd(array(tensor_), compute_uv=False))
    u, s, vt = np.linalg.svd(array(tensor_), full_matrices)
    return tensor(s), tensor(u), tensor(vt.swapaxes(-1, -2))


def qr(input, full_matrices=False, name=None):  # noqa: A002
    return tuple(tensor(v) for v in np.linalg.qr(array(input), "complete" if full_matrices else "reduced"))


__all__ = [
    "global_norm",
    *("einsum", "eye", "matmul", "norm", "tensordot", "l2_normalize", "normalize", "inv", "det", "cholesky", "pinv"),
    *(
        "matrix_rank",
        "diag_part",
        "trace",
        "diag",
        "matrix_transpose",
        "band_part",
        "lstsq",
        "set_diag",
        "solve",
        "eigh",
        "svd",
        "qr",
    ),
]
