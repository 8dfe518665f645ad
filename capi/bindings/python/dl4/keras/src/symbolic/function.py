"""The graph of calls between symbolic tensors, and the library's model of it."""

from .... import core
from .. import overrides
from ..backend import call_context, global_state
from ..backend.config import in_graph
from ..backend.eager_tensor import eager_tensor
from ..layers.input_layer import InputLayer
from ..tree import flatten, map_nest, pack_like, paths_in
from ..utils.naming import unique_name
from .host import Ahead, with_hosts
from .masks import carries_mask
from .step_model import moves_weights, StepModel
from .tensor import Call, Input, is_tensor


class Function:
    """Inputs and outputs as they were given, and the library's model of what is between them."""

    absent = frozenset()  # of the optional inputs those that are None in it

    def __init__(self, inputs, outputs, losses=None, alone=False):
        """`alone`: in a graph of its own, whatever the layers stand in. `losses`: what is minimised beside."""
        self.complete, self._without = self, {}
        if any(is_tensor(t) and t.call.layer is not None for t in flatten(inputs)):
            inputs, outputs = from_the_middle(inputs, outputs)
        self.nest_in, self.nest_out, self.nothing, self.steps = inputs, outputs, None, None
        self.inputs, self.outputs = flatten(inputs), flatten(outputs)
        for word, tensors in (("inputs", self.inputs), ("outputs", self.outputs)):
            for t in tensors:
                if not is_tensor(t):
                    raise ValueError(f"All `{word}` values must be KerasTensors. Received: {t!r} of type {type(t)}")
        self.calls = self._needed()
        self.records = list({id(c.owner): c.owner for c in self.calls if c.owner is not None}.values())
        self.assigned = next((r.assigned for r in self.records if r.assigned is not None), None)
        self.constants = [c for c in self.calls if c.variable is not None]
        self._own = self._masked = self._branches = self._says = None
        self._moves, self._steps = {}, {}
        self.losses = self._losses(losses, alone)
        self.all_calls, self.ahead, self.fed = self.calls, None, self.inputs
        given = {t.call for t in self.inputs}
        if any(c.host is not None and c not in given for c in self.calls):
            self._take_hosts(given)
        self._place(alone)
        one = is_tensor(inputs) and is_tensor(outputs) and self.ahead is None
        self.plain = len(inputs.shape) if one else 0  # the rank of the only input, where there is one output too
        self.adds_losses, self.added_losses = bool(self.losses or self.penalized_calls()), None

    def _place(self, alone):
        """Puts its calls into a graph, and builds the library's model."""
        with global_state.building:
            layers = [c.layer for c in self.calls if c.layer is not None]
            homes = {layer._graph for layer in layers if layer._graph is not None}
            self._graph = homes.pop() if len(homes) == 1 and not alone else global_state.new_graph()
            self._forms, self._seen = {layer: getattr(layer, "_form", 0) for layer in layers}, global_state.forms()
            for call in self._placed():
                call.put(self._graph)
            self._core = self._graph.build(self._nodes(self.fed), self._nodes(self.outputs))
            for layer in layers:
                layer._attach(self._core)

    def _keep_up(self):
        """Where a layer has other weights than it had, as quantize() makes them, all is placed in another graph, which
        the layers of the one before move to."""
        if self._seen == global_state.forms():
            return
        self._seen, before = global_state.forms(), self._graph
        if all(getattr(layer, "_form", 0) == form for layer, form in self._forms.items()):
            return
        self._place(alone=True)
        for layer in self._forms:
            if layer._graph is before:
                layer._move(self._graph, self._core)

    @property
    def core(self):
        """The library's model."""
        self._keep_up()
        return self._core

    @property
    def graph(self):
        self._keep_up()
        return self._graph

    def _take_hosts(self, given):
        """Of calls that Python makes: what it computes them from, and the inputs that are left to the library."""
        self.all_calls = with_hosts(self.calls, self.inputs)
        self.ahead = Ahead(self.all_calls, self.inputs, between)
        numbers = [t for t in self.inputs if t.dtype != "string"]
        self.fed = numbers + [c.outputs[0] for c in self.calls if c.host is not None and c not in given]
        for t in self.outputs:
            if t.dtype == "string":
                raise NotImplementedError(f"{t.name}: outputs that are texts are not supported")

    def fed_arrays(self, arrays):
        """What the library's part takes, of arrays for the inputs."""
        if self.ahead is None:
            return arrays
        now = self.ahead.values(arrays)
        return [now[t] for t in self.fed]

    def is_outdated(self):
        """Are attributes that its call()s read other things now?"""
        return any(reads.changed() for record in self.records for reads in record.reads)

    def penalized_calls(self):
        """The calls of the library's layers that have a penalty on what they give."""
        return [
            c
            for c in self.calls
            if c.layer is not None
            and c.layer._config.get("activity_regularizer") is not None
            and not c.layer._is_custom()
        ]

    def has_custom_calls(self):
        """Is there a call() of its user's in it?"""
        if self._own is None:
            self._own = any(r.layer is not None and r.outputs is not None and _is_custom(r.layer) for r in self.records)
            self._own |= any(_changes_images(c.layer) for c in self.calls)
        return self._own

    def is_masked(self):
        """Does an output carry a mask?"""
        if self._masked is None:
            self._masked = any(t.shape and carries_mask(t) for t in self.outputs)
        return self._masked

    def is_simple(self):
        return not self.has_custom_calls() and not self.is_masked()

    def _nodes(self, tensors):
        return [t.call.nodes[self._graph][t.index] for t in tensors]

    def with_outputs(self, tensors):
        """The library's model with outputs behind its own."""
        with global_state.building:
            graph = self.graph
            for t in tensors:
                for call in t.call.needed():
                    call.put(graph)
            return graph.build(self._nodes(self.fed), self._nodes(self.outputs + list(tensors)))

    def moves_weights(self, training=None):
        """Does a run of it write weights, as moving means?"""
        if bool(training) not in self._moves:
            self._moves[bool(training)] = any(moves_weights(c, training) for c in self.calls)
        return self._moves[bool(training)]

    def as_step(self, training=None, losses=()):
        """A step that gives its outputs, and losses behind them, and writes weights; None where it writes none."""
        if not self.moves_weights(training):
            return None
        frozen = tuple(c.layer.trainable for c in self.calls if c.layer is not None)
        key = bool(training), len(losses), frozen
        if key not in self._steps:
            self._steps[key] = StepModel(self.fed, [*self.outputs, *losses], [], training=training)
        return self._steps[key]

    def _needed(self):
        """Between the outputs and the inputs, in the order in which they were made."""
        ends, found, stack = {t.call for t in self.inputs}, {}, [t.call for t in self.outputs]
        while stack:
            call = stack.pop()
            if call in found:
                continue
            found[call] = None
            if call in ends:
                continue
            if call.host is not None:
                continue
            call.need_numbers()
            if call.layer is None and call.value is None:
                raise ValueError(
                    f"Output with path `{self._path_from(call)}` is not connected to `inputs`: "
                    f'`inputs` not connected to `outputs`: the outputs need the input "{call.name}", which '
                    "is not among the inputs of the model"
                )
            stack.extend(t.call for t in call.sources())
        for end in ends:
            found[end] = None
        return sorted(found, key=lambda c: c.number)

    def _path_from(self, call):
        """Of the first output that needs a call."""
        paths = paths_in(self.nest_out)
        return next(".".join(p) for p, t in zip(paths, self.outputs) if call in t.call.needed())

    def _losses(self, given, alone):
        known = {t.call for t in self.inputs}

        def inside(t):
            return all(c.layer is not None or c.value is not None or c in known or c.host for c in t.call.needed())

        losses = [t for record in self.records for t in record.losses] if given is None else list(given)
        for layer in dict.fromkeys(c.layer for c in self.calls if getattr(c.layer, "_python", None) and not alone):
            losses += layer._python_penalties()
        return [t for t in dict.fromkeys(losses) if inside(t)]

    def _placed(self):
        """Where initial weights go by the order of calls, those that the model leaves out take their part too."""
        if not global_state.draws_in_call_order():
            return [c for c in self.calls if c.layer is not None or c.outputs[0].dtype != "string"]
        return sorted({*self.calls, *layers_beside(self.calls)}, key=lambda c: c.number)

    def layers(self, operations=False):
        """As in Keras by their distance from the outputs, with one for each input, and without operations. Calls that
        make one operation are one step of that distance."""
        depths, order = {}, {}

        def unit(call):  # one of its own, or the outermost call() that made it
            if call.owner is not None and call.owner.layer is not None:
                return call.owner
            return call.whole if call.whole is not None and getattr(call.layer, "_is_operation", False) else call

        def layer_of_unit(u):
            if isinstance(u, call_context.Whole):
                return next(c.layer for c in self.all_calls if c.whole is u) if operations else u
            return u.layer if isinstance(u, call_context.Record) else u.layer or (u.host.layer if u.host else u)

        calls = [c for c in self.all_calls if getattr(c.layer, "_class_name", "") != "Weight"]
        for call in sorted(calls, key=lambda c: -c.number):
            depth = depths.setdefault(unit(call), 0)
            for source in {unit(t.call) for t in call.reads() if not is_owned(t.call)} - {unit(call)}:
                depths[source] = max(depths.get(source, 0), depth + 1)
        for i, call in enumerate(self._visited()):
            key = layer_of_unit(unit(call))
            counts = operations or not getattr(key, "_is_operation", False)
            if call.value is None and counts and unit(call) in depths:
                depth, at = order.get(key, (0, i))
                order[key] = max(depth, depths[unit(call)]), at
        ranked = sorted(order, key=lambda k: (-order[k][0], order[k][1]))
        return [k if not isinstance(k, Call) else InputLayer(input_tensor=k.outputs[0]) for k in ranked]

    def _visited(self):
        """Calls as Keras finds them, from the outputs to what they need."""
        known, order = set(self.all_calls), {}
        for out in self.outputs:
            stack = [out.call]
            while stack:
                call = stack.pop()
                if call in known and call not in order:
                    order[call] = None
                    stack.extend(t.call for t in reversed(call.reads()))
        return [*order, *(c for c in self.all_calls if c not in order)]

    def branches(self):
        """Does a call() in it ask whether it is training, or does it change images then?"""
        if self._branches is None:
            self._branches = any(_changes_images(c.layer) for c in self.calls)
        return self._branches or any(record.branches for record in self.records)

    def says_training(self):
        """Was a layer of it, or a model, called with training=True or False? As in Keras, that counts where nobody says
        whether the model trains: fit(), evaluate() and predict() do. In a call() of one's own it stays."""
        if self._says is None:
            outer = any(
                c.host.says_training() if c.host is not None else "training" in c.plain and _is_told(c)
                for c in self.all_calls
                if not _is_of_own(c)
            )
            self._says = outer or any(record.said for record in self.records)
        return self._says

    def called(self, inputs, training=None, again=False, by_session=False):
        """Its calls once more, on other tensors. `again`: the call()s of custom layers are traced anew. `by_session`:
        whether the library's layers train is left to what runs them."""
        now, done = dict(zip(self.inputs, inputs)), set()
        plain = {"training": None} if by_session else {} if training is None else {"training": bool(training)}
        for call in self.all_calls:
            if call.layer is None:
                if call.value is not None:
                    now[call.outputs[0]] = call.outputs[0]
                if call.host is not None:
                    now[call.outputs[0]] = call.host.on(now, None if _is_of_own(call) else training)
                continue
            if again and _is_of_own(call):
                if id(call.owner) not in done:
                    done.add(id(call.owner))
                    now.update(retraced(call.owner, now, training, by_session))
                continue
            if again and _changes_images(call.layer):
                # What a __call__() of one's own adds are calls of their own.
                now[call.outputs[0]] = overrides.own_class(call.layer).__call__(call.layer, now[call.inputs[0]])
                continue
            made = call.again(now, plain if _is_told(call) else None)
            now.update(zip(call.outputs, made))
            if call_context.step() is not None:
                call_context.step().called(call.layer, made)
        losses = [now[t] for t in self.losses if t in now]
        if losses and call_context.records():
            call_context.records()[-1].losses.extend(losses)
        return pack_like(self.nest_out, [now[t] for t in self.outputs])

    def without(self, absent):
        """The same where None is given for these inputs: a call() that takes one is called with None."""
        if not absent:
            return self
        if absent not in self._without:
            with call_context.traced(None) as record:
                outputs = self.called([None if t in absent else t for t in self.inputs], again=True)
            found = self._without[absent] = Function(self.nest_in, outputs, record.losses)
            found.complete, found.absent = self, absent
        return self._without[absent]

    def in_training(self, training=True):
        """The same model, traced as in training, or as where it is told that it is not."""
        with call_context.traced(None, (), {}, training) as record:
            outputs = self.called(self.inputs, training, again=True, by_session=True)
        return Function(self.nest_in, outputs, record.losses)

    def as_said(self):
        """The same model where nobody says whether it trains: as in Keras, what a call was told holds for those behind
        it that were told nothing."""
        now, done, said = dict(zip(self.inputs, self.inputs)), set(), None
        with call_context.traced(None) as record:
            for call in self.all_calls:
                if call.layer is None:
                    now[call.outputs[0]] = call.outputs[0] if call.host is None else call.host.on(now)
                    said = said if call.host is None else call.host.kwargs.get("training", said)
                elif not _is_of_own(call):
                    told = call.plain.get("training", said) if _is_told(call) else None
                    now.update(zip(call.outputs, call.again(now, {} if told is None else {"training": told})))
                    said = said if told is None else told
                elif id(call.owner) not in done:
                    done.add(id(call.owner))
                    now.update(retraced(call.owner, now, said if call.owner.kwargs.get("training") is None else None))
                    said = said if call.owner.training is None else call.owner.training
        return Function(self.nest_in, pack_like(self.nest_out, [now[t] for t in self.outputs]), record.losses)


