"""Reviews of films."""

from ..src.datasets.texts import imdb as load_data, imdb_word_index as get_word_index
