"""Goldens of attention in heads where a query sees no key: it gets nothing, or the mean of all values."""
import numpy as np

from cases_heads import GQA, MHA, of_heads
from cases_sequence import EMPTY
from record import Family


def fully_masked():
    f = Family("fully_masked", seed="blind")
    pairs = np.ones((3, 4, 5), bool)
    pairs[0, 1] = pairs[2] = False
    for class_name in (MHA, GQA):
        both = [(4, 3), (5, 3)]
        of_heads(f, class_name, "scores", both, masks={"attention_mask": pairs}, scores=True, steps=2)
        of_heads(f, class_name, "carried_scores", both, carried=[None, EMPTY], scores=True)
        of_heads(f, class_name, "window", [(4, 3), (1, 3)], sliding_window=2)
        of_heads(f, class_name, "window_scores", [(4, 3), (1, 3)], sliding_window=2, scores=True)
        of_heads(f, class_name, "dropout", both, carried=[None, EMPTY], dropout=0.5, loss=None)
        of_heads(f, class_name, "dropout_pairs", both, masks={"attention_mask": pairs}, dropout=0.5, loss=None)
    of_heads(f, MHA, "axes", [(2, 3, 4), (3, 2, 4)],
             masks={"attention_mask": np.repeat(pairs[:, :3, :3, None], 2, 3).reshape(3, 1, 3, 3, 2).repeat(2, 1)})
    return f


FAMILIES = {"fully_masked": fully_masked}
