"""Layers without weights on arrays."""

from ... import core
from . import state
from .array import as_result
from .kinds import as_json


def compute(kind, config, arrays):
    """What a layer of a kind gives on arrays: an array, or a tuple of several."""
    graph = core.Graph(state.context())
    nodes = [graph.constant(core.Tensor.of(a)) for a in arrays]
    outputs = graph.call(graph.layer(kind, None, as_json(config)), nodes)
    results = [as_result(t.numpy()) for t in graph.build([], outputs).session().run([])]
    return results[0] if len(results) == 1 else tuple(results)
