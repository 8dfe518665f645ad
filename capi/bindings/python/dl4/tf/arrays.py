"""Making tensors and changing their shapes."""

import builtins

import numpy as np

from ..keras import ops
from ..keras.src.data.ragged import Ragged
from ..keras.src.data.structure import as_bytes, string_array
from ..keras.src.ops.dispatch import is_symbolic
from ..keras.src.symbolic.tensor import operation
from .dispatch import array, map_structure, name_of, refuse, string, tensor


def constant(value, dtype=None, shape=None, name="Const"):
    """A tensor of numbers or texts."""
    if not hasattr(value, "dtype") and dtype is not None and dtype != string:
        value = np.asarray(value, name_of(dtype))
    out = array(value, dtype)
    return tensor(out if shape is None else np.broadcast_to(out, shape) if out.size == 1 else out.reshape(shape))


def convert_to_tensor(value, dtype=None, dtype_hint=None, name=None):
    if is_symbolic(value):
        return ops.convert_to_tensor(value, dtype)
    return constant(value, dtype) if not isinstance(value, Ragged) else value


def is_tensor(x):
    return is_symbolic(x) or isinstance(x, np.ndarray) and type(x) is not np.ndarray


def cast(x, dtype, name=None):
    if is_symbolic(x) or hasattr(x, "cast_to"):
        return ops.cast(x, name_of(dtype))
    if isinstance(x, Ragged):
        return Ragged(x.rows, name_of(dtype))
    return tensor(array(x).astype(name_of(dtype)))


def saturate_cast(value, dtype, name=None):
    """The nearest numbers that the type has."""
    limits = np.iinfo(name_of(dtype)) if np.dtype(name_of(dtype)).kind in "iu" else np.finfo(name_of(dtype))
    return cast(ops.clip(value, limits.min, limits.max), dtype)


def dynamic_partition(data, partitions, num_partitions, name=None):
    """The elements of each number."""
    x, of = array(data), np.asarray(array(partitions))
    return [tensor(x[of == i]) for i in builtins.range(int(num_partitions))]


def identity(input, name=None):  # noqa: A002
    return input if is_symbolic(input) else tensor(array(input).copy())


stop_gradient = ops.stop_gradient


def zeros(shape, dtype="float32", name=None):
    return _filled(shape, 0, dtype)


def ones(shape, dtype="float32", name=None):
    return _filled(shape, 1, dtype)


def _filled(shape, value, dtype):
    if is_symbolic(list(shape) if isinstance(shape, (tuple, list)) else shape):
        return (ops.ones if value else ops.zeros)(shape, name_of(dtype))
    if name_of(dtype) == "string":
        return fill(shape, b"")
    return tensor(np.full(_sizes(shape), value, name_of(dtype)))


def _sizes(shape):
    return tuple(int(d) for d in np.ravel(np.asarray(shape)))


def fill(dims, value, name=None):
    if is_symbolic(list(dims) if isinstance(dims, (tuple, list)) else dims, value):
        return ops.full(dims, value, None if is_symbolic(value) else array(value).dtype.name)
    value = array(value)
    out = np.empty(_sizes(dims), value.dtype)
    out[...] = value
    return tensor(out)


def zeros_like(input, dtype=None, name=None):  # noqa: A002
    if is_symbolic(input):
        return ops.zeros_like(input, name_of(dtype))
    return tensor(np.zeros_like(array(input), name_of(dtype)))


def ones_like(input, dtype=None, name=None):  # noqa: A002
    if is_symbolic(input):
        return ops.ones_like(input, name_of(dtype))
    return tensor(np.ones_like(array(input), name_of(dtype)))


def eye(num_rows, num_columns=None, batch_shape=None, dtype="float32", name=None):
    out = np.eye(int(num_rows), None if num_columns is None else int(num_columns), dtype=name_of(dtype))
    if is_symbolic(batch_shape):
        return ops.ones((*batch_shape, *out.shape), out.dtype.name) * out
    return tensor(out if batch_shape is None else np.broadcast_to(out, (*batch_shape, *out.shape)).copy())


