"""Losses."""

from .src.kinds import Category as _Category
from .src.kinds import Kind as _Kind
from .src.measure import measure as _measure


class Loss(_Kind):
    """A loss: of arrays it gives a number, or with reduction="none" one of each sample."""

    def __call__(self, y_true, y_pred, sample_weight=None):
        return _measure("loss", self._class_name, self._config, y_true, y_pred, sample_weight)


def function_of(cls, name):
    """The loss of each sample."""

    def function(y_true, y_pred, **config):
        return _measure("loss", cls._class_name, {**config, "reduction": "none"}, y_true, y_pred)

    function.__name__, function._kind, function.__doc__ = name, name, cls.__doc__
    return function


category = _Category("loss", "losses", Loss, function_of)
get = deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
