"""Calls that Python makes before the library's part of a model runs: of layers of texts, and of layers that change
images in training.

On symbolic tensors such a call gives an input of the library's part. Where the model runs on arrays, what the calls
give is computed first."""

from ..tree import flatten, map_nest
from .tensor import Call, is_tensor, KerasTensor


class HostCall:
    """A layer of Python's, and what it was called on: nests of symbolic tensors."""

    def __init__(self, layer, args, kwargs):
        self.layer, self.args, self.kwargs = layer, args, kwargs

    def sources(self):
        return [t for t in flatten([list(self.args), self.kwargs]) if is_tensor(t)]

    def says_training(self):
        """Is it told whether it is training?"""
        return "training" in self.kwargs

    def on(self, now, training=None):
        """What the layer gives for other values of the tensors, and where it is told that it is training, or not."""

        def other(x):
            return now.get(x, x) if is_tensor(x) else x

        kwargs = {k: map_nest(other, v) for k, v in self.kwargs.items()}
        if self.says_training() and training is not None:
            kwargs["training"] = bool(training)
        return self.layer(*map_nest(other, list(self.args)), **kwargs)


def host_call(layer, args, kwargs, shape, dtype):
    """The symbolic output of a call: one tensor."""
    call = Call(None, name=layer.name)
    call.host = HostCall(layer, args, kwargs)
    call.outputs = [KerasTensor(call, 0, tuple(shape), dtype)]
    layer._calls = layer._calls or [call]
    layer.built = True
    return call.outputs[0]


def with_hosts(calls, inputs):
    """The calls of a model with those that Python's calls need besides, in the order in which they were made."""
    given = {t.call for t in inputs}
    found, stack = dict.fromkeys(calls), [c for c in calls if c.host is not None and c not in given]
    while stack:
        call = stack.pop()
        for source in call.reads():
            c = source.call
            if c in found or c in given:
                continue
            if c.layer is None and c.value is None and c.host is None:
                raise ValueError(
                    f'{call.name}: the outputs need the input "{c.name}", which is not among the inputs of the model'
                )
            found[c] = None
            stack.append(c)
    return sorted(found, key=lambda c: c.number)


class Ahead:
    """Computes what Python's calls of a model give, and what the library's layers before them give.

    `between(inputs, outputs)` makes a function of arrays of the library's layers between tensors."""

    def __init__(self, calls, inputs, between):
        self.inputs, self.steps, known = list(inputs), [], list(inputs)
        given = {t.call for t in inputs}
        for call in calls:
            if call.host is None or call in given:
                continue
            native = [t for t in call.host.sources() if t not in known]
            if native:
                numbers = [t for t in known if t.dtype != "string"]
                self.steps.append((between(numbers, native), numbers, native))
                known += native
            self.steps.append(call)
            known += call.outputs

    def layers(self):
        return [step.host.layer for step in self.steps if isinstance(step, Call)]

    def values(self, arrays):
        """Arrays by tensor: of the inputs, and of what the calls give."""
        now = dict(zip(self.inputs, arrays))
        for step in self.steps:
            if isinstance(step, Call):
                now[step.outputs[0]] = step.host.on(now)
            else:
                compute, sources, outputs = step
                now.update(zip(outputs, compute([now[t] for t in sources])))
        return now
