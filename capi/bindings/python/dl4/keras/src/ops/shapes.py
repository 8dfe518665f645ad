"""Shapes and parts of tensors: reshape, transpose, concatenate, take, pad, ..."""

import builtins

from ..symbolic.tensor import as_tensor, cast_tensor, get_item, is_tensor, operation, promoted
from .dispatch import alike, axes, axis_of, dispatched, over, places, sizes_in
from .elementwise import mod


@dispatched
def reshape(x, newshape):
    x = as_tensor(x)
    newshape = sizes_in(newshape) if is_tensor(newshape) else newshape
    sizes = [d if isinstance(d, int) else -1 for d in newshape] if isinstance(newshape, (list, tuple)) else [newshape]
    if x.shape and x.shape[0] is None and sizes and sizes[0] == -1 and sizes.count(-1) <= 2 and len(sizes) > 1:
        if not _changes_batch(x.shape, newshape) and _keeps_batch(x.shape, sizes, isinstance(newshape[0], int)):
            return operation("Reshape", target_shape=sizes[1:])(x)
    if len(sizes) == 1:
        return flat(x)
    if sizes.count(-1) > 1:
        if not all(hasattr(d, "one") or isinstance(d, int) and d > 0 for d in newshape):
            raise NotImplementedError(f"reshape: expected one free size, got {newshape}")
        return _shaped(x, newshape)
    return squeeze(operation("Reshape", target_shape=sizes)(expand_dims(x, 0)), 0)


def _changes_batch(old, new):
    """Is the first size another one: a product, say, or one of two where there was one that is not known?"""
    computed = [d for d in new if is_tensor(d)]
    if len(computed) < sum(not isinstance(d, int) or d == -1 for d in new):
        return False
    return computed and (not hasattr(computed[0], "one") if len(computed) == 1 else None not in old[1:])


def _shaped(x, sizes):
    """Of sizes that the library learns in the run: what stands at each place."""
    import numpy

    at, step = 0, 1
    for i, size in reversed(list(enumerate(sizes))):
        along = as_tensor(numpy.arange(size, dtype="int32")) if isinstance(size, int) else places(size.one, 0)
        along = cast_tensor(along, "int32")
        if i < len(sizes) - 1:
            along = expand_dims(along, list(range(1, len(sizes) - i)))
        at, step = at + along * step, size * step
    return take(flat(x), at, axis=0)


def _keeps_batch(old, new, said_free):
    """Does a reshape leave the first axis as it is? Where a size is not known, if it is said to be of that size."""

    def size(dims):
        n = 1
        for d in dims:
            n *= d
        return n

    if None in old[1:] or -1 in new[1:]:
        return not said_free
    return size(old[1:]) == size(new[1:])


def flat(x):
    return squeeze(operation("Reshape", target_shape=[-1])(expand_dims(x, 0)), 0)


@dispatched
def ravel(x):
    return flat(as_tensor(x))


@dispatched
def transpose(x, axes=None):
    x = as_tensor(x)
    perm = list(axes) if axes is not None else list(range(len(x.shape)))[::-1]
    return operation("Transpose", perm=[axis_of(int(a), x) for a in perm])(x)


@dispatched
def swapaxes(x, axis1, axis2):
    x = as_tensor(x)
    perm, axis1, axis2 = list(range(len(x.shape))), axis_of(axis1, x), axis_of(axis2, x)
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return transpose(x, perm)


