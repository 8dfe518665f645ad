"""tf.sparse: arrays told by the places of their numbers."""

import numpy as np

from ..keras.src.on_arrays import FUNCTIONS
from .dispatch import array, tensor


class SparseTensor:
    """Numbers at places of an array, which holds others nowhere."""

    def __init__(self, indices, values, dense_shape):
        self.indices, self.values = tensor(array(indices).astype("int64")), tensor(array(values))
        self.dense_shape = tensor(np.asarray([int(n) for n in dense_shape], "int64"))

    shape = property(lambda self: tuple(int(n) for n in self.dense_shape))
    dtype = property(lambda self: self.values.dtype)

    def cast_to(self, dtype):
        return SparseTensor(self.indices, np.asarray(self.values).astype(dtype), self.dense_shape)


def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    out = np.full(sp_input.shape, 0 if default_value is None else default_value, sp_input.dtype)
    out[tuple(np.asarray(sp_input.indices).T)] = sp_input.values
    return tensor(out)


def from_dense(tensor, name=None):  # noqa: A002
    x = array(tensor)
    places = np.argwhere(x)
    return SparseTensor(places, x[tuple(places.T)], x.shape)


def ctc_greedy_decoder(inputs, sequence_length, merge_repeated=True, blank_index=None):
    """The likeliest class of each step, without repetitions and blanks; and how likely these were."""
    x = np.swapaxes(array(inputs), 0, 1)
    blank = x.shape[-1] - 1 if blank_index is None else int(blank_index) % x.shape[-1]
    decoded, scores = FUNCTIONS["ctc_decode"](
        x, array(sequence_length), strategy="greedy", merge_repeated=merge_repeated, mask_index=blank
    )
    kept = decoded[0] >= 0
    places, width = np.argwhere(kept), int(kept.sum(-1).max(initial=0))
    found = SparseTensor(places, decoded[0][kept].astype("int64"), (len(x), width))
    return [found], tensor(np.asarray(scores).reshape(-1, 1))


def edit_distance(hypothesis, truth, normalize=True, name="edit_distance"):
    """How many insertions, deletions and replacements lead from rows of one to those of the other; by the length of the
    true ones."""
    rows = tuple(max(pair) for pair in zip(hypothesis.shape[:-1], truth.shape[:-1]))
    found = np.zeros(rows, "float32")
    for place in np.ndindex(*rows):
        a, b = _row(hypothesis, place), _row(truth, place)
        steps = np.arange(len(b) + 1.0)
        for i, x in enumerate(a):
            last, steps = steps, np.concatenate([[i + 1.0], np.zeros(len(b))])
            for j, y in enumerate(b):
                steps[j + 1] = min(last[j] + (x != y), last[j + 1] + 1, steps[j] + 1)
        distance = steps[-1]
        if normalize:
            distance = distance / len(b) if len(b) else np.inf if len(a) else 0.0
        found[place] = distance
    return tensor(found)


def _row(sparse, place):
    """The values along the last axis."""
    inside = (np.asarray(sparse.indices)[:, :-1] == np.asarray(place)).all(1)
    return np.asarray(sparse.values)[inside].tolist()


__all__ = ["SparseTensor", "from_dense", "to_dense"]
