"""What a custom layer has: its weights, its losses and the layers in it."""

from .. import ops, overrides, regularizers
from ..backend import attributes, call_context
from ..kind import is_native
from ..registry import facts
from ..symbolic.tensor import is_tensor
from ..tree import flatten
from ..utils.naming import unique_name
from .lora import is_part, kernel_of
from .variable import Variable

_NOT_LAYERS = {
    "_calls",
    "_graphs",
    "_config",
    "_python",
    "_variables",
    "_init_arguments",
    "_traces",
    "_functional",
    "_base",
    "_pending",
    "_tracked_metrics",
    "_loss_means",
    "_session",
    "_owner",
    "_trainer",
    "_compiled",
    "history",
    "optimizer",
    "_training_functional",
    "_inferring_functional",
    "_saying_functional",
}


_REPLACED = {"call", "build", "compute_mask", "compute_output_shape", "compute_output_spec", "add_loss"}


def _by_position(args, **named):
    """The first arguments of add_weight(), given by position or by name."""
    if args and isinstance(args[0], str):
        raise ValueError(
            f"add_weight(): expected a shape as the first argument, got {args[0]!r}: pass `name` as a keyword "
            f"argument, `add_weight(shape=..., name={args[0]!r})`"
        )
    if len(args) > len(named):
        raise TypeError(
            f"add_weight() takes at most {len(named)} positional arguments ({', '.join(named)}), got {len(args)}"
        )
    for name, value in zip(named, args):
        if named[name] is not None:
            raise ValueError(f"add_weight(): `{name}` was passed both positionally and as a keyword argument")
        named[name] = value
    return named.values()


