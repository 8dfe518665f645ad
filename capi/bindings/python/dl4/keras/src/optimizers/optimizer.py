"""The base class of optimizers."""

import warnings

from .... import core
from .. import overrides
from ..backend import call_context, global_state
from ..backend.eager_tensor import eager_tensor
from ..errors import keras_errors
from ..export import keras_export
from ..kind import as_json, is_native, Kind
from ..registry import Category, create
from ..symbolic.tensor import as_tensor
from ..utils.naming import snake_case, unique_name
from .gradients import GradientApplier
from .state import variables


@keras_export("optimizers")
class Optimizer(Kind):
    """How weights follow their gradients; learning_rate may be read and set while a model trains."""

    _category = "optimizer"

    def __init__(self, *args, **kwargs):
        self._trainer, self._last, self._known, self._applier = None, (None, 0), None, None
        self._layers = {}  # that update weights in traced steps
        if self._class_name is None:
            raise NotImplementedError(
                f"{type(self).__name__}: an optimizer that derives from Optimizer alone is not in this version"
            )
        super().__init__(*args, **kwargs)

        self.name = self._config.pop("name", None) or unique_name(snake_case(type(self).__name__))

        graph = core.Graph(global_state.context())
        x = graph.input("x", "float32", (None, 1))
        y = graph.call(graph.layer("Dense", "d", {"units": 1}), [x])
        with keras_errors(self._class_name, self._config):
            core.Trainer(graph.build([x], y), {"optimizer": self._native(), "loss": "mse"})  # refused here

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

    @property
    def built(self):
        return self._known is not None

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

    def get_config(self):
        config = super().get_config()
        return {
            "name": self.name,
            **config,
            "learning_rate": self._config.get("learning_rate", config["learning_rate"]),
        }

    @property
    def learning_rate(self):
        import numpy

        rate = self._last[0]
        if self._trainer is not None:
            rate = self._trainer.get("learning_rate")
        elif rate is None:
            rate = Optimizer.__getattr__(self, "learning_rate")
            rate = rate(0) if callable(rate) else rate
        return eager_tensor(numpy.array(rate, "float32"))

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
        import numpy

        n = self._trainer.get("iterations") if self._trainer is not None else self._last[1]
        return eager_tensor(numpy.array(int(n)))

    def apply(self, grads, trainable_variables=None):
        """Updates variables by gradients that are arrays."""
        overrides.refuse(self, "apply()", "compile", but=("apply", "apply_gradients"))
        if call_context.step() is not None:
            return self._apply_in_step(list(grads), trainable_variables)
        if self._trainer is not None and self._applier is None:
            raise NotImplementedError(
                f"{self.name}: the optimizer of a model that has been trained can't be applied by hand in this version"
            )
        if trainable_variables is None and self._applier is None:
            raise ValueError(
                "When passing `grads` without `variables`, the optimizer must be built on a list of variables."
            )
        if trainable_variables is not None:
            trainable_variables = list(trainable_variables)
            if not trainable_variables:
                raise ValueError("No variables to update: expected gradients and their variables, got none.")
            self._need_known(trainable_variables)
        if self._applier is None:
            self._applier = GradientApplier(self, trainable_variables)
        self._applier.apply(list(grads), trainable_variables)

    def _apply_in_step(self, grads, variables):
        """An update in a step that is traced; gradients of None are left out."""
        if variables is None:
            raise NotImplementedError(
                f"{self.name}.apply() in a traced step: expected the variables beside the gradients"
            )
        variables = list(variables)
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
            native = self._native()
            native["config"].update(learning_rate=1.0)  # that of each run is given it
            self._layers[key] = create("layer", "ApplyGradients", optimizer=native, name=unique_name(self.name))
        return self._layers[key]

    def _rate_now(self):
        given = self._config.get("learning_rate")
        if callable(given):
            return float(given(self._last[1]))
        return float(self.learning_rate)

    def _updated(self, count):
        self._last = self._last[0], count

    def apply_gradients(self, grads_and_vars):
        pairs = list(grads_and_vars)
        self.apply([g for g, _ in pairs], [v for _, v in pairs])
        return self.iterations


category = Category("optimizer", "optimizers", Optimizer)
