"""tf.lookup: tables that do not change."""

import numpy as np

from ..keras.src.data.ragged import Ragged
from ..keras.src.data.structure import string_array
from .dispatch import array, tensor


class KeyValueTensorInitializer:
    """Keys and the value of each."""

    def __init__(self, keys, values, key_dtype=None, value_dtype=None, name=None):
        self.keys, self.values = array(keys, key_dtype), array(values, value_dtype)


class StaticHashTable:
    """The value of each key, or the default."""

    def __init__(self, initializer, default_value, name=None, experimental_is_anonymous=False):
        self._values = initializer.values
        self._table = dict(zip(initializer.keys.ravel().tolist(), initializer.values.ravel().tolist()))
        self._default = array(default_value).item()

    def lookup(self, keys, name=None):
        if isinstance(keys, Ragged):
            return Ragged([[self._table.get(k, self._default) for k in row] for row in keys.rows], self._name())
        keys = array(keys)
        found = [self._table.get(k, self._default) for k in keys.ravel().tolist()]
        out = string_array(found) if self._values.dtype == object else np.array(found, self._values.dtype)
        return tensor(out.reshape(keys.shape))

    __getitem__ = lookup

    def _name(self):
        return "string" if self._values.dtype == object else self._values.dtype.name

    def size(self, name=None):
        return tensor(np.asarray(len(self._table), "int64"))
