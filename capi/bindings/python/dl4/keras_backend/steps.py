"""Steps: pure functions of (state, data), traced once for the shapes of the data and run by the library.

The state is lists of variables. A run reads each variable in one of its buffers and writes the other, so nothing is
copied from step to step."""

import ctypes as C

import numpy as np
from keras.src import tree

from ..abi import check
from ..core import Tensor as Buffer
from ..session import run_session
from .core import cast, convert_to_tensor
from .dtypes import CARRIERS, NeedsNumbers, known_name, numpy_dtype
from .tensor import Array
from .trace import Trace, Traced, emit

_SMALL = 1 << 16  # bytes of a result whose memory stays
_PATIENCE = 4  # runs with the same values of variables until these become constants
_CONSTANT = 4  # steps with constants at a time: each has all variables packed


def _walk(x, key, leaves):
    """Adds to a key what distinguishes traces by the data, and the arrays of the data to the leaves."""
    kind = type(x)
    if kind is tuple or kind is list:
        key.append((kind, len(x)))
        for v in x:
            _walk(v, key, leaves)
    elif x is None:
        key.append(None)
    elif kind is np.ndarray and (name := known_name(x.dtype)):
        key.append((name, x.shape))
        leaves.append(x)
    elif tree.is_nested(x):
        key.append((kind, str(tree.map_structure(lambda _: 0, x))))
        for v in tree.flatten(x):
            _walk(v, key, leaves)
    else:
        t = convert_to_tensor(x)
        key.append((t.type_name, t.shape))
        leaves.append(t.value)


def _symbols(x, trace):
    def symbol(v):
        if v is None:
            return None
        name = known_name(v.dtype) if type(v) is np.ndarray else None
        t = v if name else convert_to_tensor(v)
        return trace.input(name or t.type_name, t.shape)

    return tree.map_structure(symbol, x, none_is_leaf=True)


class _Frame:
    """What one run at a time uses: addresses of inputs and outputs, and memory of the data and of small results."""

    def __init__(self, step):
        self.data = [np.empty(*n) for n in step.data]
        self.results = [None if n is None else np.empty(*n) for n in step.sized]
        self.held = [Buffer.of(a, a.dtype.name) for a in (*self.data, *(r for r in self.results if r is not None))]
        handles = iter([b.handle for b in self.held])
        ins = [next(handles) for _ in self.data]
        outs = [None if r is None else next(handles) for r in self.results]
        self.given, self.found = len(ins), len(outs)
        self.ins = (C.c_void_p * (len(ins) + len(step.reads)))(*ins)
        self.outs = (C.c_void_p * (len(outs) + len(step.writes)))(*outs)
        counts = C.c_int64(len(self.ins)), C.c_int64(len(self.outs))
        self.arguments = C.c_void_p(step.session.handle), self.ins, counts[0], self.outs, counts[1], C.c_void_p()


