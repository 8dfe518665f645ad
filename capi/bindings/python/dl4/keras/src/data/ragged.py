"""Rows of different lengths: what a text becomes when it is split."""

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from .structure import as_array, string_array


class Ragged:
    """Rows of tokens or numbers, of a length each."""

    def __init__(self, rows, dtype="string"):
        self.rows, self.dtype = [list(row) for row in rows], dtype

    @property
    def shape(self):
        return (len(self.rows), None)

    def __len__(self):
        return len(self.rows)

    def _row(self, row):
        return eager_tensor(string_array(row) if self.dtype == "string" else np.array(row, self.dtype))

    def __getitem__(self, key):
        got = self.rows[key]
        return Ragged(got, self.dtype) if isinstance(key, slice) else self._row(got)

    def __iter__(self):
        return (self._row(row) for row in self.rows)

    def __repr__(self):
        return f"<Ragged {self.rows}>"

    def to_list(self):
        return [list(row) for row in self.rows]

    def nrows(self):
        return eager_tensor(np.asarray(len(self.rows), "int64"))

    def row_lengths(self):
        return eager_tensor(np.array([len(row) for row in self.rows], "int64"))

    @property
    def flat_values(self):
        return self._row([v for row in self.rows for v in row])

    values = flat_values

    def to_tensor(self, default_value=None, name=None, shape=None):
        """Dense: each row is filled up to the longest one, or cut and filled up to a shape's."""
        length = shape[-1] if shape is not None and shape[-1] is not None else max(map(len, self.rows), default=0)
        empty = (b"" if self.dtype == "string" else 0) if default_value is None else as_array(default_value).item()
        out = np.full((len(self.rows), int(length)), empty, object if self.dtype == "string" else self.dtype)
        for line, row in zip(out, self.rows):
            line[: len(row[:length])] = row[:length]
        return eager_tensor(out)
