"""Progbar."""

import math
import os
import sys
import time

from ..export import keras_export
from .io_utils import print_msg


@keras_export("utils")
class Progbar:
    """Shows how far a loop of one's own has come, with numbers: means of what is told, or the last where a name is
    among `stateful_metrics`, or not among `stateless_metrics`."""

    def __init__(
        self,
        target,
        width=20,
        verbose=1,
        interval=0.05,
        stateful_metrics=None,
        stateless_metrics=None,
        unit_name="step",
    ):
        if stateful_metrics is not None and stateless_metrics is not None:
            raise ValueError(
                "Only one of `stateful_metrics` or `stateless_metrics` can be provided. Received: "
                f"stateful_metrics={stateful_metrics}, stateless_metrics={stateless_metrics}"
            )
        self.target, self.width, self.verbose = target, width, verbose
        self.interval, self.unit_name = interval, unit_name
        self.stateful_metrics = None if stateless_metrics is not None else set(stateful_metrics or ())
        self.stateless_metrics = None if stateless_metrics is None else set(stateless_metrics)
        same_line = hasattr(sys.stdout, "isatty") and sys.stdout.isatty() or "posix" in sys.modules
        self._same_line = same_line or "ipykernel" in sys.modules or "PYCHARM_HOSTED" in os.environ
        self._values, self._seen, self._last, self._wide = {}, 0, 0.0, 0  # values: [sum, count] by name
        self._start, self._after_first = time.time(), None

    def update(self, current, values=None, finalize=None):
        """`values`: pairs of names and what they were in the last step."""
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        for name, value in values or ():
            self._take(name, value, 1 if finalize else max(current - self._seen, 1), finalize)
        self._seen, now = current, time.time()
        each = self._seconds_of_one(current, now)
        counted = self.target is not None and self.target > 0
        if self.verbose == 1 and (finalize or now - self._last >= self.interval):
            self._show(current, now, each, counted, finalize)
        elif self.verbose == 2 and finalize and counted:
            line = f"{self._of_all(current)} - {now - self._start:.0f}s -{self._duration(each)}{self._numbers(False)}\n"
            print_msg(line, line_break=False)
        if self.verbose != 1 or finalize or now - self._last >= self.interval:
            self._last = now

    def add(self, n, values=None):
        """So many steps more."""
        self.update(self._seen + n, values)

    def _take(self, name, value, steps, anew):
        import numpy

        means = name not in self.stateful_metrics if self.stateless_metrics is None else name in self.stateless_metrics
        value = float(numpy.mean(value))
        if not means or anew:
            self._values[name] = [value, 1]
            return
        total = self._values.setdefault(name, [0.0, 0])
        total[0] += value * steps
        total[1] += steps

    def _show(self, current, now, each, counted, finalize):
        bar = f"{current:7d}/Unknown"
        if counted:
            done = int(self.width * current / self.target)
            bar = f"\x1b[1m{self._of_all(current)}\x1b[0m "
            bar += f"\33[32m{'━' * done}\x1b[0m" if done > 0 else ""
            bar += f"\33[37m{'━' * (self.width - done)}\x1b[0m"
        left = _clock(each * (self.target - current)) if counted and not finalize else f"{now - self._start:.0f}s"
        text = f"{bar} \x1b[1m{left}\x1b[0m{self._duration(each)}{self._numbers(True)}"
        wide = sum(len(part) for part in _plain(text))
        blanks = " " * max(0, self._wide - wide)
        begin = "\b" * self._wide + "\r" if self._same_line else "\n"
        print_msg(f"{begin}{text}{blanks}" + "\n" * finalize, line_break=False)
        self._wide = wide

    def _of_all(self, current):
        return f"{current:{int(math.log10(self.target)) + 1}d}/{self.target}"

    def _numbers(self, signed):
        shown = ""
        for name, (total, count) in self._values.items():
            mean = total / max(1, count)
            shown += f" - {name}: {mean:.4f}" if (abs(mean) if signed else mean) > 1e-3 else f" - {name}: {mean:.4e}"
        return shown

    def _seconds_of_one(self, current, now):
        """The first step counts by itself alone, as what is made in it takes its time."""
        if not current:
            return 0
        if self._after_first is not None and current > 1:
            each = (now - self._after_first) / (current - 1)
        else:
            each = (now - self._start) / current
        if current == 1:
            self._after_first = now
        return each

    def _duration(self, each):
        if each >= 1 or each == 0:
            return f" {each:.0f}s/{self.unit_name}"
        return f" {each * 1e3:.0f}ms/{self.unit_name}" if each >= 1e-3 else f" {each * 1e6:.0f}us/{self.unit_name}"


def _clock(seconds):
    if seconds > 3600:
        return f"{seconds // 3600:.0f}:{seconds % 3600 // 60:02.0f}:{seconds % 60:02.0f}"
    return f"{seconds // 60:.0f}:{seconds % 60:02.0f}" if seconds > 60 else f"{seconds:.0f}s"


def _plain(text):
    """The parts of a text between signs for a terminal."""
    first, *parts = text.split("\x1b[")
    return [first, *(part.split("m", 1)[1] for part in parts)]
