"""Branches, of which both sides are computed in a trace, and gradients of one's own."""

import functools

from keras.src import tree
from keras.src.backend.common.stateless_scope import get_stateless_scope

from . import trace
from .trace import Traced, current, emit, has_traced, tensor


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
