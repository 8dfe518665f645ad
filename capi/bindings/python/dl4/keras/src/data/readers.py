"""Datasets of files: lines of text, records of TensorFlow, numbers in tables."""

import csv
import gzip
import io
import itertools
import struct
import zlib

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from .dataset import Dataset
from .structure import as_array, as_element, string_array


def file_names(names, who):
    """One name, several, or a dataset of them."""
    if isinstance(names, Dataset):
        names = [np.asarray(n).item() for n in names]
    found = [n.decode() if isinstance(n, bytes) else str(n) for n in np.asarray(names, object).ravel()]
    if not found:
        raise ValueError(f"{who}: expected names of files, got none")
    return found


def opened(name, compression, who):
    """A file for reading its bytes."""
    if compression in (None, ""):
        return open(name, "rb")
    if compression == "GZIP":
        return gzip.open(name, "rb")
    if compression == "ZLIB":
        with open(name, "rb") as f:
            return io.BytesIO(zlib.decompress(f.read()))
    raise ValueError(f"{who}: `compression_type`: expected '', 'GZIP' or 'ZLIB', got {compression!r}")


class TextLineDataset(Dataset):
    """The lines of files, without their ends."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        names = file_names(filenames, "TextLineDataset")

        def iterate():
            for file in names:
                with opened(file, compression_type, "TextLineDataset") as f:
                    for line in f:
                        yield eager_tensor(string_array(line.rstrip(b"\r\n")))

        super().__init__(iterate)


class TFRecordDataset(Dataset):
    """The records of files of TensorFlow's, as bytes."""

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        names = file_names(filenames, "TFRecordDataset")

        def iterate():
            for file in names:
                with opened(file, compression_type, "TFRecordDataset") as f:
                    for record in records(f, file):
                        yield eager_tensor(string_array(record))

        super().__init__(iterate)


def records(file, name):
    """Each is its length in 8 bytes and their checksum in 4, itself, and its checksum in 4."""
    while True:
        head = file.read(12)
        if not head:
            return
        size = struct.unpack("<Q", head[:8])[0] if len(head) == 12 else 2**63
        if size > 2**40:
            raise OSError(f"{name}: a corrupted record: expected its length, got {head!r}")
        body = file.read(size + 4)
        if len(body) != size + 4:
            raise OSError(f"{name}: the file ends amid a record of {size} bytes")
        yield body[:size]


def make_csv_dataset(
    file_pattern,
    batch_size,
    column_names=None,
    column_defaults=None,
    label_name=None,
    select_columns=None,
    field_delim=",",
    header=True,
    num_epochs=None,
    shuffle=True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    na_value="",
    ignore_errors=False,
    **kwargs,
):
    """Batches of the columns of tables by name, and the labels beside where their column is named."""
    for key in kwargs:
        if key not in ("prefetch_buffer_size", "num_parallel_reads", "sloppy", "num_rows_for_inference"):
            raise NotImplementedError(f"make_csv_dataset: `{key}` is not in this version of the library")
    if ignore_errors:
        raise NotImplementedError("make_csv_dataset: `ignore_errors` is not in this version")
    names = [np.asarray(n).item().decode() for n in Dataset.list_files(file_pattern, shuffle=False)]
    rows = []
    for name in names:
        with open(name, newline="", encoding="utf-8") as f:
            table = csv.reader(f, delimiter=field_delim)
            if header:
                first = next(table)
                column_names = column_names or first
            rows += list(table)
    if column_names is None:
        raise ValueError("make_csv_dataset: expected `column_names` for tables without a header, got None")
    chosen = list(select_columns or column_names)
    defaults = [None] * len(chosen) if column_defaults is None else list(column_defaults)
    if len(defaults) == len(column_names) != len(chosen):
        defaults = [defaults[column_names.index(c)] for c in chosen]
    if len(defaults) != len(chosen):
        raise ValueError(f"make_csv_dataset: `column_defaults`: expected {len(chosen)} of them, got {len(defaults)}")
    columns = {
        c: _column([r[column_names.index(c)] for r in rows], na_value, default) for c, default in zip(chosen, defaults)
    }
    if label_name is None:
        dataset = Dataset.from_tensor_slices(columns)
    elif label_name in columns:
        labels = columns.pop(label_name)
        dataset = Dataset.from_tensor_slices((columns, labels))
    else:
        raise ValueError(f"make_csv_dataset: `label_name`: expected one of {chosen}, got {label_name!r}")
    dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else dataset
    dataset = dataset.repeat(num_epochs) if num_epochs != 1 else dataset
    return dataset.batch(batch_size, drop_remainder=num_epochs is None)


def _column(texts, na_value, default=None):
    """Texts as numbers where all are; by its default, a list of a number or a text, or by its type."""
    if default is not None:
        is_type = isinstance(default, (type, str, np.dtype)) or not hasattr(default, "__len__")
        given = None if is_type else np.asarray(default).ravel()
        kind = getattr(default, "name", default) if given is None else given.dtype.name
        kind = {"float64": "float32", "int64": "int32"}.get(kind, kind) if given is not None else str(kind)
        missing = [t in ("", na_value) for t in texts]
        if given is None and any(missing):
            raise ValueError("make_csv_dataset: a required field is missing in a row")
        known = [given[0] if empty else t for t, empty in zip(texts, missing)] if given is not None else texts
        if kind == "string" or kind.startswith("str"):
            return string_array([str(t) for t in known])
        convert = int if np.dtype(kind).kind in "iu" else float
        return np.array([convert(t) for t in known], kind)
    for kind, empty in (("int32", 0), ("float32", 0.0)):
        try:
            convert = int if kind == "int32" else float
            return np.array([empty if t == na_value else convert(t) for t in texts], kind)
        except (ValueError, OverflowError):
            pass
    return string_array(texts)


class FixedLengthRecordDataset(Dataset):
    """Records of one length."""

    def __init__(self, filenames, record_bytes, header_bytes=0, footer_bytes=0, compression_type=None):
        names = file_names(filenames, "FixedLengthRecordDataset")

        def iterate():
            for file in names:
                with opened(file, compression_type, "FixedLengthRecordDataset") as f:
                    content = f.read()
                content = content[header_bytes : len(content) - footer_bytes]
                for at in range(0, len(content) - record_bytes + 1, record_bytes):
                    yield eager_tensor(string_array(content[at : at + record_bytes]))

        super().__init__(iterate)


def counter(start=0, step=1):
    """Numbers without end."""
    return Dataset(lambda: (as_element(as_array(np.int64(i))) for i in itertools.count(int(start), int(step))), -1)
