"""TextVectorization."""

from ...backend.eager_tensor import eager_tensor
from ...backend.lazy import np
from ...data.ragged import Ragged
from ...data.structure import string_array
from ...export import keras_export
from ...saving.serialization_lib import deserialize_keras_object
from ..layer import category
from .data_layer import batches_of, DataLayer, need_choice
from .lookups import StringLookup

_PUNCTUATION = b"!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'"


def each(function, texts):
    """A function of bytes, of each text of an array."""
    array = string_array(texts)
    return string_array([function(t) for t in array.ravel()]).reshape(array.shape)


def characters(text):
    """The characters of UTF-8, those that are none as U+FFFD."""
    return [c.encode() for c in text.decode("utf-8", errors="replace")]


def ngrams(tokens, widths, separator=b" "):
    """All of one width, then those of the next."""
    return [separator.join(tokens[i : i + n]) for n in widths for i in range(len(tokens) - n + 1)]


@category.add
@keras_export("layers")
class TextVectorization(DataLayer):
    """Texts as sequences of indices of their tokens, or as vectors of how often each token is in them.

    A text is standardized, split into tokens, which may be joined to n-grams, and looked up in a vocabulary that is
    given or learned by adapt(). `standardize` may be a function of an array of texts, `split` one of an array of bytes:
    by NumPy or `dl4.tf.strings`."""

    _input_dtype = "string"

    def __init__(
        self,
        max_tokens=None,
        standardize="lower_and_strip_punctuation",
        split="whitespace",
        ngrams=None,
        output_mode="int",
        output_sequence_length=None,
        pad_to_max_tokens=False,
        vocabulary=None,
        idf_weights=None,
        sparse=False,
        ragged=False,
        encoding="utf-8",
        name=None,
        **kwargs,
    ):
        known = kwargs.pop("has_input_vocabulary", vocabulary is not None)
        size = kwargs.pop("vocabulary_size", None)
        output_mode = {"binary": "multi_hot", "tf-idf": "tf_idf"}.get(output_mode, output_mode)
        super().__init__(name=name, **kwargs)
        self._standardize, self._split, self._ngrams_arg = standardize, split, ngrams
        self._output_mode, self._output_sequence_length, self._encoding = output_mode, output_sequence_length, encoding
        self._has_input_vocabulary = known
        self._check(ragged)
        self._ngrams = tuple(range(1, ngrams + 1)) if isinstance(ngrams, int) else ngrams
        self._lookup_layer = StringLookup(
            max_tokens=max_tokens,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            pad_to_max_tokens=pad_to_max_tokens,
            mask_token="",
            output_mode=output_mode,
            sparse=sparse,
            has_input_vocabulary=known,
            encoding=encoding,
            vocabulary_size=size,
        )

    def _check(self, ragged):
        words = ("lower_and_strip_punctuation", "lower", "strip_punctuation")
        need_choice(self, "standardize", self._standardize, words, none=True, callables=True)
        need_choice(self, "split", self._split, ("whitespace", "character"), none=True, callables=True)
        need_choice(self, "output_mode", self._output_mode, ("int", "one_hot", "multi_hot", "count", "tf_idf"))
        given, length = self._ngrams_arg, self._output_sequence_length
        if not (
            given is None
            or isinstance(given, int)
            or isinstance(given, tuple)
            and all(isinstance(n, int) for n in given)
        ):
            raise ValueError(f"`ngrams` must be None, an integer, or a tuple of integers. Received: ngrams={given}")
        if self._output_mode == "int" and not (length is None or isinstance(length, int)):
            raise ValueError(
                "`output_sequence_length` must be either None or an integer when `output_mode` is 'int'. Received: "
                f"output_sequence_length={length}"
            )
        if self._output_mode != "int" and length is not None:
            raise ValueError(
                "`output_sequence_length` must not be set if `output_mode` is not 'int'. "
                f"Received output_sequence_length={length}."
            )
        if ragged:
            raise NotImplementedError("TextVectorization: `ragged=True`: ragged tensors are not in this version")

    # ---- the vocabulary

    def adapt(self, data, batch_size=None, steps=None):
        """Learns the vocabulary from texts, or from batches of them."""
        self.reset_state()
        for batch, whole in batches_of(data, steps):
            batch = string_array(batch)
            self.update_state(batch[:, None] if whole and batch.ndim == 1 else batch)
        self.finalize_state()

    def update_state(self, data):
        """Counts the words of texts."""
        self._lookup_layer.update_state(self._tokens(string_array(data)))

    def finalize_state(self):
        """Makes the vocabulary of the words that were counted."""
        self._lookup_layer.finalize_state()

    def reset_state(self):
        """Forgets what adapt() saw."""
        self._lookup_layer.reset_state()

    def get_vocabulary(self, include_special_tokens=True):
        """The tokens in the order of their indices."""
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self):
        """The number of words, with those for padding and unknown ones."""
        return self._lookup_layer.vocabulary_size()

    def set_vocabulary(self, vocabulary, idf_weights=None):
        """Sets the words, and in mode tf_idf their weights."""
        self._lookup_layer.set_vocabulary(vocabulary, idf_weights=idf_weights)

    # ---- calls

    def _standardized(self, texts):
        if callable(self._standardize):
            unicode = np.array([t.decode(self._encoding) for t in texts.ravel()], str).reshape(texts.shape)
            return string_array(self._standardize(unicode))
        words = self._standardize or ""
        if words.startswith("lower"):
            texts = each(bytes.lower, texts)
        return each(lambda t: t.translate(None, _PUNCTUATION), texts) if words.endswith("punctuation") else texts

    def _tokens(self, texts):
        """Rows of tokens; of one text, or without a split, an array."""
        texts = self._standardized(texts)
        if self._split is None:
            return self._joined(texts)
        if texts.ndim > 1:
            if texts.shape[-1] != 1:
                raise ValueError(
                    "When using `TextVectorization` to tokenize strings, the input rank must be 1 or the last shape "
                    f"dimension must be 1. Received: inputs.shape={texts.shape} with rank={texts.ndim}"
                )
            texts = texts[..., 0]
        if callable(self._split):
            found = self._split(eager_tensor(texts))
            return self._joined(found if isinstance(found, Ragged) else string_array(found))
        cut = bytes.split if self._split == "whitespace" else characters
        if texts.ndim == 0:
            return self._joined(string_array(cut(texts.item())))
        if texts.ndim > 1:
            raise ValueError(f"TextVectorization: expected texts of shape (batch,) or (batch, 1), got {texts.shape}")
        return self._joined(Ragged([cut(t) for t in texts]))

    def _joined(self, tokens):
        if self._ngrams is None:
            return tokens
        if isinstance(tokens, Ragged):
            return Ragged([ngrams(row, self._ngrams) for row in tokens.rows])
        rows = tokens.reshape(-1, tokens.shape[-1]) if tokens.ndim else tokens.reshape(1, 1)
        made = string_array([ngrams(list(row), self._ngrams) for row in rows])
        return made.reshape(*tokens.shape[:-1], made.shape[-1])

    def call(self, inputs):
        found = self._lookup_layer.call(self._tokens(string_array(inputs)))
        length = self._output_sequence_length
        if isinstance(found, Ragged):
            return found.to_tensor(0, shape=(None, length))
        if self._output_mode != "int" or length is None:
            return found
        found = np.asarray(found)[..., :length]
        short = length - found.shape[-1]
        return eager_tensor(np.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, short)]) if short else found)

    def compute_output_shape(self, input_shape):
        if self._output_mode == "int":
            return input_shape[0], self._output_sequence_length
        shape = tuple(input_shape)
        if self._split is not None:
            shape = (*(shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape), None)
        elif len(shape) <= 1:
            shape = (*shape, 1)
        return self._lookup_layer.compute_output_shape(shape)

    def _spec(self, inputs, *_, **__):
        shape = self.compute_output_shape(inputs.shape)
        return shape, "float32" if self._output_mode == "tf_idf" else "int64"

    # ---- files and configs

    def get_config(self):
        inner = self._lookup_layer.get_config()
        config = super().get_config()
        config.update({k: inner[k] for k in ("max_tokens", "pad_to_max_tokens", "sparse", "vocabulary", "idf_weights")})
        config.update(
            standardize=self._standardize,
            split=self._split,
            ngrams=self._ngrams_arg,
            output_mode=self._output_mode,
            output_sequence_length=self._output_sequence_length,
            ragged=False,
            encoding=self._encoding,
            vocabulary_size=self.vocabulary_size(),
        )
        return config

    @classmethod
    def from_config(cls, config, **_):
        config = dict(config)
        for key in ("standardize", "split"):
            if isinstance(config.get(key), dict):
                config[key] = deserialize_keras_object(config[key])
        if isinstance(config.get("ngrams"), list):
            config["ngrams"] = tuple(config["ngrams"])
        return cls(**config)

    def save_own_variables(self, store):
        self._lookup_layer.save_own_variables(store)

    def load_own_variables(self, store):
        self._lookup_layer.load_own_variables(store)

    def save_assets(self, dir_path):
        """Writes the vocabulary into a folder."""
        self._lookup_layer.save_assets(dir_path)

    def load_assets(self, dir_path):
        """Reads the vocabulary of a folder."""
        self._lookup_layer.load_assets(dir_path)
