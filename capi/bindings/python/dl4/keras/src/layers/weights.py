"""The weights of a layer."""

from weakref import WeakKeyDictionary

from .... import core
from ....abi import Busy
from .. import registry
from ..backend import global_state
from ..backend.eager_tensor import eager_tensor
from ..quantizers import fitting
from ..symbolic.function import Function
from ..tree import map_nest
from . import cells
from .lora import is_part, kernel_of
from .quantized import in_order
from .variable import replaced, Weight


def _attribute_prefixes(weight):
    """What attributes call a weight: `recurrent` too is recurrent_kernel."""
    name = weight.rsplit("/", 1)[-1]
    return [name, name[: -len("_kernel")]] if name.endswith("_kernel") else [name]


class LayerWeights:
    """What a layer says of its weights."""

    _scaled = None  # of a model that is one layer: its weights, and whether there are scales among them
    _inner_in_files = False  # do its weights stand, in files, in layers within it?

    def _attach(self, core_model):
        """Its weights are to be found in this model."""
        if self._core is not None:
            return
        self._core, self._facts = core_model, None
        self._begin_groups()
        for key, f in self._python.items():
            if not key.endswith("_initializer"):
                continue
            name = key[: -len("_initializer")]
            if self._quantization() is not None and name != "bias":
                continue  # whole numbers begin at 0
            for w, shape in self._weights_of(name):
                core_model.set_weight(f"{self._home_name}/{w}", self._first_values(f, name, shape))

    def _weights_of(self, name):
        """Those of which an attribute of that name says something, with their shapes."""
        found = [(w, shape) for w, (shape, _) in self._weight_facts().items() if name in _attribute_prefixes(w)]
        if not found and name not in ("bias", "gamma", "beta"):
            raise NotImplementedError(f"{self.name}: {self._class_name} does not support a {name} in Python")
        return found

    def _first_values(self, function, name, shape):
        """What an initializer of Python's gives; the gate that forgets begins at 1 where Keras's does."""
        import numpy

        if name != "bias" or "LSTM" not in self._class_name or not self.unit_forget_bias:
            return initial(function, shape)
        n = shape[0] // 4
        parts = initial(function, (n,)), numpy.ones(n, "float32"), initial(function, (2 * n,))
        return numpy.concatenate(parts)

    def _home(self):
        """The library's model that has its weights, and its name there."""
        if self._core is None:
            if self._first_native_call is None and self._shapes is not None:
                self._build_native(*self._shapes)
            if not self._calls and self._class_name == "Weight":
                Function([], self._call_symbolic())
            elif self._first_native_call is not None:
                outputs = self._first_native_call.outputs
                Function(
                    [c.outputs[0] for c in outputs[0].call.needed() if c.layer is None and c.value is None], outputs
                )
            else:
                raise ValueError(f"layer {self.name} has no weights before it is called or built")
        return self._core, self._home_name

    def _weight_facts(self):
        """Shape and whether it is trained, by name."""
        if self._facts is None:
            core, name = self._home()
            self._facts = {
                n[len(name) + 1 :]: (shape, trained) for n, shape, trained in core.weights() if n.startswith(name + "/")
            }
        return self._facts

    def _forget_facts(self):
        self._facts = None

    def _weight_attribute(self, weight, what):
        """The initializer, regularizer or constraint of one of its weights."""
        if what == "regularizer":
            weight = kernel_of(weight)
        for key in (f"{name}_{what}" for name in _attribute_prefixes(weight)):
            if key in self._python:
                return self._python[key]
            if self._config.get(key) is not None:
                return self._read(key, self._config[key])
        return None

    def _weight(self, name):
        if name not in self._weights:
            self._weights[name] = weight = Weight(self, name)
            if self._may_be_whole():
                weight.dtype = self._dtype_of(name)
        return self._weights[name]

    def _may_be_whole(self):
        """Are there whole numbers among its weights? A model that is one layer has those of its layers."""
        if self._class_name != "Functional":
            return self.__dict__.get("_config", {}).get("quantization") is not None
        facts = self._weight_facts()
        if self._scaled is None or self._scaled[0] is not facts:
            self._scaled = facts, any(name.endswith("_scale") for name in facts)
        return self._scaled[1]

    @property
    def trainable(self):
        """Whether training changes the weights; setting it sets all inner layers as well."""
        return self._trainable

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)
        for layer in self._inner_layers():
            layer.trainable = yes
        for variable in self._variables:
            variable.trainable = yes
        try:
            self._set_native_trainable(yes)
        except Busy:  # in a callback: when this step of the fit is over
            self._trainable_pending = True
        self._graphs = WeakKeyDictionary({g: n for g, n in self._graphs.items() if not g.scratch})
        self._forget_facts()

    def _set_native_trainable(self, yes):
        """In the library, where it has weights."""
        if self._class_name is not None and self._core is not None:
            self._core.set_trainable(self._home_name, bool(yes))
            self._forget_facts()
            global_state.changed()

    def _native_weights(self):
        if not self.built:
            return []
        if not registry.facts("layer")[self._class_name]["weights"]:
            return []
        return [self._weight(name) for name in self._weight_facts()]

    @property
    def weights(self):
        """All weights, trainable ones first within each layer."""
        own = [v for v in self._variables if v._trainable] + [v for v in self._variables if not v._trainable]
        native = self._native_weights() if self._class_name is not None else []
        if native and self._may_be_whole():
            native = [self._weight(name) for name in in_order([w._name for w in native])]
        found = native + own + [w for layer in self._inner_layers() for w in layer.weights]
        return list({id(w): w for w in found}.values())

    @property
    def variables(self):
        """All variables: weights, states of generators and of metrics."""
        return self.weights

    @property
    def trainable_weights(self):
        """The variables that training changes."""
        return [w for w in self.weights if w.trainable]

    @property
    def non_trainable_weights(self):
        """The variables that training leaves, such as means of BatchNormalization."""
        return [w for w in self.weights if not w.trainable]

    trainable_variables, non_trainable_variables = trainable_weights, non_trainable_weights

    @property
    def metrics(self):
        """Metrics that are attributes of it, and of the layers in it."""
        own = [v for v in vars(self).values() if getattr(v, "_category", None) == "metric"]
        return own + [m for layer in self._inner_layers() for m in layer.metrics]

    @property
    def metrics_variables(self):
        """The variables of metrics."""
        return [v for metric in self.metrics for v in metric.variables]

    def get_weights(self):
        """The values of all weights, as a list of arrays in the order of `weights`."""
        return [w.numpy() for w in self.weights]

    def set_weights(self, weights):
        """Sets all weights to a list of arrays, in the order of `weights` and of their shapes."""
        mine, values = self.weights, list(weights)
        if len(mine) != len(values):
            raise ValueError(
                f"You called `set_weights(weights)` on layer '{self.name}' with a weight list of length "
                f"{len(values)}, but the layer was expecting {len(mine)} weights."
            )
        for w, value in zip(mine, values):
            if tuple(w.shape) != tuple(getattr(value, "shape", w.shape)):
                raise ValueError(
                    f"Layer {self.name} weight shape {tuple(w.shape)} is not compatible with provided "
                    f"weight shape {tuple(value.shape)}."
                )
        for w, value in zip(mine, values):
            w.assign(value)

    def save_own_variables(self, store):
        """Puts its own variables into a store of arrays by key: those that are trained, then the others."""
        fitting.need_fitted(self, "save_own_variables()")
        merged = self._merged() if self._has_lora() else {}
        for i, v in enumerate(self._own_in_files()):
            store[str(i)] = v._of_bits(merged[v._name]) if v._name in merged else v.numpy()

    def load_own_variables(self, store):
        """Gives its own variables what such a store has."""
        import numpy

        if self._waiting is not None:
            fitting.settle(self)
        mine = self._own_in_files()
        if self._inner_in_files and not mine:
            return  # the layer has been loaded as a whole
        if len(store) != len(mine):
            if not mine and not self.built:
                raise ValueError(
                    f"Layer '{self.name}' was never built and thus it doesn't have any variables. However the weights "
                    f"file lists {len(store)} variables for this layer.\nIn most cases, this error indicates that a "
                    "layer around it did not make its variables in build(), or that build_from_config() has to make "
                    "them."
                )
            raise ValueError(
                f"Layer '{self.name}' expected {len(mine)} variables, but received {len(store)} variables during "
                f"loading. Expected: {[v.name for v in mine]}"
            )
        for i, v in enumerate(mine):
            v.assign(_of_shape(store[str(i)], v))
        for v in self._native_weights() if self._has_lora() else ():
            if is_part(v._name):
                v.assign(numpy.zeros(v.shape, "float32"))
        self._need_numbers()
        self._fitted = True

    def _own_in_files(self):
        numbered = self._class_name not in (None, "Functional") and not self._inner_in_files
        native = [v for v in self._native_weights() if not is_part(v._name)] if numbered else []
        return native + [v for kind in (True, False) for v in self._variables if v._trainable == kind]

    def _values_for(self, trainable_variables, non_trainable_variables):
        """Its variables and values for them, as stateless functions are given both."""
        found = [], []
        for name, values in (
            ("trainable_variables", trainable_variables),
            ("non_trainable_variables", non_trainable_variables),
        ):
            mine, values = getattr(self, name), list(values)
            if len(values) != len(mine):
                raise ValueError(
                    f"Argument `{name}` must be a list of tensors corresponding 1:1 to {type(self).__name__}().{name}. "
                    f"Received list with length {len(values)}, but expected {len(mine)} variables."
                )
            found[0].extend(mine)
            found[1].extend(values)
        return found

    def stateless_call(self, trainable_variables, non_trainable_variables, *args, return_losses=False, **kwargs):
        """What a call would give with these values of its variables, and the values of those that are not trained
        behind it; its own stay."""
        if not self.built:
            raise ValueError(
                f"To call stateless_call, {type(self).__name__} must be built (i.e. its variables must have been "
                "already created). You can build it by calling it on some data."
            )
        with replaced(*self._values_for(trainable_variables, non_trainable_variables)):
            outputs = map_nest(_held, self(*args, **kwargs))
            after = [eager_tensor(v.numpy().copy()) for v in self.non_trainable_variables]
            return (outputs, after, [_held(loss) for loss in self.losses]) if return_losses else (outputs, after)

    def count_params(self):
        """The number of elements of all weights."""
        if not self.built and self._class_name is not None and registry.facts("layer")[self._class_name]["weights"]:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't built. You "
                "can build it manually via: `layer.build(input_shape)`."
            )
        return sum(w.size for w in self.weights)


