"""Functions of NumPy as nodes of a trace: each is a kind of the library's that calls Python.

A node gives one float32 array. Results of several shapes lie in it one after the other, whole numbers in parts of 16
bits, so that no digit is lost."""

import ctypes as C

import numpy as np

from ..abi import call as checked_call
from ..abi import callbacks, library
from ..core import Tensor as Buffer
from .dtypes import CARRIERS, name_of, numpy_dtype
from .tensor import array
from .trace import Traced, emit, recast, tensor

_PART = 1 << 16
_kinds = {}  # the library's functions, by the kind's name
_calls = []  # a node's attribute is its number here
_numbers = {}  # of calls, by what distinguishes them


def _parts(dtype):
    """How many numbers of a node hold one of that type."""
    return max(1, dtype.itemsize // 2) if dtype.kind in "iu" else 1


def _split(y):
    """An array as rows of parts, the lowest first."""
    if y.dtype.kind not in "iu":
        return y.reshape(1, -1).astype("float32")
    count, rest, rows = _parts(y.dtype), y.ravel(), []
    for _ in range(count - 1):
        rows.append(rest & y.dtype.type(_PART - 1))
        rest = rest >> y.dtype.type(16)
    return np.stack([*rows, rest]).astype("float32")


def _flat(nest):
    return [leaf for part in nest for leaf in _flat(part)] if isinstance(nest, (list, tuple)) else [np.asarray(nest)]


def _packed(nest, leaves):
    if not isinstance(nest, (list, tuple)):
        return next(leaves)
    parts = [_packed(part, leaves) for part in nest]
    return type(nest)(*parts) if hasattr(nest, "_fields") else type(nest)(parts)


class _Call:
    """A function, its arguments that are no tensors, and the shapes and types of what it takes and gives."""

    def __init__(self, f, gradient, values, places, types, shapes):
        self.f, self.gradient, self.values, self.places, self.types = f, gradient, values, places, types
        with np.errstate(all="ignore"):
            self.form = f(*self.filled([_sample(s, numpy_dtype(t)) for s, t in zip(shapes, types)]))
        self.results = [(y.shape, y.dtype) for y in _flat(self.form)]
        self.size = sum(int(np.prod(s)) * _parts(d) for s, d in self.results)

    def filled(self, arrays):
        """All arguments."""
        values, arrays = list(self.values), iter(arrays)
        for i, count in self.places:
            values[i] = next(arrays) if count is None else [next(arrays) for _ in range(count)]
        return values

    def arguments(self, arrays):
        return self.filled([a.astype(numpy_dtype(t), copy=False) for a, t in zip(arrays, self.types)])

    def forward(self, arrays, y):
        try:
            with np.errstate(all="ignore"):
                found = _flat(self.f(*self.arguments(arrays)))
        except np.linalg.LinAlgError:  # a run does not stop for it, as on JAX
            y[...] = np.nan
            return
        np.concatenate([_split(part.astype(d)).ravel() for part, (_, d) in zip(found, self.results)], out=y)

    def backward(self, arrays, y, diff):
        """Gradients of the tensors among the arguments."""
        with np.errstate(all="ignore"):
            found = self.gradient(self.unpacked(y), self.unpacked(diff), *self.arguments(arrays))
        return _flat(found)

    def unpacked(self, y):
        """Results in double; None for whole numbers."""
        leaves, at = [], 0
        for shape, dtype in self.results:
            n = int(np.prod(shape)) * _parts(dtype)
            leaves.append(None if dtype.kind in "iub" else y[at : at + n].reshape(shape).astype("float64"))
            at += n
        return _packed(self.form, iter(leaves))


def _sample(shape, dtype):
    """Numbers that have the function's shapes: matrices are positive definite, all lie between 0 and 1."""
    if dtype.kind in "iub":
        return np.zeros(shape, dtype)
    size = max(shape, default=1)
    y = np.random.RandomState(0).uniform(0, 0.25 / max(size, 1), shape)
    return (y + 0.5 * np.eye(*shape[-2:]) if len(shape) > 1 else y).astype(dtype)


def placed(f, gradient, values, places):
    """The function in the trace under way. `places`: of its tensors, with the number of those that are lists."""
    leaves = []
    for i, count in places:
        leaves += [values[i]] if count is None else values[i]
    leaves = [tensor(x) for x in leaves]
    values = [None if any(i == at for at, _ in places) else v for i, v in enumerate(values)]
    types, shapes = [x.type_name for x in leaves], [tuple(x.shape) for x in leaves]
    key = f, repr(values), tuple(places), tuple(types), tuple(shapes)
    if key not in _numbers:
        _calls.append(_Call(f, gradient, values, places, types, shapes))
        _numbers[key] = len(_calls) - 1
    known = _calls[_numbers[key]]
    y = emit(_kind(f, gradient), *leaves, config=str(_numbers[key]))
    outputs, at = [], 0
    for shape, dtype in known.results:
        count = int(np.prod(shape))
        outputs.append(_joined(y, at, count, shape, dtype))
        at += count * _parts(dtype)
    return _packed(known.form, iter(outputs))


def _joined(y, at, count, shape, dtype):
    """One result of those that lie in a node's array."""
    name = name_of(dtype)
    carrier = CARRIERS[name]

    def part(i):
        x = emit("Slice", y, start_indices=[at + i * count], shape=[count])
        return x if x.type_name == carrier else recast(x, carrier)

    last = _parts(dtype) - 1
    whole = part(last)
    for i in reversed(range(last)):
        whole = emit("BroadcastMultiply", whole, array(_PART, carrier))
        whole = emit("BroadcastAdd", whole, part(i))
    whole = emit("ReshapeBatch", whole, shape=list(shape))
    return Traced(whole.trace, whole.node, name, whole.shape)


# ---- kinds


def _kind(f, gradient):
    name = f"keras.ops.{f.__name__} (NumPy)"
    if name not in _kinds:
        functions = [
            callbacks["dl4_shape_fn"](_shapes),
            callbacks["dl4_forward_fn"](_forward),
            callbacks["dl4_backward_fn"](*([_backward] if gradient else [])),
        ]
        checked_call("dl4_registry_add", b"layer", name.encode(), None, *functions, None, callbacks["dl4_release_fn"]())
        _kinds[name] = functions
    return name


def _shapes(_, config, ranks, dims, count, out_ranks, out_dims, out_count):
    C.c_int32.from_address(out_ranks).value = 1
    C.c_int64.from_address(out_dims).value = _calls[int(config)].size
    return 0


def _arrays(handles, count):
    found = []
    for handle in (C.c_void_p * count).from_address(handles) if count else ():
        if handle is not None:
            library.dl4_retain(handle)
        found.append(None if handle is None else Buffer(handle).numpy())
    return found


def _forward(_, config, src, n_src, dst, n_dst):
    try:
        (y,) = _arrays(dst, n_dst)
        if y is not None:
            _calls[int(config)].forward(_arrays(src, n_src), y)
        return 0
    except Exception:  # noqa: BLE001 which must not leave a callback: the library says who failed
        return -1


def _backward(_, config, src, n_src, dst, diff_dst, n_dst, diff_src):
    try:
        (y,), (diff,) = _arrays(dst, n_dst), _arrays(diff_dst, n_dst)
        found = _calls[int(config)].backward(_arrays(src, n_src), y, diff)
        for to, gradient in zip(_arrays(diff_src, n_src), found):
            if to is not None:
                to[...] = gradient
        return 0
    except Exception:  # noqa: BLE001
        return -1
