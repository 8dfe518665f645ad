"""The base class of metrics."""

import warnings

from ....abi import Error, ShapeMismatch
from .. import registry
from ..backend import call_context
from ..backend.dtypes import FLOATS, INTEGERS
from ..backend.eager_tensor import eager_tensor
from ..export import keras_export
from ..kind import as_json, Kind
from ..registry import Category
from ..layers.variable import replaced, Variable
from ..losses.loss import category as losses, loss_function, measured
from ..ops import cast
from ..ops.dispatch import is_symbolic
from ..tree import flatten
from ..utils.naming import snake_case
from . import correlation, state
from .state import MetricVariable


@keras_export("metrics")
class Metric(Kind):
    """What compile() takes; by itself, update_state() adds batches and result() gives the number for all of them.

    One of your own derives from it, makes its state with add_variable() and has update_state(), result() and
    reset_state(); it computes on arrays."""

    _category = "metric"

    def __init__(self, *args, **kwargs):
        self._variables, self._batches, self._shown = [], [], None
        if self._class_name is not None:
            super().__init__(*args, **kwargs)
            if self._config.get("thresholds") is not None and self._config.get("num_thresholds", 0) is None:
                del self._config["num_thresholds"]  # there are as many as were given
            self._checked()
            return
        given = {**dict(zip(("dtype", "name"), args)), **kwargs}
        self.name, self._config = given.get("name") or snake_case(type(self).__name__), {"dtype": given.get("dtype")}

    def _checked(self):
        """What the library refuses is refused here."""
        import numpy

        for key in ("beta", "threshold") if self._class_name == "FBetaScore" else ():
            _need_float(key, self._config.get(key, 0.5))
        if self._class_name == "FBetaScore" and self._config.get("average") not in (None, "micro", "macro", "weighted"):
            raise ValueError(
                "Invalid `average` argument value. Expected one of: {None, 'micro', 'macro', 'weighted'}. "
                f"Received: average={self._config['average']}"
            )
        if self._class_name in _COUNTING:
            return
        zeros = numpy.zeros((2, 2), "float32")
        try:
            measured("metric", self._class_name, self._plain(), zeros, zeros)
        except ShapeMismatch:
            pass  # of these zeros
        except Error as e:
            if e.attribute in self._config:
                raise

    def _plain(self):
        known = [a["name"] for a in registry.facts("metric")[self._class_name]["attributes"]]  # of a few "dtype" is one
        return {k: v for k, v in self._config.items() if k != "dtype" or k in known}

    def __getattr__(self, key):
        if key == "name" and self._class_name is not None:
            known = registry.facts("metric")[self._class_name]
            return self._config.get("name") or known.get("log_name")
        if key.startswith("_"):
            raise AttributeError(key)
        if self._class_name is not None and key in state.names(self._class_name):
            return MetricVariable(self, key)
        if self._class_name == "AUC" and key in ("thresholds", "num_thresholds"):
            return self._auc(key)
        return super().__getattr__(key)

    @property
    def dtype(self):
        """The type of data of what it measures."""
        given = self._config.get("dtype")
        return str(getattr(given, "compute_dtype", None) or getattr(given, "name", None) or given or "float32")

    _dtype = dtype

    def _auc(self, key):
        """Thresholds between 0 and 1, the first and last just outside."""
        given, n = self._config.get("thresholds"), self._config.get("num_thresholds", 200)
        inner = sorted(given) if given is not None else [(i + 1) / (n - 1) for i in range(n - 2)]
        return len(inner) + 2 if key == "num_thresholds" else [-1e-7, *inner, 1.0 + 1e-7]

    # ---- for one's own

    def add_variable(self, shape=(), initializer=None, dtype=None, aggregation=None, name=None):
        """Adds a variable of the state, which reset_state() sets back."""
        first, dtype = "zeros" if initializer is None else initializer, dtype or self.dtype
        variable = Variable(first, shape, dtype, trainable=False, name=name)
        self._variables.append(variable)
        return variable

    def add_weight(self, shape=(), initializer=None, dtype=None, name=None):
        """Adds a variable of the state, which reset_state() sets back."""
        return self.add_variable(shape, initializer, dtype, name=name)

    @property
    def variables(self):
        """Its state; of the library's metrics what they have added up."""
        if self._class_name is None:
            found = [*self._variables, *(v for x in self._parts() for v in getattr(x, "variables", [x]))]
            return list({id(v): v for v in found}.values())
        return [*(MetricVariable(self, name) for name in state.names(self._class_name)), *self._variables]

    def _parts(self):
        """The metrics and variables among its attributes."""
        kept = [v for k, v in self.__dict__.items() if k not in ("_variables", "_batches", "_config")]
        return [x for x in flatten(kept) if isinstance(x, (Metric, Variable))]

    def _joined_batches(self):
        """Targets, predictions and weights of all batches."""
        import numpy

        y, p, w = zip(*self._batches)
        weights = None
        if any(v is not None for v in w):
            weights = _joined([numpy.ones(a.shape[:1], "float32") if v is None else v for a, v in zip(y, w)])
        return _joined(y), _joined(p), weights

    def update_state(self, y_true, y_pred=None, sample_weight=None):
        """Accumulates a batch: y_true and y_pred (batch, ...), sample_weight (batch,) or None."""
        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no update_state()")
        import numpy

        step = call_context.traced_step()
        if step is not None:
            step.events.append((self, Metric.update_state, y_true, y_pred, sample_weight))
            return
        if call_context.step() is not None:  # a tape of arrays
            arrays = [v if v is None else numpy.asarray(v) for v in (y_true, y_pred, sample_weight)]
            with call_context.at_once():
                return self.update_state(*arrays)
        if call_context.owner() is not None and is_symbolic(y_true, y_pred, sample_weight):  # as a variable's assign()
            call_context.owner().assigned = self.name
            return
        self._need_own()
        if self._class_name in ("Mean", "Sum"):
            weights = y_pred if y_pred is not None else sample_weight
            y_true, y_pred, sample_weight = _values(y_true, weights, self._class_name == "Mean")
        if self._class_name in _COUNTING and "int" in (self._config.get("dtype") or "int"):
            _warn_of_floats(sample_weight)
        if self._config.get("top_k") and numpy.ndim(y_pred) == 1:  # of one sample
            y_true, y_pred = ([v] for v in (y_true, y_pred))
            sample_weight = sample_weight if numpy.ndim(sample_weight) != 1 else [sample_weight]
        if self._class_name in _OF_COLUMNS and max(numpy.ndim(y_true), numpy.ndim(y_pred)) != 2:
            raise ValueError(
                f"{type(self).__name__} expects 2D inputs with shape (batch_size, output_dim). Received input shapes: "
                f"y_pred.shape={numpy.shape(y_pred)} and y_true.shape={numpy.shape(y_true)}."
            )
        whole = self.dtype if self.dtype in INTEGERS and self._class_name not in _COUNTING else None
        self._batches.append(
            tuple(None if v is None else numpy.array(v, whole) for v in (y_true, y_pred, sample_weight))
        )

    def _show_result(self, logs):
        """Its number among those that a model measured."""
        found = [v for k, v in logs.items() if k == self.name] or [
            v for k, v in logs.items() if k.endswith(f"_{self.name}") and not k.startswith("val_")
        ]
        several = [v for k, v in logs.items() if k.startswith(f"{self.name}[")]
        self._batches, self._shown = [], found[0] if len(found) == 1 else several or None

    def _need_own(self):
        if self._shown is not None:
            raise NotImplementedError(
                f"{self!r} holds the result of a compiled model: call reset_state() before update_state()"
            )

    def reset_state(self):
        """Sets the state back to that of the start."""
        step = call_context.traced_step()
        if step is not None and self._class_name is not None:
            step.events.append((self, Metric.reset_state))
            return
        self._batches, self._shown = [], None
        for v in [*self._variables, *self._parts()]:
            if isinstance(v, Metric):
                v.reset_state()
            else:
                v.assign(0 * v.numpy())

    def result(self):
        """The value of the metric for what was accumulated: a scalar, or a dict of scalars."""
        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no result()")
        if call_context.traced_step() is not None:
            return self
        import numpy

        if not self._batches:
            return eager_tensor(numpy.array(0.0 if self._shown is None else self._shown, "float32"))
        value = measured("metric", self._class_name, self._plain(), *self._joined_batches())
        return eager_tensor(value) if self.dtype not in FLOATS[:2] else cast(value, self.dtype)

    def __call__(self, *args, **kwargs):
        self.update_state(*args, **kwargs)
        return self.result()

    def _values_of_state(self, who, values):
        """Values for its variables, as stateless functions are given them."""
        import numpy

        values = list(values)
        if len(values) != len(self.variables):
            raise ValueError(
                f"Argument `metric_variables` must be a list of tensors corresponding 1:1 to "
                f"{type(self).__name__}().variables. Received list with length {len(values)}, but expected "
                f"{len(self.variables)} variables."
            )
        if is_symbolic(values):
            raise NotImplementedError(f"{type(self).__name__}.{who}: expected arrays, outside of a traced call")
        return [numpy.asarray(v) for v in values]

    def stateless_update_state(self, metric_variables, *args, **kwargs):
        """What its variables would be after update_state(), were they these; its own stay."""
        values = self._values_of_state("stateless_update_state", metric_variables)
        if self._class_name is None:
            with replaced(self.variables, values):
                self.update_state(*args, **kwargs)
                return [eager_tensor(v.numpy().copy()) for v in self.variables]
        if is_symbolic(args, kwargs) or not values:
            raise NotImplementedError(
                f"{type(self).__name__}.stateless_update_state: "
                + ("expected arrays" if values else "what it has added up is not told by variables")
            )
        kept = self._batches, self._shown
        try:
            self._batches, self._shown = [], None
            self.update_state(*args, **kwargs)
            return [eager_tensor(v + one.numpy()) for v, one in zip(values, self.variables)]
        finally:
            self._batches, self._shown = kept

    def stateless_result(self, metric_variables):
        """What result() would be of these values of its variables."""
        values = self._values_of_state("stateless_result", metric_variables)
        if self._class_name is None:
            with replaced(self.variables, values):
                return eager_tensor(self.result().copy())
        if type(self).result is not Metric.result:
            raise NotImplementedError(
                f"{type(self).__name__}.stateless_result() is not supported for a class that overrides "
                "result()"
            )
        return eager_tensor(state.result(self._class_name, type(self).__name__, values))

    def stateless_reset_state(self):
        """What its variables would be after reset_state()."""
        import numpy

        if self._class_name is not None:
            return [eager_tensor(numpy.zeros(v.shape, v.dtype)) for v in self.variables]
        with replaced(self.variables, [v.numpy() for v in self.variables]):
            self.reset_state()
            return [eager_tensor(v.numpy().copy()) for v in self.variables]

    def get_config(self):
        if self._class_name is None:
            return {"name": self.name, "dtype": self.dtype}
        return {**super().get_config(), "name": self.name, "dtype": self.dtype}

    def _to_json(self):
        return {"class_name": self._class_name, "config": as_json(self._plain())}

    def __repr__(self):
        return f"<{type(self).__name__} name={self.name}>"