def range(start, limit=None, delta=1, dtype=None, name=None):  # noqa: A001
    if is_symbolic(start, limit, delta):
        return ops.arange(start, limit, delta, name_of(dtype))
    if limit is None:
        start, limit = 0, start
    out = np.arange(*(np.asarray(v).item() if hasattr(v, "dtype") else v for v in (start, limit, delta)))
    if dtype is None:
        known = next((v.dtype.name for v in (start, limit, delta) if hasattr(v, "dtype")), None)
        dtype = known or ("float32" if out.dtype.kind == "f" else "int32")
    return tensor(out.astype(name_of(dtype)))


def linspace(start, stop, num, name=None, axis=0):
    return tensor(np.linspace(array(start), array(stop), int(num), axis=axis).astype("float32"))


def shape(input, out_type="int32", name=None):  # noqa: A002
    """The sizes of the axes; of a symbolic tensor a tuple."""
    if is_symbolic(input):
        return ops.shape(input)
    if isinstance(input, Ragged):
        return tensor(np.array([len(input), -1], out_type))
    return tensor(np.array(np.shape(input) if hasattr(input, "shape") else array(input).shape, name_of(out_type)))


def rank(input, name=None):  # noqa: A002
    return tensor(np.asarray(len(input.shape) if hasattr(input, "shape") else array(input).ndim, "int32"))


def size(input, out_type="int32", name=None):  # noqa: A002
    return ops.size(input) if is_symbolic(input) else tensor(np.asarray(array(input).size, name_of(out_type)))


def reshape(tensor, shape, name=None):  # noqa: A002
    if is_symbolic(tensor, shape):
        plain = isinstance(shape, (tuple, list)) or is_symbolic(shape)
        return ops.reshape(tensor, shape if plain else _sizes(shape))
    return _t(array(tensor).reshape(_sizes(shape)))


_t = tensor


def transpose(a, perm=None, conjugate=False, name=None):
    if is_symbolic(a):  # which is never complex
        return ops.transpose(a, perm)
    x = array(a).transpose(perm)
    return tensor(x.conj() if conjugate else x)


def expand_dims(input, axis, name=None):  # noqa: A002
    return ops.expand_dims(input, axis) if is_symbolic(input) else tensor(np.expand_dims(array(input), axis))


def squeeze(input, axis=None, name=None):  # noqa: A002
    if is_symbolic(input):
        return ops.squeeze(input, axis)
    return tensor(array(input).squeeze(tuple(axis) if isinstance(axis, list) else axis))


def concat(values, axis, name=None):
    if is_symbolic(list(values)):
        return ops.concatenate(values, axis=int(axis))
    if any(isinstance(v, Ragged) for v in values):
        raise NotImplementedError("tf.concat: ragged values are not in this version of the library")
    return tensor(np.concatenate([array(v) for v in values], int(axis)))


def stack(values, axis=0, name="stack"):
    if is_symbolic(list(values)):
        return ops.stack(values, axis=axis)
    return tensor(np.stack([array(v) for v in values], axis))


def unstack(value, num=None, axis=0, name="unstack"):
    if is_symbolic(value):
        return ops.unstack(value, num, axis)
    return [tensor(v) for v in np.moveaxis(array(value), axis, 0)]


def split(value, num_or_size_splits, axis=0, num=None, name="split"):
    """Parts of one size, or of some sizes."""
    sizes = num_or_size_splits
    if is_symbolic(value):
        places = sizes if isinstance(sizes, int) else [int(n) for n in np.cumsum(sizes)[:-1]]
        return ops.split(value, places, axis=axis)
    x = array(value)
    if np.ndim(sizes) == 0:
        return [tensor(v) for v in np.split(x, int(sizes), axis)]
    sizes = [int(n) for n in sizes]
    if -1 in sizes:
        sizes[sizes.index(-1)] = x.shape[axis] - sum(sizes) - 1
    return [tensor(v) for v in np.split(x, np.cumsum(sizes)[:-1], axis)]


