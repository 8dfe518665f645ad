"""The attributes of layers and losses that a call() reads while it is traced. What was traced holds as long as they are
what they were."""

import contextlib
import sys
import threading
import zlib

_PACKAGE = __name__.split(".")[0]
_MISSING = object()
_VALUES = (bool, int, float, complex, str, bytes, type(None))


class _Collecting(threading.local):
    reads = None  # what this thread reads goes there


_collecting, _lock, _watched = _Collecting(), threading.RLock(), [None, 0]


def watch(cls):
    """Its objects' attributes are those that are watched."""
    _watched[0] = cls


class Reads:
    """What was read of which object, and what it was when the trace ended."""

    def __init__(self):
        self._read, self._written, self._forms = {}, set(), {}

    def read(self, thing, name):
        frame = sys._getframe(2)  # of who asks
        if name[:2] == "__" or frame.f_globals.get("__name__", "").split(".")[0] == _PACKAGE:
            return
        self._read.setdefault((id(thing), name), thing)

    def written(self, thing, name):
        self._written.add((id(thing), name))

    def end(self):
        """What the trace itself set is its own."""
        names = [(key, thing) for key, thing in self._read.items() if key not in self._written]
        self._forms = {key: (thing, form) for key, thing in names if (form := _form_of(thing, key[1])) is not None}
        self._read, self._written = {}, set()

    def changed(self):
        return any(_form_of(thing, name) != form for (_, name), (thing, form) in self._forms.items())


@contextlib.contextmanager
def collected():
    """What this thread's programs read of attributes while it lasts."""
    reads, before = Reads(), _collecting.reads
    _collect(1)
    _collecting.reads = reads
    try:
        yield reads
    finally:
        _collecting.reads = before
        _collect(-1)
        reads.end()


@contextlib.contextmanager
def apart():
    """What is read and set in it is not of the trace around it."""
    before, _collecting.reads = _collecting.reads, None
    try:
        yield
    finally:
        _collecting.reads = before


def written(thing, name):
    if _collecting.reads is not None:
        _collecting.reads.written(thing, name)


def _collect(more):
    """Objects tell what is read of them while somebody collects it, and at other times cost nothing."""
    with _lock:
        cls, count = _watched
        _watched[1] = count + more
        if count == 0:
            cls.__getattribute__ = _telling
        elif count + more == 0:
            del cls.__getattribute__


def _telling(self, name):
    if _collecting.reads is not None:
        _collecting.reads.read(self, name)
    return object.__getattribute__(self, name)


def _form_of(thing, name):
    """The form of an attribute that is the object's or its class's; None where something computes it."""
    value = vars(thing).get(name, _MISSING)
    if value is _MISSING:
        owner = next((c for c in type(thing).__mro__ if name in vars(c)), None)
        value = _MISSING if owner is None else vars(owner)[name]
        if hasattr(type(value), "__get__"):
            return None
    return _form(value)


class _Same:
    """Something that is told from others by what it is."""

    def __init__(self, thing):
        self.thing = thing

    def __eq__(self, other):
        return isinstance(other, _Same) and self.thing is other.thing

    __hash__ = None


def _form(x):
    """What tells a value from others, and from what it was where it can be changed in place."""
    if isinstance(x, _VALUES):
        return type(x), x
    if isinstance(x, (list, tuple)):
        return type(x), [_form(v) for v in x]
    if isinstance(x, dict):
        return type(x), [(k, _form(v)) for k, v in x.items()]
    if hasattr(x, "tobytes") and hasattr(x, "dtype"):
        return _Same(x) if x.dtype.hasobject else (x.shape, x.dtype.str, zlib.crc32(x.tobytes()))
    if isinstance(x, type) or callable(x) or type(x).__module__.split(".")[0] == _PACKAGE:
        return _Same(x)
    return _Same(x), [(k, v) for k, v in getattr(x, "__dict__", {}).items() if isinstance(v, _VALUES)]
