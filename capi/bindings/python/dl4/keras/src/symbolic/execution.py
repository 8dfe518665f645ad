"""Layers, models and functions of symbolic tensors, called on arrays."""

import weakref

from .... import core
from ....abi import ShapeMismatch
from ....core import Tensor
from .. import registry
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor, is_array, with_mask
from ..errors import keras_errors
from ..tree import flatten, map_nest, pack_like
from .function import Function
from .masks import mask_of
from .step_model import is_stateful
from .tensor import Input, is_tensor, KerasTensor, operation

_FROM_THE_RIGHT = {"Softmax"}  # whose masks broadcast, the last axis to the last
_KEPT = 32  # traces of one layer, by the shapes and the other arguments


def run(session, tensors, nest):
    """A session on tensors; arrays in the structure of a nest."""
    got = session.run(tensors)
    if isinstance(nest, KerasTensor):
        return eager_tensor(got[0].numpy())
    return pack_like(nest, [eager_tensor(t.numpy()) for t in got])


def key_of(x):
    """What tells a plain argument of a call from others."""
    try:
        hash(x)
        return type(x), x
    except TypeError:
        return type(x), repr(x)


def run_on_arrays(layer, args, kwargs, traced=None):
    """A layer of the library's, or a function of symbolic tensors, called on arrays (and lists of numbers). `traced`:
    what gives its symbolic outputs."""
    args, kwargs = numbers_as_arrays(layer, args, kwargs)
    _need_rows(layer, args, kwargs.get("mask"))
    leaves = flatten([args, kwargs])
    tensors, masks = {}, {}
    for i, x in enumerate(leaves):
        if is_array(x):
            tensors[i] = core.Tensor.of(getattr(x, "value", x) if hasattr(x, "_as_tensor") else x)
            if hasattr(layer, "_call_symbolic") and getattr(x, "_keras_mask", None) is not None:
                masks[i] = core.Tensor.of(x._keras_mask, "bool")
    training, whole = kwargs.get("training"), is_stateful(layer)
    training = call_context.training() if training is None else training
    key = (
        tuple(
            (tensors[i].shape[not whole :], len(tensors[i].shape), tensors[i].dtype, i in masks)
            if i in tensors
            else key_of(x)
            for i, x in enumerate(leaves)
        ),
        tuple(sorted(kwargs)),
        len(args),
        structure_of(args),
        bool(training),
    )
    kept = getattr(layer, "_traces", None)
    trace = (kept or {}).get(key)
    if trace is None:
        trace = Trace(
            traced or getattr(layer, "_call_symbolic", layer), args, kwargs, leaves, tensors, masks, training, whole
        )
        if kept is not None:
            if len(kept) >= _KEPT:
                kept.clear()
            kept[key] = trace
    given = [t for i in tensors for t in ((tensors[i], masks[i]) if i in masks else (tensors[i],))]
    outputs, losses = trace.run(given)
    if hasattr(layer, "_last_losses"):
        layer._last_losses = losses + activity_penalties(layer, flatten(outputs))
    if len(leaves) == 1 and not (kwargs or masks or training or getattr(layer, "_last_losses", ())):
        x = leaves[0]
        if kept is not None and is_array(x) and hasattr(x, "ndim") and trace.is_plain(x):
            kept["plain", x.shape, x.dtype] = trace
    return outputs


def run_again(layer, x):
    """A layer of the library's on an array like one that it was called on before; None if there was none."""
    trace = layer._traces.get(("plain", x.shape, x.dtype))
    if trace is None or getattr(x, "_keras_mask", None) is not None:
        return None
    if trace.changes != global_state.changes() and not trace.weightless:
        return None
    return eager_tensor(trace.session.through(x)[0])


def symbolic_like(value, name=None, free=1):
    """An input for arrays like this one, of whose axes the first have any size."""
    if getattr(getattr(value, "dtype", None), "kind", None) in ("U", "S", "O"):
        shape, dtype = value.shape, "string"
    else:
        array = Tensor.of(value)
        shape, dtype = array.shape, array.dtype
    return Input(batch_shape=tuple(None if i < free else d for i, d in enumerate(shape)), dtype=dtype, name=name)


class Trace:
    """What a layer or a function does with arrays of some shapes, as a model of the library's."""

    def __init__(self, function, args, kwargs, leaves, tensors, masks, training, whole):
        symbols, inputs = list(leaves), []
        for i, t in tensors.items():
            symbols[i] = symbolic_like(t, free=0 if whole else 1)
            inputs.append(symbols[i])
            if i in masks:
                inputs.append(symbolic_like(masks[i], free=0 if whole else 1))
                symbols[i] = operation("SetMask")(inputs[-2:])
        inside, named = pack_like([list(args), kwargs], symbols)
        with call_context.traced(None, (), {}, training) as record:
            nest = function(*inside, **named)
            carried = [mask_of(t) if hasattr(function, "__self__") else None for t in flatten(nest)]
        self.carried = [m is not None for m in carried]
        outputs = [nest, [m for m in carried if m is not None]]
        self.functional, self.training = Function(inputs, outputs, record.losses, alone=True), bool(training)
        self.session = self.changes = None
        self.weightless = not self.functional.core.weights()

    def is_plain(self, x):
        """Does it give one array for this one, and no more?"""
        one = (
            isinstance(self.functional.nest_out[0], KerasTensor) and not self.functional.losses and not self.carried[0]
        )
        return one and type(self.session) is core.Session and str(x.dtype) == self.functional.inputs[0].dtype

    def _session(self):
        """With the weights of today."""
        if self.session is None or self.changes != global_state.changes() and not self.weightless:
            extra = self.functional.losses
            model = self.functional.with_outputs(extra) if extra else self.functional.core
            with global_state.building:
                self.session = model.session(training=self.training)
            self.changes = global_state.changes()
        return self.session

    def run(self, tensors):
        """Outputs and losses."""
        session = self.functional.as_step(self.training, self.functional.losses)
        if session is None:
            session = self._session()
        got = [eager_tensor(t.numpy()) for t in session.run(tensors)]
        count = len(self.functional.outputs)
        outputs, masks = pack_like(self.functional.nest_out, got[:count])
        if masks:
            rest = iter(masks)
            leaves = [with_mask(x, next(rest) if c else None) for x, c in zip(flatten(outputs), self.carried)]
            outputs = pack_like(outputs, leaves)
        return outputs, [v.reshape(()) for v in got[count:]]


