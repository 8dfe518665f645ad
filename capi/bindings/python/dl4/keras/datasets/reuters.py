"""Newswires."""

from ..src.datasets.texts import (
    reuters as load_data,
    reuters_label_names as get_label_names,
    reuters_word_index as get_word_index,
)