class _Step:
    """A step for one set of shapes; with `constant` for the values that the variables have now."""

    def __init__(self, function, lists, data, constant=False):
        with Trace() as trace:
            nest = _symbols(data, trace)
            self.data = [(t.shape, CARRIERS[t.type_name]) for t in trace.inputs]
            symbol = self._constant if constant else self._input
            state = tuple([symbol(trace, v) for v in variables] for variables in lists)
            self.reads = [] if constant else [v for variables in lists for v in variables]
            result, after = function(state, nest)
            written = self._written(trace, lists, state, after)
            self._plan(trace, result, written)

    @staticmethod
    def _input(trace, variable):
        return trace.input(variable._dtype, variable.shape)

    @staticmethod
    def _constant(trace, variable):
        return Traced(trace, trace.node(variable._value), variable._dtype, variable.shape)

    @staticmethod
    def _written(trace, lists, state, after):
        """Variables that change, with their new values."""
        written = {}
        for variables, olds, news in zip(lists, state, after):
            for v, old, new in zip(variables, olds, news):
                if new is not old and new is not None:
                    new = cast(convert_to_tensor(new), v._dtype)
                    written[id(v)] = v, emit("Identity", new, to=new.type_name)
        return list(written.values())

    def _plan(self, trace, result, written):
        leaves = tree.flatten(result)
        self.nest = tree.map_structure(lambda x: None, result)
        self.leaves = [None if isinstance(x, Traced) else x for x in leaves]
        traced = [emit("Identity", x, to=x.type_name) for x in leaves if isinstance(x, Traced)]
        self.places = [i for i, x in enumerate(leaves) if isinstance(x, Traced)]
        self.types = [t.type_name for t in traced]
        self.writes = [v for v, _ in written]
        outputs = [*traced, *(value for _, value in written)]
        self.session = None
        self.sized, self.frames = [self._size(trace, t) for t in traced], []
        if outputs:
            nodes = [trace.node(t) for t in outputs]
            self.session = trace.graph.build([t.node for t in trace.inputs], nodes).session(states=False)

    @staticmethod
    def _size(trace, t):
        """Shape and type of a result whose memory stays; None for others."""
        small = None not in t.shape and 8 * int(np.prod(t.shape)) <= _SMALL
        return (t.shape, CARRIERS[t.type_name]) if small else None

    def __call__(self, data):
        found = [] if self.session is None else self._run(data)
        leaves = list(self.leaves)
        for i, y in zip(self.places, found):
            leaves[i] = y
        return tree.pack_sequence_as(self.nest, leaves)

    def _run(self, data):
        try:
            frame = self.frames.pop()
        except IndexError:
            frame = _Frame(self)
        for place, value in zip(frame.data, data):
            np.copyto(place, value, "unsafe")
        sources = [v.source() for v in self.reads]  # held while the library uses them
        targets = [v.target() for v in self.writes]
        ins, outs = frame.ins, frame.outs
        ins[frame.given :] = [b.handle for b in sources]
        outs[frame.found :] = [b.handle for b in targets]
        check(run_session(*frame.arguments))
        for v in self.writes:
            v.turn()
        found = []
        for i, (value, name) in enumerate(zip(frame.results, self.types)):
            if value is None:
                value, outs[i] = Buffer(outs[i]).numpy(), None
                found.append(Array(value.astype(numpy_dtype(name), copy=False), name))
            else:
                found.append(Array(value.astype(numpy_dtype(name)), name))
        self.frames.append(frame)
        return found


class Steps:
    """A step function and its traces. `lists()`: the variables that its state is of; the function gives a result and
    the lists after the step. Without `jit_compile` what can't be traced is run eagerly, as on JAX. With `constant`
    the values of variables that stay the same become constants, which a session has packed."""

    def __init__(self, function, lists, eagerly, jit_compile, constant=False):
        self.function, self._lists, self.eagerly, self.jit_compile = function, lists, eagerly, jit_compile
        self.lists, self.traces = (), {}
        self.constant, self.patience, self.stayed = constant, _PATIENCE, 0
        self.held = (), {}  # versions of the variables, and steps that have their values

    def begin(self):
        """Asks for the variables, which don't change until the next call."""
        lists = self._lists()
        same = len(lists) == len(self.lists) and all(
            len(a) == len(b) and all(v is w for v, w in zip(a, b)) for a, b in zip(lists, self.lists)
        )
        if not same:
            self.lists, self.traces, self.held = lists, {}, ((), {})

    def end(self):
        """No step follows soon: the variables give back what steps need."""
        for variables in self.lists:
            for v in variables:
                v.settle()

    def __call__(self, data):
        """One step: changes the variables and gives the result."""
        if self.eagerly:
            return self._eager(data)
        key, leaves = [], []
        _walk(data, key, leaves)
        key = tuple(key)
        step = self.traces.get(key)
        if step is None:
            try:
                step = self.traces[key] = _Step(self.function, self.lists, data)
            except NeedsNumbers:
                if self.jit_compile:
                    raise
                self.eagerly = True
                return self._eager(data)
        if self.constant and not step.writes:
            step = self._of_constants(step, key, data)
        return step(leaves)

    def _of_constants(self, step, key, data):
        versions = [v.version for variables in self.lists for v in variables]
        if versions != self.held[0]:
            self.release()
            self.held, self.stayed = (versions, {}), 0
        steps, self.stayed = self.held[1], self.stayed + 1
        if key not in steps and self.stayed > self.patience and len(steps) < _CONSTANT:
            steps[key] = _Step(self.function, self.lists, data, constant=True)
        return steps.get(key, step)

    def release(self):
        """The variables change: steps with their values go, and the next ones have to be worth it more."""
        if self.held[1]:
            self.patience *= 2
        self.held = (), {}

    def _eager(self, data):
        state = tuple([v.value for v in variables] for variables in self.lists)
        data = tree.map_structure(lambda x: None if x is None else convert_to_tensor(x), data)
        result, after = self.function(state, data)
        for variables, values in zip(self.lists, after):
            for v, value in zip(variables, values):
                if value is not v._value:
                    v._direct_assign(convert_to_tensor(value, v.dtype))
        return result
