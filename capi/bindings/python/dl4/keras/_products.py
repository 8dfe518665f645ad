"""Of keras.ops, products, attention and normalizations: einsum to rms_normalization."""

import math

from ._functions import function
from ._math import floats, of, over, places
from ._shapes import expand_dims, reshape, squeeze, transpose
from ._tensors import as_tensor, cast, layer_of, operate


@function
def outer(x1, x2):
    x1, x2 = (reshape(as_tensor(x), [-1]) for x in (x1, x2))
    return operate("Multiply", expand_dims(x1, 1), expand_dims(x2, 0))


@function
def vdot(x1, x2):
    x1, x2 = (reshape(as_tensor(x), [-1]) for x in (x1, x2))
    return over("Sum", operate("Multiply", x1, x2), None)


@function
def inner(x1, x2):
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.shape or not x2.shape:
        return operate("Multiply", x1, x2)
    return tensordot(x1, x2, [[-1], [-1]])


@function
def tensordot(x1, x2, axes=2):
    x1, x2 = as_tensor(x1), as_tensor(x2)
    n, m = len(x1.shape), len(x2.shape)
    if isinstance(axes, int):
        first, second = list(range(n - axes, n)), list(range(axes))
    else:
        first, second = ([a] if isinstance(a, int) else list(a) for a in axes)
    letters = "abcdefghijklmnopqrstuvwxyz"
    left, right = list(letters[:n]), list(letters[n : n + m])
    for i, j in zip(first, second):
        right[j % m] = left[i % n]
    rest = [c for c in left if c not in right] + [c for c in right if c not in left]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(rest)}", x1, x2)


def einsum(subscripts, *operands, **kwargs):
    return _einsum(list(operands), subscripts)


@function
def _einsum(operands, subscripts):
    operands = [floats(x) for x in operands]
    sources, result = _spelled(subscripts.replace(" ", ""), [len(x.shape) for x in operands])
    terms = list(zip(sources, operands))
    while len(terms) > 1:
        (a, x), (b, y) = terms[:2]
        later = set(result).union(*(labels for labels, _ in terms[2:]))
        terms[:2] = [_contracted(a, x, b, y, later)]
    labels, x = terms[0]
    gone = [i for i, c in enumerate(labels) if c not in result]
    if gone:
        x, labels = over("Sum", x, gone), [c for c in labels if c in result]
    return x if labels == result else transpose(x, [labels.index(c) for c in result])


def _spelled(subscripts, ranks):
    """The labels of each operand and of the result; "..." stands for capitals."""
    given, _, result = subscripts.partition("->")
    sources = given.split(",")
    if len(sources) != len(ranks):
        raise ValueError(f"einsum: {subscripts!r} names {len(sources)} operands, got {len(ranks)}")
    if "->" not in subscripts:
        letters = sorted(set(given) - set(",."))
        result = ("..." if "..." in given else "") + "".join(c for c in letters if given.count(c) == 1)
    spare = [c for c in "ZYXWVUTSRQPONM" if c not in given]
    hidden = [r - len(s.replace("...", "")) for s, r in zip(sources, ranks)]
    longest = max([0] + [h for s, h in zip(sources, hidden) if "..." in s])
    spelled = []
    for s, rank, h in zip(sources, ranks, hidden):
        labels = list(s.replace("...", "".join(spare[longest - h : longest])))
        if len(labels) != rank:
            raise ValueError(f"einsum: {s!r} is not for an operand of {rank} axes")
        if len(set(labels)) < len(labels):
            raise NotImplementedError(f"einsum: a label twice in one operand of {subscripts!r}")
        spelled.append(labels)
    return spelled, list(result.replace("...", "".join(spare[:longest])))


