"""Keras's contract of `backend.linalg`."""

import numpy as np

from .core import cast
from .dtypes import Unsupported, is_float
from .fallback import (  # noqa: F401
    cholesky,
    cholesky_inverse,
    det,
    eig,
    eigh,
    inv,
    lstsq,
    lu_factor,
    matrix_rank,
    norm_by_values,
    pinv,
    qr,
    solve,
    solve_triangular,
    svd,
)
from .functions import op
from .reductions import axes_of, over
from .shapes import reshaped
from .tensor import array
from .trace import emit, tensor


def norm(x, ord=None, axis=None, keepdims=False):  # noqa: A002
    x = tensor(x)
    x = x if is_float(x.type_name) else cast(x, "float32")
    axes = axes_of(x, axis)
    if axis is None and (ord is None or len(x.shape) > 2):
        if ord is not None:
            raise ValueError(f"Improper number of dimensions to norm: {len(x.shape)}")
        return _root_of_squares(x, axes, keepdims)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"Invalid axis values: expected one or two, received axis={axis}")
    if ord in ("nuc", 2, -2):
        return norm_by_values(x, ord, tuple(axes), keepdims)
    return _of_matrices(x, ord, axes, keepdims)


@op("x")
def _root_of_squares(x, axes, keepdims):
    return emit("Sqrt", over("Sum", emit("Square", cast(x, "float32")), axes, keepdims), to=x.type_name)


@op("x")
def _of_vectors(x, ord, axes, keepdims):  # noqa: A002
    t, x = x.type_name, cast(x, "float32")
    size = emit("Absolute", x)
    if ord in (None, 2):
        return _root_of_squares(x, axes, keepdims)
    if ord in (np.inf, -np.inf):
        return over("Max" if ord > 0 else "Min", size, axes, keepdims, t)
    if ord == 0:
        return over("Sum", cast(emit("NotEqual", x, array(0.0, "float32")), "float32"), axes, keepdims, t)
    if isinstance(ord, str):
        raise ValueError(f"Invalid `ord` argument for vector norm. Received: ord={ord}")
    if ord == 1:
        return over("Sum", size, axes, keepdims, t)
    total = over("Sum", emit("Power", size, array(float(ord), "float32")), axes, keepdims)
    return emit("Power", total, array(1.0 / ord, "float32"), to=t)


@op("x")
def _of_matrices(x, ord, axes, keepdims):  # noqa: A002
    rows, columns = axes
    if ord in (None, "fro"):
        return _root_of_squares(x, axes, keepdims)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"Invalid `ord` argument for matrix norm. Received: ord={ord}")
    first, last = (rows, columns) if ord in (1, -1) else (columns, rows)
    y = over("Sum", emit("Absolute", cast(x, "float32")), first, True)
    y = over("Max" if ord > 0 else "Min", y, last, True, x.type_name)
    return y if keepdims else reshaped(y, [d for i, d in enumerate(x.shape) if i not in axes])


def jvp(fun, primals, tangents, has_aux=False):
    raise Unsupported(
        "keras.ops.jvp: the backend dl4 differentiates backwards alone: dl4.keras_backend.value_and_grad()"
    )
