"""Symbolic tensors, and the calls of layers that make them.

A call is first made in a scratch graph, whose shape rules answer at once, and again in that of each model with it."""

import itertools
import math
import weakref

from .... import core
from ..backend import call_context, global_state
from ..backend.config import in_graph
from ..backend.dtypes import standardize
from ..export import keras_export
from ..registry import create
from ..tree import flatten
from ..utils.naming import snake_case, unique_name
from .numbers import Numbers


class Call:
    """A layer (None: of an input or a constant) called on tensors, with plain and symbolic arguments."""

    __slots__ = tuple(
        """layer inputs plain tensors outputs number nodes value name readers owner variable host bound values
        activated whole optional __weakref__""".split()
    )
    _numbers = itertools.count()

    def __init__(self, layer, inputs=(), plain=None, tensors=None, value=None, name=None):
        self.layer, self.inputs, self.plain, self.tensors = layer, list(inputs), plain or {}, tensors or {}
        tapes = call_context.tapes()
        if tapes:
            self.inputs = [tapes[0]._passed(t) for t in self.inputs]
            self.tensors = {key: [tapes[0]._passed(t) for t in list_] for key, list_ in self.tensors.items()}
        self.value, self.name, self.number, self.nodes = value, name, next(Call._numbers), weakref.WeakKeyDictionary()
        self.outputs, self.readers, self.owner = [], [], call_context.owner()
        self.whole = call_context.whole()  # of an operation that several calls make
        self.optional = False  # of an input: may None be given in its place?
        self.variable = None  # of a constant: a variable and what it held
        self.host = None  # of an input of the library's part: the call of Python's that gives it
        self.activated = None  # what a layer's activation in Python makes of what the call gives
        self.bound = None  # of an input in a tape on arrays: its array
        self.values = {}  # of a call in such a tape: what it gave, by output

    def sources(self):
        for t in self.inputs:
            yield t
        for list_ in self.tensors.values():
            yield from (t for t in list_ if t is not None)

    def reads(self):
        """The tensors that it is called on, in Python too."""
        return list(self.sources()) if self.host is None else self.host.sources()

    def need_numbers(self):
        """Refuses to be in a model, if it can't be."""

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

    def is_bound(self):
        """Was it made of arrays alone, on a tape?"""
        calls = self.needed()
        return all(c.layer is not None or c.value is not None or c.bound is not None for c in calls) and any(
            c.bound is not None or hasattr(c, "weight") for c in calls
        )

    def put(self, graph):
        """Makes the call in a graph that has what it needs."""
        if graph in self.nodes:
            return

        def node(t):
            return None if t is None else t.call.nodes[graph][t.index]

        if self.layer is not None:
            nodes = {key: [node(t) for t in list_] for key, list_ in self.tensors.items()}
            made = graph.call(self.layer._place_in(graph), [node(t) for t in self.inputs], self.plain, nodes)
        elif self.value is not None:
            made = [graph.constant(self.value)]
        else:
            out = self.outputs[0]
            if out.dtype == "string":
                raise NotImplementedError(
                    f"{self.name}: a tensor of texts: expected StringLookup, TextVectorization, Hashing or "
                    "another layer "
                    "of texts to take it"
                )
            made = [graph.input(graph.free_name(self.name), in_graph(out.dtype), out.shape)]
        self.nodes[graph] = made

    def again(self, now, plain=None):
        """What the same call gives on other tensors; of `plain`, what is None is not said."""
        tensors = {key: [None if t is None else now[t] for t in list_] for key, list_ in self.tensors.items()}
        given = [now[t] for t in self.inputs]
        for t in (t for t, v in zip(self.inputs, given) if v is None):
            raise ValueError(f'layer "{self.layer.name}" takes no None, which was given for optional input "{t.name}"')
        inputs = of_one_batch(self.layer, given)
        said = {key: value for key, value in {**self.plain, **(plain or {})}.items() if value is not None}
        call = Call(self.layer, inputs, said, tensors)
        call.whole = self.whole
        return call.infer_outputs()

    def infer_outputs(self):
        """The tensors it gives, by a scratch graph's rules."""
        graph = global_state.scratch()
        for call in [self] if all(graph in t.call.nodes for t in self.sources()) else self.needed():
            call.put(graph)
        if global_state.draws_in_call_order():
            for source in {t.call for t in self.sources()}:
                source.readers.append(self)
        self.outputs = [KerasTensor(self, i, graph.shape(n), graph.dtype(n)) for i, n in enumerate(self.nodes[graph])]
        return self.outputs


