"""The base class of optimizers."""

import inspect
import warnings

from .... import abi, core
from .. import overrides
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor
from ..errors import keras_errors
from ..export import keras_export
from ..kind import as_json, is_native, Kind
from ..registry import Category, create
from ..symbolic.numbers import computed
from ..symbolic.tensor import as_tensor, is_tensor
from ..utils.naming import snake_case, unique_name
from .gradients import GradientApplier
from .state import variables
from .updates import Updates

# What Optimizer itself takes, for classes that derive from it alone.
_ARGUMENTS = {
    "weight_decay": None,
    "clipnorm": None,
    "clipvalue": None,
    "global_clipnorm": None,
    "use_ema": False,
    "ema_momentum": 0.99,
    "ema_overwrite_frequency": None,
    "loss_scale_factor": None,
    "gradient_accumulation_steps": None,
}


@keras_export("optimizers")
class Optimizer(Updates, Kind):
    """How weights follow their gradients; learning_rate may be read and set while a model trains."""

    _category = "optimizer"

    def __init__(self, *args, **kwargs):
        self._trainer, self._last, self._known, self._applier = None, (None, 0), None, None
        self._layers, self._steps_on_arrays = {}, {}  # what updates weights in traced steps, and such steps for arrays
        self._built, self._built_for, self._places, self._averages = False, (), {}, ()
        self._rules, self._rule_layers, self._restored = {}, {}, None
        if kwargs.pop("decay", None) is not None:
            warnings.warn("Argument `decay` is no longer supported and will be ignored.", stacklevel=2)
        super().__init__(*args, **kwargs)
        if _takes_nothing(self._config.get("learning_rate")):
            rate = self._config["learning_rate"]
            self._config["learning_rate"] = lambda step: rate()
        if self._class_name is None:
            self._config = _own_arguments(type(self).__name__, *args, **kwargs)
        self.name = self._config.pop("name", None) or unique_name(snake_case(type(self).__name__))
        if self._class_name is None:
            return

        native = self._native()
        with keras_errors(self._class_name, self._config):
            abi.check_kind("optimizer", native["class_name"], native["config"])

    def _bind(self, trainer):
        """To the trainer of a model: what is read and set from now on is its. None: it has ended."""
        if trainer is None and self._trainer is not None:
            self._last = self._trainer.get("learning_rate"), int(self._trainer.get("iterations"))
        self._trainer = trainer

    def _need_known(self, variables):
        """It is for the variables that it is first used with, as in Keras."""
        keys = {(v._layer, v._name): v for v in variables}
        if self._known is None:
            self._known = set(keys)
        for key, v in keys.items():
            if key not in self._known:
                raise ValueError(
                    f"Unknown variable: <Variable path={v.path}, shape={v.shape}, dtype={v.dtype}>. This optimizer can "
                    "only be called for the variables it was originally built with. When working with a new set of "
                    "variables, you should recreate a new optimizer instance."
                )

    def _is_python(self):
        """Has it methods of its user's, or what a graph can't do of the library's?"""
        return self._class_name is None or any(self._excluded) or bool(overrides.having(self, "python"))

    @property
    def built(self):
        """Whether the optimizer has its variables."""
        return self._built or self._known is not None

    @built.setter
    def built(self, yes):
        self._built = bool(yes)

    def build(self, variables):
        """It is for these variables from now on."""
        self._built_for = list(variables)
        self._need_known(self._built_for)
        self._places = {id(v): i for i, v in enumerate(self._built_for)}
        self._built = True
        if self.use_ema:
            self._averages = self.add_optimizer_variables(self._built_for, "average")

    def _by_rules(self):
        """Does its update stand around update_step()? A graph's update has no averages, nor variables to be set."""
        if self.loss_scale_factor and self._trainer is None and call_context.traced_step() is None:
            return True  # gradients that are given are of the scaled loss
        averages = bool(self.use_ema) and call_context.traced_step() is not None
        return self._is_python() or bool(self._rule_layers) or averages

    @property
    def variables(self):
        """What it keeps: counts, the rate, and of each variable what goes from step to step."""
        return variables(self)

    def _python_schedule(self):
        """A schedule that is a function of Python; its rates are set batch by batch."""
        given = self._config.get("learning_rate")
        return given if callable(given) and not is_native(given) else None

    def _native(self):
        schedule = self._python_schedule()
        config = {**self._config, **({} if schedule is None else {"learning_rate": float(schedule(0))})}
        return {"class_name": self._class_name, "config": as_json(config)}

    def __getattr__(self, key):
        config = self.__dict__.get("_config", {})
        if key in config:
            return config[key]
        return _ARGUMENTS[key] if key in _ARGUMENTS and self._class_name is None else super().__getattr__(key)

    def __reduce__(self):
        return type(self).from_config, (self.get_config(),)

    def get_config(self):
        config = super().get_config()
        return {
            "name": self.name,
            **config,
            "learning_rate": self._config.get("learning_rate", config.get("learning_rate")),
        }

    @property
    def learning_rate(self):
        """The learning rate; may be set, unless a schedule determines it."""
        import numpy

        if call_context.traced_step() is not None:
            return call_context.step().rate_of(self)
        rate = self._last[0]
        if self._trainer is not None:
            rate = self._trainer.get("learning_rate")
        elif rate is None:
            rate = Optimizer.__getattr__(self, "learning_rate")
            rate = rate(self._last[1]) if callable(rate) else rate
        now = eager_tensor(numpy.array(rate, "float32"))
        now.assign = self._assign_rate
        return now

    def _assign_rate(self, value):
        self.learning_rate = value

    @learning_rate.setter
    def learning_rate(self, value):
        if (
            callable(self._config.get("learning_rate"))
            and self._trainer is not None
            and self._python_schedule() is None
        ):
            raise TypeError(
                "This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` "
                "constructor argument, hence its learning rate is not settable. If you need the learning "
                "rate to be settable, you should instantiate the optimizer with a float `learning_rate` "
                "argument."
            )
        value = value if callable(value) else float(value)
        self._config["learning_rate"], self._last = value, (None, self._last[1])
        if self._trainer is not None and not callable(value):
            self._trainer.set("learning_rate", value)

    lr = learning_rate

    @property
    def iterations(self):
        """The number of updates so far."""
        import numpy

        if call_context.traced_step() is not None and self._by_rules():
            return self._before()
        n = self._trainer.get("iterations") if self._trainer is not None else self._last[1]
        return eager_tensor(numpy.array(int(n)))

    def apply(self, grads, trainable_variables=None):
        """Updates variables by gradients that are arrays."""
        overrides.refuse(self, "apply()", "compile")
        grads = list(grads)
        if call_context.traced_step() is None:  # in such a step weights are what they will be
            grads = [computed(g) if is_tensor(g) and g.call.is_bound() else g for g in grads]
        if call_context.step() is not None and call_context.traced_step() is None:  # a tape of arrays
            import numpy

            arrays = [g if g is None else numpy.asarray(g) for g in grads]
            with call_context.at_once():
                return self.apply(arrays, trainable_variables)
        if self._applier is not None and call_context.step() is not None:
            self._need_one_way()
        if self._by_rules():
            return self._apply_updates(list(grads), trainable_variables)
        if call_context.step() is not None:
            return self._apply_in_step(list(grads), trainable_variables)
        if self._trainer is not None and self._applier is None:
            raise NotImplementedError(
                f"{self.name}: the optimizer of a model that has been trained can't be applied by hand in this version"
            )
        if any(g is None for g in grads) and self._applier is None:
            return self._apply_updates(list(grads), trainable_variables)
        if trainable_variables is None and self._applier is None:
            if not self._built_for:
                raise ValueError(
                    "When passing `grads` without `variables`, the optimizer must already be built on a list of "
                    "variables. Call `optimizer.build(trainable_variables)` first. "
                )
            trainable_variables = self._built_for
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
            if not trainable_variables:
                raise ValueError("No variables to update: expected gradients and their variables, got none.")
            self._need_known(trainable_variables)
        if not self.use_ema and not self.gradient_accumulation_steps:
            return self._apply_on_arrays(grads, trainable_variables)
        if self._applier is None and self._layers:
            self._need_one_way()
        if self._applier is None:
            self._applier = GradientApplier(self, trainable_variables)
        self._applier.apply(list(grads), trainable_variables)

    def _need_one_way(self):
        raise NotImplementedError(
            f"{self.name}: an optimizer with use_ema or gradient_accumulation_steps is applied to arrays or in traced "
            "steps, not in both, in this version"
        )

    def _apply_in_step(self, grads, variables):
        """An update in a step that is traced; gradients of None are left out."""
        if variables is None and not self._built_for:
            raise ValueError(
                "When passing `grads` without `variables`, the optimizer must already be built on a list of variables. "
                "Call `optimizer.build(trainable_variables)` first. "
            )
        variables = list(self._built_for if variables is None else variables)
        if len(grads) != len(variables):
            raise ValueError(f"expected a gradient for each variable, got {len(grads)} for {len(variables)} variables")
        self._need_known(variables)
        pairs = [(as_tensor(g), v) for g, v in zip(grads, variables) if g is not None]
        if not pairs:
            raise ValueError("No gradients provided for any variable.")
        if len(pairs) < len(variables):
            left = [v.path for g, v in zip(grads, variables) if g is None]
            warnings.warn(f"Gradients do not exist for variables {left} when minimizing the loss.", stacklevel=4)
        call_context.step().apply(self, [g for g, _ in pairs], [v for _, v in pairs])

    def _update_layer(self, weights):
        """The layer of the library's that updates these weights, and keeps what goes from step to step."""
        key = tuple((v._layer, v._name) for v in weights)
        if key not in self._layers:
            if self._layers:
                raise NotImplementedError(
                    f"{self.name}: expected gradients of the same {len(next(iter(self._layers)))} variables each time, "
                    f"got {len(weights)} of {[v.path for v in weights]}"
                )
            native = self._native()
            native["config"].update(learning_rate=1.0)  # that of each run is given it
            self._layers[key] = create("layer", "ApplyGradients", optimizer=native, name=unique_name(self.name))
        return self._layers[key]

    def _rate_now(self, before=0):
        """The rate of the next update, or of one with others before it."""
        given = self._config.get("learning_rate")
        if callable(given):
            return float(given(self._last[1] + before))
        return float(self.learning_rate)

    def _updated(self, count):
        self._last = self._last[0], count

    def _scale_by(self, factor):
        self._config["loss_scale_factor"] = factor

    def scale_loss(self, loss):
        """The loss as the gradients are computed of it."""
        return loss if self.loss_scale_factor is None else loss * self.loss_scale_factor

    # ---- what goes from step to step, where steps train

    def _kept_weights(self, alone=None):
        """Weights of the layers that update, by a key that is the same in each run of a program."""
        found = {}
        for i, layer in enumerate([*self._layers.values(), *self._rule_layers.values()] if alone is None else [alone]):
            model, prefix = layer._home()
            names = [n for n, _, _ in model.weights() if n.startswith(f"{prefix}/")]
            found.update({f"{i}:{j}": (model, n) for j, n in enumerate(names)})
        return found

    def _state(self):
        """Of an optimizer that steps apply: arrays by name."""
        state = {f"slot:{key}": model.get_weight(name) for key, (model, name) in self._kept_weights().items()}
        state.update({f"own:{i}": v.numpy() for i, v in enumerate(self._variables)})
        rate = self._config.get("learning_rate")
        return {**state, "iterations": self._last[1], **({} if callable(rate) else {"rate": self._rate_now()})}

    def _put_state(self, state):
        """That state, now and to what is traced later."""
        self._last = (float(state["rate"]) if "rate" in state else None), int(state["iterations"])
        self._restored = state
        self._traced()

    def _set_iterations(self, count, layer=None):
        """Of an optimizer that no trainer counts for, or of one of the layers that update."""
        import numpy

        self._updated(count)
        for model, name in self._kept_weights(layer).values():
            if name.endswith("/iterations"):
                _set_weight(model, name, numpy.array(count, "int64"))

    def _traced(self):
        """Is told that a step has been traced: a state that was restored before is put to what is there now."""
        state = self._restored
        if state is None:
            return
        for key, (model, name) in self._kept_weights().items():
            _set_weight(model, name, state[f"slot:{key}"])
        for i, v in enumerate(self._variables):
            v.assign(state[f"own:{i}"])
        if self._layers or self._rule_layers or self._variables:
            self._restored = None
            global_state.changed()

    def apply_gradients(self, grads_and_vars):
        """Updates variables by their gradients: pairs (gradient, variable). In a custom step or on arrays."""
        pairs = list(grads_and_vars)
        self.apply([g for g, _ in pairs], [v for _, v in pairs])
        return self.iterations


