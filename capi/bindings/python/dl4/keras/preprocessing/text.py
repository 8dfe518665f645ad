"""Texts as numbers of words."""

from ..src.legacy.preprocessing.text import (
    hashing_trick,
    one_hot,
    text_to_word_sequence,
    Tokenizer,
    tokenizer_from_json,
)
