"""Gradients of functions of tensors."""

import functools

from keras.src import tree

from .core import cast, convert_to_tensor
from .dtypes import is_float
from .functions import Compiled
from .tensor import array
from .trace import Trace, Traced, current, emit, emit_all, has_traced, tensor

import numpy as np  # isort: skip


def gradients(targets, by, output_gradients=None):
    """Of the sum of targets by traced tensors, with what custom_gradient() says on the way."""
    trace = current()
    targets = [cast(t, "float32") for t in targets]
    given = output_gradients or [array(np.ones(t.shape), "float32") for t in targets]
    for inputs, outputs, gradient in reversed(trace.customs):
        upstream = _plain_gradients(targets, outputs, given)
        found = gradient(*upstream) if len(upstream) > 1 else gradient(upstream=upstream[0])
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        for x, g in zip(inputs, found):
            if isinstance(x, Traced) and g is not None and is_float(x.type_name):
                targets.append(cast(x, "float32"))
                given.append(cast(convert_to_tensor(g), "float32"))
    return _plain_gradients(targets, by, given)


def _plain_gradients(targets, by, given):
    found = emit_all("Gradients", *targets, *by, nodes={"output_gradients": given}, targets=len(targets))
    return [Traced(g.trace, g.node, g.type_name, x.shape) for g, x in zip(found, by)]


def value_and_grad(fun, has_aux=False):
    """A function that gives what `fun` gives, and the gradient of it (of its first part, with has_aux) by the first
    argument, a tensor or a nest of them."""

    @functools.wraps(fun)
    def both(by, *args, **kwargs):
        leaves = tree.flatten((by, args, kwargs))
        if current() is not None and has_traced(leaves):
            return _in_trace(fun, has_aux, by, args, kwargs)
        with Trace() as trace:
            trace.arrays = [tensor(x) for x in tree.flatten(by)]
            by = tree.map_structure(lambda x: _input(trace, x), by)
            nest = _in_trace(fun, has_aux, by, args, kwargs)
            found = Compiled(trace, tree.flatten(nest)).once([a.value for a in trace.arrays])
        return tree.pack_sequence_as(nest, found)

    return both


def _input(trace, x):
    x = tensor(x)
    return trace.input(x.type_name, x.shape)


def _in_trace(fun, has_aux, by, args, kwargs):
    by = tree.map_structure(lambda x: emit("Identity", tensor(x), to=tensor(x).type_name), by)
    with current().differentiating():
        value = fun(by, *args, **kwargs)
    loss = tensor(value[0] if has_aux else value)
    if loss.shape:
        raise ValueError(f"expected a function that gives one number to differentiate, got shape {loss.shape}")
    leaves = tree.flatten(by)
    floats = [x for x in leaves if is_float(x.type_name)]
    if isinstance(loss, Traced):
        found = iter(gradients([loss], floats) if floats else ())
    else:
        found = iter([array(np.zeros(x.shape), "float32") for x in floats])
    grads = [cast(next(found), x.type_name) if is_float(x.type_name) else None for x in leaves]
    return value, tree.pack_sequence_as(by, grads)


def grad(fun):
    """A function that gives the gradient of `fun` by its first argument."""
    both = value_and_grad(fun)
    return lambda *args, **kwargs: both(*args, **kwargs)[1]