def _need_rows(layer, args, mask):
    """A mask of as many rows as the data, or of one for all, where the layer is the library's own."""
    if not is_array(mask) or getattr(layer, "_class_name", None) is None or not args or not is_array(args[0]):
        return
    shape, data = tuple(mask.shape), tuple(args[0].shape)
    if layer._class_name in _FROM_THE_RIGHT and len(shape) < len(data):
        return
    if shape and data and shape[0] not in (1, data[0]):
        with keras_errors(layer._class_name, {}, args[:1]):
            raise ShapeMismatch(
                f'layer "{layer.name}": "mask": expected a shape that broadcasts to {data}, got {shape}'
            )


def activity_penalties(layer, outputs):
    """The penalty on the outputs of a layer of the library's own."""
    if layer._is_custom():
        return []  # among the losses of its call
    config = getattr(layer, "_config", None) or {}
    if layer._class_name == "ActivityRegularization":
        penalty = registry.get(
            "regularizer", {"class_name": "L1L2", "config": {k: config.get(k, 0.0) for k in ("l1", "l2")}}
        )
    else:
        penalty = registry.get("regularizer", config.get("activity_regularizer"))
    return [] if penalty is None else [penalty(y) / max(1, y.shape[0] if y.ndim else 1) for y in outputs]


def structure_of(x):
    """How a nest is nested."""
    if isinstance(x, dict):
        return tuple((k, structure_of(v)) for k, v in sorted(x.items(), key=str))
    return tuple(structure_of(v) for v in x) if isinstance(x, (list, tuple)) else 0


def numbers_as_arrays(layer, args, kwargs):
    """The first argument as arrays, where it is numbers or lists of them."""
    import numpy

    def array(x):
        if (
            isinstance(x, (list, tuple))
            and x
            and not any(is_array(leaf) for leaf in flatten(x))
            and all(isinstance(leaf, (int, float)) for leaf in flatten(x))
        ):
            a = numpy.asarray(x)
            return a.astype("float32") if a.dtype.kind == "f" else a.astype("int32")
        if isinstance(x, float) or (isinstance(x, int) and not isinstance(x, bool)):
            return numpy.asarray(x, "float32" if isinstance(x, float) else "int32")
        return x

    args = list(args)
    if args and hasattr(layer, "_call_symbolic"):
        args[0] = array(args[0])
    return args, kwargs


trained = weakref.WeakSet()  # models that have a trainer


def suspend_trainers(layers, but=None):
    """Models that train these layers, by their ids, give their trainers up, and go on from their state later."""
    for other in list(trained):
        if (
            other is not but
            and other._trainer is not None
            and any(id(c.layer) in layers for c in other._require_built().calls)
        ):
            other._suspend()


def masks_through(layer, inputs, masks):
    """The masks that a layer's outputs carry where its inputs carry these; of arrays, arrays."""
    several = isinstance(inputs, (list, tuple))
    if several and masks is not None and not isinstance(masks, (list, tuple)):
        raise ValueError(f"`mask` should be a list. Received: mask={masks}")
    if isinstance(masks, (list, tuple)):
        if not several:
            raise ValueError(f"`inputs` should be a list. Received: inputs={inputs}")
        if len(masks) != len(inputs):
            raise ValueError(f"The lists `inputs` and `mask` should have the same length. Received: {inputs}, {masks}")
    xs = flatten(inputs)
    ms = [None] * len(xs) if masks is None else flatten(masks)
    if any(m is not None and is_array(m) for m in ms):
        xs = [_zeros_for(x, ms) for x in xs]
    given = list({id(v): v for v in (*xs, *ms) if v is not None and is_array(v)}.values())
    symbols = {id(v): symbolic_like(v) for v in given}
    carrying = [
        symbols.get(id(x), x) if m is None else operation("SetMask")([symbols.get(id(v), v) for v in (x, m)])
        for x, m in zip(xs, ms)
    ]
    found = map_nest(mask_of, layer._call_native(carrying if several else carrying[0]))
    if not given or all(m is None for m in flatten(found)):
        return found
    functional = Function([symbols[id(v)] for v in given], found, alone=True)
    return run(functional.core.session(), [Tensor.of(v) for v in given], found)


def _zeros_for(x, masks):
    """An array in a symbolic tensor's place, where masks are arrays: what it holds does not matter to them."""
    import numpy

    if not is_tensor(x):
        return x
    known = next(numpy.shape(m) for m in masks if m is not None)
    sizes = [*known, *[1] * len(x.shape)]
    return numpy.zeros([sizes[i] if d is None else d for i, d in enumerate(x.shape)], x.dtype)
