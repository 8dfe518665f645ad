"""Layers, models and functions of symbolic tensors, called on arrays."""

from .. import core
from ..abi import Busy, ShapeMismatch
from . import _state
from ._tensors import KerasTensor, flatten, pack_like, symbolic_like
from ._words import keras_words

_FROM_THE_RIGHT = {"Softmax"}  # whose masks broadcast, the last axis to the last
_KEPT = 32  # traces of one layer, by the shapes and the other arguments


def run(session, tensors, nest):
    """A session on tensors; arrays in the structure of a nest."""
    got = session.run(tensors)
    if isinstance(nest, KerasTensor):
        return eager(got[0].numpy())
    return pack_like(nest, [eager(t.numpy()) for t in got])


def eager(array):
    """An array with what a TensorFlow tensor has beside."""
    return array.view(_class or _eager_class())


_class = None


def _eager_class():
    global _class
    if _class is None:
        import numpy

        class Eager(numpy.ndarray):
            """What a layer gives for arrays: an array of NumPy's, with numpy()."""

            __module__ = "dl4.keras"

            def numpy(self):
                return numpy.asarray(self)

            @property
            def value(self):
                return self

            def __array_wrap__(self, array, context=None, return_scalar=False):
                if array.dtype == numpy.float64:  # of integers, or of a number: there is no wider type than float32
                    array = array.astype("float32")
                return array.view(Eager)  # also of one number, as a tensor is

        _class = Eager
    return _class


def is_array(x):
    return not isinstance(x, KerasTensor) and (
        hasattr(x, "__array__") or hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__")
    )


def with_mask(array, mask):
    """An array of its own that carries a mask, as what a layer gives may."""
    if mask is None:
        return array
    array = array.view(type(array))
    array._keras_mask = mask
    return array


def _key(x):
    try:
        hash(x)
        return type(x), x
    except TypeError:
        return type(x), repr(x)


def computed(layer, args, kwargs, traced=None):
    """A layer of the library's, or a function of symbolic tensors, called on arrays (and lists of numbers). `traced`:
    what gives its symbolic outputs."""
    args, kwargs = _numbers(layer, args, kwargs)
    _need_rows(layer, args, kwargs.get("mask"))
    leaves = flatten([args, kwargs])
    tensors, masks = {}, {}
    for i, x in enumerate(leaves):
        if is_array(x):
            tensors[i] = core.Tensor.of(getattr(x, "value", x) if hasattr(x, "symbolic") else x)
            if hasattr(layer, "_symbolic") and getattr(x, "_keras_mask", None) is not None:
                masks[i] = core.Tensor.of(x._keras_mask, "bool")
    training, whole = kwargs.get("training"), _stateful(layer)
    training = _state.training() if training is None else training
    key = (
        tuple(
            (tensors[i].shape[not whole :], len(tensors[i].shape), tensors[i].dtype, i in masks)
            if i in tensors
            else _key(x)
            for i, x in enumerate(leaves)
        ),
        tuple(sorted(kwargs)),
        len(args),
        _structure(args),
        bool(training),
    )
    kept = getattr(layer, "_eager", None)
    trace = (kept or {}).get(key)
    if trace is None:
        trace = Trace(traced or getattr(layer, "_symbolic", layer), args, kwargs, leaves, tensors, masks, training, whole)
        if kept is not None:
            if len(kept) >= _KEPT:
                kept.clear()
            kept[key] = trace
    given = [t for i in tensors for t in ((tensors[i], masks[i]) if i in masks else (tensors[i],))]
    outputs, losses = trace.run(given)
    if training:
        move_statistics(trace.functional, given)
    if hasattr(layer, "_last_losses"):
        layer._last_losses = losses + _activity(layer, flatten(outputs))
    return outputs


