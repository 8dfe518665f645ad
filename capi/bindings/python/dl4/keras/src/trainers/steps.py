"""Steps of a batch in Python: test_step(), predict_step(), compute_loss(), compute_metrics()."""

import inspect
import itertools

from .. import ops, overrides
from ..backend import call_context
from ..layers.variable import replaced
from ..losses.loss import Loss
from ..metrics.metric import Metric
from ..registry import create
from ..symbolic.gradient_tape import GradientTape
from ..symbolic.step import CompiledStep
from ..tree import flatten
from ..utils.data_utils import pack_x_y_sample_weight, Sequence, unpack_x_y_sample_weight
from .compile_utils import as_floats, CompileMetrics, is_python, loss_name, loss_object
from . import nested_losses
from .data_adapters import (
    as_array,
    batches,
    is_whole,
    joined,
    length_of,
    need_alone,
    no_batch,
    orders_of,
    repeatable,
    rows_of,
    shuffled,
    warn_ran_out,
    weights_of_classes,
    within_epoch,
)

_OF_STEPS = ("steps", "python")


class Steps:
    """What a model does with one batch."""

    stop_evaluating = stop_predicting = False  # what a callback may set
    _fitting = False  # is it evaluated within fit(), which has its trainer?
    _compiled_step = None  # train_step(), where it is called
    _runs_eagerly = False
    _loss_means = None  # of the outputs, where there are several losses
    _tracked_metrics = None  # a Mean of the loss, and the metrics of compile(), where they are asked for

    def predict_step(self, data):
        """What predict() computes for a batch, `data`. Override it for outputs of your own."""
        return self(unpack_x_y_sample_weight(data)[0], training=False)

    def test_step(self, data):
        """What evaluate() does with a batch, `data`: (x, y, sample_weight). Returns a dict of results. Override it for
        a step of your own."""
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self._compute_loss(x, y, y_pred, sample_weight, training=False)
        self._tracked()[0].update_state(loss, sample_weight=rows_of(x))
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def train_step(self, data):
        """What fit() does with a batch: outputs, loss, gradients, update. Override it for a step of your own.

        Args:
        data: what the dataset gives: x, (x, y) or (x, y, sample_weight);
        `keras.utils.unpack_x_y_sample_weight(data)`.

        Returns:
            A dict from name to number, which the history and the progress bar show.
        """
        x, y, sample_weight = unpack_x_y_sample_weight(data)
        with GradientTape() as tape:
            y_pred = self(x, training=True) if self._takes_training() else self(x)
            loss = self._compute_loss(x, y, y_pred, sample_weight, training=True)
            scaled = self.optimizer.scale_loss(loss)
        self._tracked()[0].update_state(loss, sample_weight=rows_of(x))
        weights = self.trainable_weights
        if weights:
            self.optimizer.apply(tape.gradient(scaled, weights), weights)
        return self.compute_metrics(x, y, y_pred, sample_weight=sample_weight)

    def _compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """compute_loss(), whose override may take no `training`."""
        more = {"training": training} if "training" in inspect.signature(self.compute_loss).parameters else {}
        return self.compute_loss(x, y, y_pred, sample_weight, **more)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a step: that of compile(), and what add_loss() and regularizers add. Override it for a
        loss of your own.

        Args:
            x, y, y_pred, sample_weight: inputs, targets, outputs and weights of the batch.
            training: whether the step trains.

        Returns:
            A scalar tensor.
        """
        found = self._compiled_losses(y, y_pred, sample_weight) if self.compiled else []
        found += [ops.sum(loss) for loss in self.losses]
        if not found:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`.")
        total = found[0]
        for loss in found[1:]:
            total = total + loss
        return total

    def stateless_compute_loss(
        self,
        trainable_variables,
        non_trainable_variables,
        metrics_variables,
        x=None,
        y=None,
        y_pred=None,
        sample_weight=None,
        training=True,
    ):
        """compute_loss() with these values of the variables; what they are behind it."""
        counted, self._loss_means = self._loss_means, None
        try:
            with replaced(*self._values_for(trainable_variables, non_trainable_variables)):
                loss = ops.convert_to_tensor(float(self._compute_loss(x, y, y_pred, sample_weight, training)))
                after = [ops.convert_to_tensor(v.numpy().copy()) for v in self.non_trainable_variables]
        finally:
            self._loss_means = counted
        return loss, (trainable_variables, after, list(metrics_variables))

    def _compiled_losses(self, y, y_pred, sample_weight):
        if self._compiled["loss"] is None:
            return []
        parts, found = self._parts_of_losses(y, y_pred, sample_weight), []
        means = self._means_of_losses(self._loss_names(y_pred))
        for i, (loss, target, output, w, factor) in enumerate(parts):
            if loss is not None:
                value = loss_object(loss, target, output)(target, output, sample_weight=w)
                if means:
                    means[i].update_state(value, sample_weight=output.shape[0])
                found.append(value if factor is None else value * float(factor))
        return found

    def _parts_of_losses(self, y, y_pred, sample_weight):
        """Losses with their targets, predictions, weights of samples and factors."""
        entries, outputs, ws = self._entries(y_pred), flatten(y_pred), flatten(sample_weight)
        if entries is not None:
            at, nested, names = nested_losses.at, nested_losses.nested, self._flat_names(y_pred)
            if any(nested(at(e.path, y_pred)) for e in entries):
                raise NotImplementedError(
                    f"{type(self).__name__}: a train_step() in Python requires one output for each loss"
                )
            ys = nested_losses.targets_of(entries, y, y_pred, names)
            w = nested_losses.like_outputs(sample_weight, y_pred, names) if nested(sample_weight) else sample_weight
            return [(e.loss, y, at(e.path, y_pred), at(e.path, w), e.weight) for e, y in zip(entries, ys)]
        losses, ys = self._plain_losses(y_pred), self._targets_by_output(y, y_pred)
        weights, factors = self._compiled["loss_weights"], [None] * len(losses)
        if weights is not None:
            factors = self._per_output(weights, len(losses), self._output_keys(y_pred), "loss_weights")
        if len(ys) not in (len(losses), sum(loss is not None for loss in losses)):
            raise ValueError(nested_losses.mismatch(y, y_pred))
        if len(ys) < len(losses):  # of those with a loss alone
            rest = iter(ys)
            ys = [None if loss is None else next(rest) for loss in losses]
        ws = ws if len(ws) == len(losses) else ws[:1] * len(losses)
        return list(zip(losses, ys, outputs, ws, factors))

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Updates the metrics with a batch and returns their results as a dict. Override it for other results."""
        self._tracked()[1].update_state(y, y_pred, sample_weight)
        return self.get_metrics_result()

    def get_metrics_result(self):
        """The results of all metrics as a dict from name to number."""
        found = {}
        for metric in self.metrics:
            result = metric.result()
            found.update(result if isinstance(result, dict) else {metric.name: result})
        return found if call_context.step() is not None else as_floats(found)

    def reset_metrics(self):
        """Sets the state of all metrics back, as at the start of an epoch."""
        for metric in self.metrics:
            metric.reset_state()

    @property
    def metrics(self):
        """The mean of the loss and what compile() was given, as steps in Python count them, and those it has itself."""
        owners = [self, *(layer for layer in self._flatten_layers(include_self=False) if layer._class_name is None)]
        own = [m for owner in owners for m in vars(owner).values() if isinstance(m, Metric)]
        return [*(self._tracked() if self.compiled else ()), *filter(None, self._loss_means or ()), *own]

    @property
    def metrics_variables(self):
        """The variables of all metrics."""
        return [v for metric in self.metrics for v in metric.variables]

    def _set_tracked_results(self, logs):
        """Takes the results of a run in the library."""
        loss, compiled = self._tracked()
        loss.reset_state()
        loss.update_state(logs.get("loss", 0.0))
        means = {m.name: m for m in filter(None, self._means_of_losses(self._loss_names()))}
        for name, mean in means.items():
            mean.reset_state()
            mean.update_state(logs.get(name, 0.0))
        compiled.results = {name: value for name, value in logs.items() if name != "loss" and name not in means}

    def _tracked(self):
        if self._tracked_metrics is None:
            self._tracked_metrics = create("metric", "Mean", name="loss"), CompileMetrics(self)
        return self._tracked_metrics

    def _means_of_losses(self, names):
        """A mean of the loss of each output that has one, where there are several."""
        if sum(name is not None for name in names) < 2:
            return []
        if self._loss_means is None:
            self._loss_means = [None if name is None else create("metric", "Mean", name=name) for name in names]
        return self._loss_means

    @property
    def _loss_tracker(self):
        return self._tracked()[0] if self.compiled else None

    @property
    def _compile_metrics(self):
        return self._tracked()[1] if self.compiled else None

    train_function = test_function = predict_function = None  # what the functions below make: f(iterator of batches)

    def make_train_function(self, force=False):
        """Makes the function that trains on a batch; `force` makes it anew."""
        if self.train_function is None or force:
            self.train_function = lambda iterator: self._train_on(next(iter(iterator)))
        return self.train_function

    def make_test_function(self, force=False):
        """Makes the function that evaluates a batch; `force` makes it anew."""
        if self.test_function is None or force:
            self.test_function = lambda iterator: self.test_step(next(iter(iterator)))
        return self.test_function

    def make_predict_function(self, force=False):
        """Makes the function that predicts a batch; `force` makes it anew."""
        if self.predict_function is None or force:
            self.predict_function = lambda iterator: self.predict_step(next(iter(iterator)))
        return self.predict_function

    # ---- training

    @property
    def run_eagerly(self):
        """Whether train_step() and the like run as Python at each batch."""
        return self._runs_eagerly

    @run_eagerly.setter
    def run_eagerly(self, value):
        self._runs_eagerly = bool(value)

    def _trains_by_steps(self):
        """Does it do what a step of training in the library would not?"""
        of_python = self.optimizer is not None and self.optimizer._is_python()
        return bool(overrides.having(self, "train", "python")) or of_python or self._calls_losses() or self._assigns()

    def _calls_losses(self):
        """Is there a loss whose __call__() is its user's, or none but penalties on weights?"""
        losses = flatten(self._compiled["loss"]) if self._compiled is not None else []
        if any(loss is not None for loss in losses) or self._functional is None:
            return any(isinstance(loss, Loss) and overrides.is_overridden(loss, "__call__") for loss in losses)
        return not self._functional.losses and bool(self.losses)

    def _assigns(self, training=True):
        """Does a call() in it assign variables?"""
        if self._functional is None:
            return False
        functional = self._for_training() if training else self._functional
        return self._functional.assigned is not None or functional.assigned is not None

    def _infers_by_calls(self):
        """Do evaluate() and predict() call it on arrays: where weights are assigned or moved, or where the library's
        part has other inputs than the model has that was called with another `training`?"""
        if self._functional is None:
            return False
        functional = self._for_inference()
        other = functional is not self._functional and self._functional.ahead is not None
        return other or functional.moves_weights(False) or self._assigns(training=False)

    def _predicts_by_steps(self):
        """Does predict() call steps in Python?"""
        return overrides.is_overridden(self, "predict_step", "make_predict_function") or self._infers_by_calls()

    def _fit_by_steps(self, next_epoch, initial_epoch, epochs, callback_list, validated):
        """fit() by train_step(), of the batches that next_epoch() gives; validated(epochs) gives more logs."""
        self.stop_training = False
        callback_list._notify("on_train_begin", {})
        first, self._initial_epoch = self._initial_epoch or initial_epoch, None
        logs = {}
        self.make_train_function()
        for epoch in range(first, epochs):
            callback_list._notify("on_epoch_begin", epoch, {})
            self.reset_metrics()
            logs = as_floats(self._train_epoch(next_epoch(), callback_list))
            now = self.get_metrics_result()
            logs = dict(sorted((now if set(now) == set(logs) else logs).items()))  # as Keras
            logs.update(validated(epoch + 1))
            callback_list._notify("on_epoch_end", epoch, logs)
            if self.stop_training:
                break
        if epochs > first:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        callback_list._notify("on_train_end", logs)

    def _train_epoch(self, given, callback_list):
        """The logs of the last step."""
        logs, hears = {}, callback_list._wants_batches("train")
        for i, batch in enumerate(given):
            callback_list._notify("on_train_batch_begin", i, {})
            logs = self.train_function(iter([pack_x_y_sample_weight(*batch)]))
            logs = logs if isinstance(logs, dict) else {"loss": logs}
            if hears:
                callback_list._notify("on_train_batch_end", i, as_floats(logs))
            if self.stop_training:
                break
        return logs

    def _train_on(self, batch):
        """train_step() with a batch, traced unless it was said to run eagerly."""
        if self._functional is None:
            try:
                self._build_from_data(unpack_x_y_sample_weight(batch)[0])
            except Exception:  # noqa: BLE001 whatever it is: train_step() may take the batch as something else
                if not overrides.is_overridden(self, "train_step"):
                    raise
        if self.optimizer._is_python() or self.optimizer.use_ema:
            self.optimizer._prepare(self.trainable_weights)
        if self.run_eagerly:
            return self.train_step(batch)
        if self._compiled_step is None:
            self._compiled_step = CompiledStep(lambda batch: self.train_step(batch))
        return self._compiled_step(batch)

    # ---- over batches

    def _targets_by_output(self, y, y_pred):
        if isinstance(y, dict):
            return [y.get(name) for name in self._output_keys(y_pred)]
        return list(flatten(y)) if isinstance(y, (list, tuple)) and len(flatten(self._nest_out(y_pred))) > 1 else [y]

    def _has_steps(self):
        """Has it steps, or metrics, that are called in Python?"""
        python = overrides.having(self, *_OF_STEPS) or self._has_python_metrics() or self._calls_losses()
        return bool(python) or self._assigns() or self._infers_by_calls()

    def _tests_by_steps(self, callback_list):
        """Does evaluate() call steps in Python, or tell callbacks of each batch?"""
        return self._has_steps() or callback_list._wants_batches("test")

    def _has_python_metrics(self):
        given = [] if self._compiled is None else [self._compiled[k] for k in ("metrics", "weighted_metrics")]
        return any(is_python(m) for m in flatten(given))

    def _tested(self, x, y, sample_weight, size, steps, callback_list, given=None):
        """What evaluate() gives, batch by batch, by name; of the batches `given`, or those of the data."""
        if not self.compiled:
            raise ValueError("You must call `compile()` before calling `evaluate()`.")
        self.reset_metrics()
        self.make_test_function()
        callback_list._notify("on_test_begin", {})
        logs = {}
        if given is None:
            given = within_epoch(x, batches(x, y, sample_weight, size, steps))
        for i, data in enumerate(_some(given, x)):
            callback_list._notify("on_test_batch_begin", i, {})
            logs = as_floats(self.test_function(iter([pack_x_y_sample_weight(*data)])))
            callback_list._notify("on_test_batch_end", i, logs)
            if self.stop_evaluating:
                break
        now = self.get_metrics_result()
        logs = dict(sorted((now if set(now) == set(logs) else logs).items()))  # as Keras
        callback_list._notify("on_test_end", logs)
        return logs

    def _in_order(self, logs):
        """Values in the order in which Keras lists metrics by their own names, others behind by theirs in the logs."""
        if self._functional is None:  # a step of one's own, of a model without a call()
            names = [m.name for m in self.metrics]
            names = [n for n in dict.fromkeys(names) if n in logs]
            return [logs[n] for n in names + sorted(logs.keys() - set(names))]
        names, outputs = ["loss"], self._output_keys()
        if overrides.is_overridden(self, "metrics"):
            names = [m.name for m in self.metrics]
        for key in ("metrics", "weighted_metrics"):
            given = self._compiled[key]
            for listed in [] if given is None else self._metric_lists(given, len(self.outputs), outputs, key, True):
                names += [m if isinstance(m, str) else getattr(m, "name", None) or m.__name__ for m in listed]
        if self._names_outputs():
            names += [f"{name}_loss" for name in outputs]
        else:
            names += [f"{loss_name(loss)}_loss" for loss in self._plain_losses()]
        names = [n for n in dict.fromkeys(names) if n in logs]
        return [logs[n] for n in names + sorted(logs.keys() - set(names))]

    def _predicted(self, x, size, steps, callback_list):
        self.make_predict_function()
        callback_list._notify("on_predict_begin", {})
        parts = []
        for i, data in enumerate(_some(within_epoch(x, batches(x, size=size, steps=steps)), x)):
            callback_list._notify("on_predict_batch_begin", i, {})
            parts.append(self.predict_function(iter([(data[0],)])))
            callback_list._notify("on_predict_batch_end", i, {"outputs": parts[-1]})
            if self.stop_predicting:
                break
        callback_list._notify("on_predict_end", {})
        return joined(parts)


