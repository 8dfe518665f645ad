"""Sums, means, ... of rows by number. On arrays they are NumPy's, on symbolic tensors keras.ops's."""

import numpy as np

from ..keras import ops
from ..keras.src.ops.dispatch import is_symbolic
from .dispatch import array, tensor

_NO_ROWS = {"max": lambda t: t.min, "min": lambda t: t.max}


def _by_numbers(name, function, start):
    """A function of unsorted rows: `function.at` of NumPy's from where it begins."""

    def f(data, segment_ids, num_segments, name=None):
        if is_symbolic([data, segment_ids, num_segments]):
            return _symbolic(kind, data, segment_ids, int(num_segments))
        x, ids = array(data), array(segment_ids)
        first = start(np.iinfo(x.dtype) if x.dtype.kind in "iu" else np.finfo(x.dtype))
        out = np.full((int(num_segments), *x.shape[ids.ndim :]), first, x.dtype)
        function.at(out, ids[ids >= 0], x[ids >= 0])
        return tensor(out)

    kind = name.rsplit("_", 1)[-1]
    f.__name__ = f.__qualname__ = name
    return f


def _symbolic(kind, data, ids, count):
    if kind == "sum":
        return ops.segment_sum(data, ids, count)
    if kind in ("max", "min"):
        sign = 1.0 if kind == "max" else -1.0
        found = ops.segment_max(sign * data, ids, count) * sign
        rows = _counts(ids, count, len(found.shape))
        return ops.where(rows > 0, found, float(_NO_ROWS[kind](np.finfo("float32"))))
    raise NotImplementedError(f"tf.math.unsorted_segment_{kind}: symbolic tensors are not in this version")


def _counts(ids, count, rank):
    rows = unsorted_segment_sum(np.float32(1) + 0.0 * ops.cast(ids, "float32"), ids, count)
    return ops.reshape(rows, (count, *[1] * (rank - 1)))


unsorted_segment_sum = _by_numbers("unsorted_segment_sum", np.add, lambda t: 0)
unsorted_segment_prod = _by_numbers("unsorted_segment_prod", np.multiply, lambda t: 1)
unsorted_segment_max = _by_numbers("unsorted_segment_max", np.maximum, _NO_ROWS["max"])
unsorted_segment_min = _by_numbers("unsorted_segment_min", np.minimum, _NO_ROWS["min"])


def _mean(data, ids, count, of_rows):
    total = unsorted_segment_sum(data, ids, count)
    if is_symbolic([data, ids, count]):
        return total / of_rows(ops.maximum(_counts(ids, int(count), len(total.shape)), 1.0))
    x, ids = array(data), array(ids)
    rows = np.maximum(np.bincount(ids[ids >= 0], minlength=int(count)), 1)
    shown = of_rows(rows.astype("float64")).reshape(-1, *[1] * (x.ndim - ids.ndim))
    mean = np.asarray(total) / shown
    return tensor(mean if x.dtype.kind in "iu" else mean.astype(x.dtype))


def unsorted_segment_mean(data, segment_ids, num_segments, name=None):
    return _mean(data, segment_ids, num_segments, lambda rows: rows)


def unsorted_segment_sqrt_n(data, segment_ids, num_segments, name=None):
    return _mean(data, segment_ids, num_segments, lambda rows: rows**0.5)


def _sorted(unsorted, empty=None):
    """The same of numbers in order, of which the last says how many there are; 0 of those without rows."""

    def f(data, segment_ids, name=None):
        ids = array(segment_ids)
        count = int(ids[-1]) + 1 if ids.size else 0
        found = unsorted(data, ids, count)
        if unsorted is unsorted_segment_mean and array(data).dtype.kind in "iu":
            found = tensor(np.floor(found).astype(array(data).dtype))
        if empty is None:
            return found
        some = (np.bincount(ids, minlength=count) > 0).reshape(-1, *[1] * (len(found.shape) - 1))
        return ops.where(some, found, np.asarray(empty, found.dtype))

    f.__name__ = f.__qualname__ = unsorted.__name__.replace("unsorted_", "")
    return f


segment_sum, segment_mean = _sorted(unsorted_segment_sum), _sorted(unsorted_segment_mean)
segment_max, segment_min = _sorted(unsorted_segment_max, 0), _sorted(unsorted_segment_min, 0)
segment_prod = _sorted(unsorted_segment_prod, 1)
