"""Losses and metrics in Python as graphs for the library."""

import json

from .. import ops
from ..backend import call_context
from ..kind import as_json, is_native, Kind
from ..symbolic.function import Function
from ..symbolic.tensor import as_tensor, Input
from ..tree import flatten
from ..utils.naming import snake_case, temporary_names


def architecture(function, y_true_shape, y_pred_shape):
    """The graph of a function of targets and predictions, both float32, as JSON."""
    with temporary_names(), call_context.traced(None):
        y_true, y_pred = Input(batch_shape=y_true_shape, name="y_true"), Input(batch_shape=y_pred_shape, name="y_pred")
        value = function(y_true, y_pred)
        value = as_tensor(value)
        if value.dtype != "float32":
            value = ops.cast(value, "float32")
    graph = Function([y_true, y_pred], value, alone=True).core
    return json.loads(graph.describe(0))


def loss_config(loss, y_true_shape, y_pred_shape):
    """A loss for the library: itself, or the graph of a function or of an object with call()."""
    if is_native(loss):
        return as_json(loss)
    function = getattr(loss, "call", None) or loss
    y_true_shape, shaped = aligned(y_true_shape, y_pred_shape, getattr(loss, "aligns", not isinstance(loss, Kind)))
    config = {"model": architecture(shaped(function), y_true_shape, y_pred_shape)}
    if hasattr(loss, "call"):
        config["reduction"] = getattr(loss, "reduction", "sum_over_batch_size")
    return {"class_name": "Functional", "config": config}


def metric_config(metric, y_true_shape, y_pred_shape):
    if is_native(metric):
        return as_json(metric)
    name = getattr(metric, "name", None) or getattr(metric, "__name__", None) or snake_case(type(metric).__name__)
    function = getattr(metric, "_fn", None) or metric
    if hasattr(metric, "update_state") and getattr(metric, "_fn", None) is None:
        raise NotImplementedError(
            f"{metric!r}: a metric that overrides update_state() is not supported here; use a "
            "function of targets and predictions"
        )
    y_true_shape, shaped = aligned(y_true_shape, y_pred_shape)
    return {
        "class_name": "Functional",
        "config": {"name": name, "model": architecture(shaped(function), y_true_shape, y_pred_shape)},
    }


def aligned(y_true_shape, y_pred_shape, wanted=True):
    """Keras brings targets and predictions to one rank where the last axis is 1, but for a call() of a class."""
    t, p = tuple(y_true_shape), tuple(y_pred_shape)
    if wanted and len(t) == len(p) + 1 and t[-1] == 1:
        return t, lambda f: lambda y, q: f(_squeezed(y), q)
    if wanted and len(p) == len(t) + 1 and p[-1] == 1:
        if len(t) == 1:
            return t, lambda f: lambda y, q: f(_expanded(y), q)
        return t, lambda f: lambda y, q: f(y, _squeezed(q))
    return t, lambda f: f


def _squeezed(t):
    return ops.squeeze(t, -1)


def _expanded(t):
    return ops.expand_dims(t, -1)


def needs_targets(compiled):
    """Are there functions of Python, whose graphs depend on the targets' shape?"""
    return any(
        not is_native(leaf) for key in ("loss", "metrics", "weighted_metrics") for leaf in flatten(compiled.get(key))
    )
