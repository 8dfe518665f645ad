"""Places that lie along an axis, picked by indices."""

from ..symbolic.tensor import as_tensor, cast_tensor, get_item
from .creation import zeros_like
from .dispatch import axis_of, dispatched, places
from .elementwise import where
from .shapes import expand_dims, moveaxis, reshape, take


@dispatched
def take_along_axis(x, indices, axis=None):
    """By their numbers in one row of all places, so that what is taken stays as it is, and gradients find their way."""
    x, indices = as_tensor(x), as_tensor(indices)
    if axis is None:
        x, indices, axis = reshape(x, (-1,)), reshape(indices, (-1,)), 0
    axis = axis_of(axis, x)
    n, around = x.shape[axis], [d for i, d in enumerate(x.shape) if i != axis]
    if n is None or None in around[1:] or len(indices.shape) != len(x.shape):
        raise NotImplementedError("take_along_axis: expected one free size at most, that of the batch, in a graph")
    x, at = moveaxis(x, axis, -1), cast_tensor(moveaxis(indices, axis, -1), "int32")
    one = get_item(x, (Ellipsis, slice(0, 1)))
    at = at + zeros_like(one, dtype="int32")
    if list(at.shape[:-1]) != around:
        raise NotImplementedError("take_along_axis: expected indices that spread over x, in a graph")
    at, step = where(at < 0, at + n, at), n
    for i in reversed(range(len(around))):
        along = expand_dims(cast_tensor(places(one, i), "int32"), list(range(1, len(around) + 1 - i)))
        at, step = at + along * step, step * (around[i] or 1)
    return moveaxis(take(reshape(x, (-1,)), at, axis=0), -1, axis)
