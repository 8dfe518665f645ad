"""Layers, models and functions of symbolic tensors, called on arrays."""

from .. import core
from ..abi import ShapeMismatch
from . import _state
from ._tensors import KerasTensor, flatten, pack_like, symbolic_like
from ._words import keras_words

_FROM_THE_RIGHT = {"Softmax"}  # whose masks broadcast, the last axis to the last
_KEPT = 16  # traces of one layer, by the shapes and the other arguments


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
                return array.view(Eager)  # also of one number, as a tensor is

        _class = Eager
    return _class


def is_array(x):
    return not isinstance(x, KerasTensor) and (
        hasattr(x, "__array__") or hasattr(x, "__array_interface__") or hasattr(x, "__dlpack__")
    )


def _key(x):
    try:
        hash(x)
        return x
    except TypeError:
        return repr(x)


def computed(layer, args, kwargs):
    """A layer, or a function of symbolic tensors, called on arrays (and lists of numbers)."""
    args, kwargs = _numbers(layer, args, kwargs)
    _need_rows(layer, args, kwargs.get("mask"))
    leaves = flatten([args, kwargs])
    tensors = {
        i: core.Tensor.of(getattr(x, "value", x) if hasattr(x, "symbolic") else x)
        for i, x in enumerate(leaves)
        if is_array(x)
    }
    training, whole = kwargs.get("training"), _stateful(layer)
    key = (
        tuple(
            (tensors[i].shape[not whole :], len(tensors[i].shape), tensors[i].dtype) if i in tensors else _key(x)
            for i, x in enumerate(leaves)
        ),
        tuple(sorted(kwargs)),
        len(args),
        _structure(args),
    )
    kept = getattr(layer, "_eager", None)
    functional, sessions = (kept or {}).get(key, (None, None))
    if functional is None:
        functional, sessions = _trace(layer, args, kwargs, leaves, tensors, training), {}
        if kept is not None:
            if len(kept) >= _KEPT:
                kept.clear()
            kept[key] = functional, sessions
    session = sessions.get("session")
    if session is None or sessions["changes"] != _state.changes():
        extra = functional.losses
        model = functional.with_outputs(extra) if extra else functional.core
        with _state.building:
            session = sessions["session"] = model.session(training=bool(training))
        sessions["changes"] = _state.changes()
    got = [eager(t.numpy()) for t in session.run(list(tensors.values()))]
    if training:
        _move_statistics(functional, list(tensors.values()))
    count = len(functional.outputs)
    if hasattr(layer, "_last_losses"):
        layer._last_losses = [v.reshape(()) for v in got[count:]] + _activity(layer, got[:count])
    return pack_like(functional.nest_out, got[:count])


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


def _move_statistics(functional, tensors):
    """What training writes without training it, as moving means: by a step that learns nothing."""
    layers = {c.layer for c in functional.calls if c.layer is not None and c.layer.class_name == "BatchNormalization"}
    if not any(layer.trainable and layer.trainable_weights for layer in layers):
        return
    still = {"class_name": "SGD", "config": {"learning_rate": 0.0}}
    outputs = ["output" if t.dtype == "float32" else None for t in functional.outputs]
    core.Trainer(functional.core, {"optimizer": still, "loss": outputs, "nan_guard": "off"}).step(tensors, [])
    _state.changed()


def _structure(x):
    if isinstance(x, dict):
        return tuple((k, _structure(v)) for k, v in sorted(x.items(), key=str))
    return tuple(_structure(v) for v in x) if isinstance(x, (list, tuple)) else 0


def _trace(layer, args, kwargs, leaves, tensors, training):
    from ._functional import Functional

    symbols = list(leaves)
    for i, t in tensors.items():
        symbols[i] = symbolic_like(t, fixed=_stateful(layer))
    inside, named = pack_like([list(args), kwargs], symbols)
    with _state.traced(None, (), {}, training) as record:
        nest = layer._symbolic(*inside, **named) if hasattr(layer, "_symbolic") else layer(*inside, **named)
    return Functional([symbols[i] for i in tensors], nest, record.losses, alone=True)


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