def is_owned(call):
    """Does it read a variable of a layer's?"""
    return getattr(call.layer, "_is_owned", False)


def _is_of_own(call):
    """Was it made in a call() of one's own?"""
    return call.owner is not None and call.owner.layer is not None and call.owner.layer._is_custom()


def _is_told(call):
    """Does a model tell it whether it trains? Operations, as keras.random.dropout(), are told by nobody."""
    return call.layer is not None and not getattr(call.layer, "_is_operation", False)


def _changes_images(layer):
    """Is it a layer that changes images in training, in Python?"""
    return getattr(layer, "_changes_images", False)


def between(inputs, outputs):
    """A function of arrays: the library's layers between tensors."""
    function = Function(inputs, outputs, alone=True)
    learned = [name for name, _, trained in function.core.weights() if trained]
    if learned:
        raise NotImplementedError(
            f"{learned[0]}: a text layer or image augmentation layer after trained layers is not "
            "supported"
        )

    def compute(arrays):
        session = function.core.session()
        given = [core.Tensor.of(a, in_graph(t.dtype)) for a, t in zip(arrays, function.inputs)]
        return [eager_tensor(t.numpy()) for t in session.run(given)]

    return compute


def _is_custom(layer):
    """Of the layer of a record, which may be a model."""
    functional = getattr(layer, "_functional", None)
    if functional is None or layer._has_custom_call():
        return layer._is_custom()
    return functional.has_custom_calls()


