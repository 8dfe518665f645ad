"""tf.strings."""

import re

import numpy as np

from ..keras.src.data.ragged import Ragged
from ..keras.src.data.structure import as_bytes, string_array
from ..keras.src.layers.preprocessing.text_vectorization import characters, ngrams as _ngrams
from ..keras.src.utils.fingerprint import fingerprint64, siphash
from .dispatch import array, name_of, on_rows, on_texts, refuse, tensor


@on_texts
def lower(text, encoding=""):
    """Of ASCII; of all letters where the encoding is "utf-8"."""
    return text.decode().lower().encode() if encoding else text.lower()


@on_texts
def upper(text, encoding=""):
    return text.decode().upper().encode() if encoding else text.upper()


@on_texts
def strip(text):
    return text.strip()


@on_texts
def regex_replace(text, pattern, rewrite, replace_global=True):
    """A pattern replaced; \\1 in what replaces it is a group."""
    pattern, rewrite = (as_bytes(np.asarray(v).item() if hasattr(v, "shape") else v) for v in (pattern, rewrite))
    pattern, rewrite = _letters(pattern), _letters(rewrite)
    return _compiled(pattern).sub(_template(rewrite), _letters(text), count=0 if replace_global else 1).encode(*_UTF8)


_UTF8 = "utf-8", "surrogateescape"


def _letters(text):
    """What patterns see: letters of UTF-8, and bytes that are none as they are."""
    return text.decode(*_UTF8)


_patterns = {}


def _compiled(pattern):
    if pattern not in _patterns:
        _patterns[pattern] = re.compile(pattern, re.ASCII)
    return _patterns[pattern]


def _template(rewrite):
    return re.sub(r"\\0", r"\\g<0>", rewrite)


@on_texts
def _substr(text, pos, len, unit):  # noqa: A002
    if unit == "UTF8_CHAR":
        return text.decode()[pos:][:len].encode()
    return text[pos:][:len]


def substr(input, pos, len, unit="BYTE", name=None):  # noqa: A002
    return _substr(input, int(pos), int(len), unit)


@on_rows
def regex_full_match(input, pattern, name=None):  # noqa: A002
    texts, pattern = array(input), _compiled(_letters(as_bytes(pattern)))
    return tensor(np.array([pattern.fullmatch(_letters(t)) is not None for t in texts.ravel()]).reshape(texts.shape))


@on_rows
def length(input, unit="BYTE", name=None):  # noqa: A002
    texts = array(input)
    count = (lambda t: len(t.decode())) if unit == "UTF8_CHAR" else len
    return tensor(np.array([count(t) for t in texts.ravel()], "int32").reshape(texts.shape))


def split(input, sep=None, maxsplit=-1, name=None):  # noqa: A002
    """The parts between separators, or between white space: of one text a tensor, of several ragged rows."""
    texts, sep = array(input), as_bytes(sep) or None
    if texts.ndim == 0:
        return tensor(string_array(texts.item().split(sep, maxsplit)))
    if texts.ndim > 1:
        raise NotImplementedError(f"tf.strings.split: expected one text or a vector of them, got shape {texts.shape}")
    return Ragged([t.split(sep, maxsplit) for t in texts])


def _need_utf_8(name, encoding, errors, replacement_char, replace_control_characters=False):
    refuse(
        f"tf.strings.{name}",
        encoding=(encoding, "UTF-8"),
        errors=(errors, "replace"),
        replacement_char=(replacement_char, 65533),
        replace_control_characters=(replace_control_characters, False),
    )


def unicode_split(input, input_encoding, errors="replace", replacement_char=65533, name=None):  # noqa: A002
    _need_utf_8("unicode_split", input_encoding, errors, replacement_char)
    texts = array(input)
    if texts.ndim == 0:
        return tensor(string_array(characters(texts.item())))
    return Ragged([characters(t) for t in texts])


