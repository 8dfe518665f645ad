"""StringLookup and IntegerLookup."""

from ...backend.lazy import np
from ...data.structure import string_array
from ...export import keras_export
from ..layer import category
from .index_lookup import IndexLookup


@category.add
@keras_export("layers")
class StringLookup(IndexLookup):
    """Texts as indices of a vocabulary, or as vectors of them; with `invert` indices as texts.

    Args: as Keras's. The index 0 is the mask's where there is a `mask_token`; those of unknown texts come next."""

    _input_dtype = "string"

    def __init__(
        self,
        max_tokens=None,
        num_oov_indices=1,
        mask_token=None,
        oov_token="[UNK]",
        vocabulary=None,
        idf_weights=None,
        invert=False,
        output_mode="int",
        pad_to_max_tokens=False,
        sparse=False,
        encoding="utf-8",
        name=None,
        salt=None,
        **kwargs,
    ):
        self.encoding = encoding
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            sparse,
            pad_to_max_tokens,
            salt=salt,
            name=name,
            **kwargs,
        )

    def _as_token(self, token):
        return token.decode(self.encoding) if isinstance(token, bytes) else str(token)

    @staticmethod
    def _as_tokens(data):
        return string_array(data)

    @staticmethod
    def _array(tokens):
        return string_array(tokens)

    def get_config(self):
        return {**super().get_config(), "encoding": self.encoding}


@category.add
@keras_export("layers")
class IntegerLookup(IndexLookup):
    """Integers as indices of a vocabulary, or as vectors of them; with `invert` indices as integers."""

    _vocabulary_dtype = "int64"

    def __init__(
        self,
        max_tokens=None,
        num_oov_indices=1,
        mask_token=None,
        oov_token=-1,
        vocabulary=None,
        vocabulary_dtype="int64",
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
        if vocabulary_dtype != "int64":
            raise ValueError(
                "Only `vocabulary_dtype='int64'` is supported at this time. "
                f"Received: vocabulary_dtype={vocabulary_dtype}"
            )
        if max_tokens is not None and max_tokens <= 1:
            raise ValueError(
                "If `max_tokens` is set for `IntegerLookup`, it must be greater than 1. "
                f"Received: max_tokens={max_tokens}"
            )
        if num_oov_indices < 0:
            raise ValueError(
                "The value of `num_oov_indices` argument for `IntegerLookup` must >= 0. Received: num_oov_indices="
                f"{num_oov_indices}"
            )
        super().__init__(
            max_tokens,
            num_oov_indices,
            mask_token,
            oov_token,
            vocabulary,
            idf_weights,
            invert,
            output_mode,
            sparse,
            pad_to_max_tokens,
            oov_method,
            salt,
            name,
            **kwargs,
        )

    @staticmethod
    def _as_token(token):
        return int(token)

    @staticmethod
    def _as_tokens(data):
        return np.asarray(data).astype("int64")

    @staticmethod
    def _array(tokens):
        return np.array(tokens, "int64")

    def get_config(self):
        config = super().get_config()
        if config["vocabulary"] is not None:
            config["vocabulary"] = [int(v) for v in config["vocabulary"]]
        return {**config, "vocabulary_dtype": "int64"}