def tile(input, multiples, name=None):  # noqa: A002
    if is_symbolic(input, multiples):
        return ops.tile(input, multiples)
    return tensor(np.tile(array(input), _sizes(multiples)))


def repeat(input, repeats, axis=None, name=None):  # noqa: A002
    if is_symbolic(input):
        return ops.repeat(input, repeats, axis)
    return tensor(np.repeat(array(input), np.asarray(repeats), axis))


def pad(tensor, paddings, mode="CONSTANT", constant_values=0, name=None):  # noqa: A002
    mode = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}[mode.upper()]
    more = {"constant_values": constant_values} if mode == "constant" else {}
    if is_symbolic(tensor):
        return ops.pad(tensor, paddings, mode=mode, **more)
    return _t(np.pad(array(tensor), np.asarray(paddings), mode, **more))


def reverse(tensor, axis, name=None):  # noqa: A002
    if is_symbolic(tensor):
        return ops.flip(tensor, axis=axis)
    return _t(np.flip(array(tensor), tuple(np.ravel(axis))).copy())


def roll(input, shift, axis, name=None):  # noqa: A002
    return ops.roll(input, shift, axis) if is_symbolic(input) else tensor(np.roll(array(input), shift, axis))


def gather(params, indices, validate_indices=None, axis=None, batch_dims=0, name=None):
    axis = batch_dims if axis is None else axis
    if is_symbolic(params, indices):
        return _gathered(params, indices, axis, batch_dims) if batch_dims else ops.take(params, indices, axis=axis)
    return tensor(_rows(array(params), array(indices), axis - batch_dims if axis >= 0 else axis, batch_dims))


def _rows(params, indices, axis, batch_dims):
    if not batch_dims:
        return np.take(params, indices, axis)
    return np.stack([_rows(p, i, axis, batch_dims - 1) for p, i in zip(params, indices)])


def _gathered(params, indices, axis, batch_dims):
    """Of symbolic tensors with common first axes."""
    indices = ops.cast(indices, "int32")
    if axis != batch_dims or len(indices.shape) != batch_dims + 1:
        raise NotImplementedError(
            "tf.gather: `batch_dims` of symbolic tensors: expected the axis behind the common ones and indices of one "
            f"axis more, got batch_dims={batch_dims}, axis={axis} and indices of shape {indices.shape}"
        )
    for _ in params.shape[batch_dims + 1 :]:
        indices = ops.expand_dims(indices, -1)
    first = params[(builtins.slice(None),) * axis + (builtins.slice(0, 1),)]
    return ops.take_along_axis(params, indices + ops.cast(ops.zeros_like(first), "int32"), axis=axis)


def gather_nd(params, indices, batch_dims=0, name=None):
    if batch_dims:
        raise NotImplementedError("tf.gather_nd: `batch_dims` is not in this version of the library")
    return tensor(array(params)[tuple(np.moveaxis(array(indices), -1, 0))])


def boolean_mask(tensor, mask, axis=None, name="boolean_mask"):  # noqa: A002
    axis = axis or 0
    if is_symbolic(mask):
        raise NotImplementedError(
            "tf.boolean_mask: a symbolic mask would give a size that only a run knows: expected tf.where, or a product "
            "with the mask"
        )
    if is_symbolic(tensor):
        mask = array(mask)
        shape = tuple(-1 if n is None else n for n in tensor.shape)
        if mask.ndim > 1:
            tensor = ops.reshape(tensor, (*shape[:axis], mask.size, *shape[axis + mask.ndim :]))
        return ops.take(tensor, np.flatnonzero(mask), axis=axis)
    return _t(array(tensor)[(builtins.slice(None),) * axis + (array(mask).astype(bool),)])


