"""Variables, conversions, parts of tensors, and the shapes that functions give."""

import builtins
import contextlib

import numpy as np
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.name_scope import name_scope  # noqa: F401
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.backend.common.symbolic_scope import SymbolicScope

from . import trace
from .control import cond, custom_gradient, remat, switch  # noqa: F401
from .dtypes import CARRIERS, INTEGERS, Unsupported, is_float, name_of, numpy_dtype
from .functions import op
from .loops import associative_scan, fori_loop, map, scan, vectorized_map, while_loop  # noqa: F401
from .tensor import Array, Tensor, array
from .trace import Trace, Traced, emit, labelled, plain, recast, tensor
from .variable import Variable  # noqa: F401

SUPPORTS_SPARSE_TENSORS = SUPPORTS_RAGGED_TENSORS = SUPPORTS_COMPLEX_DTYPES = False
IS_THREAD_SAFE = False  # for callbacks: to hand them to another thread takes longer than a step
_FILLS = (83, 89)  # in place of free sizes
_slice = builtins.slice


# ---- conversions


def _need_dense(sparse, ragged=None):
    if sparse:
        raise ValueError("`sparse=True` is not supported with the backend dl4")
    if ragged:
        raise ValueError("`ragged=True` is not supported with the backend dl4")


def convert_to_tensor(x, dtype=None, sparse=None, ragged=None):
    _need_dense(sparse, ragged)
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, Tensor):
        return x if dtype is None else cast(x, dtype)
    if isinstance(x, KerasTensor):
        raise ValueError(f"expected a tensor with numbers, got the symbolic {x}")
    if isinstance(x, (list, tuple)) and any(isinstance(leaf, (Tensor, KerasVariable)) for leaf in tree.flatten(x)):
        return _stacked(x, dtype)
    if dtype is None and isinstance(x, (bool, int, float)):
        return trace.number(x) if not isinstance(x, float) else cast(x, standardize_dtype(None))
    return _of_numpy(x, dtype)


def _stacked(x, dtype):
    parts = [convert_to_tensor(v, dtype) for v in x]
    if not any(isinstance(p, Traced) for p in parts):
        wanted = dtype or parts[0].type_name
        return _of_numpy(np.stack([np.asarray(p) for p in parts]), wanted)
    wanted = dtype or next(p.type_name for p in parts if isinstance(p, Traced))
    return emit("Stack", *(cast(p, wanted) for p in parts), to=name_of(wanted), axis=0)


def _of_numpy(x, dtype):
    if hasattr(x, "todense") or type(x).__name__ in ("SparseTensor", "RaggedTensor"):
        raise ValueError(f"expected a dense tensor, got {type(x).__name__}")
    value = np.array(x)
    if value.dtype.kind in "OSU":
        raise Unsupported(f"the backend dl4 has no tensors of texts or objects, got an array of {value.dtype}")
    if value.dtype.kind == "c":
        raise Unsupported("the backend dl4 has no complex numbers")
    if dtype is None:
        if value.dtype == np.float64:
            dtype = standardize_dtype(None) if not hasattr(x, "dtype") else "float32"
        elif value.dtype == np.int64 and not hasattr(x, "dtype"):
            dtype = "int32" if value.size == 0 or abs(value).max() < 2**31 else "int64"
        else:
            dtype = value.dtype
    name = name_of(dtype)
    with np.errstate(all="ignore"):
        return Array(value.astype(numpy_dtype(name), copy=False), name)


trace.convert = convert_to_tensor


def convert_to_numpy(x):
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, Traced):
        return x.numpy()
    return np.array(x.value if isinstance(x, Array) else x)


def is_tensor(x):
    return isinstance(x, Tensor)


def shape(x):
    return tuple(x.shape)


def cast(x, dtype):
    name = name_of(dtype)
    x = x if isinstance(x, (Tensor, bool, int, float)) else tensor(x)
    if not isinstance(x, Traced):
        if isinstance(x, Array) and x.type_name == name:
            return x
        with np.errstate(all="ignore"):
            value = np.asarray(x.value if isinstance(x, Array) else x)
            return Array(_as_type(value, numpy_dtype(name)), name)
    if x.type_name == name:
        return x if x.weak is None else Traced(x.trace, x.node, name, x.shape)
    if name == "bool":
        return emit("NotEqual", x, array(0, CARRIERS[x.type_name]))
    if CARRIERS[name] == CARRIERS[x.type_name] and _fits(x.type_name, name):
        return Traced(x.trace, trace.current().node(x), name, x.shape)
    return labelled(Traced(x.trace, x.node, CARRIERS[x.type_name], x.shape), name)


