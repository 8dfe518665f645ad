"""Training: steps of Keras's stateless functions, each traced once for its shapes and run by the library."""

import numpy as np
from keras.src import callbacks as callbacks_module
from keras.src import optimizers as optimizers_module
from keras.src import tree
from keras.src.backend.common.stateless_scope import StatelessScope
from keras.src.trainers import trainer as base_trainer
from keras.src.trainers.data_adapters import array_slicing, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator
from keras.src.utils import python_utils, traceback_utils

from .core import convert_to_numpy, convert_to_tensor
from .gradients import value_and_grad
from .trace import Trace, _Kept


def _scope(mapping):
    return StatelessScope(state_mapping=[(v, convert_to_tensor(x)) for v, x in mapping])


def _on_tensors(data):
    return tree.map_structure(lambda x: None if x is None else convert_to_tensor(x), data)


class _Step:
    """A pure function of (state, data), traced for one set of shapes."""

    def __init__(self, function, state, data):
        with Trace() as trace:
            given = tree.map_structure(lambda x: self._symbol(trace, x), (state, data))
            self.nest = function(*given)
        leaves = tree.flatten(self.nest)
        places = {id(t): i for i, t in enumerate(trace.inputs)}
        self.inputs = [places.get(id(t)) for t in leaves]  # of what is given on as it is
        self.kept = _Kept(trace, [t if i is None else None for t, i in zip(leaves, self.inputs)])

    @staticmethod
    def _symbol(trace, x):
        return None if x is None else trace.input(x.type_name, x.shape)

    def __call__(self, state, data):
        arrays = [x for x in tree.flatten((state, data)) if x is not None]
        found = self.kept.run(arrays)
        leaves = [y if i is None else arrays[i] for y, i in zip(found, self.inputs)]
        return tree.pack_sequence_as(self.nest, leaves)


def _signature(state, data):
    """What distinguishes traces of a step."""
    leaves = [x if x is None else (x.type_name, x.shape) for x in tree.flatten(data)]
    return tuple(leaves), str(tree.map_structure(lambda x: x is None, data)), tuple(len(v) for v in state)


class _Steps:
    """A step function's traces by the shapes of state and data."""

    def __init__(self, function, eagerly):
        self.function, self.eagerly, self.traces = function, eagerly, {}

    def __call__(self, state, data):
        if self.eagerly:
            return self.function(state, data)
        key = _signature(state, data)
        step = self.traces.get(key)
        if step is None:
            step = self.traces[key] = _Step(self.function, state, data)
        return step(state, data)