def rates_of(optimizer):
    """The optimizers that have the learning rates of a model, by the rates' names in logs."""
    if hasattr(type(optimizer), "optimizers"):
        return {f"learning_rate_{one.name}": one for one in optimizer.optimizers}
    return {"learning_rate": optimizer}


def _set_weight(model, name, value):
    """Of the type that it has, which may be an integer."""
    abi.call("dl4_model_set_weight", model, name.encode(), core.Tensor.of(value))


def _own_arguments(cls, learning_rate, name=None, **kwargs):
    """The config of a class that derives from Optimizer alone."""
    unknown = {k: v for k, v in kwargs.items() if k not in _ARGUMENTS}
    if unknown:
        raise ValueError(f"Argument(s) not recognized: {unknown}")
    if not isinstance(learning_rate, float) and not callable(learning_rate):
        raise ValueError(
            "Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable (that "
            "takes in the current iteration value and returns the corresponding learning rate value). "
            f"Received instead: learning_rate={learning_rate}"
        )
    if sum(kwargs.get(k) is not None for k in ("clipnorm", "clipvalue", "global_clipnorm")) > 1:
        raise ValueError(f"Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set, got {cls}({kwargs})")
    return {"name": name, "learning_rate": learning_rate, **_ARGUMENTS, **kwargs}


def _takes_nothing(rate):
    """Is it a function that gives a rate when it is asked, as Keras takes them, and no schedule?"""
    if not inspect.isfunction(rate) and not inspect.ismethod(rate):
        return False
    return not inspect.signature(rate).parameters


category = Category("optimizer", "optimizers", Optimizer)
