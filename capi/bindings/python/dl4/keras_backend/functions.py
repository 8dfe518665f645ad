"""Functions of the backend: written with emit(), or computed by NumPy.

One that is called on tensors with numbers is traced once for each set of types, shapes and other arguments, and its
session is kept. In the trace of a larger function its calls are added to that one's graph."""

import collections
import functools
import inspect
import threading

import numpy as np

from ..core import Tensor as Buffer
from .dtypes import CARRIERS, NeedsNumbers, name_of, numpy_dtype
from .hosted import placed
from .tensor import Array, Tensor
from .trace import Trace, Traced, has_traced, of_buffer, plain, tensor, weak_type

_KEPT = 4096  # sessions
_SMALL = 1 << 16  # bytes of all inputs and outputs that are rather copied than wrapped


class _Frame:
    """Memory of a session's inputs and outputs. One run at a time uses it."""

    __slots__ = ("inputs", "call", "outputs")

    def __init__(self, session, inputs, values):
        self.inputs = [np.empty(shape, CARRIERS[name]) for name, shape in inputs]
        self.take(values)
        self.call = session.bind([Buffer.of(a, a.dtype.name) for a in self.inputs])  # runs it
        self.outputs = self.call.arrays

    def take(self, values):
        for place, value in zip(self.inputs, values):
            np.copyto(place, value, "unsafe")


class Compiled:
    """A session of a traced function, and how its outputs become what the function gave."""

    __slots__ = ("session", "form", "types", "inputs", "frames")

    def __init__(self, trace, nest):
        self.types, nodes = [], []
        self.form = self._form(nest, nodes, trace)
        self.inputs = [(t.type_name, t.shape) for t in trace.inputs]
        model = trace.graph.build([t.node for t in trace.inputs], nodes) if nodes else None
        self.session = model.session(states=False) if nodes else None
        sizes = [t.shape for t in trace.inputs] + [trace.graph.shape(n) for n in nodes]
        self.frames = [] if nodes and self._is_small(sizes) else None

    @staticmethod
    def _is_small(shapes):
        return all(None not in s for s in shapes) and sum(8 * int(np.prod(s)) for s in shapes) <= _SMALL

    def _form(self, nest, nodes, trace):
        if isinstance(nest, (list, tuple)):
            return type(nest), [self._form(x, nodes, trace) for x in nest]
        if isinstance(nest, Traced):
            nodes.append(trace.node(nest))
            self.types.append(nest.type_name)
            return len(nodes) - 1
        return None, nest

    def run(self, values):
        """What the function gives for the numbers of its inputs."""
        frames = self.frames
        if frames is None:
            return self.once(values)
        try:
            frame = frames.pop()
        except IndexError:
            frame = _Frame(self.session, self.inputs, values)
        else:
            frame.take(values)
            frame.call()
        if self.form == 0:
            y = Array(frame.outputs[0].astype(numpy_dtype(self.types[0])), self.types[0])
        else:
            y = self._filled(
                self.form, [Array(a.astype(numpy_dtype(t)), t) for a, t in zip(frame.outputs, self.types)]
            )
        frames.append(frame)
        return y

    def once(self, values):
        if self.session is None:
            return self._filled(self.form, ())
        given = [Buffer.of(np.asarray(v, CARRIERS[t]), CARRIERS[t]) for v, (t, _) in zip(values, self.inputs)]
        got = self.session.run(given)
        return self._filled(self.form, [of_buffer(y, t) for y, t in zip(got, self.types)])

    def _filled(self, form, got):
        if isinstance(form, int):
            return got[form]
        kind, inside = form
        if kind is None:
            return inside
        parts = [self._filled(f, got) for f in inside]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


_kept = collections.OrderedDict()
_lock = threading.Lock()


def kept(key, make):
    """What make() gives for a key, of which the latest stay."""
    found = make()
    with _lock:
        _kept[key] = found
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
    return found


def _noted(x, key, values):
    """Adds to a key what distinguishes traces by a tensor, and its numbers to the values; None if it is traced."""
    kind = type(x)
    if kind is not Array:
        if x is None:
            key.append(None)
            return True
        if kind is float or kind is bool or kind is int and -(2**31) <= x < 2**31:
            key.append(kind)
            values.append(x)
            return True
        weak = weak_type(x)
        x = tensor(x)
        if isinstance(x, Traced):
            return False
        key.append(weak)
    key.append(x.type_name)
    key.append(x.shape)
    values.append(x.value)
    return True


def _placed(x, several, symbols):
    """An argument with what stands for its tensors in a trace."""
    if x is None:
        return None
    if several:
        return [_placed(v, False, symbols) for v in x]
    symbol = next(symbols)
    symbol.weak = weak_type(x)
    return symbol


