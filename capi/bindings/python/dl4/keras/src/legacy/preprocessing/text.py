"""Tokenizer and what it is made of."""

import collections
import hashlib
import json
import math
import warnings

from ...backend.lazy import np

_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


def text_to_word_sequence(input_text, filters=_FILTERS, lower=True, split=" "):
    """The words of a text."""
    text = input_text.lower() if lower else input_text
    return [word for word in text.translate(str.maketrans({c: split for c in filters})).split(split) if word]


def one_hot(input_text, n, filters=_FILTERS, lower=True, split=" ", analyzer=None):
    """The words of a text as numbers from 1 to n - 1, by Python's hash."""
    return hashing_trick(input_text, n, hash, filters, lower, split, analyzer)


def hashing_trick(text, n, hash_function=None, filters=_FILTERS, lower=True, split=" ", analyzer=None):
    """The words of a text as numbers from 1 to n - 1, by a hash: a function, or "md5"."""
    function = hash if hash_function is None else hash_function
    if hash_function == "md5":

        def function(word):
            return int(hashlib.md5(word.encode()).hexdigest(), 16)

    words = text_to_word_sequence(text, filters, lower, split) if analyzer is None else analyzer(text)
    return [function(word) % (n - 1) + 1 for word in words]


class Tokenizer:
    """Texts as lists of the numbers of their words, the most frequent first, and as rows of a matrix."""

    def __init__(
        self,
        num_words=None,
        filters=_FILTERS,
        lower=True,
        split=" ",
        char_level=False,
        oov_token=None,
        analyzer=None,
        **kwargs,
    ):
        if "nb_words" in kwargs:
            warnings.warn("The `nb_words` argument in `Tokenizer` has been renamed `num_words`.", stacklevel=2)
            num_words = kwargs.pop("nb_words")
        self.document_count = kwargs.pop("document_count", 0)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.num_words, self.filters, self.lower, self.split = num_words, filters, lower, split
        self.char_level, self.oov_token, self.analyzer = char_level, oov_token, analyzer
        self.word_counts, self.word_docs = collections.OrderedDict(), collections.defaultdict(int)
        self.index_docs, self.word_index, self.index_word = collections.defaultdict(int), {}, {}

    def _words(self, text):
        if self.char_level or isinstance(text, list):
            if not self.lower:
                return text
            return [part.lower() for part in text] if isinstance(text, list) else text.lower()
        if self.analyzer is not None:
            return self.analyzer(text)
        return text_to_word_sequence(text, self.filters, self.lower, self.split)

    def fit_on_texts(self, texts):
        """Counts the words, and numbers them."""
        for text in texts:
            self.document_count += 1
            words = self._words(text)
            for word in words:
                self.word_counts[word] = self.word_counts.get(word, 0) + 1
            for word in set(words):
                self.word_docs[word] += 1
        ranked = sorted(self.word_counts, key=self.word_counts.get, reverse=True)
        ranked = ([] if self.oov_token is None else [self.oov_token]) + ranked
        self.word_index = {word: i for i, word in enumerate(ranked, 1)}
        self.index_word = {i: word for word, i in self.word_index.items()}
        for word, count in self.word_docs.items():
            self.index_docs[self.word_index[word]] = count

    def fit_on_sequences(self, sequences):
        self.document_count += len(sequences)
        for sequence in sequences:
            for i in set(sequence):
                self.index_docs[i] += 1

    def texts_to_sequences(self, texts):
        """The numbers of the words of each text; others are left out, or the oov_token's."""
        return list(self.texts_to_sequences_generator(texts))

    def texts_to_sequences_generator(self, texts):
        oov = self.word_index.get(self.oov_token)
        for text in texts:
            found = []
            for word in self._words(text):
                i = self.word_index.get(word)
                known = i is not None and not (self.num_words and i >= self.num_words)
                if known or oov is not None:
                    found.append(i if known else oov)
            yield found

    def sequences_to_texts(self, sequences):
        return list(self.sequences_to_texts_generator(sequences))

    def sequences_to_texts_generator(self, sequences):
        oov = self.word_index.get(self.oov_token)
        for sequence in sequences:
            found = []
            for i in sequence:
                word = self.index_word.get(i)
                known = word is not None and not (self.num_words and i >= self.num_words)
                if known or oov is not None:
                    found.append(word if known else self.index_word[oov])
            yield " ".join(found)

    def texts_to_matrix(self, texts, mode="binary"):
        return self.sequences_to_matrix(self.texts_to_sequences(texts), mode=mode)

    def sequences_to_matrix(self, sequences, mode="binary"):
        """A row for each list of numbers: which are there (binary), how often (count, freq), or by weight (tfidf)."""
        if not self.num_words and not self.word_index:
            raise ValueError("Specify a dimension (`num_words` argument), or fit on some text data first.")
        if mode == "tfidf" and not self.document_count:
            raise ValueError("Fit the Tokenizer on some data before using tfidf mode.")
        if mode not in ("binary", "count", "freq", "tfidf"):
            raise ValueError("Unknown vectorization mode:", mode)
        x = np.zeros((len(sequences), self.num_words or len(self.word_index) + 1))
        for row, sequence in zip(x, sequences):
            for i, count in collections.Counter(i for i in sequence if i < len(row)).items():
                rare = math.log(1 + self.document_count / (1 + self.index_docs.get(i, 0)))
                row[i] = {
                    "binary": 1,
                    "count": count,
                    "freq": count / len(sequence),
                    "tfidf": (1 + math.log(count)) * rare,
                }[mode]
        return x

    def get_config(self):
        config = {
            k: getattr(self, k)
            for k in ("num_words", "filters", "lower", "split", "char_level", "oov_token", "document_count")
        }
        for key in ("word_counts", "word_docs", "index_docs", "index_word", "word_index"):
            config[key] = json.dumps(getattr(self, key))
        return config

    def to_json(self, **kwargs):
        return json.dumps({"class_name": type(self).__name__, "config": self.get_config()}, **kwargs)


def tokenizer_from_json(json_string):
    """The tokenizer of what to_json() gave."""
    config = json.loads(json_string)["config"]
    tables = {
        key: json.loads(config.pop(key))
        for key in ("word_counts", "word_docs", "index_docs", "index_word", "word_index")
    }
    tokenizer = Tokenizer(**config)
    for key in ("index_docs", "index_word"):
        tables[key] = {int(k): v for k, v in tables[key].items()}
    vars(tokenizer).update(tables)
    return tokenizer
