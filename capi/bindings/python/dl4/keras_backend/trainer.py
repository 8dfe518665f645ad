"""Training: Keras's stateless functions as steps, which are traced once for their shapes and run by the library."""

import contextlib
import inspect
import warnings

import numpy as np
from keras.src import callbacks as callbacks_module
from keras.src import optimizers, tree
from keras.src.backend import config
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import python_utils, traceback_utils

from .core import convert_to_numpy, convert_to_tensor
from .gradients import value_and_grad
from .steps import Steps

_parts = data_adapter_utils.unpack_x_y_sample_weight
_STOPPED = {"train": "stop_training", "test": "stop_evaluating", "predict": "stop_predicting"}


def _scope(*pairs):
    """Variables with the values of a state, for as long as it is open."""
    return StatelessScope(
        state_mapping=[(v, convert_to_tensor(x)) for variables, values in pairs for v, x in zip(variables, values)]
    )


def _on_tensors(data):
    return tree.map_structure(lambda x: None if x is None else convert_to_tensor(x), data)


class NumpyTrainer(base_trainer.Trainer):
    """Keras imports it by this name."""

    def __init__(self):
        super().__init__()
        self.train_function = self.test_function = self.predict_function = None

    # ---- steps, with the names and states of Keras's guide to stateless training

    def compute_loss_and_updates(
        self,
        trainable_variables,
        non_trainable_variables,
        metrics_variables,
        x,
        y,
        sample_weight,
        training=False,
        optimizer_variables=None,
    ):
        """The loss to differentiate; beside it the loss without scale, the predictions and the state after it."""
        y_pred, others, added = self.stateless_call(
            trainable_variables, non_trainable_variables, x, return_losses=True, **self._words(training)
        )
        with self._adding(added):
            loss, state = self.stateless_compute_loss(
                trainable_variables,
                others,
                metrics_variables,
                x=x,
                y=y,
                y_pred=y_pred,
                sample_weight=sample_weight,
                training=training,
            )
        aside = (loss, y_pred, *state[1:])
        if not training or self.optimizer is None:
            return loss, aside
        with _scope((self.optimizer.variables, optimizer_variables)):
            return self.optimizer.scale_loss(loss), aside

    def _words(self, training):
        return {"training": training} if self._call_has_training_arg else {}

    @contextlib.contextmanager
    def _adding(self, losses):
        """While it is open, the model's losses are those that a stateless call has added."""
        before, self._losses_override = self._losses_override, list(losses)
        yield
        self._losses_override = before

    def train_step(self, state, data):
        trained, others, slots, measured = state
        x, y, sample_weight = _parts(data)
        (_, aside), grads = value_and_grad(self.compute_loss_and_updates, has_aux=True)(
            trained, others, measured, x, y, sample_weight, training=True, optimizer_variables=slots
        )
        trained, slots = self.optimizer.stateless_apply(slots, grads, trained)
        logs, others, measured = self._measured(trained, aside, x, y, sample_weight)
        return logs, (trained, others, slots, measured)

    def test_step(self, state, data):
        x, y, sample_weight = _parts(data)
        _, aside = self.compute_loss_and_updates(*state, x, y, sample_weight, training=False)
        logs, others, measured = self._measured(state[0], aside, x, y, sample_weight)
        return logs, (state[0], others, measured)

    def _measured(self, trained, aside, x, y, sample_weight):
        """Logs of a step and the variables that are not trained after it."""
        loss, y_pred, others, measured = aside
        lists = (self.metrics_variables, measured), (self.trainable_variables, trained)
        with _scope(*lists, (self.non_trainable_variables, others)) as scope:
            rows = next(v.shape[0] for v in tree.flatten(x) if v is not None)
            self._loss_tracker.update_state(loss, sample_weight=rows)
            logs = self.compute_metrics(x, y, y_pred, sample_weight)
        now = [scope.get_current_value(v) for v in self.metrics_variables]
        return logs, others, [old if new is None else new for old, new in zip(measured, now)]

    def predict_step(self, state, data):
        return self.stateless_call(*state, _parts(data)[0], **self._words(False))

    # ---- functions of steps

    def _lists(self, which):
        """The variables that a step's state is of."""
        lists = self.trainable_variables, self.non_trainable_variables
        if which == "predict":
            return lists
        slots = (getattr(self.optimizer, "variables", []),) if which == "train" else ()
        return *lists, *slots, self.metrics_variables

    def _function(self, which, step, force):
        name = f"{which}_function"
        if force or getattr(self, name) is None:
            _need_state(step)
            words = {"constant": which == "predict"}
            setattr(self, name, Steps(step, lambda: self._lists(which), self.run_eagerly, self.jit_compile, **words))
        return getattr(self, name)

    def make_train_function(self, force=False):
        return self._function("train", self.train_step, force)

    def make_test_function(self, force=False):
        return self._function("test", self.test_step, force)

    def make_predict_function(self, force=False):
        def step(state, data):
            y, others = self.predict_step(state, data)
            return y, (state[0], others)

        return self._function("predict", step, force)

    def _ready(self, which):
        """The function of a kind of steps, for the variables of now."""
        getattr(self, f"make_{which}_function")()
        function = getattr(self, f"{which}_function")
        if isinstance(function, Steps):  # else a program's own
            function.begin()
        if which == "train" and isinstance(self.predict_function, Steps):
            self.predict_function.release()
        return function

    # ---- what has no variables yet

    def _build_for(self, iterator=None, batch=None):
        parts = (self._compile_metrics, self._compile_loss, self.optimizer)
        if self._has_all_variables() and all(part is None or part.built for part in parts):
            return
        if self.run_eagerly:
            self._build_on_numbers(next(iter(iterator))[2][0] if batch is None else batch)
        else:
            self._symbolic_build(iterator=iterator, data_batch=batch)
        if iterator is not None:
            iterator.reset()

    def _has_all_variables(self):
        return all(layer.built for layer in self._flatten_layers())

    def _build_on_numbers(self, batch):
        """For a call() that branches on numbers: it is called on a batch."""
        x, y, _ = _parts(_on_tensors(batch))
        y_pred = self(x)
        for part in (self._compile_loss, self._compile_metrics):
            if part is not None and not part.built:
                part.build(y, y_pred)
        if self.optimizer is not None and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        self._post_build()

    # ---- loops

    def _batches(self, **words):
        return EpochIterator(**{"shuffle": False, "steps_per_execution": self.steps_per_execution, **words})

    def _callbacks(self, callbacks, verbose, **words):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        return callbacks_module.CallbackList(callbacks, add_progbar=verbose != 0, verbose=verbose, model=self, **words)

    def _loop(self, which, function, iterator, callbacks):
        """One pass over the batches, a list of what their steps gave at a time."""
        begin, end = (getattr(callbacks, f"on_{which}_batch_{at}") for at in ("begin", "end"))
        for first, last, batches in iterator:
            begin(first)
            found = [function(data) for data in batches]
            end(last, {"outputs": _joined(found)} if which == "predict" else found[-1])
            yield found
            if getattr(self, _STOPPED[which]):
                break

    def _logs(self, which, function, iterator, callbacks):
        """What one pass over the batches measures."""
        logs = {}
        for found in self._loop(which, function, iterator, callbacks):
            logs = found[-1]
        return dict(python_utils.pythonify_logs(self._get_metrics_result_or_logs(logs)))

    @traceback_utils.filter_traceback
    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        validation_freq=1,
    ):
        self._assert_compile_called("fit")
        epochs = _limited(epochs)
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        validate = None
        if validation_data is not None:
            validate = self._validation(validation_data, validation_batch_size or batch_size, validation_steps)
        words = {"batch_size": batch_size, "steps_per_epoch": steps_per_epoch, "class_weight": class_weight}
        iterator = self._batches(x=x, y=y, sample_weight=sample_weight, shuffle=shuffle, **words)
        self._build_for(iterator)
        iterator.reset()
        callbacks = self._callbacks(callbacks, verbose, add_history=True, epochs=epochs, steps=iterator.num_batches)
        self.stop_training = False
        function = self._ready("train")
        callbacks.on_train_begin()
        logs = {}
        try:
            for epoch in range(self._initial_epoch or initial_epoch, epochs):
                self.reset_metrics()
                callbacks.on_epoch_begin(epoch)
                logs = self._logs("train", function, iterator, callbacks)
                if validate is not None and self._should_eval(epoch, validation_freq):
                    logs.update({f"val_{name}": value for name, value in validate(callbacks).items()})
                callbacks.on_epoch_end(epoch, logs)
                if self.stop_training:
                    break
        finally:
            self._eval_epoch_iterator = None
            if isinstance(self.optimizer, optimizers.Optimizer) and epochs > 0:
                self.optimizer.finalize_variable_values(self.trainable_weights)
            if isinstance(function, Steps):
                function.end()
        callbacks.on_train_end(logs=logs)
        return self.history

    def _validation(self, data, batch_size, steps):
        """A function that evaluates at the end of an epoch."""
        x, y, sample_weight = _parts(data)
        words = {"x": x, "y": y, "sample_weight": sample_weight, "batch_size": batch_size}
        self._eval_epoch_iterator = None

        def validate(callbacks):
            if self._eval_epoch_iterator is None:
                self._eval_epoch_iterator = self._batches(**words, steps_per_epoch=steps)
            return self.evaluate(
                **words, steps=steps, callbacks=callbacks, return_dict=True, _use_cached_eval_dataset=True
            )

        return validate

    @traceback_utils.filter_traceback
    def evaluate(
        self,
        x=None,
        y=None,
        batch_size=None,
        verbose="auto",
        sample_weight=None,
        steps=None,
        callbacks=None,
        return_dict=False,
        **kwargs,
    ):
        self._assert_compile_called("evaluate")
        in_fit = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        iterator = self._eval_epoch_iterator if in_fit else None
        if iterator is None:
            words = {"batch_size": batch_size, "steps_per_epoch": steps}
            iterator = self._batches(x=x, y=y, sample_weight=sample_weight, **words)
        self._build_for(iterator)
        iterator.reset()
        callbacks = self._callbacks(callbacks, verbose, epochs=1, steps=iterator.num_batches)
        self.stop_evaluating = False
        function = self._ready("test")
        callbacks.on_test_begin()
        self.reset_metrics()
        logs = self._logs("test", function, iterator, callbacks)
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        iterator = self._batches(x=x, batch_size=batch_size, steps_per_epoch=steps)
        if not self._has_all_variables():
            self(_parts(_on_tensors(next(iter(iterator))[2][0]))[0])
            iterator.reset()
        callbacks = self._callbacks(callbacks, verbose, epochs=1, steps=iterator.num_batches)
        self.stop_predicting = False
        function = self._ready("predict")
        callbacks.on_predict_begin()
        found = [y for some in self._loop("predict", function, iterator, callbacks) for y in some]
        callbacks.on_predict_end()
        return _joined(found)

    # ---- single batches

    @traceback_utils.filter_traceback
    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._on_batch("train", (x, y, sample_weight), return_dict)

    @traceback_utils.filter_traceback
    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        return self._on_batch("test", (x, y, sample_weight), return_dict)

    def _on_batch(self, which, data, return_dict):
        self._assert_compile_called(f"{which}_on_batch")
        data = _on_tensors(data)
        self._build_for(batch=data)
        function = self._ready(which)
        self.reset_metrics()
        logs = python_utils.pythonify_logs(function(data))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict_on_batch(self, x):
        data = _on_tensors((x,))
        if not self._has_all_variables():
            self(*data)
        return tree.map_structure(convert_to_numpy, self._ready("predict")(data))


def _need_state(step):
    """Refuses a step that is written for another backend."""
    try:
        inspect.signature(step).bind(None, None)
    except TypeError:
        given = inspect.signature(step)
        raise TypeError(
            f"{step.__qualname__}: expected a step of (self, state, data) that gives (logs, state), as with Keras on "
            f"JAX, got one of (self, {str(given)[1:]}: tapes are TensorFlow's"
        ) from None


def _limited(epochs):
    """Keras's limit for trying a program out."""
    most = config.max_epochs() if hasattr(config, "max_epochs") else None
    if not most or most >= epochs:
        return epochs
    warnings.warn(f"Limiting epochs to {most}", stacklevel=4)
    return most


def _joined(parts):
    """Predictions of batches as arrays of all."""
    if len(parts) == 1:
        return tree.map_structure(convert_to_numpy, parts[0])
    return tree.map_structure(lambda *ys: np.concatenate([getattr(y, "value", y) for y in ys]), *parts)
