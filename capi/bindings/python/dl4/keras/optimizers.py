"""Optimizers and, in `schedules`, learning rates that change."""
import sys

from . import _kinds, schedules

sys.modules[__name__ + ".schedules"] = schedules  # to be imported from, as in Keras


class Optimizer(_kinds.Kind):
    category = "optimizer"

    def __init__(self, *args, **kwargs):
        self._trainer = None
        super().__init__(*args, **kwargs)

    def bind(self, trainer):
        """To the trainer of a model: what is read and set from now on is its."""
        self._trainer = trainer

    @property
    def learning_rate(self):
        if self._trainer is not None and self._trainer.handle:
            return self._trainer.get("learning_rate")
        return Optimizer.__getattr__(self, "learning_rate")

    @learning_rate.setter
    def learning_rate(self, value):
        self._config["learning_rate"] = value
        if self._trainer is not None and self._trainer.handle:
            self._trainer.set("learning_rate", value)

    lr = learning_rate

    @property
    def iterations(self):
        return int(self._trainer.get("iterations")) if self._trainer is not None else 0


_kinds.serve(globals(), "optimizer", Optimizer)
globals().update(_kinds.got("optimizer", Optimizer, sys.modules[__name__]))
