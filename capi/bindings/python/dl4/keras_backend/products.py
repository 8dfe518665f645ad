"""Products of matrices and tensors."""

import numpy as np
from keras.src.backend import config
from keras.src.backend.common import dtypes

from .core import cast
from .dtypes import is_float
from .elementwise import joined_type, multiply, subtract
from .functions import op
from .reductions import over
from .shapes import axis_of, expand_dims, ints, moveaxis, reshaped, squeeze, transpose
from .tensor import array
from .trace import emit, tensor


def _exact(kind, xs, to, **config):
    """A product, of integers in float32 if that holds them: sums beyond 2 ** 24 are computed by elements."""
    return emit(kind, *(cast(x, "float32") for x in xs), to=to, **config)


@op("x1 x2")
def matmul(x1, x2):
    t = joined_type(x1, x2)
    if {x1.type_name, x2.type_name} == {"int8"}:
        t = "int32"
    if not x1.shape or not x2.shape:
        raise ValueError(f"matmul: expected at least one axis, got shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    a, b = x1, x2
    a = expand_dims(a, 0) if len(a.shape) == 1 else a
    b = expand_dims(b, -1) if len(b.shape) == 1 else b
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: expected inner sizes alike, got shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    y = _product(a, b, t)
    gone = [i for i, x in ((-2, x1), (-1, x2)) if len(x.shape) == 1]
    return squeeze(y, gone) if gone else y


def _product(a, b, t):
    if is_float(t):
        return _exact("MatMul", (cast(a, t), cast(b, t)), t)
    wide = "int32" if t == "bool" else t
    parts = emit("BroadcastMultiply", expand_dims(cast(a, wide), -1), expand_dims(cast(b, wide), -3), to=wide)
    return cast(over("Sum", parts, -2, to=wide), t)


@op("x1 x2")
def dot(x1, x2):
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    if len(x2.shape) == 1 or len(x1.shape) <= 2 and len(x2.shape) <= 2:
        return cast(matmul(x1, x2), joined_type(x1, x2))
    return tensordot(x1, x2, [[-1], [-2]])


@op("x1 x2")
def outer(x1, x2):
    return multiply(reshaped(x1, [x1.size, 1]), reshaped(x2, [1, x2.size]))


@op("x1 x2")
def vdot(x1, x2):
    return dot(reshaped(x1, [x1.size]), reshaped(x2, [x2.size]))


@op("x1 x2")
def inner(x1, x2):
    if not x1.shape or not x2.shape:
        return multiply(x1, x2)
    return tensordot(x1, x2, [[-1], [-1]])


@op("x1 x2")
def tensordot(x1, x2, axes=2):
    n, m = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        first, second = list(range(n - axes, n)), list(range(axes))
    else:
        first, second = ([axis_of(a, r) for a in ints(v)] for v, r in zip(axes, (n, m)))
    left = [i for i in range(n) if i not in first]
    right = [i for i in range(m) if i not in second]
    rows = [x1.shape[i] for i in left]
    columns = [x2.shape[i] for i in right]
    inner_size = int(np.prod([x1.shape[i] for i in first], dtype=int))
    a = reshaped(transpose(x1, left + first), [int(np.prod(rows, dtype=int)), inner_size])
    b = reshaped(transpose(x2, second + right), [inner_size, int(np.prod(columns, dtype=int))])
    return cast(reshaped(matmul(a, b), rows + columns), joined_type(x1, x2))


@op("operands*")
def _einsum(operands, subscripts):
    t = dtypes.result_type(*[x.type_name for x in operands])
    wide = "int32" if len({x.type_name for x in operands}) == 1 and operands[0].type_name == "int8" else t
    if is_float(t):
        try:
            return _exact("Einsum", operands, wide, subscripts=subscripts)
        except NotImplementedError:
            pass
    return _by_elements(operands, subscripts, wide)


def einsum(subscripts, *operands, **kwargs):
    unknown = sorted(set(kwargs) - {"optimize"})
    if unknown:
        raise TypeError(f"einsum() got an unexpected keyword argument {unknown[0]!r}")
    text = subscripts.replace(" ", "")
    sizes = [tensor(x) for x in operands]
    return _einsum(list(sizes), _explicit(text, [len(x.shape) for x in sizes]))


def _explicit(text, ranks):
    """Subscripts with a result, and letters in place of `...`."""
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise ValueError(f"einsum: expected {len(terms)} operands for {text!r}, got {len(ranks)}")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in text]
    counts = [r - (len(s) - 3) if "..." in s else 0 for s, r in zip(terms, ranks)]
    widest = max(counts, default=0)
    dots = "".join(free[:widest])
    terms = [s.replace("...", dots[widest - k :] if k else "") for s, k in zip(terms, counts)]
    if not arrow:
        letters = "".join(terms)
        right = dots + "".join(sorted(c for c in set(letters) if letters.count(c) == 1 and c not in dots))
    return ",".join(terms) + "->" + right.replace("...", dots)