def input_like(t, batch_shape=None, name=None):
    """Another input of a model, as this one; of another shape, where one is given."""
    shape = t.shape if batch_shape is None else batch_shape
    return Input(batch_shape=shape, dtype=t.dtype, name=name or t.name, optional=t.call.optional)


def from_the_middle(inputs, outputs):
    """Inputs of their own where layers gave them, and the calls behind them once more."""
    given, now, stack, calls = flatten(inputs), {}, [t for t in flatten(outputs) if is_tensor(t)], set()
    for t in given:
        made = t.call.layer is not None
        now[t] = input_like(t, name=unique_name("keras_tensor")) if made else t
    while stack:
        t = stack.pop()
        if t not in now and t.call not in calls:
            calls.add(t.call)
            stack.extend(t.call.sources())
    for call in sorted(calls, key=lambda c: c.number):
        if call.owner is not None and call.owner.layer is not None:
            raise ValueError("expected inputs made by Input(), got what a layer gave")
        made = call.again(now) if call.layer is not None else call.outputs
        now.update({t: m for t, m in zip(call.outputs, made) if t not in now})
    return map_nest(now.get, inputs), map_nest(lambda t: now.get(t, t), outputs)


def retraced(record, now, training, by_session=False):
    """What a recorded call gives on other tensors, by the tensors it gave."""

    def other(x):
        return now.get(x, x) if is_tensor(x) else x

    args, kwargs = map_nest(other, list(record.args)), map_nest(other, dict(record.kwargs))
    functional = getattr(record.layer, "_functional", None)
    if functional is not None and not record.layer._has_custom_call() and kwargs.get("mask") is None:
        functional = functional.complete
        said = kwargs.get("training") if training is None else training
        outputs = functional.called(record.layer._given(args[0]), said, again=True, by_session=by_session)
        return dict(zip(flatten(record.outputs), flatten(outputs)))
    if training is not None:
        kwargs["training"] = training
    outputs = record.layer._trace_call(*args, **kwargs)
    return dict(zip(flatten(record.outputs), flatten(outputs)))


def layers_beside(calls):
    """Calls that read only what these calls give, made before the last of them."""
    known, found, last = set(calls), [], calls[-1].number
    waiting = [c for call in calls for c in call.readers]
    while waiting:
        call = waiting.pop()
        if call not in known and call.number < last and all(t.call in known for t in call.sources()):
            known.add(call)
            found.append(call)
            waiting += call.readers
    return found