def _contracted(a, x, b, y, later):
    """One product: the labels that are left, and what they are of."""
    x, a = _summed(x, a, set(b) | later)
    y, b = _summed(y, b, set(a) | later)
    batch = [c for c in a if c in b and c in later]
    summed = [c for c in a if c in b and c not in later]
    left, right = ([c for c in labels if c not in others] for labels, others in ((a, b), (b, a)))
    sizes = dict(zip(b, y.shape))
    sizes.update((c, d) for c, d in zip(a, x.shape) if d is not None or c not in sizes)
    z = layer_of("MatMul")([_grouped(x, a, batch, left, summed), _grouped(y, b, batch, summed, right)])
    labels = batch + left + right
    if len(left) > 1 or len(right) > 1:
        return labels, reshape(z, _target([sizes[c] for c in labels], len(batch)))
    gone = [len(batch) + i for i, group in enumerate((left, right)) if not group]
    return labels, squeeze(z, gone) if gone else z


def _summed(x, labels, kept):
    gone = [i for i, c in enumerate(labels) if c not in kept]
    return (over("Sum", x, gone), [c for c in labels if c in kept]) if gone else (x, labels)


class _Batch:
    """The first size, as reshape takes one that stays."""


def _target(sizes, batch):
    return [d if d is not None else _Batch() if i < batch else -1 for i, d in enumerate(sizes)]


def _grouped(x, labels, batch, rows, columns):
    """The axes as batch, rows and columns, the last two each as one."""
    order = [labels.index(c) for c in batch + rows + columns]
    if order != list(range(len(order))):
        x = transpose(x, order)
    n, m = len(batch), len(batch) + len(rows)
    if len(rows) > 1 or len(columns) > 1:
        merged = [None if None in dims else math.prod(dims) for dims in (x.shape[n:m], x.shape[m:])]
        return reshape(x, _target([*x.shape[:n], *merged], n))
    x = x if rows else expand_dims(x, n)
    return x if columns else expand_dims(x, n + 1)


@function
def dot_product_attention(query, key, value, bias=None, mask=None, scale=None, is_causal=False, **kwargs):
    """Of (batch, time, heads, size), as keras.ops.nn's."""
    query, key, value = (floats(t) for t in (query, key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else float(scale)
    q, k, v = (transpose(t, [0, 2, 1, 3]) for t in (query, key, value))
    scores = layer_of("MatMul")([q, transpose(k, [0, 1, 3, 2])]) * scale
    if bias is not None:
        scores = scores + bias
    if is_causal:
        rows, columns = places(scores, 2), places(scores, 3)
        allowed = operate("GreaterEqual", expand_dims(rows, 1), expand_dims(columns, 0))
        mask = allowed if mask is None else operate("LogicalAnd", as_tensor(mask), allowed)
    if mask is not None:
        scores = scores + (cast(as_tensor(mask), "float32") - 1.0) * 3e38
    return transpose(layer_of("MatMul")([layer_of("Softmax")(scores), v]), [0, 2, 1, 3])


@function
def batch_normalization(x, mean, variance, axis, offset=None, scale=None, epsilon=1e-3):
    x = floats(x)
    others = [i for i in range(len(x.shape)) if i != axis % len(x.shape)]

    def wide(t):
        return expand_dims(floats(t), others)

    y = (x - wide(mean)) * of("Rsqrt", wide(variance) + epsilon)
    y = y if scale is None else y * wide(scale)
    return y if offset is None else y + wide(offset)


@function
def layer_normalization(x, gamma=None, beta=None, axis=-1, epsilon=None, **kwargs):
    x = floats(x)
    y = (x - over("Mean", x, axis, True)) * of("Rsqrt", over("Var", x, axis, True) + (epsilon or 1e-7))
    y = y if gamma is None else y * floats(gamma)
    return y if beta is None else y + floats(beta)


@function
def rms_normalization(x, scale=None, axis=-1, epsilon=None):
    x = floats(x)
    y = x * of("Rsqrt", over("Mean", of("Square", x), axis, True) + (epsilon or 1e-7))
    return y if scale is None else y * floats(scale)


_IMPORTED = "as_tensor cast expand_dims floats function layer_of math of operate over places reshape squeeze transpose"
__all__ = [n for n in list(globals()) if not n.startswith("_") and n not in _IMPORTED.split()]
