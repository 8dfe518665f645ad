"""Automatic names."""

import contextlib
import re

from ..backend.global_state import _counts, _thread, building


def snake_case(name):
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def unique_name(name):
    """Keras's automatic name for a base: dense, dense_1, ..."""
    with building:
        counts = _counts if _thread.counts is None else _thread.counts
        n = counts.get(name, 0)
        counts[name] = n + 1
    return f"{name}_{n}" if n else name


@contextlib.contextmanager
def temporary_names():
    """Names that are made while it lasts are free again afterwards."""
    before = _thread.counts
    with building:
        _thread.counts = dict(_counts if before is None else before)
    try:
        yield
    finally:
        _thread.counts = before
