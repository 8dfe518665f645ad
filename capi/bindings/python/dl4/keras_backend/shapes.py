"""Shapes and parts of tensors."""

import numpy as np

from . import loops
from .core import along, cast, convert_to_tensor
from .dtypes import name_of
from .elementwise import const, joined_type, where_of
from .functions import op
from .tensor import Tensor, array
from .trace import Traced, current, emit, has_traced, plain, tensor


def axis_of(axis, rank, name="axis"):
    if not -rank <= axis < rank:
        raise ValueError(f"{name} {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def ints(x):
    """Whole numbers that are given as one, a list or an array."""
    x = plain(x)
    return [int(v) for v in x] if isinstance(x, (tuple, list)) else [int(x)]


def reshaped(x, sizes):
    return emit("ReshapeBatch", x, to=x.type_name, shape=[int(s) for s in sizes])


@op("x")
def reshape(x, newshape):
    sizes = ints(newshape)
    known = 1
    for s in sizes:
        known *= s if s != -1 else 1
    if -1 in sizes and known:
        sizes[sizes.index(-1)] = x.size // known
    count = 1
    for s in sizes:
        count *= s
    if count != x.size:
        if current() is not None and current().free:  # it may fit when the batch has its size
            return current().input(x.type_name, [abs(s) for s in sizes])
        raise ValueError(f"cannot reshape a tensor of shape {tuple(x.shape)} into shape {tuple(ints(newshape))}")
    return reshaped(x, sizes)


def ravel(x):
    return reshape(x, [-1])


@op("x")
def transpose(x, axes=None):
    rank = len(x.shape)
    order = list(range(rank))[::-1] if axes is None else [axis_of(a, rank) for a in ints(axes)]
    if sorted(order) != list(range(rank)):
        raise ValueError(f"transpose: expected each of {rank} axes once, got {axes}")
    return x if rank < 2 else emit("Transpose", x, to=x.type_name, perm=order)


def swapaxes(x, axis1, axis2):
    x = tensor(x)
    order = list(range(len(x.shape)))
    i, j = axis_of(axis1, len(order)), axis_of(axis2, len(order))
    order[i], order[j] = j, i
    return transpose(x, order)


def moveaxis(x, source, destination):
    x = tensor(x)
    rank = len(x.shape)
    source, destination = ([axis_of(a, rank) for a in ints(v)] for v in (source, destination))
    if len(source) != len(destination) or len({*source}) < len(source) or len({*destination}) < len(destination):
        raise ValueError(f"moveaxis: expected as many axes as places, none twice, got {source} and {destination}")
    order = [i for i in range(rank) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return transpose(x, order)


@op("x")
def expand_dims(x, axis):
    added = ints(axis)
    rank = len(x.shape) + len(added)
    places = {axis_of(a, rank) for a in added}
    rest = iter(x.shape)
    return reshaped(x, [1 if i in places else next(rest) for i in range(rank)])


@op("x")
def squeeze(x, axis=None):
    rank = len(x.shape)
    gone = [i for i, d in enumerate(x.shape) if d == 1] if axis is None else [axis_of(a, rank) for a in ints(axis)]
    for i in gone:
        if x.shape[i] != 1:
            raise ValueError(f"Cannot squeeze axis={i}, because the dimension is not 1: shape {tuple(x.shape)}")
    return reshaped(x, [d for i, d in enumerate(x.shape) if i not in gone])


@op("xs*")
def concatenate(xs, axis=0):
    t = joined_type(*xs)
    xs = [cast(x, t) for x in xs]
    return emit("Concatenate", *xs, to=t, axis=int(axis)) if len(xs) > 1 else xs[0]


loops.joined = concatenate


@op("x*")
def stack(x, axis=0):
    t = joined_type(*x)
    return emit("Stack", *(cast(v, t) for v in x), to=t, axis=int(axis))


def _rows(xs):
    return [tensor(x) for x in xs]


def hstack(xs):
    xs = [expand_dims(x, 0) if not x.shape else x for x in _rows(xs)]
    return concatenate(xs, axis=0 if len(xs[0].shape) == 1 else 1)


def vstack(xs):
    return concatenate([reshape(x, [1, -1]) if len(x.shape) < 2 else x for x in _rows(xs)], axis=0)


def dstack(xs):
    def deep(x):
        return x if len(x.shape) > 2 else reshape(x, [*(x.shape if len(x.shape) == 2 else (1, x.size)), 1])

    return concatenate([deep(x) for x in _rows(xs)], axis=2)


def append(x1, x2, axis=None):
    return concatenate([ravel(x1), ravel(x2)] if axis is None else [x1, x2], axis=axis or 0)


def _part(x, axis, start, stop):
    return x[(slice(None),) * axis + (slice(start, stop),)]


def split(x, indices_or_sections, axis=0):
    x = tensor(x)
    axis = axis_of(int(axis), len(x.shape))
    if isinstance(indices_or_sections, int):
        if x.shape[axis] % indices_or_sections:
            raise ValueError(f"split: {x.shape[axis]} is not a multiple of {indices_or_sections}")
    return _split(x, indices_or_sections, axis)


def _split(x, given, axis):
    n = x.shape[axis]
    if isinstance(given, int):
        size, more = divmod(n, given)
        ends = list(np.cumsum([size + (i < more) for i in range(given)])[:-1])
    else:
        ends = ints(given)
    ends = [min(max(int(e) + n if e < 0 else int(e), 0), n) for e in ends]
    return [_part(x, axis, a, max(a, b)) for a, b in zip([0, *ends], [*ends, n])]


def array_split(x, indices_or_sections, axis=0):
    x = tensor(x)
    return _split(x, indices_or_sections, axis_of(int(axis), len(x.shape)))


def hsplit(x, indices_or_sections):
    x = tensor(x)
    return split(x, indices_or_sections, 0 if len(x.shape) == 1 else 1)


def vsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 0)


def dsplit(x, indices_or_sections):
    return split(x, indices_or_sections, 2)


@op("x")
def flip(x, axis=None):
    axes = list(range(len(x.shape))) if axis is None else ints(axis)
    return emit("Flip", x, to=x.type_name, axis=axes) if axes else x


def fliplr(x):
    return flip(x, 1)


def flipud(x):
    return flip(x, 0)


def rot90(array, k=1, axes=(0, 1)):
    x = tensor(array)
    if len(x.shape) < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={len(x.shape)}")
    if len(axes) != 2 or axes[0] % len(x.shape) == axes[1] % len(x.shape):
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    k %= 4
    if k == 2:
        return flip(x, axes)
    x = flip(x, axes[1]) if k == 1 else x
    x = swapaxes(x, *axes) if k else x
    return flip(x, axes[1]) if k == 3 else x


@op("x")
def repeat(x, repeats, axis=None):
    if axis is None:
        x, axis = reshaped(x, [x.size]), 0
    axis = axis_of(axis, len(x.shape))
    counts = ints(repeats)
    counts = counts * x.shape[axis] if len(counts) == 1 else counts
    return along(x, axis, array(np.repeat(np.arange(x.shape[axis]), counts), "int32"))


@op("x")
def tile(x, repeats):
    repeats = ints(repeats)
    rank = max(len(repeats), len(x.shape))
    x = reshaped(x, [1] * (rank - len(x.shape)) + list(x.shape))
    repeats = [1] * (rank - len(repeats)) + repeats
    return emit("Tile", x, to=x.type_name, repeats=repeats) if rank else x


@op("x")
def broadcast_to(x, shape):
    sizes = ints(shape)
    if len(sizes) < len(x.shape):
        raise ValueError(f"broadcast_to: expected at least {len(x.shape)} axes, got shape {tuple(sizes)}")
    old = [1] * (len(sizes) - len(x.shape)) + list(x.shape)
    if any(a not in (1, b) for a, b in zip(old, sizes)):
        raise ValueError(f"broadcast_to: shape {tuple(x.shape)} can't be broadcast to {tuple(sizes)}")
    x = reshaped(x, old)
    return tile(x, [b if a == 1 else 1 for a, b in zip(old, sizes)]) if old != sizes else x


@op("x indices")
def take(x, indices, axis=None):
    if axis is None:
        x, axis = reshaped(x, [x.size]), 0
    axis = axis_of(int(axis), len(x.shape))
    return along(x, axis, wrapped(indices, x.shape[axis]))


def wrapped(indices, size):
    """Places, of which those below 0 count from the end, and those beyond are the last."""
    indices = cast(indices, "int64" if indices.type_name in ("int64", "uint32", "uint64") else "int32")
    below = emit("Less", indices, const(indices, 0))
    indices = emit("Where", below, emit("BroadcastAdd", indices, const(indices, size)), indices)
    indices = emit("BroadcastMaximum", indices, const(indices, 0))
    return emit("BroadcastMinimum", indices, const(indices, max(size - 1, 0)))


@op("x indices")
def take_along_axis(x, indices, axis=None):
    if axis is None:
        x, indices, axis = reshaped(x, [x.size]), reshaped(indices, [indices.size]), 0
    axis, rank = axis_of(axis, len(x.shape)), len(x.shape)
    sizes = [max(a, b) if i != axis else b for i, (a, b) in enumerate(zip(x.shape, indices.shape))]
    x = broadcast_to(x, [d if i == axis else s for i, (d, s) in enumerate(zip(x.shape, sizes))])
    at = wrapped(indices, x.shape[axis])
    step, base = 1, np.zeros([1] * rank, "int64")
    for i in reversed(range(rank)):
        if i == axis:
            along_axis = step
        else:
            base = base + np.arange(x.shape[i]).reshape([-1 if j == i else 1 for j in range(rank)]) * step
        step *= x.shape[i]
    at = emit("BroadcastMultiply", cast(at, "int64"), array(along_axis, "int64"))
    at = emit("BroadcastAdd", at, array(base, "int64"))
    return emit("Take", reshaped(x, [x.size]), at, to=x.type_name, axis=0)


@op("x constant_values")
def pad(x, pad_width, mode="constant", constant_values=None):
    if constant_values is not None and mode != "constant":
        raise ValueError(
            f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}"
        )
    rank, width = len(x.shape), plain(pad_width)
    if isinstance(width, int):
        width = (width, width)
    if isinstance(width[0], int):
        width = [width if len(width) == 2 else width * 2] * rank
    elif len(width) == 1:
        width = list(width) * rank
    width = [[int(a), int(b)] for a, b in width]
    if not any(map(any, width)):
        return x
    if mode == "constant" and constant_values is not None:
        inside = emit("Pad", array(np.ones(x.shape), "bool"), pad_width=width)
        return emit(
            "Where", inside, emit("Pad", x, pad_width=width), cast(constant_values, x.type_name), to=x.type_name
        )
    if mode == "constant":
        return emit("Pad", x, to=x.type_name, pad_width=width)
    for axis, (before, after) in enumerate(width):
        n = x.shape[axis]
        places = np.pad(np.arange(n), (before, after), mode=mode)
        x = along(x, axis, array(places, "int32")) if before or after else x
    return x


