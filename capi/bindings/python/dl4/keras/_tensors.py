"""Symbolic tensors, and the calls of layers that make them.

A call is first made in a scratch graph, whose shape rules answer at once, and again in the graph of each model that
needs it: so layers may be called in any order, and a model holds what it needs and no more."""
import itertools

from .. import core
from . import _state


class Call:
    """A layer (None: of an input or a constant) called on tensors, with plain and symbolic arguments."""
    __slots__ = ("layer", "inputs", "plain", "tensors", "outputs", "number", "nodes", "value", "name", "readers")
    _numbers = itertools.count()

    def __init__(self, layer, inputs=(), plain=None, tensors=None, value=None, name=None):
        self.layer, self.inputs, self.plain, self.tensors = layer, list(inputs), plain or {}, tensors or {}
        self.value, self.name, self.number, self.nodes = value, name, next(Call._numbers), {}
        self.outputs, self.readers = [], []

    def sources(self):
        for t in self.inputs:
            yield t
        for list_ in self.tensors.values():
            yield from (t for t in list_ if t is not None)

    def needed(self):
        """The calls that this one needs and itself, each behind what it needs."""
        found, order, stack = set(), [], [(self, False)]
        while stack:
            call, ready = stack.pop()
            if ready:
                order.append(call)
            elif call not in found:
                found.add(call)
                stack.append((call, True))
                stack.extend((t.call, False) for t in call.sources())
        return order

    def put(self, graph):
        """Makes the call in a graph that has what it needs."""
        if graph in self.nodes:
            return
        def node(t):
            return None if t is None else t.call.nodes[graph][t.index]
        if self.layer is not None:
            nodes = {key: [node(t) for t in list_] for key, list_ in self.tensors.items()}
            made = graph.call(self.layer.placed(graph), [node(t) for t in self.inputs], self.plain, nodes)
        elif self.value is not None:
            made = [graph.constant(self.value)]
        else:
            out = self.outputs[0]
            made = [graph.input(graph.free_name(self.name), out.dtype, out.shape)]
        self.nodes[graph] = made

    def try_out(self):
        """The tensors it gives, by the scratch graph's rules."""
        graph = _state.scratch()
        for call in self.needed():
            call.put(graph)
        for source in {t.call for t in self.sources()}:
            source.readers.append(self)
        self.outputs = [KerasTensor(self, i, graph.shape(n), graph.dtype(n)) for i, n in enumerate(self.nodes[graph])]
        return self.outputs


class KerasTensor:
    """A symbolic value. Arithmetic on it makes layers."""
    __slots__ = ("call", "index", "shape", "dtype", "__weakref__")
    __array_ufunc__ = None  # NumPy leaves operators to us

    def __init__(self, call, index, shape, dtype):
        self.call, self.index, self.shape, self.dtype = call, index, shape, dtype

    @property
    def name(self):
        return self.call.name or (self.call.layer.name if self.call.layer else "constant")

    @property
    def ndim(self):
        return len(self.shape)

    def __repr__(self):
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, name={self.name}>"

    def __bool__(self):
        raise TypeError("a symbolic tensor has no truth value")

    def __iter__(self):
        raise TypeError("a symbolic tensor can't be iterated over")

    def _with(self, kind, other, swapped=False):
        """As a merge; with a number as Rescaling, x * scale + offset."""
        if isinstance(other, (int, float)) and kind in _BY_NUMBER and not (swapped and kind == "Divide"):
            scale, offset = _BY_NUMBER[kind](float(other), swapped)
            return layer_of("Rescaling", scale=scale, offset=offset)(self)
        a, b = self, as_tensor(other)
        return layer_of(kind)([b, a] if swapped else [a, b])

    def __add__(self, other):
        return self._with("Add", other)

    def __sub__(self, other):
        return self._with("Subtract", other)

    def __rsub__(self, other):
        return self._with("Subtract", other, True)

    def __mul__(self, other):
        return self._with("Multiply", other)

    def __truediv__(self, other):
        return self._with("Divide", other)

    def __rtruediv__(self, other):
        return self._with("Divide", other, True)

    def __pow__(self, other):
        return self._with("Power", other)

    def __matmul__(self, other):
        return self._with("MatMul", other)

    def __neg__(self):
        return self._with("Multiply", -1.0)

    __radd__, __rmul__ = __add__, __mul__


_BY_NUMBER = {"Add": lambda c, _: (1.0, c), "Multiply": lambda c, _: (c, 0.0), "Divide": lambda c, _: (1 / c, 0.0),
              "Subtract": lambda c, swapped: (-1.0, c) if swapped else (1.0, -c)}


def layer_of(kind, **config):
    from . import layers
    found = getattr(layers, kind, None)
    if found is None:
        raise NotImplementedError(f"{kind} is not in this version of the library")
    return found(**config)


def is_tensor(x):
    return isinstance(x, KerasTensor)


def as_tensor(x):
    """x itself, or a constant of it."""
    if is_tensor(x):
        return x
    return Call(None, value=core.Tensor.of(x, "float32" if isinstance(x, (int, float)) else None)).try_out()[0]


def Input(shape=None, batch_size=None, dtype=None, sparse=None, batch_shape=None, name=None, tensor=None,
          optional=False):
    """A symbolic tensor for data that comes with each run; None in a shape is free."""
    if sparse or optional or tensor is not None:
        raise NotImplementedError("sparse, optional and tensor are not in this version of the library")
    if batch_shape is None:
        if shape is None:
            raise ValueError("You must pass a `shape` argument.")
        if isinstance(shape, int):
            raise ValueError(f"Cannot convert '{shape}' to a shape.")
        batch_shape = (batch_size, *shape)
    call = Call(None, name=name or _state.unique("input_layer"))
    call.outputs = [KerasTensor(call, 0, tuple(None if d is None else int(d) for d in batch_shape),
                                str(dtype or "float32"))]
    return call.outputs[0]


def flatten(x):
    """The leaves of a nest of lists, tuples and dicts, in order."""
    if isinstance(x, dict):
        return [leaf for key in x for leaf in flatten(x[key])]
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in flatten(item)]
    return [x]


def pack_like(nest, leaves):
    """The leaves in the structure of a nest."""
    leaves = iter(leaves)

    def pack(x):
        if isinstance(x, dict):
            return {key: pack(x[key]) for key in x}
        if isinstance(x, (list, tuple)):
            return type(x)(pack(item) for item in x) if type(x) in (list, tuple) else [pack(item) for item in x]
        return next(leaves)
    return pack(nest)