class NumpyTrainer(base_trainer.Trainer):
    """Keras imports it by this name."""

    def __init__(self):
        super().__init__()
        self.train_function = self.test_function = self.predict_function = None

    # ---- steps, as Keras's guide of stateless training has them

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
        words = {"training": training} if self._call_has_training_arg else {}
        y_pred, non_trainable_variables, losses = self.stateless_call(
            trainable_variables, non_trainable_variables, x, return_losses=True, **words
        )
        if losses:
            # add_loss() of this call stands among the model's losses for compute_loss()
            self._losses_override.clear()
            self._losses_override = losses
        loss, variables = self.stateless_compute_loss(
            trainable_variables,
            non_trainable_variables,
            metrics_variables,
            x=x,
            y=y,
            y_pred=y_pred,
            sample_weight=sample_weight,
            training=training,
        )
        if losses:
            self._losses_override.clear()
        trainable_variables, non_trainable_variables, metrics_variables = variables
        unscaled = loss
        if training and self.optimizer is not None:
            mapping = list(zip(self.optimizer.variables, optimizer_variables))
            with _scope(mapping):
                loss = self.optimizer.scale_loss(loss)
        return loss, (unscaled, y_pred, non_trainable_variables, metrics_variables)

    def _with_metrics(self, variables, unscaled, x, y, y_pred, sample_weight):
        """Updates of the loss's and the other metrics, and their results."""
        with _scope(variables) as scope:
            self._loss_tracker.update_state(unscaled, sample_weight=_rows(x))
            logs = self.compute_metrics(x, y, y_pred, sample_weight)
        return logs, scope

    def train_step(self, state, data):
        data = data_adapter_utils.unpack_x_y_sample_weight(data)
        x, y, sample_weight = data
        trained, others, slots, measured = state
        compute = value_and_grad(self.compute_loss_and_updates, has_aux=True)
        (_, (unscaled, y_pred, others, measured)), grads = compute(
            trained, others, measured, x, y, sample_weight, training=True, optimizer_variables=slots
        )
        trained, slots = self.optimizer.stateless_apply(slots, grads, trained)
        logs, measured = self._measured(trained, others, measured, unscaled, x, y, y_pred, sample_weight)
        return logs, (trained, others, slots, measured)

    def test_step(self, state, data):
        x, y, sample_weight = data_adapter_utils.unpack_x_y_sample_weight(data)
        trained, others, measured = state
        _, (unscaled, y_pred, others, measured) = self.compute_loss_and_updates(
            trained, others, measured, x, y, sample_weight, training=False
        )
        logs, measured = self._measured(trained, others, measured, unscaled, x, y, y_pred, sample_weight)
        return logs, (trained, others, measured)

    def _measured(self, trained, others, measured, unscaled, x, y, y_pred, sample_weight):
        mapping = [
            *zip(self.metrics_variables, measured),
            *zip(self.trainable_variables, trained),
            *zip(self.non_trainable_variables, others),
        ]
        logs, scope = self._with_metrics(mapping, unscaled, x, y, y_pred, sample_weight)
        return logs, [_now(scope, v, old) for v, old in zip(self.metrics_variables, measured)]

    def predict_step(self, state, data):
        x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(data)
        words = {"training": False} if self._call_has_training_arg else {}
        return self.stateless_call(*state, x, **words)

    # ---- functions of steps

    def make_train_function(self, force=False):
        if self.train_function is None or force:
            self.train_function = _Steps(self.train_step, self.run_eagerly)
        return self.train_function

    def make_test_function(self, force=False):
        if self.test_function is None or force:
            self.test_function = _Steps(self.test_step, self.run_eagerly)
        return self.test_function

    def make_predict_function(self, force=False):
        if self.predict_function is None or force:
            self.predict_function = _Steps(self.predict_step, self.run_eagerly)
        return self.predict_function

    def _lists(self, *names):
        return [getattr(self.optimizer, "variables", []) if n == "slots" else getattr(self, n) for n in names]

    def _run(self, function, names, data):
        """One step: of the variables of these lists, which then hold what it gave. Gives the rest."""
        lists = self._lists(*names)
        state = tuple([v.value for v in variables] for variables in lists)
        first, after = function(state, _on_tensors(data))
        for variables, values in zip(lists, after):
            for variable, value in zip(variables, values):
                if value is not variable._value:
                    variable._direct_assign(convert_to_tensor(value, variable.dtype))
        return first

    _TRAINED = ("trainable_variables", "non_trainable_variables", "slots", "metrics_variables")
    _TESTED = ("trainable_variables", "non_trainable_variables", "metrics_variables")

    def _train(self, data):
        return self._run(self.train_function, self._TRAINED, data)

    def _test(self, data):
        return self._run(self.test_function, self._TESTED, data)

    def _predict(self, data):
        lists = self._lists("trainable_variables", "non_trainable_variables")
        state = tuple([v.value for v in variables] for variables in lists)
        y, others = self.predict_function(state, _on_tensors(data))
        for variable, value in zip(self.non_trainable_variables, others):
            if value is not variable._value:
                variable._direct_assign(value)
        return y

    def _build_for(self, iterator=None, batch=None):
        if not all(layer.built for layer in self._flatten_layers()) or not self._is_complete():
            if self.run_eagerly:
                self._build_on_numbers(next(iter(iterator))[2][0] if batch is None else batch)
            else:
                self._symbolic_build(iterator=iterator, data_batch=batch)
            if iterator is not None:
                iterator.reset()

    def _build_on_numbers(self, batch):
        """For a call() that branches on numbers: it is called on a batch."""
        x, y, _ = data_adapter_utils.unpack_x_y_sample_weight(_on_tensors(batch))
        y_pred = self(x)
        for part in (self._compile_loss, self._compile_metrics):
            if part is not None and not part.built:
                part.build(y, y_pred)
        if self.optimizer is not None and not self.optimizer.built:
            self.optimizer.build(self.trainable_variables)
        self._post_build()

    def _is_complete(self):
        parts = (self._compile_metrics, self._compile_loss, self.optimizer)
        return all(part is None or part.built for part in parts)

    # ---- fit, evaluate, predict

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
        self._eval_epoch_iterator = None
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = array_slicing.train_validation_split(
                (x, y, sample_weight), validation_split=validation_split
            )
        valid = None
        if validation_data is not None:
            valid = data_adapter_utils.unpack_x_y_sample_weight(validation_data)
        epoch_iterator = EpochIterator(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps_per_epoch=steps_per_epoch,
            shuffle=shuffle,
            class_weight=class_weight,
            steps_per_execution=self.steps_per_execution,
        )
        self._build_for(epoch_iterator)
        epoch_iterator.reset()
        callbacks = self._callbacks(callbacks, verbose, epochs=epochs, steps=epoch_iterator.num_batches, history=True)
        self.stop_training = False
        self.make_train_function()
        callbacks.on_train_begin()
        first = self._initial_epoch or initial_epoch
        logs = {}
        for epoch in range(first, epochs):
            self.reset_metrics()
            callbacks.on_epoch_begin(epoch)
            logs = self._epoch(epoch_iterator, callbacks)
            if valid is not None and self._should_eval(epoch, validation_freq):
                found = self._validated(valid, validation_batch_size or batch_size, validation_steps, callbacks)
                logs.update({f"val_{name}": value for name, value in found.items()})
            callbacks.on_epoch_end(epoch, logs)
            if self.stop_training:
                break
        if isinstance(self.optimizer, optimizers_module.Optimizer) and epochs > 0:
            self.optimizer.finalize_variable_values(self.trainable_weights)
        if self._eval_epoch_iterator is not None:
            self._eval_epoch_iterator = None
        callbacks.on_train_end(logs=logs)
        return self.history

    def _callbacks(self, callbacks, verbose, history=False, **params):
        if isinstance(callbacks, callbacks_module.CallbackList):
            return callbacks
        words = {"add_history": True} if history else {}
        return callbacks_module.CallbackList(
            callbacks, add_progbar=verbose != 0, verbose=verbose, model=self, **words, **{"epochs": 1, **params}
        )

    def _epoch(self, iterator, callbacks):
        logs = {}
        for begin, end, batches in iterator:
            callbacks.on_train_batch_begin(begin)
            for data in batches:
                logs = self._train(data)
            callbacks.on_train_batch_end(end, logs)
            if self.stop_training:
                break
        return dict(python_utils.pythonify_logs(self._get_metrics_result_or_logs(logs)))

    def _validated(self, data, batch_size, steps, callbacks):
        x, y, sample_weight = data
        if self._eval_epoch_iterator is None:
            self._eval_epoch_iterator = EpochIterator(
                x=x,
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_execution=self.steps_per_execution,
                steps_per_epoch=steps,
                shuffle=False,
            )
        return self.evaluate(
            x=x,
            y=y,
            sample_weight=sample_weight,
            batch_size=batch_size,
            steps=steps,
            callbacks=callbacks,
            return_dict=True,
            _use_cached_eval_dataset=True,
        )

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
        use_cached = kwargs.pop("_use_cached_eval_dataset", False)
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        iterator = self._eval_epoch_iterator if use_cached else None
        if iterator is None:
            iterator = EpochIterator(
                x=x,
                y=y,
                sample_weight=sample_weight,
                batch_size=batch_size,
                steps_per_epoch=steps,
                shuffle=False,
                steps_per_execution=self.steps_per_execution,
            )
        self._build_for(iterator)
        iterator.reset()
        callbacks = self._callbacks(callbacks, verbose, steps=iterator.num_batches)
        self.make_test_function()
        self.stop_evaluating = False
        callbacks.on_test_begin()
        logs = {}
        self.reset_metrics()
        for begin, end, batches in iterator:
            callbacks.on_test_batch_begin(begin)
            for data in batches:
                logs = self._test(data)
            callbacks.on_test_batch_end(end, logs)
            if self.stop_evaluating:
                break
        logs = python_utils.pythonify_logs(self._get_metrics_result_or_logs(logs))
        callbacks.on_test_end(logs)
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        iterator = EpochIterator(
            x=x,
            batch_size=batch_size,
            steps_per_epoch=steps,
            shuffle=False,
            steps_per_execution=self.steps_per_execution,
        )
        if not all(layer.built for layer in self._flatten_layers()):
            for _, _, batches in iterator:
                _need_built(self, batches[0])
                break
            iterator.reset()
        callbacks = self._callbacks(callbacks, verbose, steps=iterator.num_batches)
        self.make_predict_function()
        self.stop_predicting = False
        callbacks.on_predict_begin()
        parts = []
        for begin, end, batches in iterator:
            callbacks.on_predict_batch_begin(begin)
            found = [self._predict(data) for data in batches]
            parts += [tree.map_structure(convert_to_numpy, y) for y in found]
            callbacks.on_predict_batch_end(end, {"outputs": found[-1] if len(found) == 1 else _joined(found)})
            if self.stop_predicting:
                break
        callbacks.on_predict_end()
        return tree.map_structure(lambda *ys: np.concatenate(ys, axis=0), *parts)

    # ---- single batches

    @traceback_utils.filter_traceback
    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        self._assert_compile_called("train_on_batch")
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            sample_weight = data_adapter_utils.class_weight_to_sample_weights(y, class_weight)
        return self._batch(self.make_train_function, self._train, x, y, sample_weight, return_dict)

    @traceback_utils.filter_traceback
    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        self._assert_compile_called("test_on_batch")
        return self._batch(self.make_test_function, self._test, x, y, sample_weight, return_dict)

    def _batch(self, make, step, x, y, sample_weight, return_dict):
        data = _on_tensors((x, y, sample_weight))
        self._build_for(batch=data)
        make()
        self.reset_metrics()
        logs = python_utils.pythonify_logs(step(data))
        return logs if return_dict else self._flatten_metrics_in_order(logs)

    @traceback_utils.filter_traceback
    def predict_on_batch(self, x):
        data = _on_tensors((x,))
        if not all(layer.built for layer in self._flatten_layers()):
            _need_built(self, data)
        self.make_predict_function()
        return tree.map_structure(convert_to_numpy, self._predict(data))


def _need_built(model, data):
    x, _, _ = data_adapter_utils.unpack_x_y_sample_weight(_on_tensors(data))
    model(x)


def _joined(parts):
    return tree.map_structure(lambda *ys: np.concatenate([convert_to_numpy(y) for y in ys], axis=0), *parts)


def _rows(x):
    """How many samples a batch has."""
    return next(v for v in tree.flatten(x) if v is not None).shape[0]


def _now(scope, variable, old):
    value = scope.get_current_value(variable)
    return old if value is None else value