@op("x")
def roll(x, shift, axis=None):
    if axis is None:
        return reshaped(roll(reshaped(x, [x.size]), shift, 0), x.shape)
    shifts, axes = ints(shift), ints(axis)
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    for k, a in zip(shifts, axes * len(shifts) if len(axes) == 1 else axes):
        a = axis_of(a, len(x.shape))
        x = along(x, a, array(np.roll(np.arange(x.shape[a]), k), "int32"))
    return x


def meshgrid(*x, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing: expected 'xy' or 'ij', got {indexing!r}")
    xs = [ravel(v) for v in x]
    order = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[:2] = [1, 0]
    sizes = [xs[i].shape[0] for i in order]
    return [
        broadcast_to(reshape(v, [-1 if order[j] == i else 1 for j in range(len(xs))]), sizes) for i, v in enumerate(xs)
    ]


def where(condition, x1=None, x2=None):
    if (x1 is None) != (x2 is None):
        raise ValueError("`x1` and `x2` either both should be `None` or both should have non-None value.")
    if x1 is None:
        return nonzero(condition)
    return where_of(condition, x1, x2)


nonzero = None  # what `fallback` puts in place


# ---- x[key]


def item(x, key):
    """x[key] by NumPy's rules."""
    keys = list(key) if isinstance(key, tuple) else [key]
    keys = [_key(k) for k in keys]
    if not isinstance(x, Traced) and not has_traced(keys):
        found = x.value[tuple(k.value if isinstance(k, Tensor) else k for k in keys)]
        return array(np.array(found), x.type_name)
    keys = _complete(x, keys)
    if sum(isinstance(k, Tensor) and bool(k.shape) for k in keys) > 1:
        return _at_several(x, keys)
    axis = 0
    for k in keys:
        if k is None:
            x = expand_dims(x, axis)
        elif isinstance(k, slice):
            x = _sliced(x, axis, k)
        elif isinstance(k, int):
            n = x.shape[axis]
            if not -n <= k < n:
                raise IndexError(f"index {k} is out of bounds for axis {axis} with size {n}")
            x = emit("Take", x, to=x.type_name, indices=k % n, axis=axis)
            continue
        else:
            x = take(x, k, axis)
            axis += len(k.shape) - 1
        axis += 1
    return x


def _key(k):
    if k is None or k is Ellipsis or isinstance(k, (slice, int)) and not isinstance(k, bool):
        return k
    if hasattr(k, "__index__") and not isinstance(k, (Tensor, bool)) and not getattr(k, "shape", ()):
        return k.__index__()
    k = convert_to_tensor(k)
    if not isinstance(k, Traced) and k.type_name != "bool" and not k.shape:
        return int(k)
    return k


def _complete(x, keys):
    """Keys with a slice for each axis that none is given for, and flags as places."""
    if any(isinstance(k, Tensor) and k.type_name == "bool" for k in keys):
        if any(isinstance(k, Traced) and k.type_name == "bool" for k in keys):
            raise NotImplementedError("a traced tensor of flags as an index: its size depends on numbers: use where()")
        keys = [
            part
            for k in keys
            for part in (
                [array(p, "int32") for p in np.nonzero(k.value)]
                if isinstance(k, Tensor) and k.type_name == "bool"
                else [k]
            )
        ]
    if not any(k is Ellipsis for k in keys):
        keys = [*keys, Ellipsis]
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if given > len(x.shape):
        raise IndexError(f"too many indices: {given} for a tensor of {len(x.shape)} axes")
    return keys[:at] + [slice(None)] * (len(x.shape) - given) + keys[at + 1 :]


def _sliced(x, axis, k):
    n = x.shape[axis]
    bounds = (k.start, k.stop, k.step)
    if has_traced(bounds):
        raise NotImplementedError("a slice with traced bounds: use keras.ops.slice()")
    places = range(n)[slice(*(None if b is None else int(b) for b in bounds))]
    if len(places) == n and places.step == 1:
        return x
    if places.step == 1 and len(places):
        starts = [places[0] if i == axis else 0 for i in range(len(x.shape))]
        sizes = [len(places) if i == axis else d for i, d in enumerate(x.shape)]
        return emit("Slice", x, to=x.type_name, start_indices=starts, shape=sizes)
    return along(x, axis, array(np.asarray(places, "int32"), "int32"))


def _at_several(x, keys):
    """Several tensors of places beside each other, as one of all their axes."""
    if any(k is None or isinstance(k, slice) and k != slice(None) for k in keys):
        raise NotImplementedError("several tensors as indices beside slices: expected `:` alone")
    axes = [i for i, k in enumerate(keys) if not isinstance(k, slice)]
    if axes != list(range(axes[0], axes[0] + len(axes))):
        raise NotImplementedError("several tensors as indices: expected them beside each other")
    sizes = [x.shape[i] for i in axes]
    at = None
    for i, n in zip(axes, sizes):
        k = wrapped(cast(tensor(keys[i]), "int32"), n)
        at = k if at is None else emit("BroadcastAdd", emit("BroadcastMultiply", at, const(at, n)), k)
    merged = reshaped(x, [*x.shape[: axes[0]], int(np.prod(sizes)), *x.shape[axes[-1] + 1 :]])
    return along(merged, axes[0], at)


def view(x, dtype=None):
    """The same bits as another type."""
    x = tensor(x)
    if dtype is None or name_of(dtype) == x.type_name:
        return x
    return _viewed(x, name_of(dtype))


_viewed = None  # what `fallback` puts in place
