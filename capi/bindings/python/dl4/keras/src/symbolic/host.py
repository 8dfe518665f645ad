"""Calls that Python makes before the library's part of a model runs: of layers of texts, and of images in training.

On symbolic tensors such a call gives inputs of the library's part. Where the model runs on arrays, what the calls give
is computed first."""

from ..tree import flatten, map_nest
from .tensor import Call, is_tensor, KerasTensor


class HostCall:
    """A layer of Python's, and what it was called on: nests of symbolic tensors."""

    def __init__(self, layer, args, kwargs):
        self.layer, self.args, self.kwargs = layer, args, kwargs

    def sources(self):
        return [t for t in flatten([list(self.args), self.kwargs]) if is_tensor(t)]

    def arguments(self, now):
        """What it was called on, with other values for the tensors."""

        def other(x):
            return now[x] if is_tensor(x) else x

        return map_nest(other, list(self.args)), {k: map_nest(other, v) for k, v in self.kwargs.items()}


def host_call(layer, args, kwargs, shape, dtype):
    """The symbolic output of a call: one tensor."""
    call = Call(None, name=layer.name)
    call.host = HostCall(layer, args, kwargs)
    call.outputs = [KerasTensor(call, 0, tuple(shape), dtype)]
    layer._calls = layer._calls or [call]
    return call.outputs[0]


def calls_ahead(calls, inputs):
    """Of the calls of a model those that Python makes, each behind what it needs; the model's inputs are given."""
    order, stack, given = {}, [(c, False) for c in reversed(calls) if c.host is not None], {t.call for t in inputs}
    while stack:
        call, ready = stack.pop()
        if call in order or call in given:
            continue
        if ready:
            if call.host is not None:
                order[call] = None
            elif call.layer is None and call.value is None:
                raise ValueError(
                    f'the layer that Python calls needs the input "{call.name}", which is not the model\'s'
                )
            continue
        stack.append((call, True))
        sources = call.host.sources() if call.host is not None else call.sources()
        stack.extend((t.call, False) for t in sources)
    return list(order)


class Ahead:
    """The calls of a model that Python makes before the library's part of it runs."""

    def __init__(self, calls, inputs, between):
        """`between(inputs, tensors)` gives what computes library layers that stand before a call of Python's."""
        self.calls, self.inputs = calls, list(inputs)
        self.steps, known = [], list(inputs)
        for call in calls:
            native = [t for t in call.host.sources() if t not in known]
            if native:
                self.steps.append((between(known, native), native, list(known)))
                known += native
            self.steps.append(call)
            known += call.outputs

    def values(self, arrays):
        """Arrays by tensor: of the inputs, and what the calls give."""
        now = dict(zip(self.inputs, arrays))
        for step in self.steps:
            if isinstance(step, Call):
                args, kwargs = step.host.arguments(now)
                got = step.host.layer(*args, **kwargs)
                now.update(zip(step.outputs, flatten(got)))
                continue
            compute, tensors, sources = step
            now.update(zip(tensors, compute([now[t] for t in sources])))
        return now
