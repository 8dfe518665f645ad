"""What a tape records of arrays: symbolic tensors that know their arrays, computed when somebody looks."""

import collections
import contextlib
import weakref

from ..backend import call_context
from ..backend.eager_tensor import eager_tensor
from ..tree import flatten
from . import numbers
from .step import as_data, gradients, Step
from .step_model import needed_calls, StepModel
from .tensor import Call, Input, is_tensor

_steps = weakref.WeakSet()
_KEPT = 64  # models of what tapes recorded, by its structure
_SHORT = 256  # bytes of a constant that is told by its numbers
_models = collections.OrderedDict()


class ArrayStep(Step):
    """What is computed while a tape records arrays."""

    binds = True

    def __init__(self, record):
        super().__init__(record)
        self._symbols, self._results, self._statistics = {}, [], True
        self.tapes = []  # that record in it, weakly
        self._before = {}  # of weights that were assigned since: what they held, and the number of the next call
        _steps.add(self)

    def symbol(self, x):
        """The symbolic tensor of an array."""
        if id(x) not in self._symbols:
            t = as_data(x, copy=True)
            s = Input(batch_shape=t.shape, dtype=t.dtype)
            s.call.bound = t
            self._symbols[id(x)] = x, s
        return self._symbols[id(x)][1]

    def assign(self, weight, value, how):
        if weight._layer is not None:
            return super().assign(weight, value, how)
        import numpy

        value = numpy.asarray(getattr(value, "value", value))
        now = weight.numpy()
        if how != "assign":
            value = now + value if how == "assign_add" else now - value
        weight._hold(numpy.broadcast_to(value, now.shape))

    def note(self, outputs):
        """What a layer or model gave its user."""
        if len(call_context.records()) == 1:
            self._results += [weakref.ref(t) for t in flatten(outputs) if is_tensor(t)]

    def gradients(self, targets, places, given):
        """Arrays; what layers gave and is still held is computed with them, by the same draws."""
        asked = gradients(targets, places, given)
        with self._as_recorded(targets) as changed:
            evaluate([*asked, *targets, *([] if changed else self._held())], self.effects, self._statistics)
        self.effects, self._statistics = [], False
        return [t.call.values[t.index] for t in asked]

    def _held(self):
        """What it gave, is still held and not computed yet."""
        found = dict.fromkeys(t for t in (r() for r in self._results) if t is not None)
        self._results = []
        return [t for t in found if t.index not in t.call.values and t.call.is_bound()]

    def before_assignment(self, weight):
        """What was computed with a weight is not computed with what is assigned to it."""
        held = self._held()
        if held:
            evaluate(held, self.effects, self._statistics)
            self.effects, self._statistics = [], False
        if any(tape is not None and tape.may_be_asked() for tape in (r() for r in self.tapes)):
            self._before.setdefault(id(weight), (weight, weight.numpy().copy(), next(Call._numbers)))

    @contextlib.contextmanager
    def _as_recorded(self, targets):
        """Weights hold what they held when a tape recorded what gives these; are there such?"""
        calls, put = needed_calls(targets) if self._before else [], []
        for weight, array, number in self._before.values():
            users = [c for c in calls if c.layer is weight._layer or getattr(c, "weight", None) is weight]
            reading = [c.number < number for c in users]
            if any(reading) and not all(reading):
                raise NotImplementedError(
                    f"GradientTape.gradient: {weight.path} was assigned between two uses on the tape: a gradient "
                    "through both is not supported"
                )
            if any(reading):
                put.append((weight, weight.numpy().copy()))
                weight.set_array(array)
        try:
            yield bool(put)
        finally:
            for weight, array in put:
                weight.set_array(array)


def before_assignment(weight):
    """What tapes recorded is told of an assignment."""
    for step in list(_steps):
        step.before_assignment(weight)


def evaluate(outputs, effects=(), statistics=False):
    """Computes tensors, and keeps their arrays in their calls."""
    outputs = [t for t in dict.fromkeys(outputs) if t.index not in t.call.values]
    if not outputs and not effects:
        return
    given = _computed_before([*outputs, *effects])
    calls = needed_calls([*outputs, *effects], given)
    inputs = [c for c in calls if c.bound is not None or c in given]
    key = _structure(calls, given, [*outputs, *effects], statistics)
    if key in _models:
        _models.move_to_end(key)
    else:
        model = StepModel([t for c in inputs for t in c.outputs], outputs, list(effects), statistics)
        _models[key] = model, calls  # whose layers and weights the key tells by their ids
        if len(_models) > _KEPT:
            _models.popitem(last=False)
    bound = [[_data(t) for t in c.outputs] if c in given else [c.bound] for c in inputs]
    got = _models[key][0].run(flatten(bound))
    for t, v in zip(outputs, got):
        t.call.values[t.index] = v.numpy()


def _computed_before(tensors):
    """The calls that gave what these need and what is known; none where gradients go through them."""
    asked = {t.call for t in tensors}
    found, given, stack = set(), set(), list(asked)
    while stack:
        call = stack.pop()
        if call in found:
            continue
        found.add(call)
        if call.layer is not None and len(call.values) == len(call.outputs) and call not in asked:
            given.add(call)
        elif getattr(call.layer, "_class_name", None) == "Gradients":
            return set()
        else:
            stack.extend(t.call for t in call.sources())
    return given


def _data(t):
    return as_data(t.call.values[t.index])


def _structure(calls, given, outputs, statistics):
    place = {c: i for i, c in enumerate(calls)}

    def at(tensors):
        return tuple(None if t is None else (place[t.call], t.index) for t in tensors)

    def reads(call):
        return at(call.inputs), tuple((k, at(v)) for k, v in sorted(call.tensors.items()))

    return (
        tuple((*_meaning(c, given), *(() if c in given else reads(c))) for c in calls),
        at(outputs),
        statistics,
    )


def _meaning(call, given):
    if call in given:
        return "given", *((t.shape, t.dtype) for t in call.outputs)
    if call.bound is not None:
        return "input", call.bound.shape, call.bound.dtype
    if call.layer is None:
        data = call.value.numpy()
        return "constant", data.shape, str(data.dtype), data.tobytes() if data.nbytes <= _SHORT else id(call)
    if hasattr(call, "weight"):
        return "weight", id(call.weight)
    plain = repr(sorted(call.plain.items()))
    if call.layer._is_operation:
        return "operation", call.layer._class_name, repr(call.layer._config), plain
    return "layer", id(call.layer), call.layer.trainable, plain


def _compute(t):
    evaluate([t])
    return eager_tensor(t.call.values[t.index])


numbers.compute = _compute
