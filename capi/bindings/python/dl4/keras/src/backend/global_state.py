"""Global state: the context with its seed, scratch graphs, and a count of changes of weights."""

import threading

from .... import core

_context, _options, _counts = None, {"seed_scheme": "tensorflow"}, {}
_scheme, _seed, _graphs, _shuffles = "dl4", 0, 0, 0
_SCRATCH_CALLS = 2000  # then another one: what nobody holds goes with the old one
_STEP = 0x9E3779B97F4A7C15  # between the seeds of graphs


def context():
    global _context
    if _context is None:
        _context = core.Context(**_options)
    return _context


def new_graph():
    """Each has numbers of its own; with TensorFlow's seeds each begins anew, which gives one model its weights."""
    global _graphs
    with building:
        if _scheme == "dl4":
            context().set_seed((_seed + _graphs * _STEP) % 2**53)
            _graphs += 1
        return core.Graph(context())


class _Thread(threading.local):
    """What each thread has of its own: calls being traced, tapes, a scratch graph, and names that do not count."""

    def __init__(self):
        self.tapes, self.names, self.whole = [], [], None
        self.records, self.scratch, self.scratch_calls, self.counts = [], None, 0, None


_thread = _Thread()
building = threading.RLock()  # who puts layers into graphs of models, which share layers; and who counts


def scratch():
    """The graph whose shape rules answer."""
    _thread.scratch_calls += 1
    if _thread.scratch is None or _thread.scratch_calls > _SCRATCH_CALLS:
        _thread.scratch, _thread.scratch_calls = core.Graph(context(), scratch=True), 0
    return _thread.scratch


def set_seed(seed, scheme="dl4"):
    """Models that are made from now on draw from the start of this seed's numbers."""
    global _context, _scheme, _seed, _graphs, _shuffles
    _context, _scheme, _seed = core.Context(seed=int(seed), **_options), scheme, int(seed)
    _graphs = _shuffles = 0


def set_context(**options):
    """Options of libdl4's context, as in dl4_context_create(), for models made from now on: threads, reproducible,
    memory_limit, log_level ("info" shows loads, epochs and plans; "debug" also the kernels), log_to ("stderr" or a
    file), ... None is the default again."""
    global _context, _options
    known = {key: value for key, value in {**_options, **options}.items() if value is not None}
    known.setdefault("seed_scheme", "tensorflow")
    _context, _options = core.Context(seed=_seed, **known), known


def next_seed():
    """Of the orders of one data set, by the seed and how many there were before."""
    global _shuffles
    with building:
        _shuffles += 1
        return (_seed * 1000003 + _shuffles * 7919) % 2**31


def draws_in_call_order():
    """Do initial weights go by the order in which layers were called, as in TensorFlow?"""
    return _scheme == "tensorflow"


def clear(free_memory=True):
    """Names are counted from the start again."""
    _thread.scratch = None
    _counts.clear()


_changes = 0


def changed():
    """Some weights have changed: sessions with the old ones are made anew."""
    global _changes
    _changes += 1


def changes():
    return _changes


_forms = 0


def formed():
    """A layer has other weights than it had: graphs that have it are made anew. The number of this change."""
    global _forms
    _forms += 1
    changed()
    return _forms


def forms():
    return _forms
