"""What fit(), evaluate() and predict() print."""

import sys
import time

from .callback import Callback

_WIDTH = 20


def _duration(seconds):
    if seconds >= 1:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def _numbers(logs):
    return "".join(f" - {k}: {v:.4f}" if abs(v) > 1e-3 else f" - {k}: {v:.4e}" for k, v in logs.items())


class Progress(Callback):
    """Prints a bar (1) or a line (2) for each epoch; of evaluate() and predict() one line."""

    def __init__(self, level, who):
        self.level, self.who, self.begun, self.seen, self.shown = level, who, 0.0, 0, 0.0

    def on_epoch_begin(self, epoch, logs=None):
        """The head of an epoch."""
        self._begin()
        print(f"Epoch {epoch + 1}/{self.params['epochs']}")

    def _begin(self):
        self.begun, self.seen, self.shown = time.time(), 0, 0.0

    def _line(self, logs):
        steps, spent = self.params["steps"], time.time() - self.begun
        self.seen = self.seen or steps or 0
        total = steps or self.seen
        done = int(_WIDTH * self.seen / total) if total else _WIDTH
        bar = f" {'━' * done}{' ' * (_WIDTH - done)}" if self.level == 1 else " -"
        each = _duration(spent / max(1, self.seen))
        return f"{self.seen}/{steps or 'Unknown'}{bar} {spent:.0f}s {each}/step{_numbers(logs or {})}"

    def on_epoch_end(self, epoch, logs=None):
        """The numbers of an epoch."""
        self._end(logs)

    def _end(self, logs):
        back = "\r" if self.shown else ""
        line = back + self._line(logs)
        try:
            print(line)
        except UnicodeEncodeError:  # a terminal of ASCII
            print(line.replace("━", "="))

    def on_test_begin(self, logs=None):
        """Of evaluate()."""
        if self.who == "evaluate":
            self._begin()

    def on_test_end(self, logs=None):
        """Of evaluate()."""
        if self.who == "evaluate":
            self.seen = self.params["steps"] or 0
            self._end(logs)

    def on_predict_begin(self, logs=None):
        """Of predict()."""
        self._begin()

    def on_predict_batch_end(self, batch, logs=None):
        """Counts."""
        self.seen = batch + 1

    def on_predict_end(self, logs=None):
        """Of predict()."""
        self._end({})


class Bar(Progress):
    """The same while an epoch goes on."""

    def on_train_batch_end(self, batch, logs=None):
        """The bar so far."""
        self.seen = batch + 1
        if sys.stdout.isatty() and self.level == 1 and time.time() - self.shown > 0.1:
            self.shown = time.time()
            sys.stdout.write("\r" + self._line(logs))
            sys.stdout.flush()
