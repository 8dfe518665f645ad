"""Traces: functions of tensors become graphs of the library, and graphs become sessions.

What functions of the backend add while a trace is under way goes to its graph."""

import contextlib
import threading

import numpy as np
from keras.src.backend.common import KerasVariable

from ..core import Graph
from ..core import Tensor as Buffer
from .dtypes import CARRIERS, INTEGERS, NARROW, PRECISION, NeedsNumbers, carrier, is_float, numpy_dtype
from .tensor import Array, Tensor, array, carried


class _Stack(threading.local):
    def __init__(self):
        self.traces = []


_stack = _Stack()


def current():
    """The trace under way in this thread; None: there is none."""
    return _stack.traces[-1] if _stack.traces else None


def is_differentiated():
    """Are gradients asked for of what is being traced?"""
    trace = current()
    while trace is not None and not trace.differentiated:
        trace = trace.outer
    return trace is not None


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
            raise NeedsNumbers(
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

    def __init__(self, specification=False, free=False):
        self.graph, self.inputs, self.constants, self.outer = Graph(), [], {}, current()
        self.specification = specification  # are shapes alone asked for?
        self.free = free  # are sizes in it that stand for any?
        self.arrays = None  # of the inputs, if Python may ask for numbers: what is traced is run once
        self.differentiated = 0  # functions under way whose gradients are asked for
        self.customs = []  # inputs, outputs and functions of gradients of custom_gradient()
        self.captured = {}  # tensors of the traces around that are read, by id, with the inputs that stand for them

    def __enter__(self):
        _stack.traces.append(self)
        return self

    def __exit__(self, *_):
        _stack.traces.pop()

    @contextlib.contextmanager
    def differentiating(self):
        """While it is open, gradients are asked for of what is traced."""
        self.differentiated += 1
        try:
            yield
        finally:
            self.differentiated -= 1

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


def of_buffer(y, type_name):
    """What a session gave, as a tensor of Keras's type."""
    value = y.numpy()
    return Array(value if CARRIERS[type_name] == type_name else value.astype(numpy_dtype(type_name)), type_name)


def emit_layer(kind, inputs, config, nodes=None, models=None, arguments=None):
    """Adds a layer of the library's and returns all its outputs; `models`: values of the config's keys, `arguments`:
    those of the call that are no tensors."""
    trace = current()
    layer = trace.graph.layer(kind, None, config, models)
    named = {key: [trace.node(x) for x in list_] for key, list_ in (nodes or {}).items()} or None
    return [trace.value(n) for n in trace.graph.call(layer, [trace.node(x) for x in inputs], arguments, named)]


def emit_all(kind, *inputs, nodes=None, **config):
    return emit_layer(kind, inputs, config, nodes)


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
    is_nearest = is_float(y.type_name)
    if y.type_name != wanted:
        y = recast(y, wanted)
    if type_name in PRECISION:
        exponent, mantissa = PRECISION[type_name]
        y = emit("ReducePrecision", y, exponent_bits=exponent, mantissa_bits=mantissa)
    elif is_nearest and type_name in (*NARROW, "uint64"):
        y = _nearest(y, type_name)
    elif type_name in NARROW:
        y = _wrapped(y, NARROW[type_name], type_name[0] != "u")
    return Traced(y.trace, y.node, type_name, y.shape)


def _nearest(y, type_name):
    """Numbers within the range of an integer's type, in its carrier."""
    low, high = INTEGERS[type_name]
    y = emit("BroadcastMaximum", y, array(low, y.type_name))
    return y if high > np.iinfo("int64").max else emit("BroadcastMinimum", y, array(high, y.type_name))


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