def _operator(kind, swapped=False):
    def method(self, other):
        return operate(kind, other, self) if swapped else operate(kind, self, other)

    return method


_BITS = {"LogicalAnd": "bitwise_and", "LogicalOr": "bitwise_or", "LogicalXor": "bitwise_xor"}


def _logical(kind, swapped=False):
    """As TensorFlow, of the bits of integers; between the layers of a model, as Keras, of truths alone."""

    def method(self, other):
        a, b = (other, self) if swapped else (self, other)
        if "int" in self.dtype and _stands_for_numbers(self):
            return of_numpy(_BITS[kind], (a, b), {})
        return operate(kind, a, b)

    return method


@keras_export("")
class KerasTensor(Numbers):
    """A symbolic value. Arithmetic on it makes layers."""

    __slots__ = ("call", "index", "shape", "dtype", "__weakref__")
    sparse = ragged = False

    def __init__(self, call=None, index=0, shape=None, dtype="float32", name=None):
        if not isinstance(call, Call):  # Keras's KerasTensor(shape, dtype): an input
            t = Input(batch_shape=shape if call is None else call, dtype=index or dtype, name=name)
            call, index, shape, dtype = t.call, 0, t.shape, t.dtype
        self.call, self.index, self.shape, self.dtype = call, index, shape, dtype

    @property
    def name(self):
        """The name."""
        return self.call.name or (self.call.layer.name if self.call.layer else "constant")

    @property
    def ndim(self):
        """The number of axes."""
        return len(self.shape)

    rank = ndim

    @property
    def _keras_mask(self):
        mask = carried_mask(self)
        if mask is None:
            raise AttributeError("'KerasTensor' object has no attribute '_keras_mask'")
        return mask

    def __repr__(self):
        return f"<KerasTensor shape={self.shape}, dtype={self.dtype}, sparse=False, ragged=False, name={self.name}>"

    def __iter__(self):
        if not self.call.is_bound():
            raise NotImplementedError("Iterating over a symbolic KerasTensor is not supported.")
        return (self[i] for i in range(self.shape[0]))

    def __getitem__(self, key):
        return get_item(self, key)

    def __neg__(self):
        return operate("Multiply", self, -1)

    def __abs__(self):
        return of_numpy("abs", (self,), {}) if "int" in self.dtype else operation("Absolute")(self)

    def __invert__(self):
        if "int" in self.dtype and _stands_for_numbers(self):
            return of_numpy("bitwise_not", (self,), {})
        return operation("LogicalNot")(self)

    def __round__(self, ndigits=None):
        factor = 10.0 ** (ndigits or 0)
        return self if "int" in self.dtype else operation("Round")(self * factor) / factor

    def __eq__(self, other):
        """Between the layers of a model, as Keras, whether it is the other; where numbers stand for it, of each."""
        if not _is_value(other):
            return NotImplemented
        return operate("Equal", self, other) if _stands_for_numbers(self) else self is other

    def __ne__(self, other):
        return operate("NotEqual", self, other) if _is_value(other) else NotImplemented

    __add__, __radd__ = _operator("Add"), _operator("Add", True)
    __sub__, __rsub__ = _operator("Subtract"), _operator("Subtract", True)
    __mul__, __rmul__ = _operator("Multiply"), _operator("Multiply", True)
    __truediv__, __rtruediv__ = _operator("Divide"), _operator("Divide", True)
    __pow__, __rpow__ = _operator("Power"), _operator("Power", True)
    __floordiv__, __rfloordiv__ = _operator("FloorDivide"), _operator("FloorDivide", True)
    __mod__, __rmod__ = _operator("Mod"), _operator("Mod", True)
    __matmul__, __rmatmul__ = _operator("MatMul"), _operator("MatMul", True)
    __lt__, __le__, __gt__, __ge__ = (_operator(k) for k in ("Less", "LessEqual", "Greater", "GreaterEqual"))
    __and__, __rand__ = _logical("LogicalAnd"), _logical("LogicalAnd", True)
    __or__, __ror__ = _logical("LogicalOr"), _logical("LogicalOr", True)
    __xor__, __rxor__ = _logical("LogicalXor"), _logical("LogicalXor", True)
    __hash__ = object.__hash__