def slice(input_, begin, size, name=None):  # noqa: A001
    if is_symbolic(input_):
        return ops.slice(input_, begin, size)
    parts = zip(_sizes(begin), _sizes(size))
    return tensor(array(input_)[tuple(builtins.slice(b, None if n == -1 else b + n) for b, n in parts)])


def one_hot(indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None):
    dtype, depth = name_of(dtype) or "float32", int(depth)
    if is_symbolic(indices):
        return ops.cast(ops.one_hot(indices, depth, axis=-1 if axis is None else axis), dtype)
    hot = array(indices)[..., None] == np.arange(depth)
    out = np.where(hot, 1 if on_value is None else on_value, 0 if off_value is None else off_value).astype(dtype)
    return tensor(out if axis in (None, -1) else np.moveaxis(out, -1, axis))


def meshgrid(*args, indexing="xy", name=None):
    return [tensor(v) for v in np.meshgrid(*map(array, args), indexing=indexing)]


def broadcast_to(input, shape, name=None):  # noqa: A002
    if is_symbolic(input, shape):
        return ops.broadcast_to(input, shape)
    return tensor(np.broadcast_to(array(input), _sizes(shape)).copy())


def sort(values, axis=-1, direction="ASCENDING", name=None):
    out = np.sort(array(values), axis)
    return tensor(out if direction == "ASCENDING" else np.flip(out, axis).copy())


def argsort(values, axis=-1, direction="ASCENDING", stable=False, name=None):
    x = array(values)
    return tensor(np.argsort(x if direction == "ASCENDING" else -x, axis, kind="stable").astype("int32"))


def unique(x, out_idx="int32", name=None):
    """The values as they are met first, and the number of its value for each place."""
    values = array(x).ravel()
    if values.dtype == object:
        found = list(dict.fromkeys(values))
        places = {v: i for i, v in enumerate(found)}
        return tensor(string_array(found)), tensor(np.array([places[v] for v in values], name_of(out_idx)))
    found, first, index = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return tensor(found[order]), tensor(ranks[index].astype(name_of(out_idx)))


def searchsorted(sorted_sequence, values, side="left", out_type="int32", name=None):
    return tensor(np.searchsorted(array(sorted_sequence), array(values), side).astype(name_of(out_type)))


def sequence_mask(lengths, maxlen=None, dtype="bool", name=None):
    lengths = array(lengths)
    longest = int(lengths.max()) if maxlen is None else int(maxlen)
    return tensor((np.arange(longest) < lengths[..., None]).astype(name_of(dtype)))


def tensor_scatter_nd_update(tensor, indices, updates, name=None):  # noqa: A002
    out = array(tensor).copy()
    out[tuple(np.moveaxis(array(indices), -1, 0))] = array(updates)
    return _t(out)


def tensor_scatter_nd_add(tensor, indices, updates, name=None):  # noqa: A002
    out = array(tensor).copy()
    np.add.at(out, tuple(np.moveaxis(array(indices), -1, 0)), array(updates))
    return _t(out)


def scatter_nd(indices, updates, shape, name=None):
    if is_symbolic(indices, updates):
        return ops.scatter(indices, updates, tuple(_sizes(shape)))
    return tensor_scatter_nd_add(np.zeros(_sizes(shape), array(updates).dtype), indices, updates)


def ensure_shape(x, shape, name=None):
    """x, whose shape has to be this one; None fits any size, or any shape."""
    if shape is None:
        return x if is_symbolic(x) else tensor(array(x))
    shape, known = tuple(shape), tuple(x.shape) if is_symbolic(x) else array(x).shape
    if len(shape) != len(known) or any(None not in pair and pair[0] != pair[1] for pair in zip(shape, known)):
        raise ValueError(f"tf.ensure_shape: expected shape {shape}, got {known}")
    if not is_symbolic(x):
        return tensor(array(x))
    for axis, (size, found) in enumerate(zip(shape, known)):
        if found is None and size is not None:
            x = operation("EnsureSize", axis=axis, size=size)([x, x])
    return x


