"""Functions that move the numbers of arrays, and those that make arrays."""

from ..backend.dtypes import result_type, standardize
from ..backend.lazy import np
from .arguments import array, axes_of, cast, common, FUNCTIONS, on_arrays, wide


def _of_one(name):
    """NumPy's function of a name, of an array and other arguments."""

    def f(x, *args, **kwargs):
        return getattr(np, name)(array(x), *args, **kwargs)

    return f


FUNCTIONS.update({name: _of_one(name) for name in "ravel swapaxes moveaxis flipud fliplr diagonal tril triu".split()})


@on_arrays
def diff(a, n=1, axis=-1):
    return np.diff(array(a), n, axis)


@on_arrays
def rot90(array_, k=1, axes=(0, 1)):
    a = array(array_)
    if a.ndim < 2:
        raise ValueError(f"Input array must have at least 2 dimensions. Received: array.ndim={a.ndim}")
    if len(axes) != 2 or axes[0] == axes[1]:
        raise ValueError(f"Invalid axes: {axes}. Axes must be a tuple of two different dimensions.")
    return np.rot90(a, k, axes)


@on_arrays
def reshape(x, newshape):
    return np.reshape(array(x), newshape if isinstance(newshape, int) else [int(d) for d in newshape])


@on_arrays
def transpose(x, axes=None):
    return np.transpose(array(x), axes)


@on_arrays
def squeeze(x, axis=None):
    return np.squeeze(array(x), axes_of(axis))


@on_arrays
def flip(x, axis=None):
    return np.flip(array(x), axes_of(axis))


@on_arrays
def expand_dims(x, axis):
    return np.expand_dims(array(x), axes_of(axis))


@on_arrays
def broadcast_to(x, shape):
    return np.broadcast_to(array(x), shape)


def _of_many(name):
    def f(xs, axis=0):
        return getattr(np, name)(common(*xs), axis=axis)

    return f


FUNCTIONS.update(concatenate=_of_many("concatenate"), stack=_of_many("stack"))
FUNCTIONS.update({name: (lambda xs, _f=name: getattr(np, _f)(common(*xs))) for name in ("hstack", "vstack", "dstack")})


@on_arrays
def append(x1, x2, axis=None):
    return np.append(*common(x1, x2), axis=axis)


def _sections(given):
    return given if isinstance(given, int) else [int(i) for i in np.asarray(given)]


def _splitting(name):
    def f(x, indices_or_sections, axis=0):
        return list(getattr(np, name)(array(x), _sections(indices_or_sections), axis=axis))

    return f


FUNCTIONS.update(split=_splitting("split"), array_split=_splitting("array_split"))
FUNCTIONS.update(
    {
        name: (lambda x, indices_or_sections, _f=name: list(getattr(np, _f)(array(x), _sections(indices_or_sections))))
        for name in ("hsplit", "vsplit", "dsplit")
    }
)


@on_arrays
def unstack(x, num=None, axis=0):
    a = array(x)
    return list(np.moveaxis(a, axis, 0))[: num if num is None else int(num)]


@on_arrays
def repeat(x, repeats, axis=None):
    return np.repeat(array(x), repeats if isinstance(repeats, int) else np.asarray(array(repeats)), axis)


@on_arrays
def tile(x, repeats):
    return np.tile(array(x), repeats if isinstance(repeats, int) else [int(n) for n in repeats])


@on_arrays
def roll(x, shift, axis=None):
    return np.roll(array(x), shift, axis)


@on_arrays
def take(x, indices, axis=None):
    a, i = array(x), array(indices)
    if i.dtype.kind not in "iub":
        i = i.astype("int32")
    return np.take(a, i, axis)


@on_arrays
def take_along_axis(x, indices, axis=None):
    a, i = array(x), array(indices)
    if i.dtype == bool or i.dtype.kind not in "iu":
        i = i.astype("int32")
    if axis is None:
        return np.take_along_axis(a.ravel(), i.ravel(), 0)
    at = axis % a.ndim
    sizes = np.broadcast_shapes(*([1 if k == at else d for k, d in enumerate(v.shape)] for v in (a, i)))
    a, i = (np.broadcast_to(v, [*sizes[:at], v.shape[at], *sizes[at + 1 :]]) for v in (a, i))
    return np.take_along_axis(a, i, at)


