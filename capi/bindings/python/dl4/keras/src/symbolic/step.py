"""What a traced step does beside giving values: gradients, assignments of weights and updates of optimizers."""

import functools

from .... import core
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor, is_array
from ..tree import flatten, map_nest, pack_like
from .execution import activity_penalties, key_of, structure_of
from .function import between
from .host import Ahead, with_hosts
from .step_model import needed_calls, StepModel
from .tensor import as_tensor, Call, Input, is_tensor, operate, operation


class _WeightLayer:
    """What stands for a layer in the call that reads a weight."""

    _class_name, _graph, _is_operation, _calls = "GetWeight", None, True, ()
    trainable, built, weights, _variables = False, True, (), ()

    def __init__(self, name):
        self.name, self._config = name, {}

    def _is_custom(self):
        return False

    def _attach(self, core):
        pass

    def _flatten_layers(self, include_self=True, recursive=True):
        return []


class WeightCall(Call):
    """A weight as a value: what it holds where the call stands among those that assign it."""

    __slots__ = ("weight",)

    def __init__(self, weight):
        super().__init__(_WeightLayer(weight.path))
        self.weight = weight

    def again(self, now, plain=None):
        return WeightCall(self.weight).infer_outputs()

    def put(self, graph):
        if graph in self.nodes:
            return
        owner = self.weight._layer
        if owner._first_native_call is None:
            owner._home()
        for call in owner._first_native_call.needed():
            call.put(graph)
        config = {"weight": f"{owner._names_in_graphs[graph]}/{self.weight._name}"}
        self.nodes[graph] = graph.call(graph.layer("GetWeight", graph.free_name("get_weight"), config), [])


def read(weight):
    """A weight's value now."""
    return WeightCall(weight).infer_outputs()[0]


class Step:
    """A trace in which weights may be assigned."""

    binds = False  # are arrays inputs, whose values are there?

    def __init__(self, record):
        self.record = record
        self.assigned = {}  # what weights hold now, by id
        self.effects = []  # values whose computation assigns weights
        self.events = []  # (metric, its class's function, arguments) in order: an override has been called
        self.fed = []  # (symbol, function of its value in each run)
        self.rates = {}  # symbols of learning rates, by optimizer and by updates before in this step
        self.applied = {}  # how many updates there are so far, by optimizer
        self.started = {}  # symbols of the number of updates before the step, by optimizer in Python
        self.counts = {}  # and behind it, by optimizer
        self._penalized = []
        self.constrained = {}  # weights with a constraint in Python, by id
        self.held = {}  # variables that the library has not and that are assigned, by id

    def value(self, weight):
        if id(weight) not in self.assigned:
            known = weight._layer is not None
            now = read(weight) if known else self.feed("held", weight.numpy, weight.dtype, weight.shape)
            self.assigned[id(weight)] = weight, now
        return self.assigned[id(weight)][1]

    def assign(self, weight, value, how):
        value, dtype = as_tensor(value), "float32" if weight._layer is not None else weight.dtype
        if value.dtype != dtype:
            value = operation("Cast", to=dtype)(value)
        if tuple(value.shape) != tuple(weight.shape):
            import numpy

            value = operate("Add", value, as_tensor(numpy.zeros(weight.shape, dtype)))
        if tuple(value.shape) != tuple(weight.shape):
            raise ValueError(
                "The shape of the target variable and the shape of the target value in `variable.assign(value)` must "
                f"match. variable.shape={weight.shape}, Received: value.shape={value.shape}. Target variable: "
                f"{weight.path}"
            )
        if weight._layer is None:
            kind = {"assign": None, "assign_add": "Add", "assign_sub": "Subtract"}[how]
            self.assigned[id(weight)] = weight, value if kind is None else operate(kind, self.value(weight), value)
            self.held[id(weight)] = weight
            return
        call = Call(operation("Assign", operation=how), [read(weight), value])
        now = call.infer_outputs()[0]
        self.assigned[id(weight)] = weight, now
        self.effects.append(now)

    def apply(self, optimizer, gradients, weights):
        """One update of an optimizer."""
        self.counts[optimizer] = self.update(
            optimizer._update_layer(weights), gradients, weights, self.rate_of(optimizer)
        )
        self.applied[optimizer] = self.applied.get(optimizer, 0) + 1
        for w in weights:
            if w._constrained_in_python():
                self.constrained[id(w)] = w

    def feed(self, name, value, dtype="float32", shape=()):
        """The symbol of what value() tells in each run."""
        symbol = Input(batch_shape=shape, name=name, dtype=dtype)
        self.fed.append((symbol, value))
        return symbol

    def rate_of(self, optimizer):
        before = self.applied.get(optimizer, 0)
        if (optimizer, before) not in self.rates:
            self.rates[optimizer, before] = self.feed("learning_rate", lambda: optimizer._rate_now(before))
        return self.rates[optimizer, before]

    def update(self, layer, gradients, weights, rate):
        """Weights that an optimizer's layer updates; gives the number of its updates."""
        call = Call(layer, [*(read(w) for w in weights), *gradients], {}, {"learning_rate": [rate]})
        count = call.infer_outputs()[0]
        self.effects.append(count)
        for w in weights:
            self.assigned.pop(id(w), None)
        return count

    def called(self, layer, outputs):
        """Is told of calls of the library's layers."""
        if layer._config.get("activity_regularizer") is not None or layer._class_name == "ActivityRegularization":
            self._penalized.append((layer, outputs))

    def losses(self):
        """What add_loss() gave, and penalties on what layers gave."""
        penalties = [p for layer, outputs in self._penalized for p in activity_penalties(layer, outputs)]
        return [*self.record.losses, *penalties]


