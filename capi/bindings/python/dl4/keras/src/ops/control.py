"""Control flow: loops, branches, and functions over rows. In a graph a loop of known length is laid out; one whose end
is a symbolic number has shapes and no numbers."""

import builtins
import functools

from ..symbolic import numpy_call
from ..symbolic.loop import scanned
from ..symbolic.numpy_call import specified
from ..symbolic.tensor import is_tensor
from ..tree import flatten, map_nest, pack_like
from .core import cast, convert_to_tensor
from .dispatch import is_symbolic
from .elementwise import equal, where
from .shapes import concatenate, flip, stack, take


_MOST = 1000  # steps of a loop in a graph


def _as_tensors(nest):
    return map_nest(lambda x: x if x is None else convert_to_tensor(x), nest)


def _unended(name, nest):
    """Tensors like these, which a loop of unknown length gives: no model can be made of them."""
    tensors = [t for t in flatten(nest) if is_tensor(t)]
    return map_nest(lambda x: specified(name, tensors, x.shape, str(x.dtype)), nest)


def cond(pred, true_fn, false_fn):
    """Calls one of two functions; by a symbolic value both, and chooses."""
    if not is_symbolic(pred):
        return true_fn() if pred else false_fn()
    yes, no = true_fn(), false_fn()
    if yes is None and no is None:
        return None
    pairs = zip(flatten(yes), flatten(no))
    return pack_like(yes, [a if a is None else where(pred, a, b) for a, b in pairs])


def switch(index, branches, *operands):
    """Calls the function at an index, the nearest where there is none; by a symbolic index all, and chooses."""
    if not is_symbolic(index):
        return branches[builtins.min(builtins.max(int(index), 0), len(branches) - 1)](*operands)
    results = [branch(*operands) for branch in branches]
    chosen = flatten(results[-1])
    for i in reversed(range(len(branches) - 1)):
        here = equal(index, i) if i else cast(index, "int32") <= 0
        chosen = [where(here, a, b) for a, b in zip(flatten(results[i]), chosen)]
    return pack_like(results[0], chosen)


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    """Calls body as long as cond holds."""
    several = isinstance(loop_vars, (list, tuple))
    now = _as_tensors(tuple(loop_vars) if several else (loop_vars,))
    left, done = float("inf") if maximum_iterations is None else int(maximum_iterations), 0
    while left > 0:
        holds = cond(*now)
        if is_symbolic(holds):
            return _unended("while_loop", now if several else now[0])
        if not holds:
            break
        got = body(*now)
        now = _as_tensors(tuple(got) if isinstance(got, (list, tuple)) and several else (got,))
        left -= 1
        done += 1
        if done == _MOST and is_symbolic(now):
            return _unended("while_loop", now if several else now[0])
    return now if several else now[0]


def fori_loop(lower, upper, body_fun, init_val):
    """Calls body_fun(i, value) for each i."""
    value = _as_tensors(init_val)
    if is_symbolic(lower, upper):
        return _unended("fori_loop", value)
    for i in range(int(lower), int(upper)):
        value = body_fun(convert_to_tensor(i), value)
    return value


def map(f, xs):  # noqa: A001
    """What f gives for each row, stacked."""
    xs = _as_tensors(xs)
    rows = flatten(xs)[0].shape[0]
    if rows is None:
        return scanned(lambda _, x: ((), f(x)), (), xs)[1]
    got = [f(map_nest(lambda x, i=i: take(x, i, 0), xs)) for i in range(rows)]
    return pack_like(got[0], [stack(list(values)) for values in zip(*(flatten(g) for g in got))])


def vectorized_map(function, elements):
    """As map(), whose function is called for each row."""
    return map(function, elements)


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    """Calls f(carry, x) for each row of xs: the last carry, and what f gave, stacked."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    xs = None if xs is None else _as_tensors(xs)
    rows = int(length) if xs is None or length is not None else flatten(xs)[0].shape[0]
    carry, got = _as_tensors(init), []
    if rows is None:
        carry, ys = scanned(f, carry, xs, reverse)
        return carry, map_nest(lambda y: y if y is None or not reverse else flip(y, 0), ys)
    order = reversed(range(rows)) if reverse else range(rows)
    for i in order:
        carry, y = f(carry, None if xs is None else map_nest(lambda x, i=i: take(x, i, 0), xs))
        got.append(y)
    got = got[::-1] if reverse else got
    if not got or got[0] is None:
        return carry, None
    return carry, pack_like(got[0], [stack(list(v)) for v in zip(*(flatten(g) for g in got))])


def associative_scan(f, elems, reverse=False, axis=0):
    """What f gives of all rows up to each."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    elems = _as_tensors(elems)
    leaves = flatten(elems)
    rows = leaves[0].shape[axis]
    if any(x.shape[axis] != rows for x in leaves):
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {[x.shape for x in leaves]})"
        )
    if rows is None:
        return _unended("associative_scan", elems)

    def part(i):
        return map_nest(lambda x: take(x, [i], axis), elems)

    order = list(range(rows))[::-1] if reverse else list(range(rows))
    now, got = part(order[0]), []
    got.append(now)
    for i in order[1:]:
        now = f(now, part(i))
        got.append(now)
    found = [concatenate(list(v), axis) for v in zip(*(flatten(g) for g in got))]
    return pack_like(elems, [flip(v, axis) for v in found] if reverse else found)


def custom_gradient(f):
    """A function that gives its values and a function of gradients, by which it is trained through."""

    @functools.wraps(f)
    def either(*args, **kwargs):
        if is_symbolic(args, kwargs):
            if any(is_tensor(x) for x in flatten(kwargs)):
                raise NotImplementedError("custom_gradient: expected tensors by position, got them by name")
            return numpy_call.custom_gradient(functools.partial(f, **kwargs) if kwargs else f, args)
        return f(*args, **kwargs)[0]

    return either


def vectorize(pyfunc, *, excluded=None, signature=None):
    """A function of numbers, over all elements of arrays."""
    if not callable(pyfunc):
        raise ValueError(f"Expected `pyfunc` to be callable. Received: {pyfunc}")
    import numpy

    how = numpy.vectorize(lambda *a, **k: numpy.asarray(pyfunc(*a, **k)), excluded=excluded, signature=signature)

    def either(*args, **kwargs):
        if is_symbolic(args, kwargs):
            raise NotImplementedError("vectorize: of arrays alone in this version, got symbolic tensors")
        return convert_to_tensor(how(*args, **kwargs))

    return either


__all__ = [
    "associative_scan",
    "cond",
    "custom_gradient",
    "fori_loop",
    "map",
    "scan",
    "switch",
    "vectorize",
    "vectorized_map",
    "while_loop",
]