@on_arrays
def slice_(inputs, start_indices, shape):
    a = array(inputs)
    starts = [int(i) for i in np.asarray(start_indices)]
    ends = [d if n == -1 else s + n for s, n, d in zip(starts, (int(n) for n in np.asarray(shape)), a.shape)]
    return a[tuple(np.s_[s:e] for s, e in zip(starts, ends))]


@on_arrays
def slice_update(inputs, start_indices, updates):
    a, new = np.array(array(inputs)), array(updates)
    starts = [int(i) for i in np.asarray(start_indices)]
    a[tuple(np.s_[s : s + n] for s, n in zip(starts, new.shape))] = new
    return a


@on_arrays
def pad(x, pad_width, mode="constant", constant_values=None):
    a = array(x)
    if constant_values is not None and mode != "constant":
        raise ValueError(
            f"Argument `constant_values` can only be provided when `mode == 'constant'`. Received: mode={mode}"
        )
    given = {"constant_values": cast(constant_values, a.dtype)} if constant_values is not None else {}
    if not isinstance(pad_width, int):
        pad_width = tuple((w, w) if isinstance(w, int) else tuple(w) for w in pad_width)
        if len(pad_width) == 2 and a.ndim != 2 and all(v[0] == v[1] for v in pad_width):
            pad_width = (pad_width[0][0], pad_width[1][0])
    return np.pad(a, pad_width, mode, **given)


@on_arrays
def sort(x, axis=-1):
    return np.sort(array(x), axis)


@on_arrays
def argsort(x, axis=-1):
    a = array(x)
    if axis is None:
        a, axis = a.ravel(), -1
    return np.argsort(wide(a), axis, kind="stable").astype("int32")


@on_arrays
def argpartition(x, kth, axis=-1):
    return np.argpartition(wide(array(x)), kth, axis).astype("int32")


@on_arrays
def top_k(x, k, sorted=True):
    a = array(x)
    if a.dtype == bool:
        order = np.argsort(~a, axis=-1, kind="stable")
    else:
        w = wide(a)
        if w.dtype.kind == "f":
            order = np.argsort(-w, axis=-1)
            found = np.take_along_axis(w, order[..., : k + 1], -1)
            if (found[..., 1:] == found[..., :-1]).any():  # of equal ones the first come first
                order = np.argsort(-w, axis=-1, kind="stable")
        else:  # whose least has no negative
            order = a.shape[-1] - 1 - np.flip(np.argsort(np.flip(w, -1), axis=-1, kind="stable"), -1)
    order = order[..., :k]
    return np.take_along_axis(a, order, -1), order.astype("int32")


@on_arrays
def in_top_k(targets, predictions, k):
    p, t = wide(array(predictions)), np.asarray(array(targets), "int64")
    own = np.take_along_axis(p, np.clip(t, 0, p.shape[-1] - 1)[:, None], -1)
    fine = (t >= 0) & (t < p.shape[-1]) & np.isfinite(own[:, 0])
    return ((p > own).sum(-1) < k) & fine


@on_arrays
def unique(
    x,
    sorted=True,
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
):
    a = array(x)
    found = np.unique(a, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    values, index, inverse, counts = found
    inverse = inverse.reshape(a.shape if axis is None else (-1,))
    if not sorted:  # in the order in which they come
        order = np.argsort(index)
        values, index, counts = np.take(values, order, axis or 0), index[order], counts[order]
        inverse = np.argsort(order)[inverse]
    if size is not None:
        at, more = axis or 0, size - values.shape[axis or 0]
        values = np.take(values, range(min(size, values.shape[at])), at)
        if more > 0:
            blank = np.full([more if i == at else d for i, d in enumerate(values.shape)], fill_value or 0, a.dtype)
            values = np.concatenate([values, blank], at)
            index = np.concatenate([index, np.zeros(more, index.dtype)])
            counts = np.concatenate([counts, np.zeros(more, counts.dtype)])
        index, counts = index[:size], counts[:size]
    asked = zip((return_index, return_inverse, return_counts), (index, inverse, counts))
    out = [values] + [v.astype("int32") for wanted, v in asked if wanted]
    return out[0] if len(out) == 1 else tuple(out)


@on_arrays
def isin(x1, x2, assume_unique=False, invert=False):
    a, b = common(x1, x2)
    return np.isin(wide(a), wide(b), assume_unique=assume_unique, invert=invert)


@on_arrays
def unravel_index(indices, shape):
    a = array(indices)
    sizes = [int(d) for d in shape]
    count = int(np.prod(sizes))
    return tuple(i.astype(a.dtype) for i in np.unravel_index(np.where(a < 0, a + count, a), sizes))


@on_arrays
def meshgrid(*x, indexing="xy"):
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing parameter must be either 'xy' or 'ij', but got: {indexing}")
    return [np.array(g) for g in np.meshgrid(*(array(t) for t in x), indexing=indexing)]


@on_arrays
def trace(x, offset=0, axis1=0, axis2=1):
    a = array(x)
    to = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}.get(str(a.dtype))
    return np.trace(wide(a), offset, axis1, axis2, dtype=to).astype(to or a.dtype)


