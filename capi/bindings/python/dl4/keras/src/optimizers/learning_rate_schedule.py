"""Learning rates that change from step to step: keras.optimizers.schedules."""

import math

from .... import abi
from ..export import keras_export
from ..kind import Kind
from ..registry import Category


@keras_export("schedules")
class LearningRateSchedule(Kind):
    """Called with a step it gives the rate of that update. One of your own has __call__(step)."""

    _category = "schedule"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self._class_name is not None:
            native = self._native()
            abi.check_kind("schedule", native["class_name"], native["config"])

    def __call__(self, step):
        c = LearningRateSchedule.get_config(self)  # not what a class of its user's may say
        return _RATES[self._class_name](c, float(step))


def _exponential(c, step):
    p = step / c["decay_steps"]
    return c["initial_learning_rate"] * c["decay_rate"] ** (math.floor(p) if c["staircase"] else p)


def _piecewise(c, step):
    return c["values"][sum(step > b for b in c["boundaries"])]


def _polynomial(c, step):
    steps = c["decay_steps"]
    if c["cycle"]:
        steps *= max(1.0, math.ceil(step / steps))
    else:
        step = min(step, steps)
    left = 1 - step / steps
    return (c["initial_learning_rate"] - c["end_learning_rate"]) * left ** c["power"] + c["end_learning_rate"]


def _inverse(c, step):
    p = step / c["decay_steps"]
    return c["initial_learning_rate"] / (1 + c["decay_rate"] * (math.floor(p) if c["staircase"] else p))


def _cosine(c, step):
    first, target, warmup = c["initial_learning_rate"], c.get("warmup_target"), c.get("warmup_steps") or 0
    if target is not None:
        if step < warmup:
            return first + (target - first) * step / warmup
        step, first = step - warmup, target
    p = min(step, c["decay_steps"]) / c["decay_steps"]
    return first * ((1 - c["alpha"]) * 0.5 * (1 + math.cos(math.pi * p)) + c["alpha"])


def _restarts(c, step):
    done, t = step / c["first_decay_steps"], c["t_mul"]
    if t == 1.0:
        i, p = math.floor(done), done - math.floor(done)
    else:
        i = math.floor(math.log(1 - done * (1 - t)) / math.log(t))
        p = (done - (1 - t**i) / (1 - t)) / t**i
    m = c["m_mul"] ** i
    return c["initial_learning_rate"] * ((1 - c["alpha"]) * 0.5 * m * (1 + math.cos(math.pi * p)) + c["alpha"])


_RATES = {
    "ExponentialDecay": _exponential,
    "PiecewiseConstantDecay": _piecewise,
    "PolynomialDecay": _polynomial,
    "InverseTimeDecay": _inverse,
    "CosineDecay": _cosine,
    "CosineDecayRestarts": _restarts,
}


category = Category("schedule", "schedules", LearningRateSchedule)
