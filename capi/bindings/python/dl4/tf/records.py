"""tf.train.Example in bytes, as protocol buffers write it, and files of records."""

import struct

import numpy as np

from ..keras.src.data.structure import as_bytes, string_array
from ..keras.src.utils.records import field, number, RecordWriter
from .dispatch import array, name_of, tensor


class FixedLenFeature:
    """A feature of one shape; without a default it has to be there."""

    def __init__(self, shape, dtype, default_value=None):
        self.shape, self.dtype, self.default_value = tuple(shape), name_of(dtype), default_value


class VarLenFeature:
    """A feature of any length: TensorFlow gives a sparse tensor, this a vector."""

    def __init__(self, dtype):
        self.dtype = name_of(dtype)


def _varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a corrupted tf.train.Example: a number of more than 10 bytes")


def _fields(data):
    """(number, wire type, value) of each field."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
        elif key & 7 in (1, 5):
            size = 8 if key & 7 == 1 else 4
            value, at = data[at : at + size], at + size
        elif key & 7 == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
            if len(value) != size:
                raise ValueError("a corrupted tf.train.Example: it ends amid a field")
        else:
            raise ValueError(f"a corrupted tf.train.Example: wire type {key & 7}")
        yield key >> 3, key & 7, value


def _values(feature):
    """The list of a feature."""
    for kind, _, body in _fields(feature):
        if kind == 1:
            return [value for _, _, value in _fields(body)]
        found = []
        for _, wire, value in _fields(body):
            if kind == 2:
                found += struct.unpack(f"<{len(value) // 4}f", value)
            elif wire == 0:
                found.append(value)
            else:
                at = 0
                while at < len(value):
                    number, at = _varint(value, at)
                    found.append(number)
        return [v - 2**64 if v >= 2**63 else v for v in found] if kind == 3 else found
    return []


def features_of(example):
    """Lists by name, of the bytes of a tf.train.Example."""
    found = {}
    for _, _, features in _fields(example):
        for _, _, entry in _fields(features):
            parts = {key: value for key, _, value in _fields(entry)}
            found[parts[1].decode()] = _values(parts.get(2, b""))
    return found


def _as_array(values, dtype):
    return string_array(values) if dtype == "string" else np.array(values, dtype)


def parse_single_example(serialized, features, example_names=None, name=None):
    """The features of an Example by name."""
    known = features_of(np.asarray(serialized, object).item() if hasattr(serialized, "shape") else serialized)
    out = {}
    for key, spec in features.items():
        values = known.get(key)
        if isinstance(spec, VarLenFeature):
            out[key] = tensor(_as_array(values or [], spec.dtype))
            continue
        if not values:
            if spec.default_value is None:
                raise ValueError(f"Feature: {key} (data type: {spec.dtype}) is required but could not be found.")
            values = np.ravel(array(spec.default_value)).tolist()
        out[key] = tensor(np.resize(_as_array(values, spec.dtype), spec.shape))
        if len(values) not in (1, int(np.prod(spec.shape))):
            raise ValueError(f"Key: {key}. Expected {int(np.prod(spec.shape))} values, got {len(values)}")
    return out


def parse_example(serialized, features, example_names=None, name=None):
    """The features of several Examples, stacked."""
    rows = [parse_single_example(one, features) for one in array(serialized)]
    return {key: tensor(np.stack([np.asarray(row[key]) for row in rows])) for key in features}


# ---- writing


class _List:
    def __init__(self, value=()):
        self.value = list(value)


class BytesList(_List):
    def body(self):
        return field(1, b"".join(field(1, as_bytes(v)) for v in self.value))


class FloatList(_List):
    def body(self):
        return field(2, field(1, struct.pack(f"<{len(self.value)}f", *self.value)))


class Int64List(_List):
    def body(self):
        return field(3, field(1, b"".join(number(int(v)) for v in self.value)))


class Feature:
    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        self.list = next(v for v in (bytes_list, float_list, int64_list) if v is not None)


class Features:
    def __init__(self, feature=None):
        self.feature = dict(feature or {})


class Example:
    """Features by name."""

    def __init__(self, features=None):
        self.features = features or Features()

    def SerializeToString(self):  # noqa: N802 the name that protocol buffers have
        entries = (
            field(1, field(1, name.encode()) + field(2, f.list.body())) for name, f in self.features.feature.items()
        )
        return field(1, b"".join(entries))


class TFRecordWriter(RecordWriter):
    """Writes records to a file."""

    def __init__(self, path, options=None):
        if options:
            raise NotImplementedError("tf.io.TFRecordWriter: `options` is not in this version of the library")
        super().__init__(path)

    def write(self, record):
        super().write(as_bytes(record))