@on_arrays
def diag(x, k=0):
    return np.diag(array(x), k)


@on_arrays
def diagflat(x, k=0):
    return np.diagflat(array(x), k)


@on_arrays
def vander(x, N=None, increasing=False):
    a = array(x)
    work = np.vander(wide(a), N, increasing)
    return work.astype(result_type(a.dtype, int))


@on_arrays
def full_like(x, fill_value, dtype=None):
    return np.full_like(array(x), fill_value, dtype=cast(0, standardize(dtype)).dtype if dtype else None, subok=False)


@on_arrays
def zeros_like(x, dtype=None):
    return full_like(x, 0, dtype)


@on_arrays
def ones_like(x, dtype=None):
    return full_like(x, 1, dtype)


FUNCTIONS["empty_like"] = zeros_like


@on_arrays
def scatter(indices, values, shape):
    v = array(values)
    out = np.zeros([int(d) for d in shape], v.dtype)
    np.add.at(out, tuple(np.moveaxis(np.asarray(array(indices), "int64"), -1, 0)), v)
    return out


@on_arrays
def scatter_update(inputs, indices, updates, reduction=None):
    out = np.array(array(inputs))
    at, new = tuple(np.moveaxis(np.asarray(array(indices), "int64"), -1, 0)), cast(updates, out.dtype)
    if reduction is None:
        out[at] = new
    elif reduction in ("add", "max", "min", "mul"):
        how = {"add": "add", "max": "maximum", "min": "minimum", "mul": "multiply"}[reduction]
        getattr(np, how).at(out, at, new)
    else:
        raise ValueError(f"Unsupported reduction: {reduction}")
    return out


def _segments(name, ufunc, start):
    def f(data, segment_ids, num_segments=None, sorted=False):
        d, ids = array(data), np.asarray(array(segment_ids))
        if ids.ndim != 1:
            raise ValueError(
                f"Argument `segment_ids` should be an 1-D vector, got shape: {len(ids.shape)}. Consider either "
                "flatten input with segment_ids.reshape((-1)) and data.reshape((-1, ) + data.shape[len(segment_ids"
                ".shape):]) or vectorize with vmap."
            )
        if d.shape[:1] != ids.shape:
            raise ValueError(
                f"Argument `segment_ids` and `data` should have same leading dimension. Got {ids.shape} v.s. {d.shape}."
            )
        n = int(ids.max(initial=-1)) + 1 if num_segments is None else int(num_segments)
        first = start(d.dtype) if callable(start) else start
        out = np.full((n, *d.shape[1:]), first, d.dtype)
        known = (ids >= 0) & (ids < n)
        getattr(np, ufunc).at(out, ids[known], d[known])
        return out

    return f


def _limits(dtype):
    if dtype.kind == "b":
        return False, True
    known = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo("float16" if dtype == "float16" else "float32")
    return known.min, known.max


FUNCTIONS.update(
    segment_sum=_segments("segment_sum", "add", 0),
    segment_prod=_segments("segment_prod", "multiply", 1),
    segment_max=_segments("segment_max", "maximum", lambda dtype: _limits(dtype)[0]),
    segment_min=_segments("segment_min", "minimum", lambda dtype: _limits(dtype)[1]),
)


@on_arrays
def view(x, dtype=None):
    a = np.ascontiguousarray(array(x))
    return a.view(cast(0, standardize(dtype)).dtype) if dtype is not None else a
