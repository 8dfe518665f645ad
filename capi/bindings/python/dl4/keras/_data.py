"""What fit(), evaluate() and predict() take: arrays, or anything that gives batches of them."""

import itertools

from .. import core
from ._eager import is_array
from ._tensors import flatten


def as_array(x):
    """What NumPy can see: tensors and frames of other libraries too."""
    if x is None or isinstance(x, (int, float)):
        return x
    if isinstance(x, dict):
        return {k: as_array(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)(as_array(v) for v in x) if type(x) in (list, tuple) else x
    if hasattr(x, "detach"):  # of PyTorch, with or without a gradient
        return x.detach().cpu().numpy()
    return x.numpy() if hasattr(x, "numpy") and not hasattr(x, "symbolic") else x


def is_whole(x):
    """Is it data itself, not something that gives batches of it?"""
    if x is None or hasattr(x, "__array__") or hasattr(x, "__array_interface__") or isinstance(x, dict):
        return True
    return isinstance(x, (list, tuple)) and not hasattr(x, "__next__")


class Stream:
    """Batches of a generator, a data set or a loader, (x, y) or (x, y, sample_weight), as a dataset."""

    def __init__(self, model, source, steps, labels=True):
        self.indexed = (
            hasattr(source, "__getitem__")
            and hasattr(source, "__len__")
            and not (hasattr(source, "__iter__") and type(source).__module__.startswith(("torch", "tensorflow")))
        )
        if steps is None and hasattr(source, "__len__"):
            steps = len(source)
        self.model, self.steps, self.labels = model, steps, labels
        self.source, self.endless, self.iterator = source, hasattr(source, "__next__"), None
        if not self.indexed and not hasattr(source, "__iter__"):
            raise ValueError(f"Unrecognized data type: x={source} (of type {type(source)})")
        first = self._got(0)
        if first is None:
            raise ValueError("the data gave no batch")
        self.first = self._lists(first)
        if self.endless:
            self.iterator = self.source = itertools.chain([first], self.source)
        self.dataset = core.Dataset(batches=self._batch, **({} if steps is None else {"steps": int(steps)}))

    def _got(self, index):
        if self.indexed:
            return self.source[index]
        if self.iterator is None or (index == 0 and not self.endless):
            self.iterator = iter(self.source)
        return next(self.iterator, None)

    def _lists(self, got):
        x, y, w = (tuple(got) + (None, None))[:3] if isinstance(got, (tuple, list)) else (got, None, None)
        if not self.labels:
            y = w = None
        return self.model._lists(as_array(x), as_array(y), as_array(w))

    def _batch(self, index):
        if self.steps is not None and index >= self.steps:
            self._epoch_over()
            return None
        got = self._got(index)
        if got is None:
            self._epoch_over()
            return None
        return self._lists(got)

    def _epoch_over(self):
        if hasattr(self.source, "on_epoch_end"):
            self.source.on_epoch_end()


def ranked(tensor, wanted):
    """As Keras: a last axis of 1 is added or left out where that gives the rank of the input."""
    more = len(wanted.shape) - tensor.array.ndim
    if more == 1 and wanted.shape[-1] == 1:
        return core.Tensor.of(tensor.numpy()[..., None])
    if more == -1 and tensor.shape[-1] == 1:
        return core.Tensor.of(tensor.numpy()[..., 0])
    return tensor


def leaves_of(x, functional):
    """The arrays of a nest: a list of numbers is one array where there is one input."""
    if len(functional.inputs) == 1 and not any(is_array(leaf) for leaf in flatten(x)):
        return [x]
    return flatten(x)
