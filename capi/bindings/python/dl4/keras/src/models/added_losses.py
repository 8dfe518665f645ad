"""Losses that layers of a model add."""

from .. import ops, regularizers
from ..backend import call_context
from ..utils.naming import temporary_names


def added_losses(functional):
    """What a call adds to the losses of a model, beside the penalties on weights."""
    if functional.added_losses is None:
        layers = [layer for r in functional.records if r.layer is not None for layer in r.layer._flatten_layers()]
        known = {id(v._penalty) for layer in layers for v in layer._variables}
        known |= {id(t) for c in functional.calls for t in getattr(c.layer, "_traced_penalties", None) or ()}
        found = [t for t in functional.losses if id(t) not in known]
        with temporary_names(), call_context.traced(None):
            for call in functional.penalized_calls():
                penalty = regularizers.get(call.layer._config["activity_regularizer"])
                found += [penalty(t) / ops.cast(ops.shape(t)[0], "float32") for t in call.outputs]
        functional.added_losses = found
    return functional.added_losses