class Trace:
    """What a layer or a function does with arrays of some shapes, as a model of the library's."""

    def __init__(self, function, args, kwargs, leaves, tensors, masks, training, whole):
        from ._functional import Functional
        from ._own import mask_of
        from ._tensors import layer_of

        symbols, inputs = list(leaves), []
        for i, t in tensors.items():
            symbols[i] = symbolic_like(t, fixed=whole)
            inputs.append(symbols[i])
            if i in masks:
                inputs.append(symbolic_like(masks[i], fixed=whole))
                symbols[i] = layer_of("SetMask")(inputs[-2:])
        inside, named = pack_like([list(args), kwargs], symbols)
        with _state.traced(None, (), {}, training) as record:
            nest = function(*inside, **named)
            carried = [mask_of(t) if hasattr(function, "__self__") else None for t in flatten(nest)]
        self.carried = [m is not None for m in carried]
        outputs = [nest, [m for m in carried if m is not None]]
        self.functional, self.training = Functional(inputs, outputs, record.losses, alone=True), bool(training)
        self.session = self.changes = None
        self.weightless = not self.functional.core.weights()

    def run(self, tensors):
        """Outputs and losses."""
        if self.session is None or self.changes != _state.changes() and not self.weightless:
            extra = self.functional.losses
            model = self.functional.with_outputs(extra) if extra else self.functional.core
            with _state.building:
                self.session = model.session(training=self.training)
            self.changes = _state.changes()
        got = [eager(t.numpy()) for t in self.session.run(tensors)]
        count = len(self.functional.outputs)
        outputs, masks = pack_like(self.functional.nest_out, got[:count])
        if masks:
            rest = iter(masks)
            leaves = [with_mask(x, next(rest) if c else None) for x, c in zip(flatten(outputs), self.carried)]
            outputs = pack_like(outputs, leaves)
        return outputs, [v.reshape(()) for v in got[count:]]


def _need_rows(layer, args, mask):
    """A mask of as many rows as the data, or of one for all, where the layer is the library's own."""
    if not is_array(mask) or getattr(layer, "class_name", None) is None or not args or not is_array(args[0]):
        return
    shape, data = tuple(mask.shape), tuple(args[0].shape)
    if layer.class_name in _FROM_THE_RIGHT and len(shape) < len(data):
        return
    if shape and data and shape[0] not in (1, data[0]):
        with keras_words(layer.class_name, {}, args[:1]):
            raise ShapeMismatch(
                f'layer "{layer.name}": "mask": expected a shape that broadcasts to {data}, got {shape}'
            )


def _activity(layer, outputs):
    """The penalty on the outputs of a layer of the library's own."""
    from . import regularizers

    if layer._is_own():
        return []  # among the losses of its call
    config = getattr(layer, "_config", None) or {}
    if layer.class_name == "ActivityRegularization":
        penalty = regularizers.get({"class_name": "L1L2", "config": {k: config.get(k, 0.0) for k in ("l1", "l2")}})
    else:
        penalty = regularizers.get(config.get("activity_regularizer"))
    return [] if penalty is None else [penalty(y) / max(1, y.shape[0] if y.ndim else 1) for y in outputs]


def _stateful(layer):
    """Does it keep something of each row? Then the batch has one size."""
    config = getattr(layer, "_config", None) or {}
    return bool(config.get("stateful") or any(_stateful(v) for v in config.values() if hasattr(v, "_symbolic")))


def move_statistics(functional, tensors):
    """What training writes without training it, as moving means: by a step that learns nothing."""
    layers = {c.layer for c in functional.calls if c.layer is not None and c.layer.class_name == "BatchNormalization"}
    if not any(layer.trainable and layer.trainable_weights for layer in layers):
        return
    still = {"class_name": "SGD", "config": {"learning_rate": 0.0}}
    outputs = ["output" if t.dtype == "float32" else None for t in functional.outputs]
    options = {"optimizer": still, "loss": outputs, "nan_guard": "off"}
    try:
        trainer = core.Trainer(functional.core, options)
    except Busy:
        from ._training import make_room

        make_room({id(layer) for layer in layers})
        trainer = core.Trainer(functional.core, options)
    trainer.step(tensors, [])
    _state.changed()


def _structure(x):
    if isinstance(x, dict):
        return tuple((k, _structure(v)) for k, v in sorted(x.items(), key=str))
    return tuple(_structure(v) for v in x) if isinstance(x, (list, tuple)) else 0


def _numbers(layer, args, kwargs):
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
    if args and hasattr(layer, "_symbolic"):
        args[0] = array(args[0])
    return args, kwargs
