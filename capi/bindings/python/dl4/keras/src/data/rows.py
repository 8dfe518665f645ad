"""Rows of tensors as elements."""

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from .structure import map_structure


class Rows:
    """Tensors whose rows are the elements, and the order of the rows, made anew for each iteration: what batches are
    cut from at once."""

    def __init__(self, tensors, count, order=None):
        self.tensors, self.count, self.order = tensors, count, order

    def indices(self):
        return np.arange(self.count) if self.order is None else self.order()

    def __call__(self):
        for i in range(self.count) if self.order is None else self.order():
            yield map_structure(lambda x: _row(x, i), self.tensors)

    def batches(self, size, drop_remainder):
        indices = None if self.order is None else self.order()
        for begin in range(0, self.count - size + 1 if drop_remainder else self.count, size):
            part = slice(begin, begin + size)
            rows = part if indices is None else indices[part]
            yield map_structure(lambda x: eager_tensor(np.asarray(x)[rows]), self.tensors)


def _row(x, i):
    return eager_tensor(np.asarray(np.asarray(x)[i], x.dtype))