def _by_elements(operands, subscripts, t):
    left, _, right = subscripts.partition("->")
    terms = left.split(",")
    letters = sorted(set(left) - {","} - set(right))
    order = list(right) + letters
    y = None
    for x, term in zip(operands, terms):
        x = cast(x, "int32" if t == "bool" else t)
        for c in set(term):
            while term.count(c) > 1:
                i = term.index(c)
                j = term.index(c, i + 1)
                x, term = diagonal(x, 0, i, j), "".join(k for n, k in enumerate(term) if n not in (i, j)) + c
        x = transpose(x, [term.index(c) for c in order if c in term])
        x = reshaped(x, [x.shape[sorted(term, key=order.index).index(c)] if c in term else 1 for c in order])
        y = x if y is None else multiply(y, x)
    gone = list(range(len(right), len(order)))
    return cast(over("Sum", y, gone), t) if gone else cast(y, t)


@op("x")
def diagonal(x, offset=0, axis1=0, axis2=1):
    if len(x.shape) < 2:
        raise ValueError(f"diagonal: expected at least two axes, got shape {tuple(x.shape)}")
    rank = len(x.shape)
    i, j = axis_of(axis1, rank), axis_of(axis2, rank)
    x = moveaxis(x, [i, j], [rank - 2, rank - 1])
    rows, columns = x.shape[-2:]
    at = np.arange(rows)[:, None] * columns + np.arange(columns)
    places = np.diagonal(at, offset)
    flat = reshaped(x, [*x.shape[:-2], rows * columns])
    return emit("Take", flat, array(places, "int32"), to=x.type_name, axis=-1)


@op("x")
def trace(x, offset=0, axis1=0, axis2=1):
    t = x.type_name
    t = "int32" if t in ("bool", "int8", "int16") else "uint32" if t in ("uint8", "uint16") else t
    return over("Sum", cast(diagonal(x, offset, axis1, axis2), t), -1, to=t)


@op("x1 x2")
def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    t = joined_type(x1, x2)
    t = "int32" if t == "bool" else t
    a, b = moveaxis(cast(x1, t), axisa, -1), moveaxis(cast(x2, t), axisb, -1)
    n, m = a.shape[-1], b.shape[-1]
    if n not in (2, 3) or m not in (2, 3):
        raise ValueError(f"`x1`'s dim on `axis={axisa}` and `x2`'s on {axisb} must be 2 or 3, received {n} and {m}")

    def at(x, i):
        return x[..., i] if i < x.shape[-1] else None

    def minus(i, j):
        one = multiply(at(a, i), at(b, j)) if at(a, i) is not None and at(b, j) is not None else None
        two = multiply(at(a, j), at(b, i)) if at(a, j) is not None and at(b, i) is not None else None
        if one is None:
            return multiply(two, -1)
        return one if two is None else subtract(one, two)

    if n == m == 2:
        return minus(0, 1)
    parts = [minus(1, 2), minus(2, 0), minus(0, 1)]
    return moveaxis(emit("Stack", *parts, to=t, axis=-1), -1, axisc)


@op("x1 x2")
def kron(x1, x2):
    rank = max(len(x1.shape), len(x2.shape))
    sizes = [[1] * (rank - len(x.shape)) + list(x.shape) for x in (x1, x2)]
    a = reshaped(x1, [d for s in sizes[0] for d in (s, 1)])
    b = reshaped(x2, [d for s in sizes[1] for d in (1, s)])
    return reshaped(multiply(a, b), [m * n for m, n in zip(*sizes)])


@op("x1 x2")
def correlate(x1, x2, mode="valid"):
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"mode: expected 'valid', 'same' or 'full', got {mode!r}")
    if len(x1.shape) != 1 or len(x2.shape) != 1:
        raise ValueError(f"correlate: expected vectors, got shapes {tuple(x1.shape)} and {tuple(x2.shape)}")
    t = joined_type(x1, x2)
    t = config.floatx() if t == "int64" else t if is_float(t) else "float32"
    swapped = x1.size < x2.size
    long, short = (cast(x, "float32") for x in ((x2, x1) if swapped else (x1, x2)))
    n, k = long.size, short.size
    sides = {"valid": (0, 0), "same": (k // 2, k - 1 - k // 2), "full": (k - 1, k - 1)}[mode]
    padded = emit("Pad", long, pad_width=[list(sides)])
    count = n + sum(sides) - k + 1
    places = np.arange(count)[:, None] + np.arange(k)
    y = matmul(emit("Take", padded, array(places, "int32"), axis=0), short)
    return cast(emit("Take", y, array(np.arange(count)[::-1], "int32"), axis=0) if swapped else y, t)


@op("x")
def corrcoef(x):
    t = x.type_name
    t = config.floatx() if t in ("int64", "bool") else dtypes.result_type(t, float)
    x = cast(x, "float32")
    rows = x if len(x.shape) > 1 else expand_dims(x, 0)
    apart = emit("BroadcastSubtract", rows, over("Mean", rows, -1, True))
    y = emit("MatMul", apart, apart, transpose_b=True)
    sizes = emit("Sqrt", over("Sum", emit("Square", apart), -1, True))
    y = emit("Divide", emit("Divide", y, sizes), transpose(sizes, [1, 0]))
    y = emit("Clip", y, x_min=-1.0, x_max=1.0)
    return cast(y if len(x.shape) > 1 else reshaped(y, []), t)