carried_mask = None  # what finds masks puts in place
of_numpy = None  # what calls of NumPy's put in place


def _stands_for_numbers(t):
    """Is it asked in a call() that is traced, a step or a tape, where TensorFlow has a tensor of its own?"""
    return call_context.owner() is not None or t.call.is_bound()


_BROADCASTS = {"Add", "Subtract", "Multiply", "Maximum", "Minimum"}  # the layers of these names want one batch size
_COMPARING = {"Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual", "LogicalAnd", "LogicalOr"}


def is_number(x):
    return isinstance(x, (int, float)) or (
        hasattr(x, "dtype") and getattr(x, "ndim", 1) == 0 and not is_tensor(x) and type(x).__module__ == "numpy"
    )


def _is_value(x):
    return is_tensor(x) or isinstance(x, (int, float, list, tuple)) or hasattr(x, "__array__")


def operate(kind, a, b):
    """Two values, one of them symbolic, by NumPy's rules."""
    name = unique_name(snake_case(kind))
    made = "Broadcast" + kind if kind in _BROADCASTS else kind
    swapped = is_number(a)
    x, c = (b, a) if swapped else (a, b)
    if (
        is_number(c)
        and is_tensor(x)
        and kind != "MatMul"
        and math.isfinite(c)
        and (x.dtype == "float32" or kind in _COMPARING or (float(c).is_integer() and kind in _BROADCASTS))
    ):
        return operation(made, name=name, **{"x1" if swapped else "x2": float(c)})(x)
    a, b = as_tensor(a, b), as_tensor(b, a)
    if a.dtype != b.dtype and kind not in ("LogicalAnd", "LogicalOr"):
        a, b = promoted([a, b])
    if kind == "MatMul" and a.dtype != "float32":
        a, b = cast_tensor(a, "float32"), cast_tensor(b, "float32")
    made = operation(made, name=name)([a, b])
    whole = kind == "Power" and "int" in a.dtype and made.dtype != a.dtype
    return cast_tensor(operation("Round")(made), a.dtype) if whole else made


_RANKS = ["bool", "uint8", "int32", "int64", "float32"]


def promoted(tensors):
    """All in the widest of their types."""
    widest = max((t.dtype for t in tensors), key=_RANKS.index)
    return [cast_tensor(t, widest) for t in tensors]


_MEET_ONE = {"Attention", "AdditiveAttention", "Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"}


def of_one_batch(layer, inputs):
    """Inputs of a layer that takes a batch of 1 beside another: repeated, where that is known."""
    sizes = [t.shape[0] for t in inputs if len(t.shape)]
    if getattr(layer, "_class_name", None) not in _MEET_ONE or 1 not in sizes or set(sizes) == {1}:
        return inputs
    other = next(t for t in inputs if len(t.shape) and t.shape[0] != 1)
    first = operation("Take", indices=0, axis=1)
    while len(other.shape) > 1:
        other = first(other)
    ones = operate("Equal", cast_tensor(other, "float32"), cast_tensor(other, "float32"))
    ones = cast_tensor(operate("LogicalOr", ones, operation("LogicalNot")(ones)), "float32")  # of NaN too

    def repeated(t):
        if t.shape[0] != 1:
            return t
        each = operation("Reshape", target_shape=[1] * (len(t.shape) - 1))(ones) if len(t.shape) > 1 else ones
        return operate("Multiply", t, each)

    return [repeated(t) if len(t.shape) else t for t in inputs]


def cast_tensor(x, dtype):
    return x if x.dtype == dtype else operation("Cast", to=dtype)(x)


def operation(kind, **config):
    owner = call_context.owner()
    if owner is not None and owner.layer is not None:  # in a call() Keras's operations are not counted
        config.setdefault("name", snake_case(kind))
    layer = create("layer", kind, **call_context.dtype_in_call(kind), **config)
    layer._is_operation = True
    return layer


def is_tensor(x):
    return isinstance(x, KerasTensor)


