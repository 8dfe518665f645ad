"""The calls of layers that a thread is tracing or running."""

import contextlib

from . import attributes
from .global_state import _thread


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
    """A call of a custom layer: what is made in it belongs to the outermost one."""

    def __init__(self, layer=None, args=(), kwargs=None, training=None):
        self.layer, self.args, self.kwargs, self.training = layer, args, kwargs or {}, training
        self.outputs, self.branches, self.losses, self.assigned = None, False, [], None
        self.said = False  # was it, or what a model calls, told whether it is training?
        self.runs = False  # is it a call on arrays, whose call() runs?
        self.step = None  # of a step: what it does beside giving values
        self.reads = []  # the attributes that it and the calls in it read


class Whole:
    """An operation of Keras's that is made of several calls, which count as one."""

    _is_operation = True


@contextlib.contextmanager
def one_operation():
    """While it lasts calls are parts of one operation."""
    outermost = _thread.whole is None
    if outermost:
        _thread.whole = Whole()
    try:
        yield
    finally:
        if outermost:
            _thread.whole = None


def whole():
    return _thread.whole


def records():
    """The calls being traced by this thread."""
    return _thread.records


def dtype_in_call(kind):
    """The dtype of a product, in its config: that of the layer whose call() it is in."""
    layer = records()[-1].layer if kind == "MatMul" and records() else None
    if layer is None:
        return {}
    policy = getattr(layer, "_policy", None)
    return {"dtype": "mixed_bfloat16" if getattr(policy, "name", None) == "mixed_bfloat16" else "float32"}


@contextlib.contextmanager
def traced(layer, *arguments):
    record = Record(layer, *arguments)
    around, in_step = owner(), step() is not None
    records().append(record)
    try:
        if layer is None or in_step or around is not None and around.layer is not None:
            yield record  # what is read is the outer call's, and a step keeps what it read
            return
        with attributes.collected() as reads:
            yield record
        (around or record).reads.append(reads)
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


@contextlib.contextmanager
def apart():
    """What is traced in it does not hear of the calls around it."""
    kept, _thread.records = _thread.records, []
    try:
        yield
    finally:
        _thread.records = kept


def owner():
    """The outermost call that is being traced."""
    return next((r for r in _thread.records if not r.runs), None)


def step():
    """The step that is being traced, in which weights may be assigned."""
    return next((r.step for r in reversed(_thread.records) if r.step is not None), None)


def traced_step():
    """The step that is traced to run later; none while a tape records arrays, whose numbers are there."""
    found = step()
    return None if found is None or found.binds else found


def on_tape():
    """Is it called by who records arrays on a tape, in no call() of a layer?"""
    found = step()
    return found is not None and found.binds and len(_thread.records) == 1


@contextlib.contextmanager
def at_once():
    """What is called in it is called on arrays, and no tape records it."""
    kept, _thread.tapes = _thread.tapes, []
    try:
        with apart():
            yield
    finally:
        _thread.tapes = kept


def tapes():
    """The tapes that record what this thread calls, the outermost first."""
    return _thread.tapes


def is_watched(x):
    """Does one of them watch it?"""
    return any(id(x) in tape._watched for tape in tapes())


def say(training):
    """A call is told whether it is training. As in Keras, that holds for all that is called after it in the calls
    around it, until another is told something else."""
    value = training.value if isinstance(training, Flag) else bool(training)
    for record in records():
        if record.layer is not None or record.runs:
            record.training = value


def training():
    """The `training` argument of the traced call: that of the innermost call that has one, else None."""
    return next((r.training for r in reversed(records()) if r.training is not None), None)
