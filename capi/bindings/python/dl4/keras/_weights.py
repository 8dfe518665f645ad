"""The weights that a layer of the library's has, and those of its user's beside them."""

from weakref import WeakKeyDictionary

from .. import core
from ..abi import Busy
from . import _kinds, _state
from ._variables import Weight


def _says_of(weight):
    """What attributes call a weight: `recurrent` too is recurrent_kernel."""
    name = weight.rsplit("/", 1)[-1]
    return [name, name[: -len("_kernel")]] if name.endswith("_kernel") else [name]


class HasWeights:
    """What a layer says of its weights."""

    def live_in(self, core_model):
        """Its weights are to be found in this model."""
        if self._core is not None:
            return
        self._core, self._facts = core_model, None
        for key, f in self._python.items():
            if not key.endswith("_initializer"):
                continue
            name = key[: -len("_initializer")]
            for w, shape in self._weights_of(name):
                core_model.set_weight(f"{self._home_name}/{w}", self._first_values(f, name, shape))

    def _weights_of(self, name):
        """Those of which an attribute of that name says something, with their shapes."""
        found = [(w, shape) for w, (shape, _) in self.weight_facts().items() if name in _says_of(w)]
        if not found and name not in ("bias", "gamma", "beta"):
            raise NotImplementedError(f"{self.name}: {name} in Python is not in this version for {self.class_name}")
        return found

    def _first_values(self, function, name, shape):
        """What an initializer of Python's gives; the gate that forgets begins at 1 where Keras's does."""
        import numpy
        from ._traced import initial

        if name != "bias" or "LSTM" not in self.class_name or not self.unit_forget_bias:
            return initial(function, shape)
        n = shape[0] // 4
        parts = initial(function, (n,)), numpy.ones(n, "float32"), initial(function, (2 * n,))
        return numpy.concatenate(parts)

    def home(self):
        """The library's model that has its weights, and its name there."""
        if self._core is None:
            from ._functional import Functional
            from .layers import Layer

            if self._first_emitted is None and self._shapes is not None:
                Layer.build(self, *self._shapes)
            if not self._calls and self.class_name == "Weight":
                Functional([], self._symbolic())
            elif self._first_emitted is not None:
                outputs = self._first_emitted.outputs
                Functional(
                    [c.outputs[0] for c in outputs[0].call.needed() if c.layer is None and c.value is None], outputs
                )
            else:
                raise ValueError(f"layer {self.name} has no weights before it is called or built")
        return self._core, self._home_name

    def weight_facts(self):
        """Shape and whether it is trained, by name."""
        if self._facts is None:
            core, name = self.home()
            self._facts = {
                n[len(name) + 1 :]: (shape, trained) for n, shape, trained in core.weights() if n.startswith(name + "/")
            }
        return self._facts

    def forget_facts(self):
        self._facts = None

    def _of_weight(self, weight, what):
        """The initializer, regularizer or constraint of one of its weights."""
        for key in (f"{name}_{what}" for name in _says_of(weight)):
            if key in self._python:
                return self._python[key]
            if self._config.get(key) is not None:
                return self._read(key, self._config[key])
        return None

    def _weight(self, name):
        if name not in self._weights:
            self._weights[name] = Weight(self, name)
        return self._weights[name]

    @property
    def trainable(self):
        return self._trainable

    @trainable.setter
    def trainable(self, yes):
        self._trainable = bool(yes)
        for layer in self._inner():
            layer.trainable = yes
        for variable in self._variables:
            variable.trainable = yes
        try:
            self._let_train(yes)
        except Busy:  # in a callback: when this step of the fit is over
            self._waits = True
        self._graphs = WeakKeyDictionary({g: n for g, n in self._graphs.items() if not g.scratch})
        self.forget_facts()

    def _let_train(self, yes):
        """In the library, where it has weights."""
        if self.class_name is not None and self._core is not None:
            self._core.set_trainable(self._home_name, bool(yes))
            self.forget_facts()
            _state.changed()

    def _native_weights(self):
        if not self.built:
            return []
        if not _kinds.facts("layer")[self.class_name]["weights"]:
            return []
        return [self._weight(name) for name in self.weight_facts()]

    @property
    def weights(self):
        own = [v for v in self._variables if v._trainable] + [v for v in self._variables if not v._trainable]
        native = self._native_weights() if self.class_name is not None else []
        found = native + own + [w for layer in self._inner() for w in layer.weights]
        return list({id(w): w for w in found}.values())

    @property
    def variables(self):
        return self.weights

    @property
    def trainable_weights(self):
        return [w for w in self.weights if w.trainable]

    @property
    def non_trainable_weights(self):
        return [w for w in self.weights if not w.trainable]

    trainable_variables, non_trainable_variables = trainable_weights, non_trainable_weights
    metrics_variables = metrics = ()

    def get_weights(self):
        return [w.numpy() for w in self.weights]

    def set_weights(self, weights):
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

    def reset_state(self):
        """What a stateful layer keeps from call to call is zeros again."""
        core_model, name = self.home()
        session = core_model.session()
        if isinstance(session, core.KeptSession):
            session.reset(name + "/")

    reset_states = reset_state

    def count_params(self):
        if not self.built and self.class_name is not None and _kinds.facts("layer")[self.class_name]["weights"]:
            raise ValueError(
                f"You tried to call `count_params` on layer '{self.name}', but the layer isn't built. You "
                "can build it manually via: `layer.build(input_shape)`."
            )
        return sum(w.size for w in self.weights)
