"""Symbolic tensors, and the calls of layers that make them."""

import math
import weakref

from ... import core
from ...abi import InvalidArgument
from . import state
from .kinds import create, snake_case, unsupported
from .tree import flatten

_RANKS = ["bool", "uint8", "int32", "int64", "float32"]


class Call:
    """A layer called on tensors, or without a layer an input or a constant; it has nodes in each graph with it."""

    __slots__ = ("layer", "inputs", "plain", "nested", "name", "value", "nodes", "home", "outputs", "said")

    def __init__(self, layer, inputs=(), plain=None, nested=None, name=None, value=None):
        self.layer, self.inputs, self.plain, self.nested = layer, list(inputs), plain or {}, nested or {}
        self.name, self.value, self.nodes, self.home, self.outputs = name, value, weakref.WeakKeyDictionary(), None, []
        self.said = None  # the argument `training` of the call

    def sources(self):
        """The tensors that it is called on."""
        return [*self.inputs, *(t for list_ in self.nested.values() for t in list_ if t is not None)]

    def needed(self):
        """The calls that this one needs and itself, each behind what it needs."""
        done, stack, order = set(), [(self, False)], []
        while stack:
            call, ready = stack.pop()
            if ready:
                order.append(call)
            elif call not in done:
                done.add(call)
                stack.append((call, True))
                stack.extend((t.call, False) for t in reversed(call.sources()))
        return order

    def put(self, graph):
        """Makes the call in a graph, with all that it needs."""
        if graph in self.nodes:
            return self.nodes[graph]
        with state.building:
            return self._put(graph)

    def _put(self, graph):
        for call in self.needed():
            if graph not in call.nodes:
                call.nodes[graph] = call._made(graph)
                call.home = call.home or graph
        return self.nodes[graph]

    def _made(self, graph):
        if self.layer is not None:
            nested = {key: [None if t is None else t.node(graph) for t in list_] for key, list_ in self.nested.items()}
            return self.layer._called(graph, [t.node(graph) for t in self.inputs], self.plain, nested)
        if self.value is not None:
            return [graph.constant(self.value)]
        tensor = self.outputs[0]
        return [graph.input(graph.free_name(self.name), tensor.dtype, tensor.shape)]

    def infer(self):
        """The tensors that it gives."""
        homes = [t.call.home for t in self.sources() if t.call.home is not None]
        graph = homes[0] if homes else state.graph()
        with state.building:
            nodes = self.put(graph)
            self.outputs = [KerasTensor(self, i, graph.shape(n), graph.dtype(n)) for i, n in enumerate(nodes)]
        return self.outputs


def _operator(kind, swapped=False):
    def method(self, other):
        return operate(kind, other, self) if swapped else operate(kind, self, other)

    return method


