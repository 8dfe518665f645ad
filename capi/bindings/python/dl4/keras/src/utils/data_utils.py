"""Batches of (x, y, sample_weight), and data sets by number."""

import itertools
import warnings


def pack_x_y_sample_weight(x, y=None, sample_weight=None):
    """What fit() takes as one batch."""
    if y is None:
        return (x,) if isinstance(x, (list, tuple)) else x
    return (x, y) if sample_weight is None else (x, y, sample_weight)


def unpack_x_y_sample_weight(data):
    """x, y and weights of a batch, None where one is not in it."""
    data = tuple(data) if isinstance(data, list) else data
    if not isinstance(data, tuple):
        return data, None, None
    if len(data) > 3:
        raise ValueError(
            f"Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found: {data}"
        )
    return data + (None,) * (3 - len(data))


class Sequence:
    """Batches by number: __len__() and __getitem__(index), and on_epoch_begin() and on_epoch_end() if you like."""

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        if use_multiprocessing:
            warnings.warn(f"{type(self).__name__}: `use_multiprocessing`: threads make the batches", stacklevel=2)
        self.workers, self.use_multiprocessing, self.max_queue_size = workers, use_multiprocessing, max_queue_size

    @property
    def num_batches(self):
        """How many there are; None where that is not known."""
        try:
            return len(self)
        except (NotImplementedError, TypeError):
            return None

    def __iter__(self):
        count = self.num_batches
        return map(self.__getitem__, itertools.count() if count is None else range(count))

    def on_epoch_begin(self):
        """An epoch begins."""

    def on_epoch_end(self):
        """An epoch ends: shuffle here."""


PyDataset = Sequence
