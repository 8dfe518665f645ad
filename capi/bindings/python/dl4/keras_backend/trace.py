"""Traces: functions of tensors become graphs of the library, and graphs become sessions.

A function of the backend is called on tensors with numbers: it is traced once for each set of types, shapes and other
arguments, and its session is kept. In the trace of a larger function its calls are added to that one's graph."""

import collections
import functools
import inspect
import threading

import numpy as np
from keras.src.backend.common import KerasVariable

from ..core import Graph
from ..core import Tensor as Buffer
from .dtypes import CARRIERS, NARROW, PRECISION, Unsupported, carrier, name_of, numpy_dtype
from .tensor import Array, Tensor, array, carried

_KEPT = 4096  # sessions


class _Stack(threading.local):
    def __init__(self):
        self.traces = []


_stack = _Stack()


def current():
    """The trace under way in this thread; None: there is none."""
    return _stack.traces[-1] if _stack.traces else None


class Traced(Tensor):
    """A tensor of a trace."""

    __slots__ = ("trace", "node", "type_name", "shape", "weak", "_keras_mask", "__weakref__", "__dict__")

    def __init__(self, trace, node, type_name, shape, weak=None):
        self.trace, self.node, self.type_name, self.shape, self.weak = trace, node, type_name, shape, weak

    def __repr__(self):
        return f"<dl4.Traced shape={self.shape}, dtype={self.type_name}>"

    def known(self):
        """Its numbers, in a trace of tensors with numbers; else it is refused."""
        if self.trace.arrays is None:
            raise TypeError(
                "A traced tensor has no numbers in Python: a step is traced once and then run by the library. Pass "
                "`run_eagerly=True` to `compile()` for code that branches on numbers, or use `keras.ops.cond()` or "
                f"`keras.ops.where()`. The tensor: {self!r}"
            )
        return self.trace.computed(self)

    def __bool__(self):
        return bool(self.known())

    def __float__(self):
        return float(self.known())

    def __int__(self):
        return int(self.known())

    def __index__(self):
        return self.known().__index__()

    def __array__(self, dtype=None, copy=None):
        return self.known().__array__(dtype)

    def numpy(self):
        return self.known().numpy()

    def item(self, *at):
        return self.known().item(*at)

    def tolist(self):
        return self.known().tolist()

    def __deepcopy__(self, memo):
        return self


class Trace:
    """A graph under construction."""

    def __init__(self, specification=False):
        self.graph, self.inputs, self.constants, self.outer = Graph(), [], {}, current()
        self.specification = specification  # are shapes alone asked for?
        self.arrays = None  # of the inputs, if Python may ask for numbers: what is traced is run once
        self.customs = []  # inputs, outputs and functions of gradients of custom_gradient()
        self.captured = {}  # tensors of the traces around that are read, by id, with the inputs that stand for them

    def __enter__(self):
        _stack.traces.append(self)
        return self

    def __exit__(self, *_):
        _stack.traces.pop()

    def input(self, type_name, shape, weak=None):
        node = self.graph.input(f"x{len(self.inputs)}", carrier(type_name), shape)
        t = Traced(self, node, type_name, tuple(shape), weak)
        self.inputs.append(t)
        return t

    def node(self, x):
        """The node that a tensor has here."""
        if isinstance(x, Traced):
            return x.node if x.trace is self else self._capture(x)
        if id(x) not in self.constants:
            self.constants[id(x)] = self.graph.constant(Buffer.of(carried(x), CARRIERS[x.type_name])), x
        return self.constants[id(x)][0]

    def computed(self, x):
        """The numbers of a tensor, by those of the inputs."""
        model = self.graph.build([t.node for t in self.inputs], [self.node(x)])
        got = model.session().run([Buffer.of(carried(a), CARRIERS[a.type_name]) for a in self.arrays])
        return of_buffer(got[0], x.type_name)

    def _capture(self, x):
        if id(x) not in self.captured:
            outer = self.outer
            while outer is not None and outer is not x.trace:
                outer = outer.outer
            if outer is None:
                raise ValueError(f"{x!r} is of a trace that has ended: a traced function must not keep tensors")
            self.captured[id(x)] = x, self.input(x.type_name, x.shape)
        return self.captured[id(x)][1].node

    def value(self, node, type_name=None):
        return Traced(self, node, type_name or self.graph.dtype(node), self.graph.shape(node))