def as_tensor(x, like=None):
    """x itself, the value of a variable, a list of such stacked, or a constant; a number has the other's type."""
    if is_tensor(x):
        return x
    if isinstance(x, (list, tuple)) and any(map(is_tensor, flatten(x))):
        return operation("Stack", axis=0)(promoted([as_tensor(v) for v in x]))
    if hasattr(x, "_as_tensor"):
        return x._as_tensor()
    step = call_context.step()
    if step is not None and step.binds and hasattr(x, "__array__"):
        return step.symbol(x)
    dtype = None
    if isinstance(x, (bool, int, float)):
        dtype = "bool" if isinstance(x, bool) else getattr(like, "dtype", "float32")
        if isinstance(x, float) or dtype not in _RANKS:
            dtype = "float32"
    return Call(None, value=core.Tensor.of(x, dtype)).infer_outputs()[0]


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
    if sparse or ragged:
        raise NotImplementedError("sparse and ragged inputs are not in this version of the library")
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
    if standardize(dtype).startswith("float8"):
        raise NotImplementedError(f"Input: float8 is not in this version, got dtype={standardize(dtype)!r}")
    call = Call(None, name=name or unique_name("input_layer"))
    call.optional = bool(optional)
    sizes = tuple(None if d is None else int(d) for d in batch_shape)
    call.outputs = [KerasTensor(call, 0, sizes, standardize(dtype))]
    return call.outputs[0]


def get_item(x, key):
    """x[key]: numbers, slices, None and ... by NumPy's rules."""
    if not is_tensor(x):
        return x[key]
    with call_context.one_operation():
        return _item(x, key)


def _item(x, key):
    keys = list(key) if isinstance(key, tuple) else [key]
    if Ellipsis not in [k for k in keys if k is Ellipsis]:
        keys.append(Ellipsis)
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if given > len(x.shape):
        raise IndexError(f"too many indices: {given} for a tensor of {len(x.shape)} axes")
    keys[at : at + 1] = [slice(None)] * (len(x.shape) - given)
    axis = 0
    for k in keys:
        if k is None:
            x = operation("ExpandDims", axis=axis)(x)
            axis += 1
        elif hasattr(k, "__index__") and not is_tensor(k):
            k = k.__index__()
            if k < 0 and x.shape[axis] is None:
                x, k = _flipped(x, axis), -1 - k
            x = operation("Take", indices=k, axis=axis)(x)
        elif isinstance(k, slice):
            x = _sliced(x, k, axis)
            axis += 1
        elif isinstance(k, (list, tuple)):
            x = operation("Take", indices=[int(i) for i in k], axis=axis)(x)
            axis += 1
        elif is_tensor(k) and not k.shape and "int" in k.dtype:
            x = operation("Take", axis=axis)([x, k])
        else:
            raise NotImplementedError(f"a tensor's index: expected numbers, slices, None or ..., got {k!r}")
    return x


def _sliced(x, k, axis):
    size, step = x.shape[axis], 1 if k.step is None else int(k.step)
    if k == slice(None):
        return x
    if size is not None:
        places = range(size)[k]
        if step == 1 and places:
            return _block(x, axis, places[0], len(places))
        return operation("Take", indices=list(places), axis=axis)(x)
    if step == -1 and k.start is None and k.stop is None:
        return operation("Flip", axis=axis)(x)
    if step != 1:
        raise NotImplementedError("slices of a free axis do not support a step")
    start, stop = k.start or 0, k.stop
    if start < 0:
        if stop is not None:
            raise NotImplementedError("a slice that starts from the end of a free axis does not support a stop")
        return _flipped(_block(_flipped(x, axis), axis, 0, -start), axis)
    if stop is not None and stop < 0:
        x = _flipped(_block(_flipped(x, axis), axis, -stop, -1), axis)
        stop = None
    return _block(x, axis, start, -1 if stop is None else stop - start) if start or stop is not None else x


def _flipped(x, axis):
    return operation("Flip", axis=axis)(x)


def _block(x, axis, start, size):
    n = len(x.shape)
    return operation(
        "Slice",
        start_indices=[start if i == axis else 0 for i in range(n)],
        shape=[size if i == axis else -1 for i in range(n)],
    )(x)
