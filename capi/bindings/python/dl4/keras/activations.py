"""Activations: functions of symbolic tensors and arrays, and the values of `activation=`."""

from .src.absent import absent as _absent
from .src.activations import deserialize, find as _find, get, names as _names
from .src.saving.serialization_lib import serialize


def __getattr__(name):
    found = None if name.startswith("__") else _find(name)
    if found is None:
        raise _absent(f"module '{__name__}'", name, () if name.startswith("__") else __dir__())
    return found


def __dir__():
    return sorted(["deserialize", "get", "serialize", *_names()])
