"""The library's model of a step: what lies between symbols, with assignments of weights."""

import threading

from .... import core
from ..backend import global_state
from ..registry import create
from ..utils.naming import unique_name
from .tensor import as_tensor, Call, operation

MOVING = {"BatchNormalization", "SpectralNormalization"}  # kinds whose call in training writes weights


def kinds_in(layer):
    """The class name and config of a layer of the library's and of those in its config, objects or JSON."""
    if isinstance(layer, dict):
        config = layer.get("config") if "class_name" in layer else layer
        values = list(config.values()) if isinstance(config, dict) else []
        yield layer.get("class_name"), config if isinstance(config, dict) else {}
    elif isinstance(layer, (list, tuple)):
        values = layer
    else:
        config = getattr(layer, "_config", None) or {}
        values = config.values()
        yield getattr(layer, "_class_name", None), config
    for value in values:
        if isinstance(value, (dict, list, tuple)):
            yield from kinds_in(value)
        elif hasattr(value, "_call_symbolic"):
            for inner in value._flatten_layers():
                yield from kinds_in(inner)


def is_stateful(layer):
    """Does it keep something of each row? Then the batch has one size."""
    return bool(getattr(layer, "__dict__", {}).get("stateful")) or any(c.get("stateful") for _, c in kinds_in(layer))


def moves_weights(call, training=None):
    """Does a call write weights beside what it gives, as moving means? `training`: where the call does not say it."""
    if call.layer is None or not call.plain.get("training", training):
        return False
    return any(name in MOVING for name, _ in kinds_in(call.layer))


def needed_calls(tensors, given=()):
    """The calls that give tensors, in the order in which they were made; of `given` ones not what they need."""
    found, stack = set(), [t.call for t in tensors]
    while stack:
        call = stack.pop()
        if call not in found:
            found.add(call)
            if call not in given:
                stack.extend(t.call for t in call.sources())
    return sorted(found, key=lambda c: c.number)


class StepModel:
    """The library's model of what lies between symbols, with assignments. `statistics`: moving means are among them.
    `training`: for calls that do not say it.

    With an assignment a session is a step, which reads the weights as they are in each run."""

    def __init__(self, inputs, outputs, effects, statistics=True, training=False):
        moves = any(moves_weights(c, training) for c in needed_calls(outputs))
        self._writes = bool(effects or statistics and moves)
        if not effects and (statistics or not moves):
            effects = [_nothing()]
        known = {t.call for t in inputs}
        calls = needed_calls([*inputs, *outputs, *effects], known)
        for call in calls:
            if call.layer is None and call.value is None and call not in known:
                raise ValueError(f'the step needs the symbolic tensor "{call.name}", which was made outside of it')
        with global_state.building:
            graph = global_state.new_graph()
            for call in calls:
                if call in known and call.layer is not None:  # what it gave is given
                    call.nodes[graph] = [graph.input(graph.free_name("given"), t.dtype, t.shape) for t in call.outputs]
                call.put(graph)

            def nodes(tensors):
                return [t.call.nodes[graph][t.index] for t in tensors]

            out = nodes(outputs)
            if effects:
                first = out[0] if out else graph.constant(core.Tensor.of(0.0, "float32"))
                out[:1] = graph.call(graph.layer("After", graph.free_name("after"), {}), [first, *nodes(effects)])
            self.core = graph.build(nodes(inputs), out)
            for call in calls:
                if call.layer is not None and call not in known:
                    call.layer._attach(self.core)
        self._session, self._changes, self._is_step = None, None, bool(effects)
        self._training, self._running = bool(training), threading.Lock()

    def run(self, tensors):
        with self._running:  # threads of a data set may share a function
            return self._run(tensors)

    def _run(self, tensors):
        if self._session is None or not self._is_step and self._changes != global_state.changes():
            with global_state.building:
                self._session = self.core.session(states=False, training=self._training)
            self._changes = global_state.changes()
        got = self._session.run(tensors)
        if self._writes:
            global_state.changed()
        return got


def _nothing():
    """An assignment, which makes a model a step, to a weight that nobody reads."""
    layer = create("layer", "Weight", shape=[], initializer="Zeros", learned=False, name=unique_name("step"))
    return Call(operation("Assign"), [layer._call_symbolic(), as_tensor(0.0)]).infer_outputs()[0]
