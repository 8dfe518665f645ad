"""Optimizers and, in `schedules`, learning rates that change."""

import sys as _sys
import weakref as _weakref

from ..abi import InvalidArgument as _InvalidArgument
from . import schedules
from .src.kinds import Category as _Category
from .src.kinds import Kind as _Kind

_sys.modules[__name__ + ".schedules"] = schedules  # as in Keras


class Rate(float):
    """A number of an optimizer, which programs may also treat as a variable."""

    _set = None

    def numpy(self):
        """The number."""
        return float(self)

    value = property(numpy)

    def assign(self, value):
        """Sets it."""
        self._set(float(value))


class Optimizer(_Kind):
    """Changes the weights by their gradients; once a model trains with it, it shows the numbers of that training."""

    _model = None

    def _trained_by(self, model):
        """A model trains with it from now on, and no other one."""
        before = self._model and self._model()
        if before is not None and before is not model:
            who = type(self).__name__
            raise _InvalidArgument(f"{who}: expected an optimizer of {model.name} alone, it is that of {before.name}")
        self._model = _weakref.ref(model)

    def _trainer(self):
        """The trainer of its model, if there is one."""
        model = self._model and self._model()
        return None if model is None or model.optimizer is not self else model._trainer

    def _release(self):
        """The trainer goes: the rate that it has been set to stays."""
        if not isinstance(self._config.get("learning_rate"), schedules.LearningRateSchedule):
            self._config["learning_rate"] = self._trainer().get("learning_rate")

    @property
    def learning_rate(self):
        """The learning rate now, or before training the schedule."""
        trainer = self._trainer()
        found = _Kind.__getattr__(self, "learning_rate") if trainer is None else trainer.get("learning_rate")
        if not isinstance(found, (int, float)):
            return found
        rate = Rate(found)
        rate._set = self._set_rate
        return rate

    @learning_rate.setter
    def learning_rate(self, value):
        self._set_rate(value)

    def _set_rate(self, value):
        trainer = self._trainer()
        if trainer is not None:
            trainer.set("learning_rate", float(value))
        else:
            self._config["learning_rate"] = value if isinstance(value, schedules.LearningRateSchedule) else float(value)
            self._check()

    @property
    def iterations(self):
        """The number of updates so far."""
        trainer = self._trainer()
        return Rate(0 if trainer is None else trainer.get("iterations"))

    def __setattr__(self, key, value):
        if key[0] != "_" and key != "learning_rate":
            raise AttributeError(f"{type(self).__name__}: {key} is set when the optimizer is made")
        super().__setattr__(key, value)


category = _Category("optimizer", "optimizers", Optimizer)
get = deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