class CompiledStep:
    """A function of arrays that is traced once for each signature, and then run by the library."""

    def __init__(self, function):
        self.function, self.kept, self._forms = function, {}, global_state.forms()

    def __call__(self, *args, **kwargs):
        return self.trace(args, kwargs)()

    def trace(self, args, kwargs):
        """What runs it on these arguments."""
        if self._forms != global_state.forms():
            self.kept, self._forms = {}, global_state.forms()
        leaves = flatten([list(args), kwargs])
        tensors = {i: as_data(x) for i, x in enumerate(leaves) if _is_data(x)}
        key = (
            tuple((t.shape, t.dtype) if (t := tensors.get(i)) is not None else key_of(x) for i, x in enumerate(leaves)),
            structure_of([list(args), kwargs]),
            call_context.training(),
        )
        trace = self.kept.get(key)
        if trace is None:
            trace = self.kept[key] = _Trace(self.function, args, kwargs, leaves, tensors)
        return functools.partial(trace.run, [*tensors.values()])


class _Trace:
    def __init__(self, function, args, kwargs, leaves, tensors):
        symbols, inputs = list(leaves), []
        for i, t in tensors.items():
            symbols[i] = Input(batch_shape=t.shape, dtype=t.dtype)
            inputs.append(symbols[i])
        inside, named = pack_like([list(args), kwargs], symbols)
        with call_context.traced(None) as record:
            record.step = step = Step(record)
            nest = function(*inside, **named)
            self.nest = map_nest(lambda x: step.value(x) if hasattr(x, "_as_tensor") else x, nest)
        self.fed, self.counts, self.events = step.fed, step.counts, step.events
        self.constrained = list(step.constrained.values())
        self.held = [step.assigned[key] for key in step.held]
        behind = [e[2:] for e in self.events], [now for _, now in self.held]
        wanted = [t for t in flatten([self.nest, *behind]) if is_tensor(t)]
        self.outputs = list(dict.fromkeys([*self.counts.values(), *wanted]))
        if self.outputs or step.effects:
            inputs += [symbol for symbol, _ in self.fed]
            known = {t.call for t in inputs}
            calls = needed_calls([*self.outputs, *step.effects], known)
            self.from_hosts = [t for c in calls if c.host is not None and c not in known for t in c.outputs]
            self.ahead = Ahead(with_hosts(calls, inputs), inputs, between) if self.from_hosts else None
            self.model = StepModel([*inputs, *self.from_hosts], self.outputs, step.effects)
        else:
            self.model = None
        for optimizer in self.counts:
            optimizer._traced()

    def run(self, tensors):
        import numpy

        from_here = {}
        if self.model is not None:
            fed = [as_data(numpy.asarray(value(), symbol.dtype)) for symbol, value in self.fed]
            tensors = [*tensors, *fed]
            if self.ahead is not None:
                now = self.ahead.values([eager_tensor(t.numpy()) for t in tensors])
                tensors += [as_data(now[t]) for t in self.from_hosts]
            got = self.model.run(tensors)
            from_here = {t: eager_tensor(v.numpy()) for t, v in zip(self.outputs, got)}
            for optimizer, count in self.counts.items():
                optimizer._updated(int(from_here[count]))
        for variable, now in self.held:
            variable._hold(from_here[now])
        if self.held:
            global_state.changed()
        for weight in self.constrained:
            weight._constrain()

        def value(x):
            return from_here[x] if is_tensor(x) else x

        for metric, method, *given in self.events:
            method(metric, *map_nest(value, given))
        return map_nest(value, self.nest)


def _is_data(x):
    return is_array(x) and not hasattr(x, "_as_tensor")


def as_data(x, copy=False):
    """An array as the library's, of a type that it computes with."""
    x = getattr(x, "value", x)
    t = core.Tensor.of(x.copy() if copy and hasattr(x, "copy") else x)
    return core.Tensor.of(t.numpy(), "float32") if t.dtype in ("float64", "float16") else t


def gradients(targets, sources, output_gradients=None):
    """Of the sum of targets, symbolic, by symbolic tensors."""
    layer = operation("Gradients", targets=len(targets), sum=True)
    given = {} if output_gradients is None else {"output_gradients": list(output_gradients)}
    return Call(layer, [*targets, *sources], {}, given).infer_outputs()
