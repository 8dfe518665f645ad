"""Loops. In a trace a long one is the library's Scan or WhileLoop, whose body is a model; all others are laid out."""

from keras.src import tree
from keras.src.backend.common.stateless_scope import get_stateless_scope

from . import trace
from .dtypes import Unsupported, numpy_dtype
from .tensor import array
from .trace import Trace, Traced, current, emit, emit_layer, has_traced, tensor

import numpy as np  # isort: skip

_LAID_OUT = 8  # steps that are


def tensors(nest):
    return tree.map_structure(lambda x: x if x is None else tensor(x), nest)


def stacked(parts):
    return trace.convert([tensor(p) for p in parts], tensor(parts[0]).type_name)


def _row(nest, i):
    return tree.map_structure(lambda x: x[i], nest)


class _Assigned(Exception):
    """A body assigns variables, which it can do only if it is laid out."""


class _Body(Trace):
    """A function of one step as a model. What it reads from outside is the same at every step."""

    def __init__(self, given):
        super().__init__(current().specification)
        self.symbols = [None if t is None else self.input(t.type_name, t.shape) for t in given]

    def __enter__(self):
        self.scope = get_stateless_scope()
        if self.scope is not None:
            self.before = self.scope.__dict__.get("add_update")
            self.scope.add_update = self._refuse
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        if self.scope is not None:
            del self.scope.add_update
            if self.before is not None:
                self.scope.add_update = self.before

    @staticmethod
    def _refuse(update):
        raise _Assigned

    def outputs(self, leaves):
        """What the body gives."""
        if self.customs:
            raise _Assigned  # gradients of its own, which are found step by step
        return [emit("Identity", t, to=t.type_name) for t in (tensor(leaf) for leaf in leaves)]

    def emit(self, kind, outputs, first, **config):
        """The loop in the trace around, on its first inputs and on what the body reads from outside."""
        model = self.graph.build([t.node for t in self.inputs], [t.node for t in outputs])
        outside = [x for x, _ in self.captured.values()]
        found = emit_layer(kind, [*first, *outside], config, models={"body": model})
        return [Traced(y.trace, y.node, t.type_name, y.shape) for y, t in zip(found, outputs)]


def _pack(nest, leaves):
    leaves = iter(leaves)
    return tree.map_structure(lambda _: next(leaves), nest, none_is_leaf=True)


def folded(f, carry, xs, backwards=False):
    """The last carry, and what f(carry, row) gives beside the new ones, stacked, for the rows of xs, a nest."""
    carry, xs = tensors(carry), tensors(xs)
    n = tree.flatten(xs)[0].shape[0]
    if current() is not None and current().arrays is None and n > _LAID_OUT:
        try:
            return _scanned(f, carry, xs, backwards)
        except _Assigned:
            pass
    rows = []
    for i in reversed(range(n)) if backwards else range(n):
        carry, y = f(carry, _row(xs, i))
        rows.append(y)
    return carry, _joined(rows[::-1] if backwards else rows)


def _joined(rows):
    """Nests as one, with an axis of them."""
    if not rows or all(x is None for x in tree.flatten(rows[0])):
        return None if not rows else rows[0]
    return tree.map_structure(lambda *x: stacked(list(x)), *rows)


def _scanned(f, carry, xs, backwards):
    states, sequences = tree.flatten(carry), tree.flatten(xs)
    if any(t is None for t in (*states, *sequences)):
        raise _Assigned
    rows = [array(np.zeros(t.shape[1:]), t.type_name) for t in sequences]
    with _Body([*states, *rows]) as body:
        count = len(states)
        new, y = f(_pack(carry, body.symbols[:count]), _pack(xs, body.symbols[count:]))
        after = [tensor(t) for t in tree.flatten(new)]
        if [(t.type_name, tuple(t.shape)) for t in after] != [(t.type_name, tuple(t.shape)) for t in states]:
            raise _Assigned  # a carry that changes its type
        given = tree.flatten(y)
        outputs = body.outputs([*after, *(t for t in given if t is not None)])
    numbers = list(range(len(sequences))) if backwards else []
    words = {"states": count, "sequences": len(sequences), "backwards": numbers}
    words["reversed"] = list(range(len(outputs) - count)) if backwards else []
    found = body.emit("Scan", outputs, [*states, *sequences], **words)
    stacks = iter(found[count:])
    return _pack(carry, found[:count]), _pack(y, [None if t is None else next(stacks) for t in given])


