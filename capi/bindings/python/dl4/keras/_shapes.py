"""Of keras.ops, what changes shapes and takes parts: reshape to x[...]."""

import builtins

from ._functions import axes, function
from ._tensors import as_tensor, is_tensor, layer_of, promoted


@function
def reshape(x, newshape):
    x = as_tensor(x)
    sizes = [d if isinstance(d, int) else -1 for d in newshape] if isinstance(newshape, (list, tuple)) else [newshape]
    if x.shape and x.shape[0] is None and sizes and sizes[0] == -1 and sizes.count(-1) <= 2 and len(sizes) > 1:
        if not isinstance(newshape[0], int) or _keeps_batch(x.shape, sizes):
            return layer_of("Reshape", target_shape=sizes[1:])(x)
    if len(sizes) == 1:
        return _flat(x)
    if sizes.count(-1) > 1:
        raise NotImplementedError(f"reshape: expected one free size, got {newshape}")
    return squeeze(layer_of("Reshape", target_shape=sizes)(expand_dims(x, 0)), 0)


def _keeps_batch(old, new):
    def size(dims):
        n = 1
        for d in dims:
            n *= d
        return n

    return None not in old[1:] and -1 not in new[1:] and size(old[1:]) == size(new[1:])


def _flat(x):
    return squeeze(layer_of("Reshape", target_shape=[-1])(expand_dims(x, 0)), 0)


@function
def ravel(x):
    return _flat(as_tensor(x))


@function
def transpose(x, axes=None):
    x = as_tensor(x)
    perm = list(axes) if axes is not None else list(range(len(x.shape)))[::-1]
    return layer_of("Transpose", perm=[int(a) % len(perm) for a in perm])(x)


@function
def swapaxes(x, axis1, axis2):
    x = as_tensor(x)
    perm = list(range(len(x.shape)))
    perm[axis1], perm[axis2] = perm[axis2], perm[axis1]
    return transpose(x, perm)


@function
def moveaxis(x, source, destination):
    x = as_tensor(x)
    n = len(x.shape)
    source, destination = ([int(a) % n for a in (v if isinstance(v, (list, tuple)) else [v])] for v in (source, destination))
    if len(source) != len(destination) or len({*source}) < len(source) or len({*destination}) < len(destination):
        raise ValueError(f"moveaxis: expected as many axes as places, none twice, got {source} and {destination}")
    order = [i for i in range(n) if i not in source]
    for to, axis in sorted(zip(destination, source)):
        order.insert(to, axis)
    return transpose(x, order)


@function
def expand_dims(x, axis):
    return layer_of("ExpandDims", axis=axes(axis))(as_tensor(x))


@function
def squeeze(x, axis=None):
    return layer_of("Squeeze", axis=axes(axis))(as_tensor(x))


@function
def concatenate(xs, axis=0):
    return layer_of("Concatenate", axis=int(axis))(promoted([as_tensor(x) for x in xs]))


@function
def stack(x, axis=0):
    return layer_of("Stack", axis=int(axis))(promoted([as_tensor(t) for t in x]))


@function
def split(x, indices_or_sections, axis=0):
    x = as_tensor(x)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        if size is None or size % indices_or_sections:
            raise ValueError(f"split: {size} is not a multiple of {indices_or_sections}")
        step = size // indices_or_sections
        ends = list(range(step, size, step))
    else:
        ends = [int(i) for i in indices_or_sections]
    axis %= len(x.shape)
    at = (slice_(None),) * axis
    return [get_item(x, (*at, slice_(a, b))) for a, b in zip([0] + ends, ends + [size])]


@function
def repeat(x, repeats, axis=None):
    x = as_tensor(x)
    if axis is None:
        x, axis = _flat(x), 0
    return layer_of("Repeat", repeats=int(repeats), axis=int(axis))(x)


@function
def tile(x, repeats):
    x = as_tensor(x)
    for axis, n in enumerate(reversed([repeats] if isinstance(repeats, int) else list(repeats))):
        if n != 1:
            x = layer_of("Concatenate", axis=-1 - axis)([x] * n)
    return x


@function
def flip(x, axis=None):
    return layer_of("Flip", axis=axes(axis))(as_tensor(x))


@function
def take(x, indices, axis=None):
    x = as_tensor(x)
    if isinstance(indices, int) or (isinstance(indices, (list, tuple)) and not builtins.any(map(is_tensor, indices))):
        return layer_of("Take", indices=axes(indices), axis=axis)(x)
    return layer_of("Take", axis=axis)([x, as_tensor(indices)])


slice_ = builtins.slice


@function
def slice(inputs, start_indices, shape):  # noqa: A001
    return layer_of("Slice", start_indices=[int(i) for i in start_indices], shape=[int(s) for s in shape])(
        as_tensor(inputs)
    )


def get_item(x, key):
    """x[key]: numbers, slices, None and ... by NumPy's rules."""
    if not is_tensor(x):
        return x[key]
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis not in [k for k in keys if k is Ellipsis]:
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    given = builtins.sum(k is not None and k is not Ellipsis for k in keys)
    if given > len(x.shape):
        raise IndexError(f"too many indices: {given} for a tensor of {len(x.shape)} axes")
    keys[at : at + 1] = [slice_(None)] * (len(x.shape) - given)
    axis = 0
    for k in keys:
        if k is None:
            x = layer_of("ExpandDims", axis=axis)(x)
            axis += 1
        elif hasattr(k, "__index__") and not is_tensor(k):
            k = k.__index__()
            if k < 0 and x.shape[axis] is None:
                x, k = _flipped(x, axis), -1 - k
            x = layer_of("Take", indices=k, axis=axis)(x)
        elif isinstance(k, slice_):
            x = _sliced(x, k, axis)
            axis += 1
        elif isinstance(k, (list, tuple)):
            x = layer_of("Take", indices=[int(i) for i in k], axis=axis)(x)
            axis += 1
        else:
            raise NotImplementedError(f"a tensor's index: expected numbers, slices, None or ..., got {k!r}")
    return x


def _sliced(x, k, axis):
    size, step = x.shape[axis], 1 if k.step is None else int(k.step)
    if k == slice_(None):
        return x
    if size is not None:
        places = range(size)[k]
        if step == 1 and places:
            return _block(x, axis, places[0], len(places))
        return layer_of("Take", indices=list(places), axis=axis)(x)
    if step == -1 and k.start is None and k.stop is None:
        return layer_of("Flip", axis=axis)(x)
    if step != 1:
        raise NotImplementedError("a step in a slice of a free axis is not in this version")
    start, stop = k.start or 0, k.stop
    if start < 0:
        if stop is not None:
            raise NotImplementedError("a slice of a free axis from its end needs no stop")
        return _flipped(_block(_flipped(x, axis), axis, 0, -start), axis)
    if stop is not None and stop < 0:
        x = _flipped(_block(_flipped(x, axis), axis, -stop, -1), axis)
        stop = None
    return _block(x, axis, start, -1 if stop is None else stop - start) if start or stop is not None else x


def _flipped(x, axis):
    return layer_of("Flip", axis=axis)(x)


def _block(x, axis, start, size):
    n = len(x.shape)
    return layer_of(
        "Slice",
        start_indices=[start if i == axis else 0 for i in range(n)],
        shape=[size if i == axis else -1 for i in range(n)],
    )(x)