def _in_trace(x, several):
    """An argument of a function that is traced: tensors, of which numbers of Python's give way to the others' types."""
    if x is None or isinstance(x, Tensor):
        return list(x) if several and x is not None else x
    if several:
        return [_in_trace(v, False) for v in x]
    t = tensor(x)
    if weak_type(x) is not None:
        t.weak = weak_type(x)
    return t


class _Function:
    """How a function is called: the places of its tensors, and its defaults."""

    def __init__(self, f, tensors):
        parameters = list(inspect.signature(f).parameters.values())
        self.f, self.names = f, [p.name for p in parameters]
        self.defaults = [p.default for p in parameters]
        self.needed = sum(d is inspect.Parameter.empty for d in self.defaults)
        self.tensors = sorted((self.names.index(n.rstrip("*")), n[-1] == "*") for n in tensors.split())
        self.places = dict(self.tensors)
        self.kinds = [self.places.get(i) for i in range(len(self.names))]  # None: no tensor; else whether several

    def bound(self, args, kwargs):
        if not kwargs and self.needed <= len(args) <= len(self.names):
            return [*args, *self.defaults[len(args) :]]
        name = self.f.__name__
        if len(args) > len(self.names):
            raise TypeError(f"{name}() takes {len(self.names)} arguments, got {len(args)}")
        values = [*args, *self.defaults[len(args) :]]
        for key, value in kwargs.items():
            if key not in self.names:
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
            values[self.names.index(key)] = value
        for key, value in zip(self.names, values):
            if value is inspect.Parameter.empty:
                raise TypeError(f"{name}() missing the required argument {key!r}")
        return values

    def noted(self, values, key, arrays):
        """Adds what distinguishes traces to a key, and the numbers of all tensors to arrays; False if one is traced."""
        for v, several in zip(values, self.kinds):
            if several is None:
                key.append(v if v is None or type(v) is int else (type(v), plain(v)))
            elif not several:
                if not _noted(v, key, arrays):
                    return False
            elif v is None:
                key.append(None)
            else:
                key.append(len(v))
                if not all([_noted(part, key, arrays) for part in v]):
                    return False
        return True

    def traced(self, values):
        with Trace() as trace:
            values, arrays = list(values), []
            for i, several in self.tensors:
                given = [] if values[i] is None else values[i] if several else [values[i]]
                arrays += [tensor(x) for x in given if x is not None]
            symbols = iter([trace.input(a.type_name, a.shape) for a in arrays])
            for i, several in self.tensors:
                values[i] = _placed(values[i], several, symbols)
            return Compiled(trace, self.f(*values))


def op(tensors="x"):
    """A function of the backend, written with emit(); `tensors`: its arguments that are, with a star lists."""

    def decorated(f):
        known = _Function(f, tensors)

        @functools.wraps(f)
        def either(*args, **kwargs):
            values = known.bound(args, kwargs)
            key, arrays = [f], []
            if not known.noted(values, key, arrays):
                for i, several in known.tensors:
                    values[i] = _in_trace(values[i], several)
                return f(*values)
            key = tuple(key)
            compiled = _kept.get(key) or kept(key, lambda: known.traced(values))
            return compiled.run(arrays)

        return either

    return decorated


def by_numpy(tensors="x", gradient=None, sized=True, name=None):
    """A function that NumPy computes, on arrays, or when the library runs a trace. `gradient`: one of `derivatives`;
    `sized`: are the shapes that it gives the same for all numbers? `name`: Keras's, if it is another."""

    def decorated(f):
        known = _Function(f, tensors)
        f.__name__ = name or f.__name__

        @functools.wraps(f)
        def either(*args, **kwargs):
            values = known.bound(args, kwargs)
            if any(has_traced(values[i]) for i, _ in known.tensors):
                if not sized:
                    raise NeedsNumbers(
                        f"keras.ops.{f.__name__}: the size of what it gives depends on numbers, which a traced step "
                        "has not: pass `run_eagerly=True` to `compile()`, or call it on arrays before"
                    )
                given = [(i, several) for i, several in known.tensors if values[i] is not None]
                places = [(i, len(values[i]) if several else None) for i, several in given]
                return placed(f, gradient, values, places)
            for i, several in known.tensors:
                values[i] = [_array_of(v) for v in values[i]] if several else _array_of(values[i])
            return _results(f(*values))

        return either

    return decorated


def _array_of(x):
    return None if x is None else tensor(x).value


def _results(y):
    if isinstance(y, (list, tuple)):
        parts = [_results(v) for v in y]
        return type(y)(*parts) if hasattr(y, "_fields") else type(y)(parts)
    if isinstance(y, (np.ndarray, np.generic)):
        y = np.asarray(y)
        return Array(y, name_of(y.dtype))
    return y
