"""Initializers."""

from .. import core as _core
from .src import state as _state
from .src.array import as_result as _as_result
from .src.kinds import Category as _Category
from .src.kinds import Kind as _Kind
from .src.kinds import as_json as _as_json


class Initializer(_Kind):
    """Fills a weight at the start; called, it gives an array of a shape."""

    def __call__(self, shape, dtype=None):
        if dtype not in (None, "float32"):
            raise ValueError(f"{type(self).__name__}: expected float32, got dtype={dtype!r}")
        graph = _core.Graph(_state.context())
        name = f"weight_{_state.next_seed()}"  # each call draws numbers of its own
        layer = graph.layer("Weight", name, {"shape": list(shape), "initializer": _as_json(self)})
        model = graph.build([], graph.call(layer, []))
        return _as_result(model.get_weight(model.names(2)[0]).copy())


category = _Category("initializer", "initializers", Initializer, lambda cls, name: cls)
get = deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
