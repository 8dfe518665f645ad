"""Tensors made of sizes and numbers of Python's."""

import numpy as np
from keras.src.backend import config
from keras.src.backend.common import dtypes, standardize_dtype

from .core import cast, convert_to_tensor
from .dtypes import Unsupported, name_of
from .elementwise import joined_type, where_of
from .functions import op
from .shapes import broadcast_to, ints
from .tensor import array
from .trace import Traced, emit, has_traced, tensor


def _sizes(shape):
    if has_traced(shape):
        raise Unsupported("a shape of traced numbers: expected whole numbers")
    return [int(s) for s in ints(shape)]


def _type(dtype):
    return name_of(dtype or config.floatx())


def zeros(shape, dtype=None):
    return array(np.zeros(_sizes(shape)), _type(dtype))


def ones(shape, dtype=None):
    return array(np.ones(_sizes(shape)), _type(dtype))


empty = zeros


def full(shape, fill_value, dtype=None):
    value = cast(fill_value, _type(dtype)) if dtype else cast(convert_to_tensor(fill_value), _type(None))
    return broadcast_to(value, _sizes(shape))


def zeros_like(x, dtype=None):
    x = tensor(x)
    return zeros(x.shape, dtype or x.type_name)


empty_like = zeros_like


def ones_like(x, dtype=None):
    x = tensor(x)
    return ones(x.shape, dtype or x.type_name)


def full_like(x, fill_value, dtype=None):
    x = tensor(x)
    return full(x.shape, fill_value, dtype or x.type_name)


def array_(x, dtype=None):
    return convert_to_tensor(x, dtype=dtype)


def copy(x):
    return tensor(x)


def arange(start, stop=None, step=None, dtype=None):
    if has_traced([start, stop, step]):
        raise Unsupported("keras.ops.arange: expected bounds that are no traced tensors: its size depends on them")
    if dtype is None:
        found = [getattr(v, "dtype", type(v)) for v in (start, stop, step) if v is not None]
        dtype = dtypes.result_type(*found)
    given = [np.asarray(v).item() if hasattr(v, "dtype") else v for v in (start, stop, step)]
    start, stop, step = (0, given[0], given[2]) if given[1] is None else given
    return array(np.arange(start, stop, 1 if step is None else step), name_of(standardize_dtype(dtype)))


def eye(N, M=None, k=0, dtype=None):  # noqa: N803
    return array(np.eye(int(N), None if M is None else int(M), int(k)), _type(dtype))


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def tri(N, M=None, k=0, dtype=None):  # noqa: N803
    return array(np.tri(int(N), None if M is None else int(M), int(k)), _type(dtype))


def _float_of(dtype, *values):
    if dtype is not None:
        return name_of(dtype)
    return dtypes.result_type(*[getattr(v, "dtype", type(v)) for v in values], float)


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    t = _float_of(dtype, start, stop)
    if has_traced([start, stop]):
        return _spread(start, stop, num, endpoint, retstep, t, axis)
    start, stop = (np.asarray(convert_to_tensor(v).value, "float64") for v in (start, stop))
    y = np.linspace(start, stop, int(num), endpoint=endpoint, retstep=retstep, axis=axis)
    if retstep:
        return cast(array(y[0], "float32"), t), cast(array(np.asarray(y[1]), "float32"), t)
    return array(y, t)


def _spread(start, stop, num, endpoint, retstep, t, axis):
    if retstep or axis != 0:
        raise Unsupported("keras.ops.linspace of traced tensors: expected retstep=False and axis=0")
    start, stop = cast(start, "float32"), cast(stop, "float32")
    rank = max(len(start.shape), len(stop.shape))
    part = np.linspace(0, 1, int(num), endpoint=endpoint).reshape([-1] + [1] * rank)
    away = emit("BroadcastMultiply", emit("BroadcastSubtract", stop, start), array(part, "float32"))
    return emit("BroadcastAdd", away, start, to=t)