def matmul(a, b, transpose_a=False, transpose_b=False, name=None):
    """The product of the last two axes."""
    if is_symbolic(a, b):
        a = ops.swapaxes(a, -1, -2) if transpose_a else a
        return ops.matmul(a, ops.swapaxes(b, -1, -2) if transpose_b else b)
    a, b = array(a), array(b)
    return tensor(np.matmul(a.swapaxes(-1, -2) if transpose_a else a, b.swapaxes(-1, -2) if transpose_b else b))


def tensordot(a, b, axes, name=None):
    return ops.tensordot(a, b, axes) if is_symbolic(a, b) else tensor(np.tensordot(array(a), array(b), axes))


def einsum(equation, *inputs, optimize=None, name=None):
    return ops.einsum(equation, *inputs) if is_symbolic(inputs) else tensor(np.einsum(equation, *map(array, inputs)))


def norm(tensor, ord="euclidean", axis=None, keepdims=None, name=None):  # noqa: A002
    ord = 2 if ord == "euclidean" else ord  # noqa: A001
    if is_symbolic(tensor):
        return ops.norm(tensor, ord=ord, axis=axis, keepdims=bool(keepdims))
    x = array(tensor)
    return _t(np.linalg.norm(x.ravel() if axis is None else x, ord, axis, bool(keepdims)))


def map_fn(
    fn,
    elems,
    dtype=None,
    parallel_iterations=None,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    name=None,
    fn_output_signature=None,
):
    """What a function makes of each row, along a new first axis, in the types that are said."""
    refuse("tf.map_fn", back_prop=(back_prop, True))
    first = elems[0] if isinstance(elems, tuple) else next(iter(elems.values())) if isinstance(elems, dict) else elems
    rows = [
        fn(elems[i]) if not isinstance(elems, (tuple, dict)) else fn(map_structure(lambda x, i=i: x[i], elems))
        for i in builtins.range(len(first))
    ]
    made = map_structure(lambda *parts: tensor(np.stack([array(p) for p in parts])), *rows)
    wanted = dtype if fn_output_signature is None else fn_output_signature
    if wanted is not None:
        map_structure(_need_type, made, wanted)
    return made


def _need_type(made, wanted):
    wanted = name_of(getattr(wanted, "dtype", wanted))
    if str(made.dtype) != wanted:
        raise TypeError(f"tf.map_fn: the function gave {made.dtype}, `fn_output_signature` says {wanted}")


def foldl(
    fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None
):
    """A function of what has been made and the next row, row by row."""
    refuse("tf.foldl", back_prop=(back_prop, True))
    rows = list(elems)
    made = rows.pop(0) if initializer is None else initializer
    for row in rows:
        made = fn(made, row)
    return made


def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """As foldl(), with all that was made along a new first axis."""
    refuse("tf.scan", back_prop=(back_prop, True))
    rows = list(elems)[::-1] if reverse else list(elems)
    found = [] if initializer is not None else [rows.pop(0)]
    made = initializer if initializer is not None else found[0]
    for row in rows:
        made = fn(made, row)
        found.append(made)
    found = found[::-1] if reverse else found
    return map_structure(lambda *parts: tensor(np.stack([array(p) for p in parts])), *found)


def ragged_constant(pylist, dtype=None, ragged_rank=None, inner_shape=None, name=None, row_splits_dtype="int64"):
    """Rows of different lengths."""
    refuse("tf.ragged.constant", ragged_rank=(ragged_rank, None, 1), inner_shape=(inner_shape, None, ()))
    flat = [v for row in pylist for v in row]
    kind = name_of(dtype) or ("string" if flat and isinstance(flat[0], (str, bytes)) else array(flat).dtype.name)
    return Ragged([[as_bytes(v) for v in row] for row in pylist], kind)


_OTHERS = {"array", "refuse", "name_of", "tensor", "map_structure", "is_symbolic", "as_bytes", "string_array", "Ragged"}
__all__ = [n for n, v in list(globals().items()) if n[0] != "_" and callable(v) and n not in _OTHERS]
