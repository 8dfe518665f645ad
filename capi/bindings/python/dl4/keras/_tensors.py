"""Symbolic tensors, and the calls of layers that make them.

A call is first made in a scratch graph, whose shape rules answer at once, and again in the graph of each model that
needs it: so layers may be called in any order, and a model holds what it needs and no more."""

import itertools
import weakref

from .. import core
from . import _state


class Call:
    """A layer (None: of an input or a constant) called on tensors, with plain and symbolic arguments."""

    __slots__ = (
        "layer",
        "inputs",
        "plain",
        "tensors",
        "outputs",
        "number",
        "nodes",
        "value",
        "name",
        "readers",
        "owner",
        "variable",
        "__weakref__",
    )
    _numbers = itertools.count()

    def __init__(self, layer, inputs=(), plain=None, tensors=None, value=None, name=None):
        self.layer, self.inputs, self.plain, self.tensors = layer, list(inputs), plain or {}, tensors or {}
        self.value, self.name, self.number, self.nodes = value, name, next(Call._numbers), weakref.WeakKeyDictionary()
        self.outputs, self.readers, self.owner = [], [], _state.owner()
        self.variable = None  # of a constant: a variable and what it held

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

    def again(self, now, plain=None):
        """What the same call gives on other tensors."""
        tensors = {key: [None if t is None else now[t] for t in list_] for key, list_ in self.tensors.items()}
        return Call(self.layer, [now[t] for t in self.inputs], {**self.plain, **(plain or {})}, tensors).try_out()

    def try_out(self):
        """The tensors it gives, by a scratch graph's rules."""
        graph = _state.scratch()
        for call in [self] if all(graph in t.call.nodes for t in self.sources()) else self.needed():
            call.put(graph)
        if _state.goes_by_order():
            for source in {t.call for t in self.sources()}:
                source.readers.append(self)
        self.outputs = [KerasTensor(self, i, graph.shape(n), graph.dtype(n)) for i, n in enumerate(self.nodes[graph])]
        return self.outputs


def _operator(kind, swapped=False):
    def method(self, other):
        return operate(kind, other, self) if swapped else operate(kind, self, other)

    return method