def while_loop(cond, body, loop_vars, maximum_iterations=None):
    several = isinstance(loop_vars, (list, tuple))
    now = tensors(tuple(loop_vars) if several else (loop_vars,))

    def step(values):
        got = body(*values)
        return tensors(tuple(got) if several and isinstance(got, (list, tuple)) else (got,))

    left = float("inf") if maximum_iterations is None else int(maximum_iterations)
    while left > 0:
        go = tensor(cond(*now))
        if isinstance(go, Traced):
            now = _while(cond, step, now, go, left)
            break
        if not go:
            break
        now = step(now)
        left -= 1
    return now if several else now[0]


def _while(cond, step, now, go, most):
    """A loop whose end a run alone knows."""
    states = tree.flatten(now)
    kind = array(0, "int64")
    counted = most != float("inf")
    try:
        with _Body([kind, *states]) as body:
            new = step(_pack(now, body.symbols[1:]))
            after = [tensor(t) for t in tree.flatten(new)]
            for a, b in zip(after, states):
                if (a.type_name, tuple(a.shape)) != (b.type_name, tuple(b.shape)):
                    raise ValueError(
                        f"keras.ops.while_loop: expected a body that keeps types and shapes, got {a.type_name} "
                        f"{tuple(a.shape)} for {b.type_name} {tuple(b.shape)}"
                    )
            outputs = body.outputs([*after, cond(*new)])
        first = [*([array(np.asarray(most, numpy_dtype("int64")), "int64")] if counted else []), go]
        words = {"states": len(states), "counted": counted, "flagged": True}
        found = body.emit("WhileLoop", outputs, [*first, *states], **words)
    except _Assigned:
        raise Unsupported(
            "keras.ops.while_loop: its end depends on traced numbers, and its body assigns variables, which the "
            "backend dl4 does not support: pass `run_eagerly=True` to `compile()`"
        ) from None
    return _pack(now, found[: len(states)])


def fori_loop(lower, upper, body_fun, init_val):
    if has_traced([lower, upper]):
        return while_loop(lambda i, _: i < upper, lambda i, v: (i + 1, body_fun(i, v)), (tensor(lower), init_val))[1]
    numbers = np.arange(int(lower), int(upper), dtype="int32")
    if not numbers.size:
        return tensors(init_val)
    return folded(lambda value, i: (tensors(body_fun(i, value)), None), init_val, array(numbers, "int32"))[0]


def map(f, xs):  # noqa: A001
    return folded(lambda carry, x: (carry, f(x)), (), xs)[1]


def vectorized_map(function, elements):
    return map(function, elements)


def _need_function(f, name):
    if not callable(f):
        raise TypeError(f"keras.ops.{name}: `f` should be a callable. Got {f!r}")


def scan(f, init, xs=None, length=None, reverse=False, unroll=1):
    _need_function(f, "scan")
    if not isinstance(unroll, (bool, int)) or unroll < 1 and unroll is not False:
        raise ValueError(f"keras.ops.scan: `unroll` must be an positive integer or boolean. Got {unroll!r}")
    if xs is None:
        if length is None:
            raise ValueError("keras.ops.scan: Got no `xs` to scan over and `length` not provided.")
        steps = array(np.arange(int(length)), "int32")
        return folded(lambda carry, _: f(carry, None), init, steps, reverse)
    xs = tensors(xs)
    rows = tree.flatten(xs)[0].shape[0]
    if length is not None and int(length) != rows:
        raise ValueError(f"keras.ops.scan: expected a `length` of {rows}, as `xs` has rows. Got {length}")
    return folded(f, init, xs, reverse)


def associative_scan(f, elems, reverse=False, axis=0):
    _need_function(f, "associative_scan")
    elems = tensors(elems)
    leaves = tree.flatten(elems)
    n = leaves[0].shape[axis]
    if any(x.shape[axis] != n for x in leaves):
        raise ValueError(
            f"keras.ops.associative_scan: expected arrays of the same first dimension, got {[x.shape for x in leaves]}"
        )

    def part(x, i):
        return x[(slice(None),) * (axis % len(x.shape)) + (slice(i, i + 1),)]

    order = list(range(n))[::-1] if reverse else list(range(n))
    rows = [tree.map_structure(lambda x: part(x, order[0]), elems)]
    for i in order[1:]:
        rows.append(f(rows[-1], tree.map_structure(lambda x, i=i: part(x, i), elems)))
    return tree.map_structure(lambda *x: joined(list(x[::-1] if reverse else x), axis), *rows)


joined = None  # what `shapes` puts in place: concatenate()
