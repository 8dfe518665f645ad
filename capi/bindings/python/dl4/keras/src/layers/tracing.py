"""Calls of custom layers on symbolic tensors: build(), call() and what they say of shapes and masks."""

import inspect

from ....core import Tensor
from .. import ops, overrides, regularizers
from ..backend import attributes, call_context
from ..backend.eager_tensor import is_array
from ..symbolic.execution import masks_through, run_on_arrays, Trace
from ..symbolic.masks import for_call, mask_of, masked, set_mask
from ..symbolic.tensor import as_tensor, Input, is_tensor, operation
from ..tree import flatten, map_nest, pack_like
from ..utils.naming import temporary_names


class TracedCalls:
    """Calls of a custom layer on symbolic tensors."""

    def call(self, *args, **kwargs):
        """The computation of the layer, on tensors. Override it in a class of your own; call the layer, not this."""
        if self._class_name is not None:
            if call_context.owner() is not None or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
                return self._call_native(*args, **kwargs)

            return run_on_arrays(self, args, kwargs, self._call_native)
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def _build_for(self, args, kwargs):
        """build() with the shapes that the call has."""
        self._need_init()
        if self.built:
            return
        self._shapes = self._shapes_of(args, kwargs)
        given = [args, {k: v for k, v in kwargs.items() if not _is_mask(k)}]
        self._dtypes = [t.dtype for t in flatten(given) if is_tensor(t)]
        if overrides.is_overridden(self, "build"):
            with call_context.apart(), attributes.apart():  # a model that is made in it is no part of this call
                self.build(*self._shapes_for("build", args, kwargs))
        self.built = self.__dict__["_closed"] = True

    def _shapes_for(self, name, args, kwargs):
        """What a method that takes shapes is given: one alone that of the first argument, several by their names."""
        kinds = inspect.Parameter
        parameters = list(inspect.signature(getattr(self, name)).parameters.values())
        named = [p for p in parameters if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
        shapes = self._shapes_of(args, kwargs)
        if len(named) < 2:
            return shapes[: len(named)] if named else shapes * any(p.kind == kinds.VAR_POSITIONAL for p in parameters)
        known = list(inspect.signature(self.call).parameters)
        given, found = {**dict(zip(known, args)), **kwargs}, []
        for p in named:
            wanted, why = p.name[: -len("_shape")], None
            if not p.name.endswith("_shape"):
                why = f"received `{name}()` argument `{p.name}`, which does not end in `_shape`."
            elif wanted not in known:
                why = f"received `{name}()` argument `{p.name}`, but `call()` does not have argument `{wanted}`."
            if why is not None:
                raise ValueError(
                    f"For a `{type(self).__name__}.{name}()` method with more than one argument, all arguments should "
                    "have a `_shape` suffix and match an argument from `call()`. E.g. `build(self, foo_shape, "
                    f"bar_shape)` For layer '{type(self).__name__}', {why}"
                )
            shape = self._shapes_of([given.get(wanted)], {})
            found.append(shape[0] if shape else None if p.default is p.empty else p.default)
        return found

    def _training_default(self):
        """What its call() takes where nobody says whether it is training."""
        known = inspect.signature(self.call).parameters.get("training")
        return known.default if known is not None and isinstance(known.default, bool) else None

    def _shapes_of(self, args, kwargs):
        """Of what a call is given but masks, in the order of its arguments."""
        names = list(inspect.signature(self.call).parameters)
        named = sorted(kwargs.items(), key=lambda item: names.index(item[0]) if item[0] in names else len(names))
        given = [v for k, v in named if not _is_mask(k) and (is_tensor(v) or is_array(v))]
        return [
            map_nest(lambda t: t.shape if is_tensor(t) else getattr(t, "shape", None), a)
            for a in (*args, *given)
            if any(hasattr(leaf, "shape") for leaf in flatten(a))
        ]

    def _trace_call(self, *args, **kwargs):
        said = kwargs.get("training")
        training = said.value if isinstance(said, call_context.Flag) else said
        if training is None:
            training = call_context.training()
        if training is None and call_context.step() is not None:
            training = self._training_default()
        with call_context.traced(self, args, kwargs, training) as record:
            record.said = training is not None
            self._build_for(args, kwargs)
            self._check_spec(args)
            outputs = self._call_with(args, dict(kwargs), training, record)
            outputs = self._with_mask(args, kwargs, outputs)
            self._check_output_spec(args, kwargs, outputs)
            record.losses += [v._penalty_tensor() for v in self._variables if v._has_penalty]
            if getattr(self, "activity_regularizer", None) is not None:
                penalty = regularizers.get(self.activity_regularizer)
                for t in flatten(outputs):
                    self.add_loss(penalty(t) / _batch(t))
            record.outputs = outputs
        if call_context.owner() is not None:
            call_context.owner().losses += record.losses
            call_context.owner().branches |= record.branches
        self._note_call(Traced(args, outputs))
        return outputs

    def _trace_on_symbols(self, args, kwargs, training):
        """Calls it on symbolic tensors like these arrays, which builds the layers in it, in one graph."""
        leaves = flatten([list(args), kwargs])
        tensors = {i: Tensor.of(x) for i, x in enumerate(leaves) if is_array(x) and not hasattr(x, "_as_tensor")}
        Trace(self._call_symbolic, args, kwargs, leaves, tensors, {}, training, False)

    def _call_with(self, args, kwargs, training, record):
        parameters = inspect.signature(self.call).parameters
        takes_all = any(p.kind == p.VAR_KEYWORD for p in parameters.values())
        kwargs.pop("training", None)
        flag = call_context.Flag(training)
        if "training" in parameters and list(parameters).index("training") >= len(args):
            kwargs["training"] = flag
        kwargs.update(for_call(self.call, args, kwargs))
        if "mask" in kwargs and "mask" not in parameters and not takes_all:
            kwargs.pop("mask")
        args = [
            map_nest(
                lambda x: (
                    as_tensor(x) if hasattr(x, "__array__") and not is_tensor(x) and not hasattr(x, "_as_tensor") else x
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
        record.branches |= flag.asked or training is not None
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
        if self._class_name is None:
            first = args[0] if args else next(iter(kwargs.values()), None)
            if not self._has_masks() or all(mask_of(t) is not None for t in flatten(outputs)):
                return outputs
            masks = kwargs.get("mask")
            masks = self.compute_mask(first, map_nest(mask_of, first)) if masks is None else masks
            return masked(outputs, masks)
        given = [*args, *(v for v in kwargs.values() if any(is_tensor(leaf) for leaf in flatten(v)))]
        if not given or not is_tensor(outputs) and not overrides.is_overridden(self, "compute_mask"):
            return outputs
        if len(given) > 1 and not overrides.is_overridden(self, "compute_mask"):
            return outputs
        masks, leaves = flatten(self.compute_mask(given[0], map_nest(mask_of, given[0]))), flatten(outputs)
        found = [_masked_alone(t, m) for t, m in zip(leaves, masks)]
        return pack_like(outputs, found + leaves[len(found) :])

    def _has_masks(self):
        """Does it say which masks its outputs carry?"""
        own = type(self).compute_mask is not TracedCalls.compute_mask or overrides.is_overridden(self, "compute_mask")
        return own or self.supports_masking

    def _check_output_spec(self, args, kwargs, outputs):
        """Refuses what compute_output_shape() or compute_output_spec() of its user's says against call()."""
        told = [n for n in ("compute_output_shape", "compute_output_spec") if overrides.is_overridden(self, n)]
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
                    said = self.compute_output_shape(*self._shapes_for(name, args, kwargs))
                    same = _alike(_shapes_in(said), [t.shape for t in flatten(outputs)])
                if not same:
                    raise ValueError(
                        f"{type(self).__name__}.{name}() returned {said}, but call() of layer {self.name} returned "
                        f"{map_nest(lambda t: t.shape, outputs)}: they have to agree"
                    )
        finally:
            del self.__dict__["_asked"]

    def get_build_config(self):
        """What build_from_config() needs, kept in configs where a subclass says it."""
        first = self.__dict__.get("_first_native_call")
        shapes = self._shapes or [t.shape for t in first.inputs] if first is not None else self._shapes
        return {"input_shape": shapes[0]} if shapes else None

    def build_from_config(self, config):
        """Builds the layer for the shapes that get_build_config() gave."""
        if config:
            self.build(*config.values())

    def compute_mask(self, inputs, mask=None, previous_mask=None):
        """The mask of the outputs, for the mask of the inputs; None if there is none. Override it if masks change."""
        if self._class_name in ("Attention", "AdditiveAttention"):  # the queries', as it is
            mask = previous_mask if mask is None else mask
            return None if mask is None or mask[0] is None else mask[0]
        if self._class_name in ("MultiHeadAttention", "GroupQueryAttention"):
            return previous_mask if mask is None else mask
        if self._class_name is not None:
            return masks_through(self, inputs, previous_mask if mask is None else mask)
        return (previous_mask if mask is None else mask) if self.supports_masking else None

    def compute_output_spec(self, *args, **kwargs):
        """What a call with these arguments would give: a KerasTensor of its shape and type."""
        return (self._call_native if self._class_name is not None else self._call_symbolic)(*args, **kwargs)

    def compute_output_shape(self, *shapes, **named):
        """The shape of the outputs for inputs of a shape, or several."""
        dtype = "int32" if self._class_name in ("Embedding", "ReversibleEmbedding") else "float32"

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
        first = self.__dict__.get("_first_native_call")
        with temporary_names():
            outputs = (self._call_native if self._class_name is not None else self._call_symbolic)(*tensors, **named)
        if not calls and self._class_name is not None:
            self._calls, self.built, self._first_native_call = calls, built, first
        return map_nest(lambda t: tuple(t.shape), outputs)


def _is_mask(name):
    return name == "mask" or name.endswith("_mask")


def _masked_alone(t, mask):
    """A tensor with a mask, or none, whatever what it is made of carries."""
    if not is_tensor(t):
        return t
    if mask is None and mask_of(t) is not None:
        mask = ops.cast(ops.ones_like(mask_of(t)), "bool")  # all are there
    return t if mask is None else set_mask(t, mask)


def _shapes_in(nest):
    """A shape, or those of a nest, in order."""
    if isinstance(nest, dict):
        return [shape for key in sorted(nest, key=str) for shape in _shapes_in(nest[key])]
    if any(isinstance(d, (tuple, list, dict)) for d in nest):
        return [shape for item in nest for shape in _shapes_in(item)]
    return [tuple(nest)]


def _alike(told, shapes):
    """Whether shapes agree with the declared ones. None is any size."""
    return len(told) == len(shapes) and all(
        len(a) == len(b) and all(m is None or n is None or m == n for m, n in zip(a, b)) for a, b in zip(told, shapes)
    )


def _own_tensor(x, given):
    """What a call() returned, as a tensor of its own: what is passed through belongs to the layer too."""
    if x is None:
        return None
    x = as_tensor(x)
    return operation("Identity")(x) if any(x is t for t in given) else x


class Traced:
    """The first call of a custom layer, for its `input` and `output`."""

    def __init__(self, args, outputs):
        self.inputs = [t for t in flatten(list(args)) if is_tensor(t)]
        self.outputs = flatten(outputs)


def _batch(t):
    return ops.cast(ops.shape(t)[0], "float32")
