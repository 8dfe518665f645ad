"""tf.summary: scalars and histograms in files that TensorBoard reads."""

import contextlib
import contextvars

import numpy as np

from ..keras.src.ops.dispatch import is_symbolic
from ..keras.src.utils.event_file import EventFile
from .dispatch import array, refuse

_writer = contextvars.ContextVar("writer", default=None)
_step = contextvars.ContextVar("step", default=None)


class _Writer:
    """A file of events; that of all summaries within as_default()."""

    def __init__(self, folder):
        self._file = EventFile(folder)
        self.flush, self.close = self._file.flush, self._file.close

    def init(self):
        return None

    def set_as_default(self, step=None):
        _writer.set(self)
        if step is not None:
            _step.set(step)

    @contextlib.contextmanager
    def as_default(self, step=None):
        kept = _writer.set(self), _step.set(_step.get() if step is None else step)
        try:
            yield self
        finally:
            _writer.reset(kept[0])
            _step.reset(kept[1])
            self.flush()


def create_file_writer(
    logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None, experimental_trackable=False
):
    refuse("tf.summary.create_file_writer", filename_suffix=(filename_suffix, None))
    return _Writer(str(logdir))


def _write(method, name, data, step):
    """Whether there is a file for it."""
    if is_symbolic((data, step), {}):
        raise NotImplementedError(f"tf.summary.{method}: expected numbers, got a symbolic tensor")
    step = _step.get() if step is None else step
    if _writer.get() is None:
        return False
    if step is None:
        raise ValueError(
            "No step set. Please specify one either through the `step` argument or through "
            "tf.summary.experimental.set_step()"
        )
    getattr(_writer.get()._file, method)(name, array(data), int(np.asarray(step)))
    return True


def scalar(name, data, step=None, description=None):
    refuse("tf.summary.scalar", description=(description, None))
    if array(data).ndim:
        raise ValueError(f"Expected scalar shape, saw shape: {array(data).shape}.")
    return _write("scalar", name, data, step)


def histogram(name, data, step=None, buckets=None, description=None):
    refuse("tf.summary.histogram", buckets=(buckets, None), description=(description, None))
    return _write("histogram", name, data, step)


def flush(writer=None, name=None):
    writer = writer or _writer.get()
    if writer is not None:
        writer.flush()


class experimental:  # noqa: N801 TensorFlow's module
    """The step of summaries that say none."""

    set_step = staticmethod(_step.set)
    get_step = staticmethod(_step.get)


__all__ = ["create_file_writer", "experimental", "flush", "histogram", "scalar"]
