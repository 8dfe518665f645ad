"""Custom layers called on arrays: their call() runs at once, on numbers, as in Keras."""

import inspect

from .. import overrides, regularizers
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor, is_array, with_mask
from ..tree import flatten, map_nest, pack_like
from .execution import numbers_as_arrays, run_on_arrays
from .masks import for_call
from .tensor import is_tensor


def call_eagerly(layer, args, kwargs):
    """What call() gives for arrays, of which it sees the numbers."""
    args, kwargs = numbers_as_arrays(layer, args, kwargs)
    args, kwargs = [map_nest(_taken, a) for a in args], {k: map_nest(_taken, v) for k, v in kwargs.items()}
    said = kwargs.pop("training", None)
    training = call_context.training() if said is None else said
    training = layer._training_default() if training is None else training
    if not any(r.runs for r in call_context.records()):
        for one in layer._flatten_layers():
            one._last_losses, one._added = [], []
    _build_inner_layers(layer, args, kwargs, training)
    with call_context.running(layer, training) as record:
        layer._build_for(args, kwargs)
        layer._check_spec(args)
        first = args[0] if args else next(iter(kwargs.values()), None)
        masks = kwargs.get("mask")
        masks = map_nest(_mask, first) if masks is None else masks
        parameters = list(inspect.signature(layer.call).parameters.values())
        names = [p.name for p in parameters]
        free = set(names[len(args) :])
        if "training" in free and training is not None:
            kwargs["training"] = training
        kwargs.update(for_call(layer.call, args, kwargs))
        if "mask" in kwargs and "mask" not in names and all(p.kind != p.VAR_KEYWORD for p in parameters):
            kwargs.pop("mask")
        outputs = layer.call(*args, **kwargs)
        outputs = map_nest(_given, outputs)
        if getattr(layer, "activity_regularizer", None) is not None:
            penalty = regularizers.get(layer.activity_regularizer)
            for y in flatten(outputs):
                layer.add_loss(penalty(y) / max(1, y.shape[0] if y.ndim else 1))
    layer._last_losses = record.losses
    if not layer._has_masks() or all(_mask(y) is not None for y in flatten(outputs)):
        return outputs
    found = layer.compute_mask(first, masks)
    leaves = flatten(outputs)
    found = ([] if found is None else flatten(found)) + [None] * len(leaves)
    return pack_like(outputs, [y if _mask(y) is not None else with_mask(y, m) for y, m in zip(leaves, found)])


def _mask(x):
    return getattr(x, "_keras_mask", None)


def _taken(x):
    """An argument as Keras's tensors are: no float64."""
    import numpy

    if not is_array(x) or hasattr(x, "_as_tensor"):
        return x
    array = numpy.asarray(x)
    array = array.astype("float32") if array.dtype.kind == "f" and array.dtype != numpy.float32 else array
    return with_mask(eager_tensor(array), _mask(x))


def _given(x):
    """What call() returned, as an array."""
    import numpy

    if x is None or hasattr(x, "_keras_mask"):
        return x
    if is_tensor(x):
        raise ValueError(f"call() was given arrays: expected arrays, got {x!r}")
    return _taken(eager_tensor(numpy.asarray(getattr(x, "value", x))))


def _build_inner_layers(layer, args, kwargs, training):
    """As Keras: a layer whose layers are not built is called with symbolic tensors first, which builds them; where it
    can't be, the call on numbers builds them."""
    if layer.__dict__.get("_built_inner_layers") or layer.built and not global_state.draws_in_call_order():
        return
    layer.__dict__["_built_inner_layers"] = True
    inner = layer._flatten_layers(include_self=False)
    if (
        overrides.is_overridden(layer, "build")
        or all(one.built for one in inner)
        and not global_state.draws_in_call_order()
    ):
        return
    try:
        layer._trace_on_symbols(args, kwargs, training)
    except Exception:  # noqa: BLE001 whatever it is, the call on numbers says it
        pass


class NativeCalls:
    """Calls of the library's layers between custom layers."""

    def __init__(self):
        self.calls, self.inputs, self.outputs, self._traces = [], [], [], {}

    def reads(self):
        made = {t for c in self.calls for t in c.outputs}
        return [t for t in dict.fromkeys(t for c in self.calls for t in c.sources()) if t not in made]

    def gives(self):
        return [t for c in self.calls for t in c.outputs]

    def _call_symbolic(self, *tensors, told):
        now, said = dict(zip(self.inputs, tensors)), call_context.training()
        for call in self.calls:
            if call.layer is None:
                now[call.outputs[0]] = call.outputs[0]
            else:
                said = said if told else call.plain.get("training", said)
                plain = {} if said is None else {"training": bool(said)}
                now.update(zip(call.outputs, call.again(now, plain)))
        return [now[t] for t in self.outputs]

    def run(self, now, told):
        outputs = run_on_arrays(self, [now[t] for t in self.inputs], {"told": told})
        now.update(zip(self.outputs, outputs))
        said = [c.plain["training"] for c in self.calls if "training" in c.plain]
        if said and not told:
            call_context.say(said[-1])


class CustomCall:
    """A call of a custom layer, or of a model."""

    def __init__(self, record):
        self.record = record

    def reads(self):
        return [t for t in flatten([list(self.record.args), self.record.kwargs]) if is_tensor(t)]

    def gives(self):
        return flatten(self.record.outputs)

    def run(self, now, told):
        args, kwargs = map_nest(
            lambda x: now[x] if is_tensor(x) else x, [list(self.record.args), dict(self.record.kwargs)]
        )
        if told and "training" in kwargs:
            kwargs["training"] = call_context.training()
        outputs = self.record.layer(*args, **kwargs)
        now.update(zip(flatten(self.record.outputs), flatten(outputs)))


class LayerCall:
    """A call of a layer of the library's that is Python's on arrays."""

    def __init__(self, call):
        self.call = call

    def reads(self):
        return self.call.inputs

    def run(self, now, told):
        said = {} if told else self.call.plain
        now[self.call.outputs[0]] = self.call.layer(now[self.call.inputs[0]], **said)


def steps_of(functional):
    """The calls of a model, those of the library's layers together."""
    steps, done = [], set()
    for call in functional.calls:
        if call.layer is None and call.value is None:
            continue
        record = call.owner if call.value is None else None  # a constant is that of all calls of a layer
        if record is not None and record.layer is not None and record.outputs is not None:
            if id(record) not in done:
                done.add(id(record))
                steps.append(CustomCall(record))
            continue
        if getattr(call.layer, "_changes_images", False):
            steps.append(LayerCall(call))
            continue
        if not steps or not isinstance(steps[-1], NativeCalls):
            steps.append(NativeCalls())
        steps[-1].calls.append(call)
    wanted = set(functional.outputs)
    for step in reversed(steps):
        if isinstance(step, NativeCalls):
            step.inputs, step.outputs = step.reads(), [t for t in step.gives() if t in wanted]
        wanted.update(step.reads())
    return [s for s in steps if not isinstance(s, NativeCalls) or s.outputs]


def run_eagerly(functional, arrays, training, inputs=()):
    """The outputs of a model for arrays: of its layers that are one's own call() runs on them. `inputs`: what texts and
    images were before the layers ahead of the library's part."""
    if functional.steps is None:
        functional.steps = steps_of(functional)
    now = {**dict(zip(functional.inputs, inputs)), **dict(zip(functional.fed, arrays))}
    with call_context.running(None, training):
        for step in functional.steps:
            step.run(now, training is not None)
    return map_nest(lambda t: now[t], functional.nest_out)