def emit_all(kind, *inputs, nodes=None, **config):
    """Adds a layer of the library's and returns all its outputs."""
    trace = current()
    layer = trace.graph.layer(kind, None, config)
    named = {key: [trace.node(x) for x in list_] for key, list_ in (nodes or {}).items()} or None
    return [trace.value(n) for n in trace.graph.call(layer, [trace.node(x) for x in inputs], None, named)]


def emit(kind, *inputs, to=None, nodes=None, **config):
    """Its first output; `to`: Keras's type of it, whose precision and range it gets."""
    y = emit_all(kind, *inputs, nodes=nodes, **config)[0]
    return y if to is None or to == y.type_name else labelled(y, to)


def recast(x, carrier):
    """A tensor in another of the library's types."""
    return emit_all("Cast", x, to=carrier)[0]


def labelled(y, type_name):
    """A tensor of a carrier's type as one of Keras's type."""
    wanted = CARRIERS[type_name]
    if (y.type_name, wanted) == ("int64", "int32"):
        y = _wrapped(y, 32, True)  # the library's cast gives the nearest number
    if y.type_name != wanted:
        y = recast(y, wanted)
    if type_name in PRECISION:
        exponent, mantissa = PRECISION[type_name]
        y = emit("ReducePrecision", y, exponent_bits=exponent, mantissa_bits=mantissa)
    elif type_name in NARROW:
        y = _wrapped(y, NARROW[type_name], type_name[0] != "u")
    return Traced(y.trace, y.node, type_name, y.shape)


def _wrapped(y, bits, signed):
    def const(n):
        return Array(np.asarray(n, y.type_name), y.type_name)

    half = const(1 << (bits - 1))
    if signed:
        y = emit("BroadcastAdd", y, half)
    y = emit("BitwiseAnd", y, const((1 << bits) - 1))
    return emit("BroadcastSubtract", y, half) if signed else y


# ---- values


def weak_type(x):
    """Of a number of Python's or what stands for one its class."""
    return x.weak if isinstance(x, Tensor) else type(x) if isinstance(x, (bool, int, float)) else None


def number(x):
    """A number of Python's as a tensor."""
    if isinstance(x, bool):
        return array(x, "bool")
    if isinstance(x, int):
        return array(x, "int32" if -(2**31) <= x < 2**31 else "int64" if x < 2**63 else "uint64")
    return array(x, "float32")


def tensor(x):
    """Anything that a function of the backend is given, as a tensor."""
    if isinstance(x, Tensor):
        return x
    if isinstance(x, (bool, int, float)):
        return number(x)
    return convert(x)


convert = None  # what `core` puts in place: of variables, lists, arrays of other libraries


def has_traced(x):
    """Is there a traced tensor in it?"""
    if isinstance(x, Traced):
        return True
    if isinstance(x, KerasVariable):
        return isinstance(x.value, Traced)
    if isinstance(x, (list, tuple)):
        return any(map(has_traced, x))
    return isinstance(x, dict) and any(map(has_traced, x.values()))


def plain(x):
    """An argument that is no tensor, as numbers of Python's that can be compared."""
    if isinstance(x, (list, tuple)):
        return tuple(map(plain, x))
    if isinstance(x, slice):
        return ("slice", plain(x.start), plain(x.stop), plain(x.step))
    if isinstance(x, (Array, np.ndarray, np.generic)):
        return plain(np.asarray(x).tolist())
    return x


# ---- functions of the backend


class _Kept:
    """A session of a traced function, and how its outputs become what the function gave."""

    __slots__ = ("session", "form", "types")

    def __init__(self, trace, nest):
        self.types = []
        nodes = []
        self.form = self._form(nest, nodes, trace)
        model = trace.graph.build([t.node for t in trace.inputs], nodes) if nodes else None
        self.session = model.session() if nodes else None

    def _form(self, nest, nodes, trace):
        if isinstance(nest, (list, tuple)):
            return type(nest), [self._form(x, nodes, trace) for x in nest]
        if isinstance(nest, Traced):
            nodes.append(trace.node(nest))
            self.types.append(nest.type_name)
            return len(nodes) - 1
        return None, nest

    def run(self, arrays):
        if self.session is None:
            return self._filled(self.form, ())
        got = self.session.run([Buffer.of(carried(a), CARRIERS[a.type_name]) for a in arrays])
        return self._filled(self.form, [of_buffer(y, t) for y, t in zip(got, self.types)])

    def _filled(self, form, got):
        if isinstance(form, int):
            return got[form]
        kind, inside = form
        if kind is None:
            return inside
        parts = [self._filled(f, got) for f in inside]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def of_buffer(y, type_name):
    """What a session gave, as a tensor of Keras's type."""
    value = y.numpy()
    return Array(value if CARRIERS[type_name] == type_name else value.astype(numpy_dtype(type_name)), type_name)