class KerasTensor:
    """A symbolic value. Arithmetic on it makes layers."""

    __slots__ = ("call", "index", "shape", "dtype", "__weakref__")
    __array_priority__ = 1000  # NumPy leaves its operators to this class

    def __init__(self, call, index, shape, dtype):
        self.call, self.index, self.shape, self.dtype = call, index, shape, dtype

    @property
    def name(self):
        """The name of the layer or input that gives it."""
        return self.call.name or (self.call.layer.name if self.call.layer else "constant")

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    rank = ndim

    def node(self, graph):
        """Its node in a graph."""
        return self.call.put(graph)[self.index]

    def __repr__(self):
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, name={self.name}>"

    def __iter__(self):
        raise unsupported(self.name, "iterating over a symbolic tensor")

    def __bool__(self):
        raise unsupported(self.name, "a symbolic tensor has no truth value: Python cannot branch on it")

    def __array__(self, *args, **kwargs):
        raise unsupported(
            self.name, "a symbolic tensor has no numbers: functions of NumPy do not take it, those of keras.ops do"
        )

    def __getitem__(self, key):
        return _item(self, key)

    def __neg__(self):
        return operate("Multiply", self, -1)

    def __abs__(self):
        return operation("Absolute")(self)

    def __invert__(self):
        return operation("LogicalNot")(self)

    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__
    __add__, __radd__ = _operator("Add"), _operator("Add", True)
    __sub__, __rsub__ = _operator("Subtract"), _operator("Subtract", True)
    __mul__, __rmul__ = _operator("Multiply"), _operator("Multiply", True)
    __truediv__, __rtruediv__ = _operator("Divide"), _operator("Divide", True)
    __pow__, __rpow__ = _operator("Power"), _operator("Power", True)
    __floordiv__, __rfloordiv__ = _operator("FloorDivide"), _operator("FloorDivide", True)
    __mod__, __rmod__ = _operator("Mod"), _operator("Mod", True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", True)
    __lt__, __le__, __gt__, __ge__ = (_operator(k) for k in ("Less", "LessEqual", "Greater", "GreaterEqual"))
    __ne__ = _operator("NotEqual")
    __and__, __rand__ = _operator("LogicalAnd"), _operator("LogicalAnd", True)
    __or__, __ror__ = _operator("LogicalOr"), _operator("LogicalOr", True)
    __xor__, __rxor__ = _operator("LogicalXor"), _operator("LogicalXor", True)


_BROADCASTS = {"Add", "Subtract", "Multiply", "Maximum", "Minimum"}  # the layers of these names want equal shapes
_FLOATS = {"Divide", "Power", "MatMul"}


def operate(kind, a, b):
    """Two values, one of them symbolic, by NumPy's rules."""
    made, name = "Broadcast" + kind if kind in _BROADCASTS else kind, state.unique_name(snake_case(kind))
    for x, number, side in ((a, b, "x2"), (b, a, "x1")):
        if type(number) in (int, float) and math.isfinite(number) and kind != "MatMul":
            if isinstance(number, float) or kind in _FLOATS:
                x = cast(x, "float32")
            return operation(made, name=name, **{side: float(number)})(x)
    a, b = as_tensor(a, b), as_tensor(b, a)
    if kind in _FLOATS:
        a, b = cast(a, "float32"), cast(b, "float32")
    elif a.dtype != b.dtype and kind not in ("LogicalAnd", "LogicalOr", "LogicalXor"):
        a, b = promoted([a, b])
    return operation(made, name=name)([a, b])


def promoted(tensors):
    """All in the widest of their types."""
    for t in tensors:
        if t.dtype not in _RANKS:
            raise InvalidArgument(f"{t.name}: expected numbers, got {t.dtype}")
    widest = max((t.dtype for t in tensors), key=_RANKS.index)
    return [cast(t, widest) for t in tensors]


def cast(x, dtype):
    """A tensor in a type."""
    return x if x.dtype == dtype else operation("Cast", to=dtype)(x)


def operation(kind, **config):
    """A layer that Keras does not count among those of a model."""
    config.setdefault("name", state.unique_name(snake_case(kind)))
    layer = create("layer", kind, **config)
    layer._is_operation = True
    return layer


def is_tensor(x):
    """Whether it is symbolic."""
    return isinstance(x, KerasTensor)


def as_tensor(x, like=None):
    """x itself, or a constant of it; a number has the type of the other operand if it can."""
    if is_tensor(x):
        return x
    dtype = None
    if isinstance(x, (bool, int, float)):
        dtype = "bool" if isinstance(x, bool) else getattr(like, "dtype", "float32")
        dtype = "float32" if isinstance(x, float) or dtype not in _RANKS else dtype
    return Call(None, value=core.Tensor.of(x, dtype)).infer()[0]


def Input(shape=None, batch_size=None, dtype=None, sparse=None, ragged=None, batch_shape=None, name=None):
    """A symbolic tensor for data that comes with each run; None in a shape is free."""
    if sparse or ragged:
        raise unsupported("Input", "sparse and ragged tensors")
    if batch_shape is None:
        if shape is None:
            raise InvalidArgument("Input: expected a shape, got None")
        if not isinstance(shape, (list, tuple)):
            raise InvalidArgument(f"Input: expected a tuple as shape, got {shape!r}")
        batch_shape = (batch_size, *shape)
    elif shape is not None or batch_size is not None:
        raise InvalidArgument("Input: expected batch_shape alone, or shape and batch_size, got both")
    for d in batch_shape:
        if d is not None and (not hasattr(d, "__index__") or d < 0):
            raise InvalidArgument(f"Input: expected sizes or None in a shape, got {d!r} in {tuple(batch_shape)}")
    dtype = str(getattr(dtype, "name", dtype) or "float32")
    if dtype not in core.DTYPES or dtype == "float64":
        raise unsupported(
            "Input", f"expected one of {', '.join(t for t in core.DTYPES if t != 'float64')}, got {dtype}"
        )
    call = Call(None, name=name or state.unique_name("input_layer"))
    call.outputs = [KerasTensor(call, 0, tuple(None if d is None else int(d) for d in batch_shape), dtype)]
    return call.outputs[0]


def _item(x, key):
    """x[key]: numbers, slices, None and ... by NumPy's rules."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if not any(k is Ellipsis for k in keys):
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if given > len(x.shape):
        raise IndexError(f"{x.name}: expected at most {len(x.shape)} indices, got {given}")
    keys[at : at + 1] = [slice(None)] * (len(x.shape) - given)
    axis = 0
    for k in keys:
        if k is None:
            x = operation("ExpandDims", axis=axis)(x)
            axis += 1
        elif isinstance(k, slice):
            x = _sliced(x, k, axis)
            axis += 1
        elif isinstance(k, (list, tuple)):
            x = operation("Take", indices=[int(i) for i in k], axis=axis)(x)
            axis += 1
        elif hasattr(k, "__index__") and not is_tensor(k):
            x = _at(x, k.__index__(), axis)
        else:
            raise unsupported(x.name, f"expected numbers, slices, None or ... as index, got {k!r}")
    return x


def _at(x, place, axis):
    size = x.shape[axis]
    if size is not None and not -size <= place < size:
        raise IndexError(f"{x.name}: expected an index of axis {axis} below {size}, got {place}")
    if place < 0 and size is None:
        x, place = operation("Flip", axis=axis)(x), -1 - place
    return operation("Take", indices=place % size if size else place, axis=axis)(x)


def _sliced(x, k, axis):
    size = x.shape[axis]
    if k == slice(None):
        return x
    if size is not None:
        places = range(size)[k]
        if places and places.step == 1:
            return _block(x, axis, places[0], len(places))
        return operation("Take", indices=list(places), axis=axis)(x)
    if k.step == -1 and k.start is None and k.stop is None:
        return operation("Flip", axis=axis)(x)
    start, stop = k.start or 0, k.stop
    if k.step not in (None, 1) or start < 0 or (stop is not None and stop < 0):
        raise unsupported(x.name, f"axis {axis} has a free size: expected a slice from its start, got {k}")
    if stop is None:
        return _block(x, axis, start, -1) if start else x
    raise unsupported(x.name, f"axis {axis} has a free size: expected a slice to its end, got {k}")


def _block(x, axis, start, size):
    starts = [start if i == axis else 0 for i in range(len(x.shape))]
    sizes = [size if i == axis else -1 for i in range(len(x.shape))]
    return operation("Slice", start_indices=starts, shape=sizes)(x)


def check_nest(nest, what):
    """The tensors in a nest of a model's inputs or outputs."""
    leaves = flatten(nest)
    for t in leaves:
        if not is_tensor(t):
            raise InvalidArgument(f"Model: expected symbolic tensors as {what}, got {type(t).__name__}")
    return leaves
