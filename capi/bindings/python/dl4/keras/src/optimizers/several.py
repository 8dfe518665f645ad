"""Optimizers made of others."""

import collections.abc
import re

from .. import ops
from ..backend import call_context
from ..export import keras_export
from ..saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from .optimizer import _ARGUMENTS, category, Optimizer
from .state import OptimizerVariable


class _Several(Optimizer):
    """What keeps the state of the optimizers in it beside its own."""

    def _inside(self):
        raise NotImplementedError

    @property
    def variables(self):
        return [*self._own_in_files(), *(v for optimizer in self._inside() for v in optimizer.variables)]

    def _own_in_files(self):
        return self._variables

    def finalize_variable_values(self, var_list):
        for optimizer in self._inside():
            known = {id(v) for v in optimizer._built_for}
            optimizer.finalize_variable_values([v for v in var_list if id(v) in known])

    # ---- what goes from step to step

    def _state(self):
        found = {f"own:{i}": v.numpy() for i, v in enumerate(self._variables)}
        for i, optimizer in enumerate(self._inside()):
            found.update({f"{i}/{key}": value for key, value in optimizer._state().items()})
        return {**found, "iterations": self._last[1]}

    def _put_state(self, state):
        for i, optimizer in enumerate(self._inside()):
            start = f"{i}/"
            optimizer._put_state({k[len(start) :]: v for k, v in state.items() if k.startswith(start)})
        for i, v in enumerate(self._variables):
            v.assign(state[f"own:{i}"])
        self._updated(int(state["iterations"]))

    def _traced(self):
        for optimizer in self._inside():
            optimizer._traced()