def _as_type(value, dtype):
    """As the library casts: a float beyond an integer's range gives the nearest number, an integer wraps."""
    if value.dtype.kind not in "iub" and dtype.kind in "iu":
        low, high = INTEGERS[dtype.name]
        value = np.asarray(value, "float64")
        value = np.where(np.isnan(value), 0, np.clip(value, low, high))
        whole = value.astype(dtype)
        return np.where(value >= high, np.asarray(high, dtype), whole) if high >= 2**53 else whole
    return value.astype(dtype)


def _fits(narrow, wide):
    """Are all values of the one type values of the other?"""
    if is_float(narrow):
        return wide in ("float32", "float64")
    order = {"int8": (-7, 7), "uint8": (0, 8), "int16": (-15, 15), "uint16": (0, 16), "int32": (-31, 31)}
    order |= {"uint32": (0, 32), "int64": (-63, 63), "uint64": (0, 64)}
    (low, high), (least, most) = order[narrow], order[wide]
    return low >= least and high <= most


def random_seed_dtype():
    return "uint32"


# ---- the shapes that a function gives


def compute_output_spec(fn, *args, **kwargs):
    leaves = tree.flatten((args, kwargs))
    free = any(isinstance(x, KerasTensor) and None in x.shape for x in leaves)
    found = [_specified(fn, args, kwargs, fill, free) for fill in _FILLS[: 1 + free]]
    first, last = found[0], found[-1]

    def spec(a, b):
        if not isinstance(a, Tensor):
            return a
        sizes = tuple(m if m == n else None for m, n in zip(a.shape, b.shape))
        return KerasTensor(sizes, dtype=a.type_name)

    return (
        tree.map_structure(spec, first, last, none_is_leaf=True)
        if free
        else tree.map_structure(lambda a: spec(a, a), first)
    )


def _specified(fn, args, kwargs, fill, free):
    with StatelessScope(), SymbolicScope(), Trace(specification=True, free=free) as now:

        def symbol(x):
            if not isinstance(x, KerasTensor):
                return x
            _need_dense(x.sparse, getattr(x, "ragged", None))
            return now.input(name_of(x.dtype), [fill if d is None else d for d in x.shape])

        args, kwargs = tree.map_structure(symbol, (args, kwargs), none_is_leaf=True)
        return fn(*args, **kwargs)


# ---- parts of tensors


@op("x")
def unstack(x, num=None, axis=0):
    axis = axis % len(x.shape)
    if num not in (None, x.shape[axis]):
        raise ValueError(f"unstack: num is {num}, and the axis {axis} has {x.shape[axis]} elements")
    return [emit("Take", x, to=x.type_name, indices=i, axis=axis) for i in range(x.shape[axis])]


@op("variable")
def stop_gradient(variable):
    return emit("StopGradient", variable, to=variable.type_name)


def along(x, axis, places):
    """x at places of one axis, which are a tensor."""
    return emit("Take", x, places, to=x.type_name, axis=axis)


def slice(inputs, start_indices, shape):  # noqa: A001
    inputs = tensor(inputs)
    sizes = [int(s) for s in plain(shape)]
    if not trace.has_traced(start_indices):
        starts = [int(s) for s in plain(np.asarray(convert_to_numpy(convert_to_tensor(start_indices))).tolist())]
        starts = [min(max(s, 0), n - k) if k >= 0 else s for s, k, n in zip(starts, sizes, inputs.shape)]
        return _sliced(inputs, starts, sizes)
    starts = convert_to_tensor(start_indices, "int32")
    return _sliced_at(inputs, starts, sizes)


@op("x")
def _sliced(x, starts, sizes):
    return emit("Slice", x, to=x.type_name, start_indices=list(starts), shape=list(sizes))


def _start(starts, i, most):
    """One number of the starts, within bounds."""
    at = emit("Take", starts, indices=i, axis=0)
    return emit("BroadcastMinimum", emit("BroadcastMaximum", at, array(0, "int32")), array(most, "int32"))


@op("x starts")
def _sliced_at(x, starts, sizes):
    for axis, size in enumerate(sizes):
        size = x.shape[axis] if size < 0 else size
        at = _start(starts, axis, x.shape[axis] - size)
        x = along(x, axis, emit("BroadcastAdd", array(np.arange(size), "int32"), at))
    return x