@dispatched
def moveaxis(x, source, destination):
    x = as_tensor(x)
    n = len(x.shape)
    source, destination = (
        [axis_of(int(a), x) for a in (v if isinstance(v, (list, tuple)) else [v])] for v in (source, destination)
    )
    if len(source) != len(destination) or len({*source}) < len(source) or len({*destination}) < len(destination):
        raise ValueError(f"moveaxis: expected as many axes as places, none twice, got {source} and {destination}")
    order = [i for i in range(n) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return transpose(x, order)


@dispatched
def expand_dims(x, axis):
    return operation("ExpandDims", axis=axes(axis))(as_tensor(x))


@dispatched
def squeeze(x, axis=None):
    return operation("Squeeze", axis=axes(axis))(as_tensor(x))


@dispatched
def concatenate(xs, axis=0):
    return operation("Concatenate", axis=int(axis))(promoted([as_tensor(x) for x in xs]))


@dispatched
def stack(x, axis=0):
    return operation("Stack", axis=int(axis))(promoted([as_tensor(t) for t in x]))


@dispatched
def split(x, indices_or_sections, axis=0):
    x = as_tensor(x)
    axis = axis_of(axis, x)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if size is None or size % indices_or_sections:
            raise ValueError(f"split: {size} is not a multiple of {indices_or_sections}")
        step = size // indices_or_sections
        ends = list(range(step, size, step))
    else:
        ends = [int(i) for i in indices_or_sections]
    at = (slice_(None),) * axis
    return [get_item(x, (*at, slice_(a, b))) for a, b in zip([0] + ends, ends + [size])]


@dispatched
def repeat(x, repeats, axis=None):
    x = as_tensor(x)
    if axis is None:
        x, axis = flat(x), 0
    if isinstance(repeats, (list, tuple)) and len(repeats) == 1:
        repeats = repeats[0]
    if hasattr(repeats, "__len__") and not is_tensor(repeats):  # of each place
        import numpy

        return take(x, numpy.repeat(numpy.arange(len(repeats), dtype="int32"), repeats), axis=int(axis))
    if not hasattr(repeats, "__index__") or is_tensor(repeats):
        raise NotImplementedError(f"repeat: expected a number of repeats in a graph, got {repeats!r}")
    return operation("Repeat", repeats=int(repeats), axis=int(axis))(x)


@dispatched
def tile(x, repeats):
    x = as_tensor(x)
    for axis, n in enumerate(reversed(sizes_in(repeats))):
        if is_tensor(n):
            if not hasattr(n, "one") or x.shape[-1 - axis] != 1:
                raise NotImplementedError(f"tile: expected a size of shape(x) for an axis of 1 alone, got {n!r}")
            x = take(x, cast_tensor(n.one * 0.0, "int32"), axis=-1 - axis)
        elif n != 1:
            x = operation("Concatenate", axis=-1 - axis)([x] * n)
    return x


@dispatched
def flip(x, axis=None):
    return operation("Flip", axis=axes(axis))(as_tensor(x))


@dispatched
def take(x, indices, axis=None):
    x = as_tensor(x)
    if isinstance(indices, int) or (isinstance(indices, (list, tuple)) and not builtins.any(map(is_tensor, indices))):
        return operation("Take", indices=axes(indices), axis=axis)(x)
    return operation("Take", axis=axis)([x, as_tensor(indices)])


slice_ = builtins.slice


@dispatched
def slice(inputs, start_indices, shape):  # noqa: A001
    return operation("Slice", start_indices=[int(i) for i in start_indices], shape=[int(s) for s in shape])(
        as_tensor(inputs)
    )


@dispatched
def diff(a, n=1, axis=-1):
    a = as_tensor(a)
    at = (slice_(None),) * axis_of(axis, a)
    for _ in range(n):
        a = get_item(a, (*at, slice_(1, None))) - get_item(a, (*at, slice_(None, -1)))
    return a


@dispatched
def roll(x, shift, axis=None):
    x = as_tensor(x)
    if axis is None:
        if list(x.shape).count(None) > 1:
            raise NotImplementedError(f"roll: expected an axis, as the shape {x.shape} is not known")
        return reshape(roll(reshape(x, [-1]), shift, 0), [-1 if d is None else d for d in x.shape])
    shifts, places_ = (list(v) if isinstance(v, (list, tuple)) else [v] for v in (shift, axis))
    for k, axis in zip(shifts * len(places_) if len(shifts) == 1 else shifts, places_):
        axis = axis_of(axis, x)
        if x.shape[axis] is None:
            at = cast_tensor(places(x, axis), "int64")
            x = take(x, mod(at - int(k), at + flip(at, 0) + 1), axis)
            continue
        k = k % x.shape[axis] if x.shape[axis] else 0
        if k == 0:
            continue
        at = (slice_(None),) * axis
        x = concatenate([get_item(x, (*at, slice_(-k, None))), get_item(x, (*at, slice_(None, -k)))], axis)
    return x


@dispatched
def pad(x, pad_width, mode="constant", constant_values=None):
    if mode not in ("constant", "edge", "reflect", "symmetric"):
        raise NotImplementedError(f"pad: expected constant, edge, reflect or symmetric, got {mode!r}")
    if constant_values is not None and mode != "constant":
        raise ValueError(
            f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}"
        )
    rank = len(as_tensor(x).shape)
    if isinstance(pad_width, int):
        pad_width = (pad_width, pad_width)
    if isinstance(pad_width[0], int):
        pad_width = [pad_width] * rank
    return _padded(x, [(int(a), int(b)) for a, b in pad_width], mode, float(constant_values or 0))