class CustomLayer:
    """Weights, losses and inner layers of a custom layer."""

    def _init_own(self, activity_regularizer):
        self._variables = self.__dict__.get("_variables", [])  # of attributes that were set before
        self._last_losses, self._added = [], []
        if self._class_name is None:
            self.activity_regularizer = activity_regularizer

    def add_weight(
        self,
        *args,
        shape=None,
        initializer=None,
        dtype=None,
        trainable=True,
        autocast=True,
        regularizer=None,
        constraint=None,
        aggregation=None,
        overwrite_with_gradient=False,
        name=None,
    ):
        """A weight of this layer."""
        if overwrite_with_gradient:
            raise NotImplementedError(
                f"{type(self).__name__}.add_weight(): `overwrite_with_gradient` is not in this version of the library"
            )
        self._need_init()
        self._need_open()
        shape, initializer, dtype = _by_position(args, shape=shape, initializer=initializer, dtype=dtype)
        if shape is not None and not isinstance(shape, int):
            shape = tuple(shape)
        variable = Variable(
            (("zeros" if dtype and "int" in str(dtype) else "glorot_uniform") if initializer is None else initializer),
            () if shape is None else shape,
            dtype,
            trainable,
            name=name or unique_name("variable"),
            regularizer=regularizer,
            constraint=constraint,
            owner=self,
        )
        self._variables.append(variable)
        return variable

    add_variable = add_weight

    def add_loss(self, loss):
        """Adds a value, or several, to what training minimises."""
        for value in flatten(loss):
            value = ops.sum(value) if is_tensor(value) and value.shape else value
            record = call_context.records()[-1] if call_context.records() else None
            (self._added if record is None or record.runs is is_tensor(value) else record.losses).append(value)

    def _need_open(self):
        if self.__dict__.get("_closed"):
            raise ValueError(
                f"{type(self).__name__}: You cannot add new elements of state (variables or sub-layers) to a layer "
                "that is already built. All state must be created in the `__init__()` method or in the `build()` "
                "method."
            )

    def _build_at_init(self):
        """It needs no build(), as a constructor may say."""
        self.built = self.built or not overrides.is_overridden(self, "build")

    def _untrack_variable(self, variable):
        """It has that variable no more."""
        self._variables = [v for v in self._variables if v is not variable]

    def _need_init(self):
        if "_last_losses" not in self.__dict__:
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` as the first "
                "statement in the `__init__()` method. Go add it!"
            )

    def __setattr__(self, key, value):
        attributes.written(self, key)
        if isinstance(value, Variable) and value._owner is None and key[0] != "_":
            self._need_open()
            value._owner = self
            self.__dict__.setdefault("_variables", []).append(value)
        if key in _REPLACED and callable(value) and self.__dict__.get("_calls"):
            raise NotImplementedError(
                f"{type(self).__name__}.{key} can't be replaced after layer {self.name} has been called: its recorded "
                "calls would not use it"
            )
        if key == "supports_masking" and "_graphs" in self.__dict__:
            self._need_mask_rule(value)
        if not self._configured(key, value):
            super().__setattr__(key, value)
        if key in _REPLACED and "_graphs" in self.__dict__:
            self._graphs.clear()  # what was tried of the library's layer
            self._replaced()

    def _need_mask_rule(self, passes):
        """Refuses another rule than that of the library's layer, which would not ask."""
        if (
            self._class_name is None
            or self._is_custom()
            or bool(passes) == (facts("layer")[self._class_name]["mask"] != "dropped")
        ):
            return
        raise NotImplementedError(
            f"{type(self).__name__}.supports_masking: what {self._class_name} does with masks can't be changed, "
            f"got {passes}"
        )

    def _configured(self, key, value):
        """Is it an attribute of the library's layer, whose place is the config? It can be set until the first call."""
        if key[0] == "_" or key in ("name", "trainable", "dtype", "call"):
            return False
        if self._class_name is None or "_graphs" not in self.__dict__:
            return False
        if all(a["name"] != key for a in facts("layer")[self._class_name]["attributes"]):
            return False
        now = self._config.get(key, getattr(self, key, None))
        if (
            now is value
            or type(now) is type(value)
            and isinstance(value, (bool, int, float, str, tuple))
            and now == value
        ):
            return True
        if key == "activation" and {getattr(v, "__name__", v) for v in (now, value)} <= {None, "linear"}:
            return True
        if self._calls or self._first_native_call is not None or self._graph is not None:
            if key == "activation" and not self._python and is_native(value) and self._first_native_call is not None:
                weights = {name: self._weight(name).numpy() for name in self._weight_facts()}
                self._become({key: "linear" if value is None else value}, weights)
                return True
            raise NotImplementedError(
                f"{self.name}: {key!r} can't be changed after the layer has been called: make a new "
                "layer"
            )
        self._config[key] = value
        self._take_functions()
        self._graphs.clear()
        return True

    def _replaced(self):
        pass

    def _inner_layers(self):
        """The layers that are attributes of this one, in order."""
        seen = set()
        return [
            layer
            for key, value in vars(self).items()
            if key not in _NOT_LAYERS
            for layer in _layers_in(value, seen)
        ]

    def _flatten_layers(self, include_self=True, recursive=True):
        found = [self] if include_self else []
        for layer in self._inner_layers():
            found += layer._flatten_layers(True, recursive) if recursive else [layer]
        return found

    @property
    def losses(self):
        """Penalties on the weights, and what add_loss() gave in the last call on arrays, or in this step so far."""
        if call_context.step() is not None:
            return call_context.step().losses() + self._penalties()
        found = list(self._last_losses) + [v for v in self._added if not is_tensor(v)] + self._own_penalties()
        for layer in self._inner_layers():
            found += layer.losses
        return found

    def _penalties(self):
        return self._own_penalties() + [v for layer in self._inner_layers() for v in layer._penalties()]

    def _penalized_by(self, key):
        """The weights of the library's layer that an attribute of its config puts a penalty on."""
        name = key[: -len("_regularizer")]
        given = self._python.get(key, self._config.get(key))
        if not key.endswith("_regularizer") or key == "activity_regularizer" or given is None:
            return []
        found = [w for w in self._weight_facts() if kernel_of(w).rsplit("/", 1)[-1] in (name, f"{name}_kernel")]
        tuned = {kernel_of(w) for w in found if is_part(w)}  # the penalty is on the two matrices beside it
        return [self._weight(w) for w in found if w not in tuned]

    def _python_penalties(self):
        """Of regularizers that are functions of Python: symbolic, and the same each time."""
        if self._traced_penalties is None:
            self._traced_penalties = []  # of the graph that tells its weights
            self._traced_penalties = [
                regularizers.get(value)(w._as_tensor())
                for key, value in self._python.items()
                for w in self._penalized_by(key)
            ]
        return self._traced_penalties

    def _own_penalties(self):
        found = []
        if self._class_name is not None and self._class_name != "Functional" and self.built:
            given = {**self._config, **self._python}
            pairs = [(w, value) for key, value in given.items() for w in self._penalized_by(key)]
            order = list(self._weight_facts()) if pairs else []
            for w, value in sorted(pairs, key=lambda pair: order.index(pair[0]._name)):
                found.append(regularizers.get(value)(w.value))
        for v in self._variables:
            if v.regularizer is not None:
                found.append(regularizers.get(v.regularizer)(v.value))
        return found


def _layers_in(value, seen):
    """Layers in a nest that were not seen before."""
    if isinstance(value, CustomLayer):
        if id(value) not in seen and not value._is_operation:
            seen.add(id(value))
            yield value
    elif isinstance(value, (dict, list, tuple)) and id(value) not in seen:
        seen.add(id(value))
        for item in value.values() if isinstance(value, dict) else value:
            yield from _layers_in(item, seen)