@op("inputs start_indices updates")
def slice_update(inputs, start_indices, updates):
    updates = cast(updates, inputs.type_name)
    starts = convert_to_tensor(start_indices, "int32")
    inside = None
    for axis, (size, n) in enumerate(zip(updates.shape, inputs.shape)):
        at = _start(starts, axis, n - size)
        places = emit("BroadcastSubtract", array(np.arange(n), "int32"), at)
        here = emit("LogicalAnd", _compared("GreaterEqual", places, 0), _compared("Less", places, size))
        places = emit("BroadcastMinimum", emit("BroadcastMaximum", places, array(0, "int32")), array(size - 1, "int32"))
        updates = along(updates, axis, places)
        wide = emit("ReshapeBatch", here, shape=[n if i == axis else 1 for i in range(len(inputs.shape))])
        inside = wide if inside is None else emit("LogicalAnd", inside, wide)
    return updates if inside is None else emit("Where", inside, updates, inputs, to=inputs.type_name)


def _compared(kind, x, n):
    return emit(kind, x, array(n, x.type_name))


def _places(indices, sizes):
    """Indices of several axes as one of all of them, and how many elements of the rest each has."""
    step, at = 1, None
    for i in reversed(range(len(sizes))):
        part = emit("Take", indices, indices=i, axis=-1)
        part = emit(
            "Where", _compared("Less", part, 0), emit("BroadcastAdd", part, array(sizes[i], part.type_name)), part
        )
        part = emit("BroadcastMultiply", part, array(step, part.type_name)) if step != 1 else part
        at = part if at is None else emit("BroadcastAdd", at, part)
        step *= sizes[i]
    return emit("ReshapeBatch", at, shape=[-1]), step


@op("indices values")
def scatter(indices, values, shape):
    depth = indices.shape[-1]
    at, rows = _places(cast(indices, "int32"), shape[:depth])
    flat = emit("ReshapeBatch", values, to=values.type_name, shape=[at.shape[0], -1] if values.size else [0, 1])
    y = emit("SegmentSum", cast(flat, "float32"), at, num_segments=rows)
    return cast(emit("ReshapeBatch", y, shape=list(shape)), values.type_name)


_REDUCTIONS = {"add": "BroadcastAdd", "max": "BroadcastMaximum", "min": "BroadcastMinimum", "mul": "BroadcastMultiply"}


@op("inputs indices updates")
def scatter_update(inputs, indices, updates, reduction=None):
    if reduction not in (None, *_REDUCTIONS):
        raise ValueError(f"reduction: expected None, add, max, min or mul, got {reduction!r}")
    depth, rank = indices.shape[-1], len(inputs.shape)
    at, rows = _places(cast(indices, "int32"), inputs.shape[:depth])
    rest = inputs.size // max(rows, 1)
    updates = emit("ReshapeBatch", cast(updates, inputs.type_name), to=inputs.type_name, shape=[at.shape[0], rest])
    flat = emit("ReshapeBatch", inputs, to=inputs.type_name, shape=[rows, rest])
    y = _scattered(flat, at, updates, rows, reduction)
    return emit("ReshapeBatch", y, to=inputs.type_name, shape=list(inputs.shape)) if rank else y


def _scattered(flat, at, updates, rows, reduction):
    name, count = flat.type_name, at.shape[0]
    if reduction == "add" and is_float(name):
        return labelled(emit("BroadcastAdd", flat, emit("SegmentSum", updates, at, num_segments=rows)), name)
    if reduction == "max" and is_float(name):
        return emit("BroadcastMaximum", flat, emit("SegmentMax", updates, at, num_segments=rows), to=name)
    if reduction is not None:  # one after the other: places may be the same
        for i in range(count):
            here = emit("Equal", array(np.arange(rows)[:, None], "int32"), emit("Take", at, indices=i, axis=0))
            row = emit("Slice", updates, start_indices=[i, 0], shape=[1, -1])
            flat = emit("Where", here, emit(_REDUCTIONS[reduction], flat, row), flat, to=name)
        return flat
    order = array(np.arange(count)[:, None], "float32")
    last = emit("SegmentMax", order, at, num_segments=rows)  # of several the last one
    there = emit("GreaterEqual", last, array(0, "float32"))
    chosen = emit("BroadcastMaximum", last, array(0, "float32"))
    chosen = emit("ReshapeBatch", recast(chosen, "int32"), shape=[-1])
    return emit("Where", there, along(updates, 0, chosen), flat, to=name)


# ---- the rest


@contextlib.contextmanager
def device_scope(device_name):
    if str(device_name).partition(":")[0].lower() != "cpu":
        raise ValueError(f"device: expected 'cpu', the only one of the backend dl4, got {device_name!r}")
    yield


__all__ = [n for n in dir() if not n.startswith("_")]