def _padded(x, widths, mode, value):
    x = as_tensor(x)
    for axis, (before, after) in enumerate(widths):
        at = (slice_(None),) * axis

        def part(start, stop):
            return get_item(x, (*at, slice_(start, stop)))

        def edge(n, near, far):
            if mode == "constant":
                one = repeat(part(0, 1), n, axis)
                blank = alike(one, value)
                return cast_tensor(blank, x.dtype)
            if mode == "edge":
                return repeat(near, n, axis)
            return flip(far, axis)

        skip = 1 if mode == "reflect" else 0
        sides = [x]
        if before:
            sides.insert(0, edge(before, part(0, 1), part(skip, before + skip)))
        if after:
            sides.append(edge(after, part(-1, None), part(-after - skip, -skip or None)))
        x = concatenate(sides, axis) if len(sides) > 1 else x
    return x


@dispatched
def unstack(x, num=None, axis=0):
    x = as_tensor(x)
    axis = axis_of(axis, x)
    size = x.shape[axis] if num is None else num
    if size is None:
        raise ValueError(f"Cannot infer argument `num` from shape {x.shape}. Either provide a tensor with known shape.")
    return [operation("Take", indices=i, axis=axis)(x) for i in range(size)]


@dispatched
def hstack(xs):
    xs = [as_tensor(x) for x in xs]
    return concatenate(xs, 0 if len(xs[0].shape) == 1 else 1)


@dispatched
def vstack(xs):
    xs = [as_tensor(x) for x in xs]
    return concatenate([expand_dims(x, 0) if len(x.shape) == 1 else x for x in xs], 0)


@dispatched
def fliplr(x):
    return flip(x, 1)


@dispatched
def flipud(x):
    return flip(x, 0)


@dispatched
def diagonal(x, offset=0, axis1=0, axis2=1):
    import numpy

    x = as_tensor(x)
    rank = len(x.shape)
    x = transpose(x, [i for i in range(rank) if i not in (axis1 % rank, axis2 % rank)] + [axis1 % rank, axis2 % rank])
    rows, columns = x.shape[-2:]
    if rows is None or columns is None:
        raise NotImplementedError(f"diagonal: expected known axes, got {x.shape}")
    on = numpy.argwhere(numpy.eye(rows, columns, offset, dtype=bool))
    flat = concatenate([operation("Take", indices=i, axis=-2)(x) for i in range(rows)], -1)
    return operation("Take", indices=[int(i * columns + j) for i, j in on], axis=-1)(flat)


@dispatched
def trace(x, offset=0, axis1=0, axis2=1):
    return over("Sum", diagonal(x, offset, axis1, axis2), -1)


@dispatched
def meshgrid(*x, indexing="xy"):
    xs = [as_tensor(t) for t in x]
    n = len(xs)
    order = list(range(n))
    if indexing == "xy" and n > 1:
        order[0], order[1] = 1, 0
    shapes = [t.shape[0] for t in xs]
    grids = []
    for i, t in enumerate(xs):
        at = order.index(i)
        wide = expand_dims(t, [j for j in range(n) if j != at])
        grids.append(tile(wide, [1 if j == at else shapes[order[j]] for j in range(n)]))
    return grids


@dispatched
def dstack(xs):
    xs = [as_tensor(x) for x in xs]
    if len(xs[0].shape) == 2:
        return stack(xs, -1)
    return concatenate(xs, 2)
