"""ProgbarLogger."""

import sys
import time

from ..export import keras_export
from .callback import Callback


@keras_export("callbacks")
class ProgbarLogger(Callback):
    """A line for each epoch; on a terminal a bar while it is under way."""

    def __init__(self, verbose=1):
        super().__init__()
        self.bar = verbose == 1 and sys.stdout.isatty()

    def on_epoch_begin(self, epoch, logs=None):
        print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self.begun, self.shown, self.batches = time.perf_counter(), 0.0, 0

    def _numbers(self, logs):
        means = {name: value.mean() if getattr(value, "ndim", 0) else value for name, value in (logs or {}).items()}
        return "".join(
            f" - {name}: {value:.4f}" if abs(value) > 1e-3 else f" - {name}: {value:.4e}"
            for name, value in means.items()
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