_OF_COLUMNS = ("F1Score", "FBetaScore", "R2Score")
_COUNTING = ("MeanIoU", "IoU", "OneHotIoU", "OneHotMeanIoU", "BinaryIoU")


def _warn_of_floats(sample_weight):
    if "float" in str(getattr(sample_weight, "dtype", "")):
        warnings.warn(
            "You are passing weight as `float`, but dtype is `int`. This may result in an incorrect weight due to "
            "type casting Consider using integer weights.",
            stacklevel=3,
        )


def _need_float(key, value):
    if key == "threshold" and value is None:
        return
    if not isinstance(value, float):
        raise ValueError(
            f"Invalid `{key}` argument value. It should be a Python float. Received: {key}={value} of type "
            f"'{type(value)}'"
        )
    if value <= 0 or key == "threshold" and value > 1:
        rule = "verify 0 < threshold <= 1" if key == "threshold" else "be > 0"
        raise ValueError(f"Invalid `{key}` argument value. It should {rule}. Received: {key}={value}")


def _joined(arrays):
    import numpy

    arrays = [a if a.ndim else a.reshape(1) for a in arrays]
    shape = max((a.shape for a in arrays), key=len)

    def wide(a):  # weights of samples beside those of what is in them
        rest = (1,) * (len(shape) - a.ndim)
        return numpy.broadcast_to(a.reshape(a.shape + rest), a.shape[:1] + shape[1:]) if rest else a

    return numpy.concatenate([wide(a) for a in arrays])


def _values(values, weights, of_samples):
    """Numbers for Mean and Sum, each with its weight, as predictions without targets; `of_samples`: those of a sample
    count as one, their mean."""
    import numpy

    values = numpy.asarray(values, "float32")
    if weights is not None:
        weights = numpy.asarray(weights, "float32")
        while weights.ndim > values.ndim:
            values = values[..., None]
        while weights.ndim < values.ndim:
            weights = weights[..., None]
        weights = numpy.broadcast_to(weights, values.shape)
    if of_samples and values.ndim > 1:
        rest = tuple(range(1, values.ndim))
        values = (values if weights is None else values * weights).mean(rest)
        weights = None if weights is None else weights.mean(rest)
        values = values if weights is None else numpy.divide(values, weights, out=0 * values, where=weights != 0)
    weights = None if weights is None else weights.reshape(-1)
    values = values.reshape(-1, 1)
    return values, values, weights


def _function(cls, name):
    """The function of a kind of metrics, of each item, or along an axis; where it is a loss too, that of the loss."""
    return correlation.FUNCTIONS.get(name) or losses.find(name) or loss_function(cls, name)


category = Category("metric", "metrics", Metric, _function)
