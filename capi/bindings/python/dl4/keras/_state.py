"""What is global in Keras: automatic names, the context with its seed, scratch graphs, and who is being traced."""

import contextlib
import re
import threading

from .. import core

_context, _counts = None, {}
_scheme, _seed, _graphs, _shuffles = "dl4", 0, 0, 0
_SCRATCH_CALLS = 2000  # then another one: what nobody holds goes with the old one
_STEP = 0x9E3779B97F4A7C15  # between the seeds of graphs


def context():
    global _context
    if _context is None:
        _context = core.Context(seed_scheme="tensorflow")
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
    """What each thread has of its own: calls being traced, a scratch graph, and names that do not count."""

    def __init__(self):
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
    _context, _scheme, _seed = core.Context(seed=int(seed), seed_scheme="tensorflow"), scheme, int(seed)
    _graphs = _shuffles = 0


def next_seed():
    """Of the orders of one data set, by the seed and how many there were before."""
    global _shuffles
    with building:
        _shuffles += 1
        return (_seed * 1000003 + _shuffles * 7919) % 2**31


def goes_by_order():
    """Do initial weights go by the order in which layers were called, as in TensorFlow?"""
    return _scheme == "tensorflow"


def clear(free_memory=True):
    """Names are counted from the start again."""
    _thread.scratch = None
    _counts.clear()


_data_format = "channels_last"


def image_data_format():
    return _data_format


def set_image_data_format(data_format):
    """Of layers that are made from now on and are not told one."""
    global _data_format
    if str(data_format) not in ("channels_last", "channels_first"):
        raise ValueError(
            "The `data_format` argument must be one of {'channels_first', 'channels_last'}. "
            f"Received: data_format={data_format}"
        )
    _data_format = str(data_format)


def data_format():
    """What a layer is told that says nothing."""
    return {"data_format": _data_format} if _data_format == "channels_first" else {}


def snake_case(name):
    name = re.sub(r"\W+", "", name)
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def unique(name):
    """Keras's automatic name for a base: dense, dense_1, ..."""
    with building:
        counts = _counts if _thread.counts is None else _thread.counts
        n = counts.get(name, 0)
        counts[name] = n + 1
    return f"{name}_{n}" if n else name


@contextlib.contextmanager
def uncounted():
    """Names that are made while it lasts are free again afterwards."""
    before = _thread.counts
    with building:
        _thread.counts = dict(_counts if before is None else before)
    try:
        yield
    finally:
        _thread.counts = before


_changes = 0


def changed():
    """Some weights have changed: sessions with the old ones are made anew."""
    global _changes
    _changes += 1


def changes():
    return _changes


class Flag:
    """The argument `training` of a traced call(): who asks it needs a trace of training beside that of inference."""

    def __init__(self, value):
        self.value, self.asked = value, False

    def __bool__(self):
        self.asked = True
        return bool(self.value)

    def __eq__(self, other):
        return bool(self) == other

    __hash__ = object.__hash__


class Record:
    """A call of a layer of one's own: what is made in it belongs to the outermost one."""

    def __init__(self, layer=None, args=(), kwargs=None, training=None):
        self.layer, self.args, self.kwargs, self.training = layer, args, kwargs or {}, training
        self.outputs, self.branches, self.losses, self.assigned = None, False, [], None
        self.runs = False  # is it a call on arrays, whose call() runs?


def records():
    """The calls being traced by this thread."""
    return _thread.records


@contextlib.contextmanager
def traced(layer, *arguments):
    record = Record(layer, *arguments)
    records().append(record)
    try:
        yield record
    finally:
        records().pop()


@contextlib.contextmanager
def running(layer, training):
    """A call on arrays: what is called in it hears whether it is training."""
    record = Record(layer, training=training)
    record.runs = True
    records().append(record)
    try:
        yield record
    finally:
        records().pop()


def owner():
    """The outermost call that is being traced."""
    return next((r for r in _thread.records if not r.runs), None)


def training():
    """What the traced call was told, the innermost word that was said; None where nobody did."""
    return next((r.training for r in reversed(records()) if r.training is not None), None)
