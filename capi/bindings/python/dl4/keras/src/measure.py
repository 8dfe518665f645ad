"""Losses and metrics of arrays."""

from ... import abi, core
from . import state
from .array import as_result
from .kinds import as_json


def measure(category, kind, config, y_true, y_pred, sample_weight=None):
    """What the library measures, as an array."""
    given = [core.Tensor.of(y_true), core.Tensor.of(y_pred)]
    weights = None if sample_weight is None else core.Tensor.of(sample_weight, "float32")
    out = abi.made(
        "dl4_measure",
        state.context(),
        category.encode(),
        kind.encode(),
        abi.options_text(as_json(config)),
        *given,
        weights,
    )
    return as_result(core.Tensor(out).numpy())
