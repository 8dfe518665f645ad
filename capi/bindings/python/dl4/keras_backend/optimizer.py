"""Keras's optimizers: where the library has the rule of one of Keras's own classes, a variable's update is one call."""

import functools
import json

from keras.src import optimizers
from keras.src.optimizers import base_optimizer

from ..abi import Error
from ..core import Graph
from . import trace
from .core import cast
from .dtypes import FLOATS
from .functions import op
from .tensor import Tensor
from .trace import emit_layer, recast

# Of Keras's classes the slots, in the order of the library's, with what the slot is there for, and numbers of a rule.
_SLOTS = {
    optimizers.SGD: {"momentums": "momentum"},
    optimizers.Adam: {"_momentums": None, "_velocities": None, "_velocity_hats": "amsgrad"},
    optimizers.AdamW: {"_momentums": None, "_velocities": None, "_velocity_hats": "amsgrad"},
    optimizers.RMSprop: {"_velocities": None, "_momentums": "momentum", "_average_gradients": "centered"},
    optimizers.Adagrad: {"_accumulators": None},
    optimizers.Adadelta: {"_accumulated_grads": None, "_accumulated_delta_vars": None},
    optimizers.Adamax: {"_m": None, "_u": None},
    optimizers.Lion: {"_momentums": None},
    optimizers.Ftrl: {"_accumulators": None, "_linears": None},
}
_SETTINGS = (
    "beta_1 beta_2 epsilon amsgrad momentum nesterov rho centered learning_rate_power l1_regularization_strength "
    "l2_regularization_strength l2_shrinkage_regularization_strength beta"
).split()
_METHODS = {"update_step", "assign", "assign_add", "assign_sub"}
_OWN = {kind: kind.update_step for kind in _SLOTS}
_each = base_optimizer.BaseOptimizer._backend_update_step


@op("weight gradient rate iterations slots*")
def _updated(weight, gradient, rate, iterations, slots, optimizer):
    """The new weight and the new slots."""
    given = [weight, cast(gradient, "float32"), cast(rate, "float32"), recast(iterations, "int64"), *slots]
    return emit_layer("UpdateStep", given, {"optimizer": json.loads(optimizer)})


@functools.lru_cache(maxsize=256)
def _is_known(rule):
    """Does the library take these settings?"""
    try:
        Graph(scratch=True).layer("UpdateStep", None, {"optimizer": json.loads(rule)})
    except Error:
        return False
    return True


def _rule(optimizer):
    """The library's optimizer in JSON; None: Keras's code does what that would not."""
    kind = type(optimizer)
    if kind.update_step is not _OWN.get(kind) or not _METHODS.isdisjoint(vars(optimizer)):
        return None
    settings = {name: getattr(optimizer, name) for name in _SETTINGS if hasattr(optimizer, name)}
    if any(not isinstance(v, (bool, int, float)) for v in settings.values()):
        return None
    kind = optimizers.Adam if kind is optimizers.AdamW else kind  # its decay has been
    rule = json.dumps({"class_name": kind.__name__, "config": settings})
    return rule if _is_known(rule) else None


def update_step(self, grads, trainable_variables, learning_rate):
    """Updates variables by their gradients, each by the optimizer's rule."""
    rule = None if trace.is_differentiated() else _rule(self)
    for g, v in zip(grads, trainable_variables):
        alike = isinstance(g, Tensor) and g.type_name in FLOATS and tuple(g.shape) == tuple(v.shape)
        if rule is None or v.dtype != "float32" or not alike:
            _each(self, [g], [v], learning_rate)
            continue
        at = self._get_variable_index(v)
        own = _SLOTS[type(self)].items()
        slots = [getattr(self, name)[at] for name, option in own if not option or getattr(self, option)]
        found = _updated(v.value, g, learning_rate, self.iterations, [s.value for s in slots], rule)
        for variable, value in zip([v, *slots], found):
            self.assign(variable, value)
