"""IMDB's reviews and Reuters's newswires, as numbers of words."""

import json

from ..backend.lazy import np
from .archives import arrays_of, fetched, shuffled


def _marked(texts, start_char, index_from):
    """With a word that begins each, and numbers above those that are kept free."""
    first = [] if start_char is None else [start_char]
    return [first + [w + index_from for w in text] for text in texts]


def _short(texts, labels, maxlen):
    kept = [(t, label) for t, label in zip(texts, labels) if len(t) < maxlen]
    return [t for t, _ in kept], np.array([label for _, label in kept])


def _known(texts, num_words, skip_top, oov_char):
    """Other words as one, or left out."""
    num_words = num_words or max(max(t) for t in texts)
    if oov_char is None:
        return [[w for w in t if skip_top <= w < num_words] for t in texts]
    return [[w if skip_top <= w < num_words else oov_char for w in t] for t in texts]


def _lists(texts):
    out = np.empty(len(texts), object)
    out[:] = texts
    return out


def imdb(
    path="imdb.npz",
    num_words=None,
    skip_top=0,
    maxlen=None,
    seed=113,
    start_char=1,
    oov_char=2,
    index_from=3,
    **kwargs,
):
    """(x_train, y_train), (x_test, y_test): reviews as lists of words by their rank, and whether they praise."""
    if kwargs:
        raise TypeError(f"imdb.load_data() got an unexpected keyword argument '{next(iter(kwargs))}'")
    f = arrays_of(fetched(path, "imdb.npz", "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"))
    parts = []
    for part in ("train", "test"):
        x, y = shuffled(seed, f[f"x_{part}"], f[f"y_{part}"])
        x = _marked(x, start_char, index_from or 0)
        x, y = _short(x, y, maxlen) if maxlen else (x, y)
        if not x:
            raise ValueError(
                f"After filtering for sequences shorter than maxlen={maxlen}, no sequence was kept. Increase maxlen."
            )
        parts.append((x, y))
    texts = _known(parts[0][0] + parts[1][0], num_words, skip_top, oov_char)
    at = len(parts[0][0])
    return (_lists(texts[:at]), parts[0][1]), (_lists(texts[at:]), parts[1][1])


def reuters(
    path="reuters.npz",
    num_words=None,
    skip_top=0,
    maxlen=None,
    test_split=0.2,
    seed=113,
    start_char=1,
    oov_char=2,
    index_from=3,
):
    """(x_train, y_train), (x_test, y_test): newswires as lists of words by their rank, and their topics."""
    f = arrays_of(fetched(path, "reuters.npz", "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"))
    x, y = shuffled(seed, f["x"], f["y"])
    x = _marked(x, start_char, index_from or 0)
    x, y = _short(x, y, maxlen) if maxlen else (x, y)
    x = _known(x, num_words, skip_top, oov_char)
    at = int(len(x) * (1 - test_split))
    return (_lists(x[:at]), np.array(y[:at])), (_lists(x[at:]), np.array(y[at:]))


def _index(path, name, file_hash):
    with open(fetched(path, name, file_hash), encoding="utf-8") as f:
        return json.load(f)


def imdb_word_index(path="imdb_word_index.json"):
    """Ranks of the words of IMDB's reviews."""
    return _index(path, "imdb_word_index.json", "bfafd718b763782e994055a2d397834f")


def reuters_word_index(path="reuters_word_index.json"):
    """Ranks of the words of Reuters's newswires."""
    return _index(path, "reuters_word_index.json", "4d44cc38712099c9e383dc6e5f11a921")


_TOPICS = """cocoa grain veg-oil earn acq wheat copper housing money-supply coffee sugar trade reserves ship cotton
carcass crude nat-gas cpi money-fx interest gnp meal-feed alum oilseed gold tin strategic-metal livestock retail ipi
iron-steel rubber heat jobs lei bop zinc orange pet-chem dlr gas silver wpi hog lead"""


def reuters_label_names():
    """The topics' names, by number."""
    return tuple(_TOPICS.split())
