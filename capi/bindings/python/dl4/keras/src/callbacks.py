"""Callbacks of fit(), evaluate() and predict()."""

import sys

from ...abi import InvalidArgument, InvalidType
from ...core import CONTINUE, STOP
from . import state
from .callback import Callback, History
from .kinds import Category, Closed, Kind, unsupported
from .progress import Bar, Progress
from ..schedules import LearningRateSchedule

_HOOKS = {
    "fit": "train_begin train_end epoch_begin epoch_end train_batch_begin train_batch_end test_begin test_end",
    "evaluate": "test_begin test_end",
    "predict": "predict_begin predict_end predict_batch_begin predict_batch_end",
}


class LambdaCallback(Callback):
    """A callback of functions, by the names of the methods of Callback."""

    def __init__(self, **functions):
        known = {name for name in dir(Callback) if name.startswith("on_")}
        for name, function in functions.items():
            if name not in known:
                raise InvalidType(f"LambdaCallback: expected names such as on_epoch_end, got {name!r}")
            if function is not None:
                setattr(self, name, function)


class LearningRateScheduler(Callback):
    """Sets the learning rate as an epoch begins, to schedule(epoch, rate) or schedule(epoch)."""

    def __new__(cls, schedule, verbose=0):
        """Of a schedule of the library's, the library's callback."""
        if isinstance(schedule, LearningRateSchedule):
            return category.class_of("LearningRateScheduler")(schedule, verbose)
        if not callable(schedule):
            raise InvalidType(f"LearningRateScheduler: expected a function or a schedule, got {schedule!r}")
        return super().__new__(cls)

    def __init__(self, schedule, verbose=0):
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        """Sets the rate."""
        optimizer = self.model.optimizer
        try:
            rate = self.schedule(epoch, float(optimizer.learning_rate))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, int)) and not hasattr(rate, "__float__"):
            raise InvalidType(f"LearningRateScheduler: expected a number from the schedule, got {rate!r}")
        optimizer.learning_rate = float(rate)
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch, logs=None):
        """Tells the rate."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class NativeCallback(Kind):
    """A callback of the library's."""


def _overrides(callback, name):
    return name in vars(callback) or getattr(type(callback), name) is not getattr(Callback, name)


class CallbackList(Closed):
    """The callbacks of one call."""

    def __init__(self, callbacks, model, epochs, steps, verbose, who="fit"):
        given = [] if callbacks is None else list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
        self.native = [c for c in given if isinstance(c, NativeCallback)]
        self.python = [c for c in given if not isinstance(c, NativeCallback)]
        if self.native and who != "fit":
            raise InvalidArgument(f"{who}: {type(self.native[0]).__name__} is of fit() alone")
        for c in self.python:
            if not isinstance(c, Callback):
                raise InvalidType(f"{who}: expected callbacks, got {type(c).__name__}")
            for name in ("on_test_batch_begin", "on_test_batch_end"):
                if who != "predict" and _overrides(c, name):
                    raise unsupported(type(c).__name__, f"{name}() is not called in dl4.keras")
        if verbose not in ("auto", 0, 1, 2, True, False):
            raise InvalidArgument(f"{who}: expected 0, 1, 2 or 'auto' as verbose, got {verbose!r}")
        level = 1 if verbose == "auto" else int(verbose)
        self.who, self.model, self.rows = who, model, []
        if level:
            self.python.append((Bar if steps is None or level == 1 and sys.stdout.isatty() else Progress)(level, who))
        self.epochs, self.steps, self.hears = epochs, steps, {}
        for c in self.python:
            c.set_params({"epochs": epochs, "steps": steps, "verbose": level})
            c.set_model(model)
        names = [f"on_{n}" for n in _HOOKS[who].split()]
        for name in names:
            also = {"on_train_batch_begin": "on_batch_begin", "on_train_batch_end": "on_batch_end"}.get(name)
            self.hears[name] = [c for c in self.python if _overrides(c, name) or also and _overrides(c, also)]

    def wanted(self):
        """Whether a callback of Python's hears something."""
        return any(self.hears.values())

    def call(self, name, *args):
        """Calls a method of those that have it."""
        for c in self.hears.get(name, ()):
            getattr(c, name)(*args)

    def progress(self, names):
        """The library's callback, which calls those of Python's."""
        batches = self.hears["on_train_batch_begin"] or self.hears["on_train_batch_end"]

        def begin(batch):
            if self.steps is not None and batch < self.steps:  # else what gives the batches calls it
                self.call("on_train_batch_begin", batch, {})

        def heard(event, step, total, values):
            state.changed()
            if event == 0:
                self.call("on_train_begin", {})
            elif event == 1:
                self.call("on_epoch_begin", step, {})
                begin(0)
            elif event == 2 and batches:
                self.call("on_train_batch_end", step - 1, dict(zip(names, values)))
                begin(step)
            elif event == 3:
                self._epoch_end(step - 1, names, values)
            elif event == 4:
                self.call("on_train_end", dict(self.rows[-1][1]) if self.rows else {})
            return STOP if self.model.stop_training else CONTINUE

        return heard

    def _epoch_end(self, epoch, names, values):
        logs, n = dict(sorted(zip(names, values))), len(names)
        if len(values) > n:
            validated = dict(sorted(zip(names, values[n:])))
            self.call("on_test_begin", {})
            self.call("on_test_end", validated)
            logs.update({f"val_{name}": value for name, value in validated.items()})
        self.call("on_epoch_end", epoch, logs)
        self.rows.append((epoch, logs))

    def history_of(self, made):
        """The History of a fit, of what the library gives and what callbacks added to the logs."""
        found = History()
        found.epoch = [int(e) for e in made.pop("epoch", [])]
        found.set_model(self.model)
        found.set_params({"epochs": self.epochs, "steps": self.steps, "verbose": 0})
        order = sorted(made, key=lambda name: (name.startswith("val_"), name))
        found.history = {name: made[name] for name in order}
        for _, logs in self.rows:
            for name, value in logs.items():
                if name not in made:
                    found.history.setdefault(name, []).append(value)
        return found


category = Category("callback", "callbacks", NativeCallback)
