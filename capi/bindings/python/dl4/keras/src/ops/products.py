"""Products: matmul, dot, einsum, tensordot, ..."""

import math

from ..on_arrays.products import spelled
from ..symbolic.tensor import as_tensor, operate, operation, promoted
from .dispatch import dispatched, floats, over
from .reduction import sum
from .shapes import expand_dims, reshape, squeeze, transpose


@dispatched
def matmul(x1, x2):
    x1, x2 = promoted([as_tensor(x1), as_tensor(x2)])
    if len(x1.shape) == 1 and len(x2.shape) == 1:
        return sum(x1 * x2)
    if len(x2.shape) == 1:
        return squeeze(operation("MatMul")([x1, expand_dims(x2, -1)]), -1)
    if len(x1.shape) == 1:
        return squeeze(operation("MatMul")([expand_dims(x1, 0), x2]), -2)
    return operation("MatMul")([x1, x2])


@dispatched
def dot(x1, x2):
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.shape or not x2.shape:
        return x1 * x2
    return matmul(x1, x2) if len(x2.shape) <= 2 else tensordot(x1, x2, [[-1], [-2]])


@dispatched
def outer(x1, x2):
    x1, x2 = (reshape(as_tensor(x), [-1]) for x in (x1, x2))
    return operate("Multiply", expand_dims(x1, 1), expand_dims(x2, 0))


@dispatched
def vdot(x1, x2):
    x1, x2 = (reshape(as_tensor(x), [-1]) for x in (x1, x2))
    return over("Sum", operate("Multiply", x1, x2), None)


@dispatched
def inner(x1, x2):
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if not x1.shape or not x2.shape:
        return operate("Multiply", x1, x2)
    return tensordot(x1, x2, [[-1], [-1]])


@dispatched
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


def einsum(subscripts, *operands, optimize=None):
    return _einsum(list(operands), subscripts)


@dispatched
def _einsum(operands, subscripts):
    operands = [floats(x) for x in operands]
    sources, result = spelled(subscripts.replace(" ", ""), [len(x.shape) for x in operands])
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


def _contracted(a, x, b, y, later):
    """One product: the labels that are left, and what they are of."""
    x, a = _summed(x, a, set(b) | later)
    y, b = _summed(y, b, set(a) | later)
    batch = [c for c in a if c in b and c in later]
    summed = [c for c in a if c in b and c not in later]
    left, right = ([c for c in labels if c not in others] for labels, others in ((a, b), (b, a)))
    sizes = dict(zip(b, y.shape))
    sizes.update((c, d) for c, d in zip(a, x.shape) if d is not None or c not in sizes)
    z = operation("MatMul")([_grouped(x, a, batch, left, summed), _grouped(y, b, batch, summed, right)])
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
