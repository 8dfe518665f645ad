"""What a layer of one's own has: its weights, its losses and its call(), which is traced."""

import inspect

from . import _overrides, _state
from ._kinds import facts
from ._tensors import as_tensor, carries_mask, flatten, is_tensor, map_nest, pack_like
from ._variables import Variable

_NOT_LAYERS = {
    "_calls",
    "_graphs",
    "_config",
    "_python",
    "_variables",
    "_init_arguments",
    "_eager",
    "_functional",
    "_base",
    "_pending",
    "_own_metrics",
    "_session",
    "_owner",
    "_trainer",
    "_compiled",
    "history",
    "optimizer",
    "_training_functional",
}


_REPLACED = {"call", "build", "compute_mask", "compute_output_shape", "compute_output_spec", "add_loss"}


class Own:
    def _init_own(self, activity_regularizer):
        self._variables, self._last_losses, self._added = [], [], []
        if self.class_name is None:
            self.activity_regularizer = activity_regularizer

    # ---- for its author

    def add_weight(
        self,
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
        self._need_init()
        if shape is not None and not isinstance(shape, int):
            shape = tuple(shape)
        variable = Variable(
            (("zeros" if dtype and "int" in str(dtype) else "glorot_uniform") if initializer is None else initializer),
            () if shape is None else shape,
            dtype,
            trainable,
            name=name or _state.unique("variable"),
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
            from . import ops

            value = ops.sum(value) if is_tensor(value) and value.shape else value
            record = _state.records()[-1] if _state.records() else None
            (self._added if record is None or record.runs is is_tensor(value) else record.losses).append(value)

    def _need_init(self):
        if "_variables" not in self.__dict__:
            raise RuntimeError(
                f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` as the first "
                "statement in the `__init__()` method. Go add it!"
            )

    def __setattr__(self, key, value):
        if isinstance(value, Variable) and value._owner is None and key[0] != "_":
            self._need_init()
            value._owner = self
            self._variables.append(value)
        if key in _REPLACED and callable(value) and self.__dict__.get("_calls"):
            raise NotImplementedError(
                f"{type(self).__name__}.{key}: it can't be replaced on layer {self.name}, which has been called before: "
                "its calls would go on without it"
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
        if self.class_name is None or self._is_own() or bool(passes) == (facts("layer")[self.class_name]["mask"] != "dropped"):
            return
        raise NotImplementedError(
            f"{type(self).__name__}.supports_masking: what {self.class_name} does with masks can't be changed, got {passes}"
        )

    def _configured(self, key, value):
        """Is it an attribute of the library's layer, whose place is the config? It can be set until the first call."""
        if self.class_name is None or "_graphs" not in self.__dict__ or key in ("name", "trainable", "dtype", "call"):
            return False
        if all(a["name"] != key for a in facts("layer")[self.class_name]["attributes"]):
            return False
        now = self._config.get(key, getattr(self, key, None))
        if now is value or type(now) is type(value) and isinstance(value, (bool, int, float, str, tuple)) and now == value:
            return True
        if key == "activation" and {getattr(v, "__name__", v) for v in (now, value)} <= {None, "linear"}:
            return True
        if self._calls or self._first_emitted is not None or self.graph is not None:
            raise NotImplementedError(
                f"{self.name}: {key!r} can't be changed in this version once the layer has been called: make another layer"
            )
        self._config[key] = value
        self._take_functions()
        self._graphs.clear()
        return True

    def _replaced(self):
        pass

    def call(self, *args, **kwargs):
        if self.class_name is not None:
            if _state.owner() is not None or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
                return self._emitted(*args, **kwargs)
            from ._eager import computed

            return computed(self, args, kwargs, self._emitted)
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    # ---- tracing

    def _build_for(self, args, kwargs):
        """build() with the shapes that the call has."""
        self._need_init()
        if self.built:
            return
        given = inspect.signature(self.build).parameters
        shapes = self._shapes_of(args, kwargs)
        named = [p for p in given.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self._shapes, self._dtypes = shapes, [t.dtype for t in flatten([args, kwargs]) if is_tensor(t)]
        if _overrides.overrides(self, "build"):
            if len(named) > 1 and len(shapes) > 1:
                self.build(*shapes[: len(named)])
            elif named and shapes:
                self.build(shapes[0])
            elif not named:
                self.build(*(shapes if any(p.kind == p.VAR_POSITIONAL for p in given.values()) else ()))
        self.built = True

    @staticmethod
    def _shapes_of(args, kwargs):
        """Of what a call is given, in order."""
        return [
            map_nest(lambda t: t.shape if is_tensor(t) else getattr(t, "shape", None), a)
            for a in (*args, *(v for v in kwargs.values() if is_tensor(v)))
            if any(hasattr(leaf, "shape") for leaf in flatten(a))
        ]

    def _traced(self, *args, **kwargs):
        said = kwargs.get("training")
        training = said.value if isinstance(said, _state.Flag) else said
        if training is None:
            training = _state.training()
        with _state.traced(self, args, kwargs, training) as record:
            self._build_for(args, kwargs)
            self._check_spec(args)
            outputs = self._call_with(args, dict(kwargs), training, record)
            outputs = self._with_mask(args, kwargs, outputs)
            self._check_told(args, kwargs, outputs)
            record.losses += [v.penalty() for v in self._variables if v.has_penalty]
            if getattr(self, "activity_regularizer", None) is not None:
                from . import regularizers

                penalty = regularizers.get(self.activity_regularizer)
                for t in flatten(outputs):
                    self.add_loss(penalty(t) / _batch(t))
            record.outputs = outputs
        if _state.owner() is not None:
            _state.owner().losses += record.losses
            _state.owner().branches |= record.branches
        self._calls = self._calls or [Traced(args, outputs)]
        return outputs

    def _tried(self, args, kwargs, training):
        """Calls it on symbolic tensors like these arrays, which builds the layers in it, in one graph."""
        from ._eager import Trace, is_array
        from ..core import Tensor

        leaves = flatten([list(args), kwargs])
        tensors = {i: Tensor.of(x) for i, x in enumerate(leaves) if is_array(x) and not hasattr(x, "symbolic")}
        Trace(self._symbolic, args, kwargs, leaves, tensors, {}, training, False)

    def _call_with(self, args, kwargs, training, record):
        parameters = inspect.signature(self.call).parameters
        takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
        kwargs.pop("training", None)
        flag = _state.Flag(training)
        if "training" in parameters and list(parameters).index("training") >= len(args):
            kwargs["training"] = flag
        if "mask" in parameters and kwargs.get("mask") is None and list(parameters).index("mask") >= len(args):
            masks = map_nest(mask_of, args[0]) if args else None
            if any(m is not None for m in flatten(masks)):
                kwargs["mask"] = masks
        elif "mask" in kwargs and "mask" not in parameters and not takes_all:
            kwargs.pop("mask")
        args = [
            map_nest(
                lambda x: (
                    as_tensor(x) if hasattr(x, "__array__") and not is_tensor(x) and not hasattr(x, "symbolic") else x
                ),
                a,
            )
            for a in args
        ]
        outputs = self.call(*args, **kwargs)
        if outputs is None:
            raise ValueError(f"Layer {self.name}: call() returned None")
        given = [t for t in flatten([args, kwargs]) if is_tensor(t)]
        outputs = map_nest(lambda x: _own_tensor(x, given), outputs)
        record.branches |= flag.asked and training is None
        return outputs

    def _check_spec(self, args):
        spec = self.input_spec
        if spec is None or not args:
            return
        leaves = flatten(args[0])
        for s, t in zip(spec if isinstance(spec, (list, tuple)) else [spec], leaves):
            s.check(t.shape, self.name)

    def _with_mask(self, args, kwargs, outputs):
        """As its compute_mask() says, which for a layer of the library's is that of its kind; with supports_masking
        the inputs'."""
        if self.class_name is None:
            first = args[0] if args else next(iter(kwargs.values()), None)
            if not self._has_masks() or all(mask_of(t) is not None for t in flatten(outputs)):
                return outputs
            masks = kwargs.get("mask") or self.compute_mask(first, map_nest(mask_of, first))
            return masked(outputs, masks)
        given = [*args, *(v for v in kwargs.values() if any(is_tensor(leaf) for leaf in flatten(v)))]
        if not given or not is_tensor(outputs) and not _overrides.overrides(self, "compute_mask"):
            return outputs
        if len(given) > 1 and not _overrides.overrides(self, "compute_mask"):
            return outputs
        masks, leaves = flatten(self.compute_mask(given[0], map_nest(mask_of, given[0]))), flatten(outputs)
        found = [_masked_alone(t, m) for t, m in zip(leaves, masks)]
        return pack_like(outputs, found + leaves[len(found) :])

    def _has_masks(self):
        """Does it say which masks its outputs carry?"""
        own = type(self).compute_mask is not Own.compute_mask or _overrides.overrides(self, "compute_mask")
        return own or self.supports_masking

    def _check_told(self, args, kwargs, outputs):
        """Refuses what compute_output_shape() or compute_output_spec() of its user's says against call()."""
        told = [n for n in ("compute_output_shape", "compute_output_spec") if _overrides.overrides(self, n)]
        if not told or self.__dict__.get("_asked"):
            return
        self.__dict__["_asked"] = True  # they may ask what the layer itself would say
        try:
            for name in told:
                if name == "compute_output_spec":
                    said = self.compute_output_spec(*args, **kwargs)
                    same = _alike([t.shape for t in flatten(said)], [t.shape for t in flatten(outputs)])
                    same &= [t.dtype for t in flatten(said)] == [t.dtype for t in flatten(outputs)]
                else:
                    count = len(inspect.signature(self.compute_output_shape).parameters)
                    said = self.compute_output_shape(*self._shapes_of(args, kwargs)[: max(count, 1)])
                    same = _alike(_shapes_in(said), [t.shape for t in flatten(outputs)])
                if not same:
                    raise ValueError(
                        f"{type(self).__name__}.{name}: says {said}, while call() of layer {self.name} gives "
                        f"{map_nest(lambda t: t.shape, outputs)}: both have to agree in this version"
                    )
        finally:
            del self.__dict__["_asked"]

    def get_build_config(self):
        """What build_from_config() needs, kept in configs where a class of one's own says it."""
        return {"input_shape": self._shapes[0]} if self._shapes else None

    def build_from_config(self, config):
        if config:
            self.build(*config.values())

    def compute_mask(self, inputs, mask=None, previous_mask=None):
        if self.class_name in ("Attention", "AdditiveAttention"):  # the queries', as it is
            mask = previous_mask if mask is None else mask
            return None if mask is None or mask[0] is None else mask[0]
        if self.class_name in ("MultiHeadAttention", "GroupQueryAttention"):
            return previous_mask if mask is None else mask
        if self.class_name is not None:
            return masks_through(self, inputs, previous_mask if mask is None else mask)
        return (previous_mask if mask is None else mask) if self.supports_masking else None

    # ---- shapes

    def compute_output_spec(self, *args, **kwargs):
        return (self._emitted if self.class_name is not None else self._symbolic)(*args, **kwargs)

    def compute_output_shape(self, *shapes, **named):
        """The shape of the outputs for inputs of a shape, or several."""
        from ._tensors import Input

        dtype = "int32" if self.class_name in ("Embedding", "ReversibleEmbedding") else "float32"

        def inputs(shape):
            if isinstance(shape, dict):
                return {k: inputs(s) for k, s in shape.items()}
            if shape and isinstance(shape[0], (list, tuple)):
                return [inputs(s) for s in shape]
            return Input(batch_shape=tuple(shape), dtype=dtype)

        calls, built = self._calls, self.built
        named = {
            k[: -len("_shape")] if k.endswith("_shape") else k: inputs(s) for k, s in named.items() if s is not None
        }
        tensors = [inputs(s) for s in shapes if s is not None]
        if "input" in named:
            tensors.insert(0, named.pop("input"))
        first = self.__dict__.get("_first_emitted")
        with _state.uncounted():
            outputs = (self._emitted if self.class_name is not None else self._symbolic)(*tensors, **named)
        if not calls and self.class_name is not None:
            self._calls, self.built, self._first_emitted = calls, built, first
        return map_nest(lambda t: tuple(t.shape), outputs)

    # ---- the layers in it, and its losses

    def _inner(self):
        """The layers that are attributes of this one, in order."""
        from .layers import Layer

        found, seen = [], set()

        def look(value):
            if isinstance(value, Layer):
                if id(value) not in seen and not value.is_operation:
                    seen.add(id(value))
                    found.append(value)
            elif isinstance(value, dict):
                for item in value.values():
                    look(item)
            elif isinstance(value, (list, tuple)):
                for item in value:
                    look(item)

        for key, value in vars(self).items():
            if key not in _NOT_LAYERS:
                look(value)
        return found

    def _flatten_layers(self, include_self=True, recursive=True):
        found = [self] if include_self else []
        for layer in self._inner():
            found += layer._flatten_layers(True, recursive) if recursive else [layer]
        return found

    @property
    def losses(self):
        """Penalties on the weights, and what add_loss() gave in the last call on arrays."""
        from . import regularizers

        found = list(self._last_losses) + [v for v in self._added if not is_tensor(v)]
        if self.class_name is not None and self.class_name != "Functional" and self.built:
            for key, value in self._config.items():
                if key.endswith("_regularizer") and value is not None:
                    name = key[: -len("_regularizer")]
                    found += [
                        regularizers.get(value)(self._weight(w).numpy())
                        for w in self.weight_facts()
                        if w.rsplit("/", 1)[-1] in (name, f"{name}_kernel")
                    ]
        for v in self._variables:
            if v.regularizer is not None:
                found.append(regularizers.get(v.regularizer)(v.numpy()))
        for layer in self._inner():
            found += layer.losses
        return found


def _masked_alone(t, mask):
    """A tensor with a mask, or none, whatever what it is made of carries."""
    from . import ops

    if not is_tensor(t):
        return t
    if mask is None and mask_of(t) is not None:
        mask = ops.cast(ops.ones_like(mask_of(t)), "bool")  # all are there
    return t if mask is None else _set_mask(t, mask)


def _shapes_in(nest):
    """A shape, or those of a nest, in order."""
    if isinstance(nest, dict):
        return [shape for key in sorted(nest, key=str) for shape in _shapes_in(nest[key])]
    if any(isinstance(d, (tuple, list, dict)) for d in nest):
        return [shape for item in nest for shape in _shapes_in(item)]
    return [tuple(nest)]


def _alike(told, shapes):
    """Can shapes be what they are said to be? None is any size."""
    return len(told) == len(shapes) and all(
        len(a) == len(b) and all(m is None or n is None or m == n for m, n in zip(a, b)) for a, b in zip(told, shapes)
    )


def _own_tensor(x, given):
    """What a call() returned, as a tensor of its own: what is passed through belongs to the layer too."""
    from ._tensors import layer_of

    if x is None:
        return None
    x = as_tensor(x)
    return layer_of("Identity")(x) if any(x is t for t in given) else x


def masks_through(layer, inputs, masks):
    """The masks that a layer's outputs carry where its inputs carry these; of arrays, arrays."""
    from ._functional import Functional
    from ._eager import is_array, run
    from ._tensors import layer_of, symbolic_like
    from ..core import Tensor

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
        symbols.get(id(x), x) if m is None else layer_of("SetMask")([symbols.get(id(v), v) for v in (x, m)])
        for x, m in zip(xs, ms)
    ]
    found = map_nest(mask_of, layer._emitted(carrying if several else carrying[0]))
    if not given or all(m is None for m in flatten(found)):
        return found
    functional = Functional([symbols[id(v)] for v in given], found, alone=True)
    return run(functional.core.session(), [Tensor.of(v) for v in given], found)


def _zeros_for(x, masks):
    """An array in a symbolic tensor's place, where masks are arrays: what it holds does not matter to them."""
    import numpy

    if not is_tensor(x):
        return x
    known = next(numpy.shape(m) for m in masks if m is not None)
    sizes = [*known, *[1] * len(x.shape)]
    return numpy.zeros([sizes[i] if d is None else d for i, d in enumerate(x.shape)], x.dtype)


class Traced:
    """The first call of a layer of one's own, for its `input` and `output`."""

    def __init__(self, args, outputs):
        self.inputs = [t for t in flatten(list(args)) if is_tensor(t)]
        self.outputs = flatten(outputs)


def _batch(t):
    from . import ops

    return ops.cast(ops.shape(t)[0], "float32")


def mask_of(t):
    """The mask that a symbolic tensor, or what a layer gave for arrays, carries, or None."""
    if not is_tensor(t):
        return getattr(t, "_keras_mask", None)
    if not carries_mask(t):
        return None
    from ._tensors import layer_of

    return layer_of("GetMask", name=_state.unique("carried_mask"))(t)


def _set_mask(t, mask):
    from ._tensors import layer_of

    return layer_of("SetMask")([t, mask])


def masked(outputs, masks):
    """Outputs with these masks, in their order, where they carry none themselves."""
    if masks is None:
        return outputs
    masks = flatten(masks)
    masks += [None] * len(flatten(outputs))
    rest = iter(masks)
    return map_nest(
        lambda t: t if (m := next(rest)) is None or not is_tensor(t) or mask_of(t) is not None else _set_mask(t, m),
        outputs,
    )


def masked_as(before, now):
    """What a function made of a tensor, with the mask of that."""
    mask = mask_of(before)
    return now if mask is None or mask_of(now) is not None else _set_mask(now, mask)