def _some(given, source):
    """Batches, at least one."""
    first = next(given := iter(given), None)
    if first is None:
        raise ValueError(no_batch(source))
    return itertools.chain([first], given)


def batches_of_epochs(data, size, steps, seed, class_weight=None, in_batches=False):
    """A function that gives the batches of the next epoch, (x, y, sample_weight); `steps` of them go on where the last
    epoch ended. A seed: rows of arrays, or the batches of a Sequence, in another order each time; `in_batches`: rows
    within their batches alone."""
    data, source = (repeatable(data[0]), *data[1:]), data[0]
    whole = is_whole(data[0])
    if not whole:
        need_alone(source, *data[1:])
    rows = rows_of(as_array(data[0])) if whole else 0
    count = -(-rows // size) if whole else length_of(data[0])  # of batches, once it is known
    if count == 0 or getattr(data[0], "first", None) == []:
        raise ValueError(no_batch(source))
    times, going, seen = 0, None, 0
    orders = orders_of(count, seed) if isinstance(source, Sequence) else None

    def begun():
        """All batches, in another order each time."""
        nonlocal times
        import numpy

        order = None
        if whole and seed is not None:
            rng = numpy.random.RandomState([seed % 2**32, times])
            order = shuffled(rng, rows, size if in_batches else None)
        elif orders is not None:
            order = next(orders)
        times += 1
        return batches(*data, size, None, order)

    def cut():
        nonlocal count, going, seen
        if going is None:
            going, seen = begun(), 0
        for _ in range(steps):
            batch = next(going, None)
            if batch is None:
                count, going = seen if count is None else count, None
                warn_ran_out()
                return
            seen += 1
            yield batch
        if seen == count:
            going = None

    def next_epoch():
        given = within_epoch(source, cut() if steps else begun())
        if class_weight is None:
            return given
        return ((*batch[:2], weights_of_classes(batch[1], class_weight)) for batch in given)

    return next_epoch
