"""What the process keeps: the context with its seed, the graph that is open, names, and settings."""

import threading
import weakref

from ... import core

_STEP = 0x9E3779B97F4A7C15  # between the seeds of graphs
_options, _counts = {"seed_scheme": "tensorflow"}, {}
_context = None
_thread = threading.local()  # the open graph is of its thread
building = threading.RLock()  # graphs share layers, so one thread at a time adds to them
_scheme, _seed, _graphs, _shuffles = "dl4", 0, 0, 0
_version = 0  # of all weights
policy = "float32"
training = weakref.WeakSet()  # models that have a trainer


def context():
    """The context of all models made from now on."""
    global _context
    if _context is None:
        _context = core.Context(seed=_seed, **_options)
    return _context


def graph():
    """The graph that inputs join until a model is made of it. With TensorFlow's seeds it stays, as its numbers go on
    from model to model."""
    global _graphs
    with building:
        found = getattr(_thread, "open", None)
        if found is None or found.context is not context():
            if _scheme == "dl4":
                context().set_seed((_seed + _graphs * _STEP) % 2**53)
                _graphs += 1
            found = _thread.open = core.Graph(context())
        return found


def finish(done):
    """A model was made of a graph."""
    if getattr(_thread, "open", None) is done and _scheme == "dl4":
        _thread.open = None


def set_seed(seed, scheme="dl4"):
    """Models made from now on draw from the start of this seed's numbers."""
    global _context, _scheme, _seed, _graphs, _shuffles
    _context = None
    _scheme, _seed, _graphs, _shuffles = scheme, int(seed), 0, 0


def next_seed():
    """Of the next order of data, by the seed and how many there were before."""
    global _shuffles
    _shuffles += 1
    return (_seed * 1000003 + _shuffles * 7919) % 2**31


def set_context(**options):
    """Sets options of dl4_context_create() for models made from now on, such as threads, reproducible or memory_limit;
    None restores a default."""
    global _context, _options
    known = {key: value for key, value in {**_options, **options}.items() if value is not None}
    known.setdefault("seed_scheme", "tensorflow")
    _context, _options = core.Context(seed=_seed, **known), known


def clear_session(free_memory=True):
    """Forgets the open graph; automatic names are counted from the start."""
    fresh()
    _counts.clear()
    if free_memory and _context is not None:
        core.call("dl4_context_trim", _context)


def unique_name(base):
    """Keras's automatic name: base, base_1, base_2 ..."""
    with building:
        number = _counts[base] = _counts.get(base, -1) + 1
    return f"{base}_{number}" if number else base


def changed():
    """Some weights have changed: sessions are made anew."""
    global _version
    _version += 1


def version():
    """A number that grows with each change of weights."""
    return _version


def fresh():
    """The next input begins a graph."""
    _thread.open = None
