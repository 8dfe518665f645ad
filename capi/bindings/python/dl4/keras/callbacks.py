"""Callbacks: Keras's, and a base for one's own."""

import sys
import time

from ._monitors import BackupAndRestore, CSVLogger, EarlyStopping, ModelCheckpoint, ReduceLROnPlateau  # noqa: F401
from ._monitors import MonitorCallback, SwapEMAWeights, TerminateOnNaN  # noqa: F401
from ._told import Callback, CallbackList, History  # noqa: F401


class LambdaCallback(Callback):
    """Functions as a callback."""

    def __init__(
        self,
        on_epoch_begin=None,
        on_epoch_end=None,
        on_train_begin=None,
        on_train_end=None,
        on_train_batch_begin=None,
        on_train_batch_end=None,
        **kwargs,
    ):
        super().__init__()
        for name, function in {
            **kwargs,
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
        }.items():
            if function is not None:
                setattr(self, name, function)


class ProgbarLogger(Callback):
    """A line for each epoch; on a terminal a bar while it is under way."""

    def __init__(self, verbose=1):
        super().__init__()
        self.bar = verbose == 1 and sys.stdout.isatty()

    def on_epoch_begin(self, epoch, logs=None):
        print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self.begun, self.shown, self.batches = time.perf_counter(), 0.0, 0

    def _numbers(self, logs):
        return "".join(
            f" - {name}: {value:.4f}" if abs(value) > 1e-3 else f" - {name}: {value:.4e}"
            for name, value in (logs or {}).items()
        )

    def on_train_batch_end(self, batch, logs=None):
        self.batches = batch + 1
        now = time.perf_counter()
        if not self.bar or now - self.shown < 0.05:
            return
        self.shown, total = now, self.params["steps"]
        done = (
            ""
            if not total or total < 0
            else "━" * (20 * self.batches // total) + " " * (20 - 20 * self.batches // total)
        )
        print(f"\r{self.batches}/{total if done else '?'} {done}{self._numbers(logs)}", end="", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        spent = time.perf_counter() - self.begun
        print(f"{chr(13) if self.bar else ''}{self.batches}/{self.batches} - {spent:.1f}s{self._numbers(logs)}")


class LearningRateScheduler(Callback):
    """The rate of each epoch, by a function of its number and, if it takes two arguments, the rate before."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        import numbers

        try:
            rate = self.schedule(epoch, float(self.model.optimizer.learning_rate))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, numbers.Number)) and not hasattr(rate, "__float__"):
            raise ValueError(f"The output of the `schedule` function should be a float. Got: {rate}")
        self.model.optimizer.learning_rate = float(rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
