"""Vocabularies: what StringLookup and IntegerLookup share."""

import collections
import os

from ...backend.eager_tensor import eager_tensor
from ...backend.lazy import np
from ...data.ragged import Ragged
from ...saving.serialization_lib import in_safe_loading
from ...utils import fingerprint
from .data_layer import batches_of, DataLayer, encoded, need_choice, refuse_sparse

_OTHER_NAMES = {"binary": "multi_hot", "tf-idf": "tf_idf"}
_DROPPED = 2**63 - 1  # an index that no vector has room for


class IndexLookup(DataLayer):
    """Tokens as their indices in a vocabulary, or the other way round. A vocabulary is given, or learned by adapt()."""

    _vocabulary_dtype = "string"

    def __init__(
        self,
        max_tokens,
        num_oov_indices,
        mask_token,
        oov_token,
        vocabulary=None,
        idf_weights=None,
        invert=False,
        output_mode="int",
        sparse=False,
        pad_to_max_tokens=False,
        oov_method="floormod",
        salt=None,
        name=None,
        **kwargs,
    ):
        size, known = kwargs.pop("vocabulary_size", None), kwargs.pop("has_input_vocabulary", vocabulary is not None)
        for key in ("trainable", "dtype", "vocabulary_dtype"):
            kwargs.pop(key, None)
        if kwargs:
            raise ValueError(f"Unrecognized keyword argument(s): {kwargs}")
        output_mode = _OTHER_NAMES.get(output_mode, output_mode)
        super().__init__(name=name)
        self.max_tokens, self.num_oov_indices, self.mask_token, self.oov_token = (
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
        )
        self.invert, self.output_mode, self.pad_to_max_tokens, self.sparse = (
            invert,
            output_mode,
            pad_to_max_tokens,
            sparse,
        )
        self.oov_method, self.vocabulary_dtype = oov_method, self._vocabulary_dtype
        self.salt = self._salt_of(salt)
        self._check(idf_weights)
        self.input_vocabulary = vocabulary if not isinstance(vocabulary, str) else None
        self.input_idf_weights, self._has_input_vocabulary, self._size = idf_weights, known, size
        self._tokens, self._table, self.idf_weights = [], {}, None
        self._counts, self._documents, self._count_of_documents = collections.Counter(), collections.Counter(), 0
        if output_mode == "tf_idf" and known and vocabulary is not None and idf_weights is None:
            raise ValueError(
                "When specifying the `vocabulary` argument, in TF-IDF output mode, the `idf_weights` argument "
                "must also "
                "be provided."
            )
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)

    def _check(self, idf_weights):
        if self.max_tokens is not None and self.max_tokens <= 1:
            raise ValueError(f"If set, `max_tokens` must be greater than 1. Received: max_tokens={self.max_tokens}")
        if self.pad_to_max_tokens and self.max_tokens is None:
            raise ValueError(
                f"If pad_to_max_tokens is True, must set `max_tokens`. Received: max_tokens={self.max_tokens}"
            )
        if self.num_oov_indices < 0:
            raise ValueError(
                "`num_oov_indices` must be greater than or equal to 0. "
                f"Received: num_oov_indices={self.num_oov_indices}"
            )
        need_choice(self, "oov_method", self.oov_method, ("floormod", "farmhash"))
        need_choice(self, "output_mode", self.output_mode, ("int", "one_hot", "multi_hot", "count", "tf_idf"))
        if self.invert and self.output_mode != "int":
            raise ValueError(
                f"`output_mode` must be `'int'` when `invert` is true. Received: output_mode={self.output_mode}"
            )
        if self.sparse and self.output_mode == "int":
            raise ValueError(
                "`sparse` may only be true if `output_mode` is `'one_hot'`, `'multi_hot'`, `'count'` or `'tf_idf'`. "
                f"Received: sparse={self.sparse} and output_mode={self.output_mode}"
            )
        refuse_sparse(self, self.sparse)
        if idf_weights is not None and self.output_mode != "tf_idf":
            raise ValueError(
                "`idf_weights` should only be set if `output_mode` is `'tf_idf'`. Received: "
                f"idf_weights={idf_weights} and output_mode={self.output_mode}"
            )

    def _salt_of(self, salt):
        if salt is None:
            return None
        if self._vocabulary_dtype != "string" and self.oov_method != "farmhash":
            raise ValueError(
                f"`salt` can only be used when `oov_method='farmhash'`. Received: oov_method={self.oov_method}"
            )
        if isinstance(salt, (tuple, list)) and len(salt) == 2:
            return list(salt)
        if isinstance(salt, int):
            return [salt, salt]
        raise ValueError(
            f"The `salt` argument for `{type(self).__name__}` can only be a tuple of 2 integers, or a single integer. "
            f"Received: salt={salt}."
        )

    # ---- the vocabulary

    def _first_oov(self):
        return 1 if self.mask_token is not None and self.output_mode == "int" else 0

    def _first_token(self):
        return self._first_oov() + self.num_oov_indices

    def _special_tokens(self):
        return [self.mask_token] * self._first_oov() + [self.oov_token] * self.num_oov_indices

    def get_vocabulary(self, include_special_tokens=True):
        """The tokens in the order of their indices."""
        tokens = list(self._tokens)
        return [*self._special_tokens(), *tokens] if include_special_tokens else tokens

    def vocabulary_size(self):
        """How many indices there are, those of the mask and of unknown tokens included."""
        return self._first_token() + len(self._tokens)

    def _tokens_of(self, vocabulary):
        """Of a list, an array or a file, one token a line."""
        if isinstance(vocabulary, (str, bytes, os.PathLike)):
            if in_safe_loading():
                raise ValueError(
                    "Requested the loading of a vocabulary file outside of the model archive. This carries a potential "
                    "risk of loading arbitrary and sensitive files and thus it is disallowed by default. If you trust "
                    "the source of the artifact, you can override this error by passing `safe_mode=False` to the "
                    f"loading function. Vocabulary file: '{vocabulary}'"
                )
            if not os.path.exists(vocabulary):
                raise ValueError(f"Vocabulary file {vocabulary} does not exist.")
            if self.output_mode == "tf_idf":
                raise ValueError("output_mode `'tf_idf'` does not support loading a vocabulary from file.")
            with open(vocabulary, encoding="utf-8") as f:
                return [self._as_token(line) for line in f.read().split("\n") if line]
        return [self._as_token(t) for t in np.asarray(vocabulary, object).ravel()]

    def set_vocabulary(self, vocabulary, idf_weights=None):
        """The tokens, with or without those of the mask and of what is unknown before them."""
        if self.output_mode == "tf_idf" and idf_weights is None:
            raise ValueError("`idf_weights` must be set if output_mode is 'tf_idf'.")
        if self.output_mode != "tf_idf" and idf_weights is not None:
            raise ValueError(
                "`idf_weights` should only be set if output_mode is `'tf_idf'`. Received: "
                f"output_mode={self.output_mode} and idf_weights={idf_weights}"
            )
        given = self._tokens_of(vocabulary)
        if not given:
            raise ValueError(f"Cannot set an empty vocabulary. Received: vocabulary={vocabulary}")
        start, special = self._first_token(), self._special_tokens()
        found = start > 0 and given[:start] == special
        tokens = given[start:] if found else given
        repeated = [t for t, n in collections.Counter(tokens).items() if n > 1]
        if repeated:
            raise ValueError(
                "The passed vocabulary has at least one repeated term. Please uniquify your dataset. The "
                "repeated terms "
                f"are: {repeated}"
            )
        for word, token, matters in (("mask", self.mask_token, True), ("OOV", self.oov_token, self.invert)):
            if matters and token is not None and token in tokens:
                raise ValueError(
                    f"Found reserved {word} token at unexpected location in `vocabulary`. Note that passed "
                    "`vocabulary` "
                    "does not need to include the OOV and mask tokens. Either remove all mask and OOV tokens, "
                    "or include "
                    f"them only at the start of the vocabulary in precisely this order: {special}. Received: "
                    f"{word.lower()}_token={token} at vocabulary index {given.index(token)}"
                )
        if self.max_tokens is not None and start + len(tokens) > self.max_tokens:
            raise ValueError(
                "Attempted to set a vocabulary larger than the maximum vocab size. Received vocabulary size is "
                f"{start + len(tokens)}; `max_tokens` is {self.max_tokens}."
            )
        self._take(tokens)
        if idf_weights is not None:
            self._take_weights(given, found, np.asarray(idf_weights, "float32"))

    def _take(self, tokens):
        self._need_size(self._first_token() + len(tokens))
        start = self._first_token()
        self._tokens = tokens
        keys = (t.encode() if isinstance(t, str) else t for t in tokens)
        self._table = {key: i for i, key in enumerate(keys, start)}

    def _need_size(self, size):
        """Vectors keep their length."""
        if self.output_mode == "int" or self.pad_to_max_tokens:
            return
        if self._size is not None and self._size != size:
            raise RuntimeError(
                f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, the vocabulary "
                "size cannot "
                f"be changed after the layer is called. Old vocab size is {self._size}, new vocab size is {size}"
            )
        self._size = size

    def _take_weights(self, given, found, weights):
        if len(given) != len(weights):
            raise ValueError(
                "`idf_weights` must be the same length as vocabulary. "
                f"len(idf_weights) is {len(weights)}; len(vocabulary) is {len(given)}"
            )
        if weights.ndim != 1:
            raise ValueError(f"TF-IDF data must be a 1-index array. Received: type(idf_weights)={type(weights)}")
        front = 0 if found else self._first_token()
        self.idf_weights = self._filled(weights, front, weights.mean() if front else 0)

    def _filled(self, weights, front, value):
        back = self.max_tokens - front - len(weights) if self.pad_to_max_tokens else 0
        weights = np.pad(weights, (front, back), constant_values=((value, 0),))
        return eager_tensor(weights.astype("float32"))

    # ---- learning it

    def adapt(self, data, steps=None):
        """Learns the vocabulary: the tokens by how often they are in the data."""
        self.reset_state()
        for batch, whole in batches_of(data, steps):
            if whole and not isinstance(batch, Ragged):
                batch = self._as_tokens(batch)
                batch = batch[:, None] if batch.ndim == 1 else batch
            self.update_state(batch)
        self.finalize_state()

    def update_state(self, data):
        """Counts the tokens of a batch."""
        if self._has_input_vocabulary:
            raise ValueError(
                f"Cannot adapt layer '{self.name}' after setting a static vocabulary via `vocabulary` argument or "
                "`set_vocabulary()` method."
            )
        rows = data.rows if isinstance(data, Ragged) else self._rows(self._as_tokens(data))
        for row in rows:
            self._counts.update(row)
            if self.output_mode == "tf_idf":
                self._documents.update(set(row))
                self._count_of_documents += 1

    @staticmethod
    def _rows(array):
        return [array.ravel().tolist()] if array.ndim < 2 else array.reshape(len(array), -1).tolist()

    def finalize_state(self):
        """Makes the vocabulary of what was counted."""
        if self._has_input_vocabulary or not self._counts:
            self._need_size(self.vocabulary_size())
            return
        for token in (self.mask_token, self.oov_token):
            self._counts.pop(token.encode() if isinstance(token, str) else token, None)
        tokens = sorted(self._counts, key=lambda t: (self._counts[t], t), reverse=True)
        if self.max_tokens:
            tokens = tokens[: self.max_tokens - self._first_token()]
        self._take([self._as_token(t) for t in tokens])
        if self.output_mode == "tf_idf":
            counts = np.array([self._documents[t] for t in tokens], "float64")
            weights = np.log(1 + self._count_of_documents / (1 + counts)).astype("float32")
            self.idf_weights = self._filled(weights, self._first_token(), weights.mean())
        self.reset_state()

    def reset_state(self):
        """Forgets what was counted, not the vocabulary."""
        if not self._has_input_vocabulary:
            self._counts.clear()
            self._documents.clear()
            self._count_of_documents = 0

    # ---- calls

    def _depth(self):
        return self.max_tokens if self.pad_to_max_tokens else self._size

    def _spec(self, inputs, *_, **__):
        shape = self.compute_output_shape(inputs.shape)
        if self.invert:
            return shape, self._vocabulary_dtype
        return shape, "int64" if self.output_mode != "tf_idf" else "float32"

    def compute_output_shape(self, input_shape):
        shape = tuple(input_shape)
        if self.output_mode == "int":
            return shape
        if self.output_mode == "one_hot" and not (len(shape) > 1 and shape[-1] == 1):
            return (*shape, self._depth())
        return (*shape[:-1], self._depth())

    def call(self, inputs):
        if self.output_mode != "int" and not self.pad_to_max_tokens and self._size is None:
            raise RuntimeError(
                f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, you must set the layer's "
                "vocabulary before calling it. Either pass a `vocabulary` argument to the layer, or call `adapt` with "
                "some sample data."
            )
        if isinstance(inputs, Ragged):
            return self._of_ragged(inputs)
        if self.invert:
            indices = np.asarray(inputs)
            return eager_tensor(self._array(self._names(indices.ravel().tolist())).reshape(indices.shape))
        tokens = self._as_tokens(inputs)
        found = np.array(self._indices(tokens.ravel().tolist()), "int64").reshape(tokens.shape)
        return self._encoded(found)

    def _encoded(self, found):
        mode = "count" if self.output_mode == "tf_idf" else self.output_mode
        out = encoded(found, mode, self._depth(), "int64")
        if self.output_mode != "tf_idf":
            return out
        if self.idf_weights is None:
            raise ValueError("When `output_mode` is `'tf_idf'`, `idf_weights` must be provided.")
        return eager_tensor((np.asarray(out).astype("float32") * np.asarray(self.idf_weights)).astype("float32"))

    def _of_ragged(self, ragged):
        if self.invert:
            return Ragged([self._names(row) for row in ragged.rows], self._vocabulary_dtype)
        rows = [self._indices(list(row)) for row in ragged.rows]
        if self.output_mode == "int":
            return Ragged(rows, "int64")
        if self.output_mode == "one_hot":
            raise NotImplementedError(f"{type(self).__name__}: `output_mode='one_hot'` of ragged inputs")
        longest = max(map(len, rows), default=0)
        dense = np.full((len(rows), longest), _DROPPED, "int64")
        for out, row in zip(dense, rows):
            out[: len(row)] = row
        return self._encoded(dense)

    def _indices(self, tokens):
        """Of tokens as they are in the data; the mask is dropped from vectors."""
        table, oov = dict(self._table) if self.mask_token is not None else self._table, self._first_oov()
        if self.mask_token is not None:
            mask = self.mask_token.encode() if isinstance(self.mask_token, str) else self.mask_token
            table[mask] = 0 if self.output_mode == "int" else _DROPPED
        if self.num_oov_indices == 1:
            return [table.get(t, oov) for t in tokens]
        found = [table.get(t, -1) for t in tokens]
        unknown = {t for t, i in zip(tokens, found) if i == -1}
        if not unknown:
            return found
        if self.num_oov_indices == 0:
            raise ValueError(
                "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values "
                f"{sorted(unknown)}, consider setting `num_oov_indices=1`."
            )
        places = {t: oov + self._bucket(t) for t in unknown}
        return [places[t] if i == -1 else i for t, i in zip(tokens, found)]

    def _bucket(self, token):
        if not isinstance(token, bytes) and self.oov_method != "farmhash":
            return token % self.num_oov_indices
        text = token if isinstance(token, bytes) else str(token).encode()
        hashed = fingerprint.fingerprint64(text) if self.salt is None else fingerprint.siphash(text, self.salt)
        return hashed % self.num_oov_indices

    def _names(self, indices):
        """The tokens of indices."""
        oov = self.oov_token.encode() if isinstance(self.oov_token, str) else self.oov_token
        names = {i: t for t, i in self._table.items()}
        if self.mask_token is not None:
            names[0] = self.mask_token.encode() if isinstance(self.mask_token, str) else self.mask_token
        return [names.get(int(i), oov) for i in indices]

    # ---- files and configs

    def get_config(self):
        def plain(x):
            return np.asarray(x).tolist() if hasattr(x, "shape") else x

        config = super().get_config()
        config.update(
            invert=self.invert,
            max_tokens=self.max_tokens,
            num_oov_indices=self.num_oov_indices,
            oov_token=self.oov_token,
            mask_token=self.mask_token,
            output_mode=self.output_mode,
            sparse=self.sparse,
            pad_to_max_tokens=self.pad_to_max_tokens,
            idf_weights=plain(self.input_idf_weights),
            vocabulary=plain(self.input_vocabulary),
            vocabulary_size=self._size,
            oov_method=self.oov_method,
            salt=self.salt,
        )
        return config

    def get_build_config(self):
        return {}

    def build_from_config(self, config):
        self.built = True

    def save_own_variables(self, store):
        if self.output_mode == "tf_idf" and self.idf_weights is not None:
            store["idf_weights"] = np.asarray(self.idf_weights)

    def load_own_variables(self, store):
        if self.output_mode == "tf_idf":
            self.idf_weights = eager_tensor(np.asarray(store["idf_weights"]))

    def save_assets(self, dir_path):
        """Writes the vocabulary, one token a line, where it is not in the config."""
        if self.input_vocabulary is None:
            with open(os.path.join(dir_path, "vocabulary.txt"), "w", encoding="utf-8") as f:
                f.write("\n".join(str(t) for t in self.get_vocabulary()))

    def load_assets(self, dir_path):
        """Reads the vocabulary of a folder."""
        if self.input_vocabulary is not None:
            return
        with open(os.path.join(dir_path, "vocabulary.txt"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        while lines and lines[-1] == "":
            lines.pop()
        weights = {"idf_weights": np.asarray(self.idf_weights)[: len(lines)]} if self.output_mode == "tf_idf" else {}
        self.set_vocabulary([self._as_token(line) for line in lines], **weights)
