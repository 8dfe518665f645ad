"""An optimizer with methods of its user's: what Keras's base class does around update_step(), in operators. In a traced
step it becomes part of the step; on arrays it runs as it stands."""

import re
import warnings

from .. import ops
from ..backend import call_context
from ..layers.variable import replaced, Variable
from ..registry import create
from ..symbolic import arrays_on_tape
from ..symbolic.step import CompiledStep
from ..symbolic.tensor import as_tensor
from ..utils.naming import unique_name


# What stands around the rule for one variable is left to Updates.
_RULE_ALONE = {"use_ema": False, "weight_decay": 0.0}
_OF_KIND = {"Muon": {"adam_weight_decay": 0.0}}
_AROUND = "clipnorm clipvalue global_clipnorm ema_momentum ema_overwrite_frequency loss_scale_factor".split()


class Updates:
    """What stands between apply() and update_step()."""

    _variables = ()  # those that add_variable() made
    _excluded = (frozenset(), ())  # from weight decay: variables by id, and patterns of names

    # ---- variables

    def add_variable(self, shape, initializer="zeros", dtype=None, aggregation="none", layout=None, name=None):
        """Adds a variable of the optimizer, of a shape."""
        if layout is not None:
            raise NotImplementedError(f"{self.name}.add_variable(): `layout`: there is one device")
        variable = Variable(initializer, shape=tuple(shape), dtype=dtype, trainable=False, name=name)
        self._variables = [*self._variables, variable]
        return variable

    def add_variable_from_reference(self, reference_variable, name=None, initializer="zeros"):
        """Adds a variable of the optimizer, of the shape of another."""
        path = getattr(reference_variable, "path", reference_variable.name)
        full = re.sub("[/:]", "_", path) + f"_{name or 'var'}"
        return self.add_variable(reference_variable.shape, initializer, reference_variable.dtype, name=full)

    def add_optimizer_variables(self, trainable_variables, name, initializer="zeros"):
        """Adds a variable of the optimizer for each trainable one; `name` is a name or a list of names."""
        names = [name] if isinstance(name, str) else list(name)
        starts = list(initializer) if isinstance(initializer, (list, tuple)) else [initializer] * len(names)
        if len(names) != len(starts):
            raise ValueError(
                "The number of provided names must match the number of provided initializers.  "
                f"Received name='{name}', initializer='{initializer}'"
            )
        made = tuple(
            [self.add_variable_from_reference(v, n, start) for v in trainable_variables]
            for n, start in zip(names, starts)
        )
        return made[0] if isinstance(name, str) else made

    def assign(self, variable, value):
        """Sets a variable to a value, in update_step()."""
        variable.assign(value)

    def assign_add(self, variable, value):
        """Adds a value to a variable, in update_step()."""
        variable.assign_add(value)

    def assign_sub(self, variable, value):
        """Subtracts a value from a variable, in update_step()."""
        variable.assign_sub(value)

    def set_weights(self, weights):
        """The values of all its variables."""
        own = self.variables
        if len(own) != len(weights) and not self.built:
            raise ValueError(
                "You are calling `set_weights()` on an optimizer that has not yet been built. Please call "
                "`optimizer.build(trainable_variables)` to create the optimizer weights before calling `set_weights()`."
            )
        if len(own) != len(weights):
            raise ValueError(f"{self.name}.set_weights(): expected {len(own)} values, got {len(weights)}")
        for variable, value in zip(own, weights):
            variable.assign(value)

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """Names variables that weight decay leaves alone: as variables, or as parts of their names."""
        if self.built:
            raise ValueError("`exclude_from_weight_decay()` can only be configured before the optimizer is built.")
        self._excluded = frozenset(map(id, var_list or ())), tuple(var_names or ())

    def _use_weight_decay(self, variable):
        ids, patterns = self._excluded
        return id(variable) not in ids and not any(re.search(p, variable.name) for p in patterns)

    def _get_variable_index(self, variable):
        return self._places[id(variable)]

    # ---- one update

    def _prepare(self, variables):
        """It is built for these variables, if it is not for others."""
        if self._class_name == "Muon":
            raise NotImplementedError("Muon: use_ema is not supported where Python applies the optimizer")
        if not self._built:
            self.build(variables)
            self._built = True

    def _apply_on_arrays(self, grads, variables):
        """apply() of arrays: the update of traced steps, which keeps what goes from step to step for both."""
        if len(grads) != len(variables):
            raise ValueError(f"expected a gradient for each variable, got {len(grads)} for {len(variables)} variables")
        key = tuple((v._layer, v._name) for v in variables)
        if key not in self._steps_on_arrays:
            self._steps_on_arrays[key] = CompiledStep(lambda given: self._apply_in_step(given, variables))
        for v in variables:
            arrays_on_tape.before_assignment(v)
        self._steps_on_arrays[key]([getattr(g, "value", g) for g in grads])

    def _apply_updates(self, grads, variables):
        """apply() of gradients, some of which may be None."""
        if not grads:
            return
        if self.gradient_accumulation_steps:
            raise NotImplementedError(
                f"{type(self).__name__}: gradient_accumulation_steps is not supported where Python applies the "
                "optimizer"
            )
        if variables is None:
            if not self.built:
                raise ValueError(
                    "When passing `grads` without `variables`, the optimizer must already be built on a list of "
                    "variables. Call `optimizer.build(trainable_variables)` first. "
                )
            variables = self._built_for
        variables = list(variables)
        if len(grads) != len(variables):
            raise ValueError(f"expected a gradient for each variable, got {len(grads)} for {len(variables)} variables")
        self._prepare(variables)
        self._need_known(variables)
        pairs = [(g, v) for g, v in zip(grads, variables) if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        if len(pairs) < len(variables):
            left = [v.path for g, v in zip(grads, variables) if g is None]
            warnings.warn(f"Gradients do not exist for variables {left} when minimizing the loss.", stacklevel=4)
        grads, variables = [g for g, _ in pairs], [v for _, v in pairs]
        scale = getattr(self, "loss_scale_factor", None)
        grads = grads if scale is None else [g / scale for g in grads]
        self._backend_apply_gradients(grads, variables)
        for v in variables:
            if v.constraint is not None:
                v.assign(v.constraint(v.value))
        self._count()

    def _backend_apply_gradients(self, grads, trainable_variables):
        grads = self._clip_gradients(grads)
        self._apply_weight_decay(trainable_variables)
        self._backend_update_step(grads, trainable_variables, self.learning_rate)
        if self.use_ema:
            self._update_model_variables_moving_average(self._built_for)
            if self.ema_overwrite_frequency:
                due = ops.cast(ops.equal((self.iterations + 1) % self.ema_overwrite_frequency, 0), "float32")
                for v in self._built_for:
                    v.assign(due * self._averages[self._get_variable_index(v)] + (1 - due) * v)

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        for gradient, variable in zip(grads, trainable_variables):
            self.update_step(gradient, variable, learning_rate)

    def _clip_by_norm(self, values):
        norm = ops.sqrt(ops.sum(ops.square(values)))
        return values * self.clipnorm / ops.maximum(norm, self.clipnorm)

    def _clip_gradients(self, grads):
        if self.clipnorm:
            return [self._clip_by_norm(g) for g in grads]
        if self.global_clipnorm:
            norm = ops.sqrt(sum(ops.sum(ops.square(g)) for g in grads))
            return [g * self.global_clipnorm / ops.maximum(norm, self.global_clipnorm) for g in grads]
        return [ops.clip(g, -self.clipvalue, self.clipvalue) for g in grads] if self.clipvalue else grads

    def _apply_weight_decay(self, variables):
        if self.weight_decay:
            for v in variables:
                if self._use_weight_decay(v):
                    v.assign(v - v * self.weight_decay * self.learning_rate)

    def _update_model_variables_moving_average(self, trainable_variables):
        for v in trainable_variables:
            average = self._averages[self._get_variable_index(v)]
            # The first update takes the weight itself.
            kept = ops.cast(ops.not_equal(self.iterations, 0), "float32") * self.ema_momentum
            average.assign(kept * average + (1 - kept) * v)

    def finalize_variable_values(self, var_list):
        """The averages become the weights where the fit ends."""
        averages, places = self._averages, self._places
        if not averages and self.use_ema and self._applier is not None:
            averages = [v for v in self.variables if v.path.endswith("_average")]
            places = {id(v): i for i, v in enumerate(self._applier.variables)}
        for v in var_list if averages else ():
            v.assign(averages[places[id(v)]].numpy())

    def update_step(self, gradient, variable, learning_rate):
        """The rule of the library's optimizer, for one variable."""
        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__}.update_step: expected the class to have it")
        if call_context.step() is None:
            given = ops.convert_to_tensor(gradient), ops.convert_to_tensor(learning_rate)
            run = self._rule(variable).trace(given, {})
            self._set_iterations(self._last[1], self._rule_layers[id(variable)])  # which apply() alone counts
            run()
            return
        rate = as_tensor(learning_rate)
        call_context.step().update(self._rule_layer(variable), [as_tensor(gradient)], [variable], rate)

    def _rule(self, variable):
        """update_step() of the library's for one variable, as a step for arrays."""
        if id(variable) not in self._rules:
            step = CompiledStep(lambda gradient, rate: Updates.update_step(self, gradient, variable, rate))
            self._rules[id(variable)] = step
        return self._rules[id(variable)]

    def _make_rules(self):
        """The rules of all variables that it is built for, and so what they keep from step to step."""
        import numpy

        if self._class_name is not None:
            for v in self._built_for:
                self._rule(v).trace([numpy.zeros(v.shape, "float32"), numpy.float32(0)], {})

    def stateless_apply(self, optimizer_variables, grads, trainable_variables):
        """What apply() would make of these values, in place of those of the variables: both lists anew."""
        if not self.built:
            raise ValueError(
                f"To call `stateless_apply`, {type(self).__name__} must be built (i.e. its variables must have been "
                "created). You can build it via `optimizer.build(trainable_variables)`."
            )
        own = self.variables
        for name, given, known in (
            ("optimizer_variables", optimizer_variables, own),
            ("trainable_variables", trainable_variables, self._built_for),
        ):
            if len(given) != len(known):
                raise ValueError(
                    f"Argument `{name}` must be a list of tensors corresponding 1:1 to the variables of "
                    f"{type(self).__name__}. Received {len(given)} values, expected {len(known)}."
                )
        with replaced([*self._built_for, *own], [*trainable_variables, *optimizer_variables]):
            self.apply(grads, self._built_for)
            return [ops.convert_to_tensor(v.numpy()) for v in self._built_for], [
                ops.convert_to_tensor(v.numpy()) for v in own
            ]

    def _rule_layer(self, variable):
        """What updates one variable, without what stands around update_step()."""
        if id(variable) not in self._rule_layers:
            native = self._native()
            native["config"].update(learning_rate=1.0, **_RULE_ALONE, **_OF_KIND.get(self._class_name, {}))
            native["config"] = {k: v for k, v in native["config"].items() if k not in _AROUND}
            name = unique_name(self.name)
            self._rule_layers[id(variable)] = create("layer", "ApplyGradients", optimizer=native, name=name)
        return self._rule_layers[id(variable)]

    def _count(self):
        """One update more."""
        step = call_context.step()
        if step is None:
            return self._updated(int(self._last[1]) + 1)
        step.counts[self] = self._before() + 1
        step.applied[self] = step.applied.get(self, 0) + 1

    def _before(self):
        """In a traced step: the symbol of the number of updates before it."""
        step = call_context.step()
        if self in step.counts:
            return step.counts[self]
        if self not in step.started:
            step.started[self] = step.feed("iterations", lambda: self._last[1], "int32")
        return step.started[self]