def _of_shape(array, variable):
    """An array of a file; other shapes are refused, where assign() would spread them."""
    if tuple(array.shape) != tuple(variable.shape):
        raise ValueError(
            "The shape of the target variable and the shape of the target value in `variable.assign(value)` must "
            f"match. variable.shape={tuple(variable.shape)}, Received: value.shape={tuple(array.shape)}. Target "
            f"variable: {variable.path}"
        )
    return array


def _held(x):
    """A number that was computed, where what is computed later may be put off."""
    import numpy

    return eager_tensor(numpy.array(x)) if hasattr(x, "__array__") else x


def initial(function, shape):
    """What a function of a shape gives for a weight."""
    import numpy

    try:
        return numpy.asarray(function(tuple(shape), dtype="float32"), "float32")
    except TypeError:
        return numpy.asarray(function(tuple(shape)), "float32")


def states(layer):
    """What a stateful layer keeps from call to call, as arrays; None of others, and before the first call."""
    if not layer.built:
        return None
    core_model, name = layer._home()
    session = core_model.session()
    names = [n for n, _, kept in getattr(session, "states", ()) if kept and n.startswith(name + "/")]
    found = [eager_tensor(core_model.get_weight(n)) for n in names]
    if not found:
        return None
    rest, cell = iter(found), layer._config.get("cell")
    return found if cell is None else map_nest(lambda _: next(rest), cells.states_of(cell))


def reset_state(layer):
    """Sets to zeros what a stateful layer keeps from call to call."""
    core_model, name = layer._home()
    session = core_model.session()
    if isinstance(session, core.KeptSession):
        session.reset(name + "/")