def unicode_decode(
    input,  # noqa: A002
    input_encoding,
    errors="replace",
    replacement_char=65533,
    replace_control_characters=False,
    name=None,
):
    """The numbers of the characters."""
    _need_utf_8("unicode_decode", input_encoding, errors, replacement_char, replace_control_characters)
    texts = array(input)

    def points(t):
        return [ord(c) for c in t.decode("utf-8", errors="replace")]

    return tensor(np.array(points(texts.item()), "int32")) if texts.ndim == 0 else Ragged(map(points, texts), "int32")


def unicode_encode(input, output_encoding, errors="replace", replacement_char=65533, name=None):  # noqa: A002
    """Texts of the numbers of their characters, along the last axis."""
    _need_utf_8("unicode_encode", output_encoding, errors, replacement_char)
    if isinstance(input, Ragged):
        return tensor(string_array(["".join(map(chr, row)).encode() for row in input.rows]))
    x = array(input)
    made = ["".join(map(chr, row)).encode() for row in x.reshape(-1, x.shape[-1]).tolist()]
    return tensor(string_array(made).reshape(x.shape[:-1]))


def bytes_split(input, name=None):  # noqa: A002
    texts = array(input)

    def cut(t):
        return [t[i : i + 1] for i in range(len(t))]

    return tensor(string_array(cut(texts.item()))) if texts.ndim == 0 else Ragged([cut(t) for t in texts])


def join(inputs, separator="", name=None):
    """Texts of several tensors, one behind the other."""
    arrays = np.broadcast_arrays(*[array(x) for x in inputs])
    sep = as_bytes(separator)
    found = [sep.join(parts) for parts in zip(*(a.ravel() for a in arrays))]
    return tensor(string_array(found).reshape(arrays[0].shape))


def reduce_join(inputs, axis=None, keepdims=False, separator="", name=None):
    """The texts along an axis as one."""
    sep = as_bytes(separator)
    if isinstance(inputs, Ragged):
        return tensor(string_array([sep.join(row) for row in inputs.rows]))
    texts = array(inputs)
    if axis is None:
        return tensor(string_array(sep.join(texts.ravel())))
    moved = np.moveaxis(texts, axis, -1)
    found = string_array([sep.join(row) for row in moved.reshape(-1, moved.shape[-1])]).reshape(moved.shape[:-1])
    return tensor(np.expand_dims(found, axis) if keepdims else found)


@on_rows
def to_number(input, out_type="float32", name=None):  # noqa: A002
    texts = array(input)
    kind = np.dtype(name_of(out_type))
    convert = float if kind.kind == "f" else int
    return tensor(np.array([convert(t) for t in texts.ravel()], kind).reshape(texts.shape))


@on_rows
def as_string(input, precision=-1, name=None):  # noqa: A002
    """Numbers as texts: floats with 6 digits, or as many as are asked for."""
    x = array(input)

    def text(v):
        if isinstance(v, bool):
            return b"true" if v else b"false"
        return str(v).encode() if isinstance(v, int) else f"{v:.{6 if precision < 0 else precision}f}".encode()

    return tensor(string_array([text(v) for v in x.ravel().tolist()]).reshape(x.shape))


@on_rows
def to_hash_bucket_fast(input, num_buckets, name=None):  # noqa: A002
    texts = array(input)
    return tensor(np.array([fingerprint64(t) % num_buckets for t in texts.ravel()], "int64").reshape(texts.shape))


@on_rows
def to_hash_bucket_strong(input, num_buckets, key, name=None):  # noqa: A002
    texts = array(input)
    return tensor(np.array([siphash(t, key) % num_buckets for t in texts.ravel()], "int64").reshape(texts.shape))


def ngrams(data, ngram_width, separator=" ", name=None):
    widths = (ngram_width,) if isinstance(ngram_width, int) else ngram_width
    sep = as_bytes(separator)
    if isinstance(data, Ragged):
        return Ragged([_ngrams(row, widths, sep) for row in data.rows])
    return tensor(string_array(_ngrams(list(array(data)), widths, sep)))


def format(template, inputs, placeholder="{}", summarize=3, name=None):  # noqa: A001
    refuse("tf.strings.format", summarize=(summarize, 3))
    inputs = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    for value in inputs:
        template = template.replace(placeholder, str(np.asarray(value)), 1)
    return tensor(string_array(template))