@category.add
@keras_export("optimizers")
class LossScaleOptimizer(_Several):
    """An optimizer around another one, which multiplies the loss by a number that it keeps: it is halved where a
    gradient is not finite, and the update left out; it is doubled after `dynamic_growth_steps` updates without. It asks
    for numbers, so a model that is compiled with it trains with run_eagerly=True."""

    def __init__(self, inner_optimizer, initial_scale=2.0**15, dynamic_growth_steps=2000, name=None, **kwargs):
        if not kwargs.pop("dynamic", True):
            raise ValueError(
                "LossScaleOptimizer no longer supports `dynamic=False`. Instead, simply set `loss_scale_factor` "
                "directly on the `inner_optimizer`."
            )
        for key, default in _ARGUMENTS.items():
            if kwargs.pop(key, default) != default:
                raise ValueError(
                    f"LossScaleOptimizer does not support `{key}`. Instead, set `{key}` on the `inner_optimizer`."
                )
        if kwargs:
            raise ValueError(f"LossScaleOptimizer does not support arguments: `{'`, `'.join(kwargs)}`.")
        super().__init__(learning_rate=0.0, name=name)
        self.inner_optimizer = inner_optimizer
        self.initial_scale, self.dynamic_growth_steps = initial_scale, dynamic_growth_steps
        inner_optimizer._scale_by(None)  # gradients would be scaled twice

    def _inside(self):
        return [self.inner_optimizer]

    def build(self, variables):
        self.step_counter = self.add_variable((), dtype="int32", name="step_counter")
        self.dynamic_scale = self.add_variable((), name="dynamic_scale")
        self.dynamic_scale.assign(self.initial_scale)
        self.inner_optimizer.build(variables)
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        grads = list(grads)
        if not self._built:
            self.build(trainable_variables)
        if call_context.step() is not None and call_context.step().binds is False:
            raise NotImplementedError(_EAGER)
        given = [ops.isfinite(g) for g in grads if g is not None]
        if not all(bool(ops.all(g)) for g in given):
            self.step_counter.assign(0)
            self.dynamic_scale.assign(self.dynamic_scale * 0.5)
            return
        scale = ops.convert_to_tensor(self.dynamic_scale.numpy())
        self.inner_optimizer.apply([None if g is None else g / scale for g in grads], trainable_variables)
        if int(self.step_counter) == self.dynamic_growth_steps - 1:
            self.step_counter.assign(0)
            self.dynamic_scale.assign(self.dynamic_scale * 2.0)
        else:
            self.step_counter.assign(int(self.step_counter) + 1)

    def check_finite(self, grads):
        """Whether all gradients are finite: a bool scalar."""
        return ops.all(ops.stack([ops.all(ops.isfinite(g)) for g in grads if g is not None]))

    @property
    def learning_rate(self):
        return self.inner_optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, value):
        self.inner_optimizer.learning_rate = value

    @property
    def iterations(self):
        return self.inner_optimizer.iterations

    def scale_loss(self, loss):
        return loss * (self.dynamic_scale.value if self._built else self.initial_scale)

    def get_config(self):
        return {
            "name": self.name,
            "inner_optimizer": serialize_keras_object(self.inner_optimizer),
            "initial_scale": self.initial_scale,
            "dynamic_growth_steps": self.dynamic_growth_steps,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        inner = deserialize_keras_object(config["inner_optimizer"], custom_objects)
        return cls(**{**config, "inner_optimizer": inner})


_EAGER = "LossScaleOptimizer asks for the numbers of gradients: compile the model with run_eagerly=True"


@keras_export("optimizers")
class OptimizerMap(collections.abc.MutableMapping):
    """Optimizers by paths of variables, or by patterns of whole paths."""

    def __init__(self, default_optimizer, optimizer_map=None):
        if not isinstance(default_optimizer, Optimizer):
            raise TypeError(f"default_optimizer must be a Keras Optimizer instance. Received: {default_optimizer}")
        if optimizer_map is not None and not isinstance(optimizer_map, dict):
            raise TypeError(f"optimizer_map must be a dictionary. Received: {optimizer_map}")
        self._default, self._by_key = default_optimizer, optimizer_map or {}

    @property
    def default_optimizer(self):
        """The optimizer of variables that have no other."""
        return self._default

    def __getitem__(self, key):
        if key in self._by_key:
            return self._by_key[key]
        found = [pattern for pattern in self._by_key if re.fullmatch(pattern, key)]
        if len(found) > 1:
            raise ValueError(f"Multiple optimizers assigned to variable {key}.")
        return self._by_key[found[0]] if found else self._default

    def __setitem__(self, key, optimizer):
        if key in self._by_key:
            raise ValueError(
                f"'{key}' already exists in the OptimizerMap with value {self._by_key[key]}. Please make sure to not "
                "use duplicated keys."
            )
        if not isinstance(key, str):
            raise ValueError(f"key must be a string. Received: {key}")
        if not isinstance(optimizer, Optimizer):
            raise ValueError(f"optimizer must be a Keras Optimizer instance. Received: {optimizer}")
        _need_single(optimizer)
        self._by_key[key] = optimizer

    def __delitem__(self, key):
        del self._by_key[key]

    def __len__(self):
        return len(self._by_key)

    def __iter__(self):
        return iter(self._by_key)

    def __call__(self, variable):
        return self[variable.path]

    def get_config(self):
        """The optimizers by variable, as a dict."""
        return {
            "default_optimizer": serialize_keras_object(self._default),
            "optimizer_map": serialize_keras_object(self._by_key),
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """A map of what get_config() gave."""
        return cls(
            *(deserialize_keras_object(config[k], custom_objects) for k in ("default_optimizer", "optimizer_map"))
        )


category.add(OptimizerMap)


def _need_single(optimizer):
    if isinstance(optimizer, _Several):
        raise ValueError(f"{type(optimizer).__name__} cannot be used inside an MultiOptimizer.")


@category.add
@keras_export("optimizers")
class MultiOptimizer(_Several):
    """Several optimizers, each for the variables that a map, or a function of a variable, gives it."""

    def __init__(self, optimizer_map, loss_scale_factor=None, name=None):
        self._inner_optimizers = []
        super().__init__(learning_rate=0.0, loss_scale_factor=loss_scale_factor, name=name)
        del self._config["learning_rate"]
        self._optimizer_map, self._var_to_optimizer_idx = optimizer_map, {}
        known = [*optimizer_map.values()] if hasattr(optimizer_map, "values") else []
        default = getattr(optimizer_map, "default_optimizer", None)
        for optimizer in [*known, *([] if default is None else [default])]:
            self._number(optimizer)

    def _number(self, optimizer):
        """The place of an optimizer in the list, in which it is from now on."""
        for i, other in enumerate(self._inner_optimizers):
            if other is optimizer:
                return i
        optimizer._scale_by(self.loss_scale_factor)
        self._inner_optimizers.append(optimizer)
        return len(self._inner_optimizers) - 1

    def _inside(self):
        """The optimizers, in order."""
        return self._inner_optimizers

    optimizers = property(_inside)

    def _scale_by(self, factor):
        for optimizer in (super(), *self._inner_optimizers):
            optimizer._scale_by(factor)

    def _var_key(self, variable):
        return id(variable)

    def _own_in_files(self):
        return [OptimizerVariable(self, "iteration")]

    def build(self, variables):
        if self._built:
            return
        variables, parts = list(variables), {}
        for v in variables:
            optimizer = self._optimizer_map(v)
            if not isinstance(optimizer, Optimizer):
                raise ValueError(f"Optimizer for variable {v} is not an Optimizer instance.")
            _need_single(optimizer)
            self._var_to_optimizer_idx[self._var_key(v)] = self._number(optimizer)
            parts.setdefault(self._var_to_optimizer_idx[self._var_key(v)], []).append(v)
        for number, part in parts.items():
            self._inner_optimizers[number].build(part)
        super().build(variables)

    def apply(self, grads, trainable_variables=None):
        grads = list(grads)
        if not grads:
            return
        if trainable_variables is None and not self._built:
            raise ValueError(
                "When passing `grads` without `variables`, the optimizer must already be built on a list of variables. "
                "Call `optimizer.build(trainable_variables)` first."
            )
        variables = list(self._built_for if trainable_variables is None else trainable_variables)
        self.build(variables)
        if len(grads) != len(self._built_for):
            raise ValueError(
                f"Gradients must match trainable variables one-to-one. Received {len(grads)} gradients and "
                f"{len(self._built_for)} variables."
            )
        for i, optimizer in enumerate(self._inner_optimizers):
            pairs = [(g, v) for g, v in zip(grads, variables) if self._var_to_optimizer_idx[self._var_key(v)] == i]
            if pairs:
                optimizer.apply(*map(list, zip(*pairs)))
        self._count()

    @property
    def learning_rate(self):
        raise AttributeError(
            "Learning rate cannot be accessed on a MultiOptimizer. Access the learning rate on the individual "
            "sub-optimizers instead."
        )

    @learning_rate.setter
    def learning_rate(self, value):
        raise AttributeError(
            "Learning rate cannot be set on a MultiOptimizer. Set the learning rate on the individual sub-optimizers "
            "instead."
        )

    def get_config(self):
        return {
            "optimizer_map": serialize_keras_object(self._optimizer_map),
            "loss_scale_factor": self.loss_scale_factor,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**{**config, "optimizer_map": deserialize_keras_object(config["optimizer_map"], custom_objects)})
