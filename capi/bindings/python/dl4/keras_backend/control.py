"""Loops and branches. What is traced has loops laid out, and of a branch both sides."""

import functools

from keras.src import tree
from keras.src.backend.common.stateless_scope import get_stateless_scope

from . import trace
from .dtypes import Unsupported
from .trace import Traced, current, emit, has_traced, tensor

_MOST = 10000  # steps of a loop that is laid out


def _tensors(nest):
    return tree.map_structure(lambda x: x if x is None else tensor(x), nest)


def _chosen(flag, yes, no):
    """One of two nests by a traced flag."""
    tree.assert_same_structure(yes, no)

    def one(a, b):
        if a is None or a is b:
            return a
        a, b = tensor(a), tensor(b)
        return emit("Where", flag, a, b, to=a.type_name)

    return tree.map_structure(one, yes, no)


def _branch(f, *operands):
    """What a branch gives, and the variables that it would assign with their values, by id."""
    scope = get_stateless_scope()
    if scope is None:
        return f(*operands), {}
    before, assigned, add_update = dict(scope.state_mapping), {}, scope.add_update

    def noted(update):
        assigned[id(update[0])] = update[0]
        add_update(update)

    scope.add_update = noted
    try:
        y = f(*operands)
    finally:
        del scope.add_update
    values = {key: (v, scope.state_mapping[key]) for key, v in assigned.items()}
    scope.state_mapping = before
    return y, values


def _joined_branches(flag, yes, no):
    """Of two branches what they give and assign, by a traced flag."""
    (y, assigned), (n, otherwise) = yes, no
    variables = {key: v for key, (v, _) in {**assigned, **otherwise}.items()}

    def value(of, v):
        return of[id(v)][1] if id(v) in of else v.value

    merged = {key: (v, _chosen(flag, value(assigned, v), value(otherwise, v))) for key, v in variables.items()}
    return _chosen(flag, y, n), merged


def _assign(updates):
    for v, value in updates.values():
        get_stateless_scope().add_update((v, value))


def cond(pred, true_fn, false_fn):
    """Of a traced predicate both sides are computed."""
    pred = tensor(pred)
    if not isinstance(pred, Traced):
        return true_fn() if pred else false_fn()
    y, updates = _joined_branches(pred, _branch(true_fn), _branch(false_fn))
    _assign(updates)
    return y


def switch(index, branches, *operands):
    index = tensor(index)
    last = len(branches) - 1
    if not isinstance(index, Traced):
        return branches[min(max(int(index), 0), last)](*operands)
    found = [_branch(branch, *operands) for branch in branches]
    joined = found[last]
    for i in reversed(range(last)):
        flag = emit("LessEqual", index, trace.array(i, index.type_name))
        joined = _joined_branches(flag, found[i], joined)
    _assign(joined[1])
    return joined[0]


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    several = isinstance(loop_vars, (list, tuple))
    now = _tensors(tuple(loop_vars) if several else (loop_vars,))
    left = float("inf") if maximum_iterations is None else int(maximum_iterations)
    while left > 0:
        go = tensor(cond(*now))
        if isinstance(go, Traced):
            if current().specification:
                break
            raise Unsupported(
                "keras.ops.while_loop: its end depends on traced numbers, which the backend dl4 does not support: pass "
                "`run_eagerly=True` to `compile()`"
            )
        if not go:
            break
        got = body(*now)
        now = _tensors(tuple(got) if several and isinstance(got, (list, tuple)) else (got,))
        left -= 1
    return now if several else now[0]


def fori_loop(lower, upper, body_fun, init_val):
    if has_traced([lower, upper]):
        raise Unsupported("keras.ops.fori_loop: expected bounds that are no traced tensors")
    value = _tensors(init_val)
    for i in range(int(lower), int(upper)):
        value = body_fun(tensor(i), value)
    return value


def _row(nest, i):
    return tree.map_structure(lambda x: x[i], nest)


def _joined(rows):
    """Nests as one, with an axis of them."""
    if not rows or all(x is None for x in tree.flatten(rows[0])):
        return None if not rows else rows[0]
    return tree.map_structure(lambda *x: stacked(list(x)), *rows)


def stacked(parts):
    return trace.convert([tensor(p) for p in parts], tensor(parts[0]).type_name)


def map(f, xs):  # noqa: A001
    xs = _tensors(xs)
    return _joined([f(_row(xs, i)) for i in range(tree.flatten(xs)[0].shape[0])])


def vectorized_map(function, elements):
    return map(function, elements)


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    if not isinstance(unroll, bool) and (not isinstance(unroll, int) or unroll < 1):
        raise ValueError(f"`unroll` must be an positive integer or boolean. Received: unroll={unroll}")
    if xs is None and length is None:
        raise ValueError("Got no `xs` to scan over and `length` not provided.")
    xs = None if xs is None else _tensors(xs)
    n = int(length) if xs is None else tree.flatten(xs)[0].shape[0]
    carry, rows = _tensors(init), []
    for i in reversed(range(n)) if reverse else range(n):
        carry, y = f(carry, None if xs is None else _row(xs, i))
        rows.append(y)
    return carry, _joined(rows[::-1] if reverse else rows)


def associative_scan(f, elems, reverse=False, axis=0):
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    elems = _tensors(elems)
    leaves = tree.flatten(elems)
    n = leaves[0].shape[axis]
    if any(x.shape[axis] != n for x in leaves):
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension. (saw: {[x.shape for x in leaves]})"
        )

    def part(x, i):
        return x[(slice(None),) * (axis % len(x.shape)) + (slice(i, i + 1),)]

    order = list(range(n))[::-1] if reverse else list(range(n))
    rows = [tree.map_structure(lambda x: part(x, order[0]), elems)]
    for i in order[1:]:
        rows.append(f(rows[-1], tree.map_structure(lambda x, i=i: part(x, i), elems)))
    return tree.map_structure(lambda *x: joined(list(x[::-1] if reverse else x), axis), *rows)


joined = None  # what `shapes` puts in place: concatenate()


def custom_gradient(fun):
    """A function that gives its value and a function of gradients. What is traced keeps both for value_and_grad()."""

    @functools.wraps(fun)
    def either(*args, **kwargs):
        y, gradient = fun(*args, **kwargs)
        if not has_traced(list(args)):
            return y
        cut = tree.map_structure(lambda t: emit("StopGradient", t, to=t.type_name), y)
        current().customs.append((list(args), tree.flatten(cut), gradient))
        return cut

    return either


def remat(f):
    return f
