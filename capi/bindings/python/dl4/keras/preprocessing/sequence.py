"""Sequences."""

from ..src.legacy.preprocessing.sequence import make_sampling_table, skipgrams, TimeseriesGenerator
from ..src.utils.sequence_utils import pad_sequences