class KerasTensor:
    """A symbolic value. Arithmetic on it makes layers."""

    __slots__ = ("call", "index", "shape", "dtype", "__weakref__")
    __array_ufunc__ = None  # NumPy leaves operators to us
    sparse = ragged = False

    def __init__(self, call=None, index=0, shape=None, dtype="float32"):
        if not isinstance(call, Call):  # Keras's KerasTensor(shape, dtype): an input
            t = Input(batch_shape=shape if call is None else call, dtype=index or dtype)
            call, index, shape, dtype = t.call, 0, t.shape, t.dtype
        self.call, self.index, self.shape, self.dtype = call, index, shape, dtype

    @property
    def name(self):
        return self.call.name or (self.call.layer.name if self.call.layer else "constant")

    @property
    def ndim(self):
        return len(self.shape)

    rank = ndim

    def __repr__(self):
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, sparse=False, ragged=False, name={self.name}>"

    def __bool__(self):
        raise TypeError("A symbolic KerasTensor cannot be used as a boolean.")

    def __iter__(self):
        raise NotImplementedError("Iterating over a symbolic KerasTensor is not supported.")

    def __array__(self, *_, **__):
        raise ValueError(
            "A KerasTensor is symbolic: it's a placeholder for a shape and a dtype. It doesn't have any "
            "actual numerical value. You cannot convert it to a NumPy array."
        )

    __float__ = __int__ = __index__ = __len__ = __array__

    def __getitem__(self, key):
        from . import ops

        return ops.get_item(self, key)

    def __neg__(self):
        return operate("Multiply", self, -1)

    def __abs__(self):
        return layer_of("Absolute")(self)

    def __invert__(self):
        return layer_of("LogicalNot")(self)

    __add__, __radd__ = _operator("Add"), _operator("Add", True)
    __sub__, __rsub__ = _operator("Subtract"), _operator("Subtract", True)
    __mul__, __rmul__ = _operator("Multiply"), _operator("Multiply", True)
    __truediv__, __rtruediv__ = _operator("Divide"), _operator("Divide", True)
    __pow__, __rpow__ = _operator("Power"), _operator("Power", True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", True)
    __lt__, __le__, __gt__, __ge__ = (_operator(k) for k in ("Less", "LessEqual", "Greater", "GreaterEqual"))
    __and__, __rand__ = _operator("LogicalAnd"), _operator("LogicalAnd", True)
    __or__, __ror__ = _operator("LogicalOr"), _operator("LogicalOr", True)
    __ne__ = _operator("NotEqual")
    __hash__ = object.__hash__


_BROADCASTS = {"Add", "Subtract", "Multiply", "Maximum", "Minimum"}  # the layers of these names want one batch size
_COMPARING = {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr"}


def is_number(x):
    return isinstance(x, (int, float)) or (
        hasattr(x, "dtype") and getattr(x, "ndim", 1) == 0 and not is_tensor(x) and type(x).__module__ == "numpy"
    )


def operate(kind, a, b):
    """Two values, one of them symbolic, by NumPy's rules."""
    name = _state.unique(_state.snake_case(kind))
    made = "Broadcast" + kind if kind in _BROADCASTS else kind
    swapped = is_number(a)
    x, c = (b, a) if swapped else (a, b)
    if (
        is_number(c)
        and is_tensor(x)
        and kind != "MatMul"
        and (x.dtype == "float32" or kind in _COMPARING or (float(c).is_integer() and kind in _BROADCASTS))
    ):
        return layer_of(made, name=name, **{"x1" if swapped else "x2": float(c)})(x)
    a, b = as_tensor(a, b), as_tensor(b, a)
    if a.dtype != b.dtype and kind not in ("LogicalAnd", "LogicalOr"):
        a, b = promoted([a, b])
    if kind in ("Divide", "Power", "MatMul") and a.dtype != "float32":
        a, b = cast(a, "float32"), cast(b, "float32")
    return layer_of(made, name=name)([a, b])


_RANKS = ["bool", "uint8", "int32", "int64", "float32"]


def promoted(tensors):
    """All in the widest of their types."""
    widest = max((t.dtype for t in tensors), key=_RANKS.index)
    return [cast(t, widest) for t in tensors]


def cast(x, dtype):
    return x if x.dtype == dtype else layer_of("Cast", to=dtype)(x)


def layer_of(kind, **config):
    from . import layers

    layer = getattr(layers, kind)(**config)
    layer.is_operation = True
    return layer


def carries_mask(t):
    graph = _state.scratch()
    if graph not in t.call.nodes:
        for call in t.call.needed():
            call.put(graph)
    return graph.carries_mask(t.call.nodes[graph][t.index])


def unmasked(t):
    """A tensor without the mask that it carries, as operations of keras.ops take it: none of them sets one."""
    from . import layers

    if not t.shape or not carries_mask(t):
        return t
    same = layers.Transpose(perm=list(range(len(t.shape))), name=_state.unique("unmasked"))
    same.is_operation = True
    return Call(same, [t]).try_out()[0]


def is_tensor(x):
    return isinstance(x, KerasTensor)


def as_tensor(x, like=None):
    """x itself, the value of a variable, or a constant; a number has the type of data that it is calculated with."""
    if is_tensor(x):
        return x
    if hasattr(x, "symbolic"):
        return x.symbolic()
    dtype = None
    if isinstance(x, (bool, int, float)):
        dtype = "bool" if isinstance(x, bool) else getattr(like, "dtype", "float32")
        if isinstance(x, float) or dtype not in _RANKS:
            dtype = "float32"
    return Call(None, value=core.Tensor.of(x, dtype)).try_out()[0]


def Input(
    shape=None,
    batch_size=None,
    dtype=None,
    sparse=None,
    ragged=None,
    batch_shape=None,
    name=None,
    tensor=None,
    optional=False,
):
    """A symbolic tensor for data that comes with each run; None in a shape is free."""
    if sparse or ragged or optional:
        raise NotImplementedError("sparse, ragged and optional inputs are not in this version of the library")
    if tensor is not None:
        return tensor
    if batch_shape is None:
        if shape is None:
            raise ValueError("You must pass a `shape` argument.")
        if isinstance(shape, int):
            raise ValueError(f"Cannot convert '{shape}' to a shape.")
        batch_shape = (batch_size, *shape)
    elif shape is not None or batch_size is not None:
        other = "shape" if shape is not None else "batch_size"
        raise ValueError(f"You cannot pass both `{other}` and `batch_shape` at the same time.")
    for d in batch_shape:
        if d is not None and (not hasattr(d, "__index__") or d < 0):
            raise ValueError(f"Cannot convert '{tuple(batch_shape)}' to a shape. Found invalid entry '{d}'.")
    call = Call(None, name=name or _state.unique("input_layer"))
    call.outputs = [
        KerasTensor(
            call,
            0,
            tuple(None if d is None else int(d) for d in batch_shape),
            str(getattr(dtype, "name", dtype) or "float32"),
        )
    ]
    return call.outputs[0]


def symbolic_like(value, name=None, fixed=False):
    """An input for arrays like this one, of as many rows if that is fixed."""
    array = core.Tensor.of(value)
    rows = array.shape[:1] if fixed else (None,)
    return Input(batch_shape=(*rows, *array.shape[1:]) if array.shape else (), dtype=array.dtype, name=name)


def _named(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def flatten(x):
    """The leaves of a nest of lists, tuples and dicts, in order."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x, key=str) for leaf in flatten(x[key])]
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in flatten(item)]
    return [x]


def pack_like(nest, leaves):
    """The leaves in the structure of a nest."""
    leaves = iter(leaves)

    def pack(x):
        if isinstance(x, dict):
            items = {key: pack(x[key]) for key in sorted(x, key=str)}
            return {key: items[key] for key in x}
        if isinstance(x, (list, tuple)):
            items = [pack(item) for item in x]
            return type(x)(*items) if _named(x) else type(x)(items) if type(x) in (list, tuple) else items
        return next(leaves)

    return pack(nest)


def map_nest(f, nest):
    return pack_like(nest, [f(leaf) for leaf in flatten(nest)])
