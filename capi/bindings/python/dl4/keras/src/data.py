"""Data for training and prediction: whole arrays, or what gives batches."""

import warnings

import numpy as np

from ... import core
from ...abi import InvalidArgument, InvalidType
from . import state
from .kinds import unsupported


class PyDataset:
    """Batches by number: a subclass has __len__() and __getitem__(), and may have on_epoch_begin() and
    on_epoch_end()."""

    def __init__(self, workers=1, use_multiprocessing=False, max_queue_size=10):
        if workers != 1 or use_multiprocessing:
            raise unsupported("PyDataset", f"workers={workers}, use_multiprocessing={use_multiprocessing}")
        self.max_queue_size = max_queue_size

    @property
    def num_batches(self):
        """Batches of an epoch."""
        return len(self) if hasattr(self, "__len__") else None

    def on_epoch_begin(self):
        """Called as an epoch begins."""

    def on_epoch_end(self):
        """Called when an epoch has ended."""


class Source:
    """The data of one call."""

    def __init__(self, model, x, y, w, who):
        self.model, self.who, self.begins, self.left = model, who, None, None
        self.whole = (
            isinstance(x, (list, tuple, dict, core.Tensor)) or hasattr(x, "__array__") or hasattr(x, "__dlpack__")
        )
        if x is None:
            raise InvalidType(f"{who}: expected data, got None")
        if self.whole:
            self.x = model._tensors(model._in_order(x))
            self.y = model._targets(y) if y is not None else []
            self.w = model._weights_of(w) if w is not None else []
            self.rows = self._rows()
        else:
            if y is not None or w is not None:
                raise InvalidArgument(
                    f"{who}: y and sample_weight come with the batches, got them beside {type(x).__name__}"
                )
            if not (hasattr(x, "__iter__") or hasattr(x, "__getitem__")):
                raise InvalidType(f"{who}: expected arrays or what gives batches, got {type(x).__name__}")
            self.given, self.rows = x, None

    def _rows(self):
        counts = []
        for name, part in (("x", self.x), ("y", self.y), ("sample_weight", self.w)):
            for t in part:
                if t is not None and not t.shape:
                    raise InvalidArgument(
                        f"{self.who}: expected an array with a batch axis as {name}, got a single value"
                    )
                if t is not None:
                    counts.append((t.shape[0], name))
        if len({n for n, _ in counts}) > 1:
            said = ", ".join(f"{name}: {n}" for n, name in counts)
            raise InvalidArgument(f"{self.who}: expected arrays of as many samples, got {said}")
        return counts[0][0]

    def steps(self, size, steps, split=0.0):
        """Batches of an epoch; None where nobody knows."""
        if steps is not None:
            return steps
        if self.whole:
            rows = int(self.rows * (1 - split)) if split else self.rows
            return -(-rows // size)
        if isinstance(self.given, PyDataset):
            return self.given.num_batches
        return len(self.given) if hasattr(self.given, "__len__") else None

    def dataset(self, size, shuffle, steps):
        """The library's data set."""
        if shuffle not in (True, False):
            raise unsupported(self.who, f"shuffle={shuffle!r}: expected True or False")
        if self.whole and steps is None:
            options = {"batch_size": min(size, 2**31 - 1), "shuffle": bool(shuffle), "seed": state.next_seed()}
            return core.Dataset(self.x, self.y, self.w, context=state.context(), **options)
        feed, known = self._epochs(size, shuffle, steps), self.steps(size, steps)
        more = {} if known is None else {"steps": known}
        return core.Dataset(batches=feed, context=state.context(), **more)

    def _epochs(self, size, shuffle, steps):
        """A function of the number of a batch in its epoch."""
        now = [None]

        def batch(index):
            if index == 0:
                now[0] = self.batches(size, steps, shuffle)
            found = next(now[0], None)
            if found is not None and self.begins is not None:
                self.begins(index)
            return found

        return batch

    def batches(self, size, steps=None, shuffle=False):
        """Lists (x, y, w) of an epoch's tensors. With `steps` the next epoch goes on where this one ends."""
        if steps is None:
            yield from self._once(size, shuffle)
            return
        if self.who != "fit":
            self.left = None
        for step in range(steps):
            self.left = self.left or self._once(size, shuffle)
            found = next(self.left, None)
            if found is None and step == 0:  # the epoch before took the last batch
                self.left = self._once(size, shuffle)
                found = next(self.left, None)
            if found is None:
                self.left = None
                warnings.warn(f"{self.who}: ran out of data after {step} of {steps} steps", stacklevel=2)
                return
            yield found

    def _once(self, size, shuffle):
        if self.whole:
            yield from self._cut(size, shuffle)
        elif isinstance(self.given, PyDataset):
            yield from self._by_number(shuffle)
        else:
            for batch in self.given:
                yield self._unpacked(batch)

    def _by_number(self, shuffle):
        count = self.given.num_batches
        self.given.on_epoch_begin()
        order = range(count) if count is not None else iter(int, 1)
        if shuffle and count is not None:
            order = np.random.RandomState(state.next_seed()).permutation(count)
        for i, place in enumerate(order):
            batch = self._unpacked(self.given[int(place) if count is not None else i])
            if i + 1 == count:
                self.given.on_epoch_end()
            yield batch

    def _unpacked(self, batch):
        parts = batch if isinstance(batch, tuple) else (batch,)
        if isinstance(batch, list) and len(batch) in (2, 3) and len(self.model.inputs) == 1:
            parts = tuple(batch)
        if not 1 <= len(parts) <= 3:
            raise InvalidArgument(f"{self.who}: expected batches (x, y) or (x, y, weights), got {len(parts)} parts")
        x, y, w = (*parts, None, None)[:3]
        if self.who == "predict":
            y = w = None
        return self.model._batch(x, y, w)

    def _cut(self, size, shuffle):
        order = np.random.RandomState(state.next_seed()).permutation(self.rows) if shuffle else None
        arrays = [[None if t is None else t.numpy() for t in part] for part in (self.x, self.y, self.w)]
        for begin in range(0, self.rows, size):
            rows = slice(begin, begin + size) if order is None else order[begin : begin + size]
            yield tuple([None if a is None else core.Tensor.of(a[rows], _kind(a)) for a in part] for part in arrays)


def _kind(array):
    return "string" if array.dtype.kind == "O" else array.dtype.name
