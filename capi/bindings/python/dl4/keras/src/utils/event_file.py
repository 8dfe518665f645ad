"""Files of events, which TensorBoard reads."""

import itertools
import os
import socket
import struct
import time

from ..backend.lazy import np
from .records import field, real, RecordWriter, whole

_FLOAT, _DOUBLE, _TEXT = 1, 2, 7  # TensorFlow's numbers of types
_files = itertools.count()


def _tensor(dtype, shape, content):
    sizes = b"".join(field(2, whole(1, n)) for n in shape)
    return whole(1, dtype) + field(2, sizes) + content


class EventFile:
    """A file of events in a folder, which is made. Scalars, histograms and models are written as tf.summary does."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_files)}.v2"
        self._records = RecordWriter(os.path.join(folder, name))
        self._write(field(3, b"brain.Event:2"))

    def _write(self, body, step=0):
        self._records.write(real(1, time.time()) + whole(2, step) + body)

    def _value(self, tag, plugin, content, shown_as, tensor, step):
        data = field(1, field(1, plugin) + (field(2, content) if content else b""))
        metadata = data + (whole(4, shown_as) if shown_as else b"")
        value = field(1, tag.encode()) + field(9, metadata) + field(8, tensor)
        self._write(field(5, field(1, value)), step)

    def scalar(self, tag, value, step):
        tensor = _tensor(_FLOAT, (), field(4, struct.pack("<f", float(value))))
        self._value(tag, b"scalars", b"", 1, tensor, step)

    def histogram(self, tag, values, step):
        """Thirty buckets of one width: their ends, and how many values each has."""
        values = np.ravel(np.asarray(values, "float64"))
        buckets = np.zeros((30 if values.size else 0, 3))
        if values.size:
            least, most = values.min(), values.max()
            if most == least:  # as tf.summary: all values stand in the last of thirty
                buckets[:, :2], buckets[-1, 2] = most, values.size
            else:
                ends = np.linspace(least, most, 31)
                places = np.minimum(((values - least) / ((most - least) / 30)).astype("int64"), 29)
                buckets[:, 0], buckets[:, 1] = ends[:-1], ends[1:]
                buckets[:, 2] = np.bincount(places, minlength=30)
        tensor = _tensor(_DOUBLE, buckets.shape, field(4, buckets.astype("<f8").tobytes()))
        self._value(tag, b"histograms", b"", 2, tensor, step)

    def model(self, tag, text, step=0):
        """A model as Keras's JSON."""
        self._value(tag, b"graph_keras_model", b"1", 0, _tensor(_TEXT, (), field(8, text.encode())), step)

    def flush(self):
        self._records.flush()

    def close(self):
        self._records.close()