_kept = collections.OrderedDict()
_lock = threading.Lock()


def kept(key, make):
    """What make() gives for a key, of which the latest stay."""
    found = _kept.get(key)
    if found is None:
        found = make()
        with _lock:
            _kept[key] = found
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return found


def _specified(x, several, arrays):
    """What distinguishes traces of one function: of a tensor its type and shape. Collects the tensors."""
    if x is None:
        return None
    if several:
        return tuple(_specified(v, False, arrays) for v in x)
    weak = weak_type(x)
    t = tensor(x)
    arrays.append(t)
    return t.type_name, t.shape, weak


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
        self.names = [p.name for p in parameters]
        self.defaults = [p.default for p in parameters]
        self.tensors = [(self.names.index(n.rstrip("*")), n[-1] == "*") for n in tensors.split()]
        self.places = dict(self.tensors)

    def bound(self, args, kwargs, name):
        if not kwargs and len(args) == len(self.names):
            return list(args)
        values = [*args, *self.defaults[len(args) :]]
        for key, value in kwargs.items():
            if key not in self.names:
                raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
            values[self.names.index(key)] = value
        for key, value in zip(self.names, values):
            if value is inspect.Parameter.empty:
                raise TypeError(f"{name}() missing the required argument {key!r}")
        return values


def op(tensors="x"):
    """A function of the backend, written with emit(); `tensors`: its arguments that are, with a star lists."""

    def decorated(f):
        known = _Function(f, tensors)

        @functools.wraps(f)
        def either(*args, **kwargs):
            values = known.bound(args, kwargs, f.__name__)
            if any(has_traced(values[i]) for i, _ in known.tensors):
                for i, several in known.tensors:
                    values[i] = _in_trace(values[i], several)
                return f(*values)
            arrays, key = [], [f]
            for i, v in enumerate(values):
                key.append(_specified(v, known.places[i], arrays) if i in known.places else plain(v))
            return kept(tuple(key), lambda: _traced(f, known, values, arrays)).run(arrays)

        return either

    return decorated


def _traced(f, known, values, arrays):
    with Trace() as trace:
        values = list(values)
        symbols = iter([trace.input(a.type_name, a.shape) for a in arrays])
        for i, several in known.tensors:
            values[i] = _placed(values[i], several, symbols)
        return _Kept(trace, f(*values))


def by_numpy(tensors="x"):
    """A function that NumPy computes, on arrays alone."""

    def decorated(f):
        known = _Function(f, tensors)

        @functools.wraps(f)
        def either(*args, **kwargs):
            values = known.bound(args, kwargs, f.__name__)
            traced = any(has_traced(values[i]) for i, _ in known.tensors)
            if traced and not current().specification:
                raise Unsupported(
                    f"keras.ops.{f.__name__} is computed by NumPy on the backend dl4 and can't be part of a traced "
                    "step: pass `run_eagerly=True` to `compile()`, or call it on arrays before"
                )
            for i, several in known.tensors:
                values[i] = [_array_of(v) for v in values[i]] if several else _array_of(values[i])
            y = f(*values)
            return _results(y, current() if traced else None)

        return either

    return decorated


def _array_of(x):
    if isinstance(x, Traced):
        return np.zeros(x.shape, numpy_dtype(x.type_name))
    return None if x is None else tensor(x).value


def _results(y, trace):
    if isinstance(y, (list, tuple)):
        parts = [_results(v, trace) for v in y]
        return type(y)(*parts) if hasattr(y, "_fields") else type(y)(parts)
    if isinstance(y, (np.ndarray, np.generic)):
        y = np.asarray(y)
        name = name_of(y.dtype)
        return Array(y, name) if trace is None else trace.input(name, y.shape)
    return y