def logspace(start, stop, num=50, endpoint=True, base=10, dtype=None, axis=0):
    t = _float_of(dtype, start, stop)
    start, stop = (np.asarray(convert_to_tensor(v).value, "float64") for v in (start, stop))
    return array(np.logspace(start, stop, int(num), endpoint, float(base), axis=axis), t)


def geomspace(start, stop, num=50, endpoint=True, dtype=None, axis=0):
    t = _float_of(dtype, start, stop)
    start, stop = (np.asarray(convert_to_tensor(v).value, "float64") for v in (start, stop))
    return array(np.geomspace(start, stop, int(num), endpoint, axis=axis), t)


def _window(make):
    def f(x, *args):
        x = convert_to_tensor(x)
        if isinstance(x, Traced):
            raise Unsupported(f"keras.ops.{make.__name__}: expected a length that is no traced tensor")
        numbers = [float(np.asarray(convert_to_tensor(a))) for a in args]
        return array(make(int(x), *numbers), config.floatx())

    return f


bartlett, blackman, hamming, hanning, kaiser = map(
    _window, (np.bartlett, np.blackman, np.hamming, np.hanning, np.kaiser)
)


def _triangle(keep):
    @op("x")
    def f(x, k=0):
        rows, columns = x.shape[-2:]
        there = keep(np.ones((rows, columns), bool), k)
        return emit("Where", array(there, "bool"), x, array(np.zeros(x.shape), x.type_name), to=x.type_name)

    return f


tril, triu = _triangle(np.tril), _triangle(np.triu)


@op("x")
def diag(x, k=0):
    if len(x.shape) == 1:
        n = x.shape[0] + abs(k)
        at = np.diag(np.arange(1, x.shape[0] + 1), k)
        there = array(at > 0, "bool")
        y = emit("Take", x, array(np.maximum(at - 1, 0), "int32"), to=x.type_name, axis=0)
        return emit("Where", there, y, array(np.zeros((n, n)), x.type_name), to=x.type_name)
    if len(x.shape) != 2:
        raise ValueError(f"diag: expected one or two axes, got shape {tuple(x.shape)}")
    places = np.diagonal(np.arange(x.size).reshape(x.shape), k)
    flat = emit("ReshapeBatch", x, to=x.type_name, shape=[x.size])
    return emit("Take", flat, array(places, "int32"), to=x.type_name, axis=0)


@op("x")
def diagflat(x, k=0):
    return diag(emit("ReshapeBatch", x, to=x.type_name, shape=[x.size]), k)


@op("x")
def vander(x, N=None, increasing=False):  # noqa: N803
    n = x.shape[0] if N is None else int(N)
    t = "int32" if x.type_name == "bool" else x.type_name
    columns = [array(np.ones(x.shape), t)]
    for _ in range(n - 1):
        columns.append(emit("BroadcastMultiply", columns[-1], cast(x, t), to=t))
    columns = columns[:n] if increasing else columns[:n][::-1]
    return emit("Stack", *columns, to=t, axis=-1)


def select(condlist, choicelist, default=0):
    t = joined_type(*choicelist, default)
    y = cast(default, t)
    for condition, choice in reversed(list(zip(condlist, choicelist))):
        y = where_of(condition, cast(choice, t), y)
    return y


def ndim(x):
    return len(tensor(x).shape)


def size(x):
    return tensor(x).size


def unravel_index(indices, shape):
    t = tensor(indices)
    name = "int32" if t.type_name == "bool" else t.type_name
    return _unravelled(cast(t, name), tuple(_sizes(shape)))


@op("indices")
def _unravelled(indices, shape):
    t, out = indices.type_name, []
    for i in reversed(range(len(shape))):
        n = array(shape[i], "int64" if t in ("int64", "uint32") else "int32")
        out.append(emit("Mod", indices, n, to=t))
        indices = emit("FloorDivide", indices, n, to=t)
    return tuple(out[::-1])
