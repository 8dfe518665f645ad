"""compile(), fit(), evaluate() and predict()."""

import itertools

from .... import abi, core
from ....cancel import inside_waiting, interruptible
from .. import overrides, registry
from ..backend import config, global_state
from ..callbacks.callback_list import CallbackList
from ..errors import keras_errors
from ..kind import is_native
from ..tree import flatten, pack_like
from ..utils.data_utils import Sequence
from .compile_utils import by_class, is_python
from .data_adapters import as_array, Cut, is_whole, need_alone, need_one_count, rows_of, split, Stream
from .graphs import needs_targets
from .native_training import NativeTraining
from .nested_losses import StructureError
from .objective import Objective
from .on_batch import OnBatch, one_or_list
from .progress import _fit_callbacks, MetricBatches, Progress
from .steps import batches_of_epochs, Steps


class Trainer(NativeTraining, Objective, OnBatch, Steps):
    """compile(), fit(), evaluate() and predict()."""

    def compile(
        self,
        optimizer="rmsprop",
        loss=None,
        loss_weights=None,
        metrics=None,
        weighted_metrics=None,
        run_eagerly=False,
        steps_per_execution=1,
        jit_compile="auto",
        auto_scale_loss=True,
    ):
        """Says how the model is trained.

        Args:
            optimizer: an optimizer or its name, such as "adam".
            loss: a loss, its name or a function of y_true and y_pred; of a model with several outputs a list or a
                dict by output, None for an output without a loss.
            loss_weights: a number for each loss.
            metrics: metrics, names or functions; a list or dict by output, as for the loss.
            weighted_metrics: the same, with sample weights.
            run_eagerly: run `train_step()` as Python at each batch, instead of tracing it once.
            steps_per_execution, jit_compile, auto_scale_loss: Keras's; they change no number here.

        Raises:
            ValueError: a name that is unknown, or losses that do not fit the outputs.

        Example:
            model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
        """
        before = self._compiled or {}  # what is not told again stays, as in Keras
        if loss is None:
            loss, loss_weights = before.get("loss"), before.get("loss_weights")
        if metrics is None and weighted_metrics is None:
            metrics, weighted_metrics = before.get("metrics"), before.get("weighted_metrics")
        self.optimizer = registry.get("optimizer", optimizer)
        if self.optimizer is not None:
            overrides.refuse(self.optimizer, "compile()", "compile")
        self._tracked_metrics = self._loss_means = self._compiled_step = None
        self.train_function = self.test_function = self.predict_function = None
        self._runs_eagerly, self.steps_per_execution = bool(run_eagerly), steps_per_execution
        self._compiled = {
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
        }
        self.loss, self._trainer, self._suspended, self._as_trained, self._loaded = loss, None, None, None, False
        self._from_file = None

        if self._functional is None or self._trains_by_steps():
            return
        if loss is not None and not needs_targets(self._compiled):
            kept = self._compiled_metrics() and metrics is before.get("metrics")  # they may not suit what is told now
            try:
                self._get_trainer()  # what can't be is refused here
            except (StructureError, *([abi.InvalidArgument] if kept else [])):
                pass  # as in Keras by what needs it

    def _need_optimizer(self, who):
        if self.compiled and self.optimizer is None:
            raise ValueError(f"{self.name}: {who} needs an optimizer, and compile() was given optimizer=None")

    @property
    def compiled(self):
        """Whether compile() was called."""
        return self._compiled is not None

    @property
    def metrics_names(self):
        """The names of what evaluate() gives, the loss first."""
        return [m.name for m in self.metrics]

    def _compiled_metrics(self):
        """Metrics that were given, each as it is named in logs: names for text."""
        leaves = [v for key in ("metrics", "weighted_metrics") for v in flatten(self._compiled[key])]
        return [v for v in leaves if v is not None]

    def _kinds_of_metrics(self):
        """By a name in the logs: the library's kind of a metric, or of the loss of an output."""
        found, outputs = {}, self._output_keys() if self._functional is not None else ()
        for given in self._compiled_metrics() if self.compiled else ():
            if isinstance(given, str):
                known = registry.get("metric", "accuracy" if given == "acc" else given)
                name = given
            else:
                known, name = given, getattr(given, "name", getattr(given, "__name__", None))
            kind = getattr(known, "_class_name", None)
            if kind is None and hasattr(known, "_to_json"):
                kind = registry.get("metric", known._to_json())._class_name
            found[name] = kind
            found.update({f"{output}_{name}": kind for output in outputs})
        found.update({f"{output}_loss": "MeanSquaredError" for output in outputs})
        return found

    def _batch_tensors(self, x, y, w):
        """Tensors of the inputs, the targets and their weights."""
        xs = self._inputs_of(x)
        ys = [] if y is None else self._targets(y)
        if any(v is None for v in ys):
            raise ValueError(f"expected targets for each loss, got none for some of them: {list(y)}")
        ys = [core.Tensor.of(v) for v in ys]
        ws = [] if w is None else self._sample_weights(w)
        ws = [None if v is None else core.Tensor.of(v, "float32") for v in ws]
        if len(ws) == 1 and len(ys) > 1:
            ws = ws * len(ys)
        return xs, ys, ws

    def _dataset(
        self,
        x,
        y=None,
        sample_weight=None,
        steps=None,
        batch_size=32,
        shuffle=False,
        goes_on=False,
        training=False,
    ):
        """Of arrays, or of anything that gives batches: a dataset, the first targets, how many batches it has."""
        if is_whole(x):
            given = {"x": as_array(x), "y": as_array(y), "sample_weight": as_array(sample_weight)}
            need_one_count(**given)
            self._size_for(given["x"])
            lists = self._batch_tensors(*given.values())
            feed = self._feed() if training else None
            if steps or feed or shuffle == "batch":
                seed = global_state.next_seed() if shuffle else None
                cut = Cut(lists, batch_size, steps, seed, goes_on, shuffle == "batch")
                cut.feed = feed
                return cut.dataset(), lists[1], cut.count
            options = {
                "batch_size": batch_size,
                "shuffle": bool(shuffle),
                "seed": global_state.next_seed() if shuffle else 0,
            }
            rows = next((t.shape[0] for part in lists for t in part if t is not None and t.shape), 1)
            return core.Dataset(*lists, context=global_state.context(), **options), lists[1], -(-rows // batch_size)
        need_alone(x, y, sample_weight)
        ordered = not shuffle or not isinstance(x, Sequence)
        stream = Stream(self, x, steps, goes_on=goes_on, seed=None if ordered else global_state.next_seed())
        stream.feed = self._feed() if training else None
        return stream.dataset(), stream.first[1], stream.steps

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
        """Trains the model for some epochs.

        Args:
            x: inputs: an array (batch, ...), a list or dict of arrays, or a generator, PyDataset or tf.data dataset,
                which gives (x, y) or (x, y, sample_weight).
            y: targets, in the same forms; None if `x` gives them or the model has its own loss.
            batch_size: samples of a step; 32 by default.
            epochs: the last epoch, counted from 1.
            verbose: "auto" or 1 for a progress bar, 2 for a line for each epoch, 0 for nothing.
            callbacks: a list of `keras.callbacks.Callback`.
            validation_split: the fraction of the samples, from the end and before shuffling, to validate on.
            validation_data: (x, y), (x, y, sample_weight) or a dataset to validate on.
            shuffle: whether arrays are shuffled before each epoch.
            class_weight: a dict from class number to the weight of its samples.
            sample_weight: an array (batch,) or (batch, time) of weights.
            initial_epoch: epochs that are done already.
            steps_per_epoch: batches of an epoch; None for all that there are.
            validation_steps, validation_batch_size, validation_freq: the same of the validation.

        Returns:
            A `History`: `history.history` is a dict from name to a list with a number for each epoch.

        Raises:
            RuntimeError: compile() was not called.
            ValueError: shapes, types or numbers of samples that do not fit.

        Example:
            history = model.fit(x, y, epochs=5, validation_split=0.1)
        """
        if self._compiled is None:
            raise ValueError("You must call `compile()` before calling `fit()`.")
        if class_weight is not None and sample_weight is not None:
            raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
        self._need_optimizer("fit()")
        size, metric_batches = batch_size or 32, None
        steps_per_epoch = self._whole_executions(config.limited("steps_per_epoch", steps_per_epoch))
        epochs = config.limited("epochs", epochs)
        if self._functional is None and is_whole(x) and not overrides.having(self, "train", "python"):
            self._build_from_data(as_array(x))
        by_steps = self._trains_by_steps()
        if not by_steps:
            self._need_library_steps("fit()")
        if validation_split and validation_data is None:
            given = [as_array(v) for v in (x, y, sample_weight)]
            (x, y, sample_weight), validation_data = split(given, float(validation_split))
        if by_steps:
            overrides.refuse(self, "fit()", "fit", "run")
            steps = steps_per_epoch or _count_of(x, size)
        elif self._has_python_metrics():
            seed = global_state.next_seed() if shuffle else None
            metric_batches = MetricBatches(self, (x, y, sample_weight), size, steps_per_epoch, class_weight, seed)
            data, targets, steps = metric_batches.dataset(), metric_batches.targets, metric_batches.steps
            self._need_no_feed()
        else:
            data, targets, steps = self._dataset(
                x, y, sample_weight, steps_per_epoch, size, shuffle, goes_on=True, training=True
            )
        callback_list = _fit_callbacks(callbacks, self, verbose, epochs=int(epochs), steps=steps)
        validate = None
        if validation_data is not None:
            parts = validation_data if isinstance(validation_data, (tuple, list)) else (validation_data,)
            validate = self._validation(parts, validation_batch_size or size, validation_steps, callback_list)

        def validated(epoch):
            """The logs of a validation after so many epochs, if one is due."""
            if validate is None or not _is_due(epoch, validation_freq):
                return {}
            return {f"val_{name}": v for name, v in validate().items()}

        if by_steps:
            seed = global_state.next_seed() if shuffle else None
            data = x, y, sample_weight
            given = batches_of_epochs(data, size, steps_per_epoch, seed, class_weight, shuffle == "batch")
            self._fit_by_steps(given, int(initial_epoch), int(epochs), callback_list, validated)
            return self.history
        options = {"resume": False, "average": False}
        if class_weight is not None:
            options["class_weight"] = by_class(class_weight)
        self.stop_training = False
        self._get_trainer(targets, training=True)
        with interruptible():
            with inside_waiting:
                callback_list._notify("on_train_begin", {})
            first, self._initial_epoch = self._initial_epoch or int(initial_epoch), None
            logs = {}
            for epoch in range(first, int(epochs)):
                with inside_waiting:
                    callback_list._notify("on_epoch_begin", epoch, {})
                progress = Progress(callback_list, self, self._get_trainer(targets, training=True), metric_batches)
                with keras_errors("fit", options), self._as_compiled():
                    try:
                        self._trainer.fit(data, None, progress, epochs=epoch + 1, initial_epoch=epoch, **options)
                    finally:
                        global_state.changed()
                logs = progress.logs(progress.last)
                del progress  # whose trainer may have to make room
                self._show_results(logs)
                logs.update(validated(epoch + 1))
                with inside_waiting:
                    callback_list._notify("on_epoch_end", epoch, logs)
                if self.stop_training:
                    break
            if epochs > 0 and getattr(self.optimizer, "use_ema", False):
                with self._as_compiled():  # the averages become the weights
                    self._get_trainer(targets, training=True).fit(
                        data, epochs=int(epochs), initial_epoch=int(epochs), resume=False
                    )
                global_state.changed()
            with inside_waiting:
                callback_list._notify("on_train_end", logs)
        return self.history

    def _whole_executions(self, steps):
        """Steps as Keras takes them, which never ends within what `steps_per_execution` executes at once."""
        n = 1 if self.steps_per_execution == "auto" else self.steps_per_execution or 1
        return -(-steps // n) * n if steps else steps

    def _need_library_steps(self, who):
        """Raises for what training would have to call of this model's, or of its layers'."""
        overrides.refuse(self, who, "fit", "python", "run")
        for layer in self._flatten_layers(include_self=False):
            overrides.refuse(layer, who, "fit")

    def _need_no_feed(self):
        if self._feed() is not None:
            raise NotImplementedError(
                f"{self.name}: metrics in Python beside layers that change images in training: change the "
                "images of the "
                "dataset, or measure with metrics of the library"
            )

    def _validation(self, data, size, steps, callback_list):
        """A function that evaluates the data of the validation, and gives the logs."""
        x, y, sample_weight = (*data, None, None)[:3]
        steps = config.limited("steps_per_epoch", steps)
        if not self._tests_by_steps(callback_list) and not overrides.is_overridden(self, "evaluate"):
            given, targets, _ = self._dataset(x, y, sample_weight, steps, size)
            return lambda: dict(sorted(self._measured(given, targets, callback_list).items()))

        # A generator goes on where the validation before left it.
        parts = batches_of_epochs((x, y, sample_weight), size, steps, None) if hasattr(x, "__next__") else None

        def validate():
            if not overrides.is_overridden(self, "evaluate"):
                given = None if parts is None else parts()
                return self._tested(x, y, sample_weight, size, steps, callback_list, given)
            self._fitting = True
            try:
                return self.evaluate(
                    x=x,
                    y=y,
                    sample_weight=sample_weight,
                    batch_size=size,
                    steps=steps,
                    callbacks=callback_list,
                    return_dict=True,
                    verbose=0,
                )
            finally:
                self._fitting = False

        return validate

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
        """Computes loss and metrics on data, without training.

        Args:
            x, y, batch_size, verbose, sample_weight, callbacks: as of fit().
            steps: batches to compute; None for all.
            return_dict: give a dict by name instead of a list.

        Returns:
            The loss if there are no metrics; else a list, the loss first, or a dict.

        Example:
            loss, accuracy = model.evaluate(x_test, y_test)
        """
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        overrides.refuse(self, "evaluate()", "run")
        self.stop_evaluating, steps = False, config.limited("steps_per_epoch", steps)
        callback_list = CallbackList.of(callbacks, self, epochs=1, steps=steps, verbose=verbose)
        if self._fitting or self._tests_by_steps(callback_list):
            logs = self._tested(x, y, sample_weight, batch_size or 32, steps, callback_list)
            return logs if return_dict else one_or_list(self._in_order(logs))
        data, targets, _ = self._dataset(x, y, sample_weight, steps, batch_size or 32)
        logs = self._measured(data, targets, callback_list)
        return dict(sorted(logs.items())) if return_dict else one_or_list(self._in_order(logs))

    def _measured(self, data, targets, callback_list):
        """Loss and metrics of all batches, by name."""
        with inside_waiting:
            self._get_trainer(targets)
            callback_list._notify("on_test_begin", {})
        self._get_trainer(targets)
        with self._as_compiled():
            values = (
                self._evaluated(data, targets) if self._require_built().branches() else self._trainer.evaluate(data)
            )
        logs = dict(zip(self._trainer.shown, self._trainer.kept(values)))
        self._show_results(logs)
        with inside_waiting:
            callback_list._notify("on_test_end", dict(sorted(logs.items())))
        return logs

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """Computes the outputs for many samples, in batches.

        Args:
            x: inputs, as of fit(). An array has the batch as its first axis: of one sample pass `x[None]`.
            batch_size: samples of a run; 32 by default.
            verbose: "auto", 0, 1 or 2.
            steps: batches to compute; None for all.
            callbacks: a list of callbacks.

        Returns:
            An array (batch, ...); of several outputs a list or dict, as the model was made.

        Example:
            classes = model.predict(images).argmax(-1)
        """
        size = batch_size or 32
        overrides.refuse(self, "predict()", "run")
        self.stop_predicting, steps = False, config.limited("steps_per_epoch", steps)
        if self._functional is None and is_whole(x):
            self._build_from_data(as_array(x))
        self._keep_up()
        if self._predicts_by_steps():
            return self._predicted(
                x, size, steps, CallbackList.of(callbacks, self, epochs=1, steps=steps, verbose=verbose)
            )
        if callbacks is None and steps is None and hasattr(x, "flags") and 0 < len(x) <= size:
            got = self._run_one_array(x)
            if got is not None:
                return got[0]
        callback_list = CallbackList.of(callbacks, self, epochs=1, steps=steps, verbose=verbose)
        callback_list._notify("on_predict_begin", {})
        got = self._outputs_of(x, size, steps, callback_list)
        callback_list._notify("on_predict_end", {})
        return pack_like(self._require_built().nest_out, [t.numpy() for t in got])

    def _outputs_of(self, x, size, steps, callback_list):
        whole = is_whole(x)
        if whole:
            self._size_for(as_array(x))
        tensors = self._inputs_of(as_array(x)) if whole else ()
        data = Cut((tensors, [], []), size, steps) if whole else Stream(self, x, steps, labels=False)
        session = self._inference()
        if not (callback_list._wants_batches("predict") or isinstance(session, core.KeptSession)):
            if whole and data.rows <= size:
                return session.run(tensors)
            if steps or not whole:
                return session.predict(data.dataset())
            return session.predict(
                core.Dataset(tensors, context=global_state.context(), batch_size=size, shuffle=False)
            )
        parts = []
        for i in itertools.count():
            batch = None if self.stop_predicting else data.batch_at(i)
            if batch is None:
                return concatenate_tensors(parts)
            callback_list._notify("on_predict_batch_begin", i, {})
            parts.append(self._inference().run(batch[0]))
            outputs = pack_like(self._require_built().nest_out, [t.numpy() for t in parts[-1]])
            callback_list._notify("on_predict_batch_end", i, {"outputs": outputs})

    def _constrained(self):
        """Weights with a constraint in Python, called after each update."""
        return [w for w in self.trainable_weights if not is_native(w.constraint)]

    def _show_results(self, logs):
        """What was measured last, which metrics show."""
        self._set_tracked_results(logs)
        for metric in self._compiled_metrics():
            if hasattr(metric, "_show_result") and not is_python(metric):
                metric._show_result(logs)


def concatenate_tensors(batches):
    """The outputs of batches, each along its first axis."""
    import numpy

    return [core.Tensor.of(numpy.concatenate([t.numpy() for t in outs])) for outs in zip(*batches)]


def _count_of(x, size):
    """How many batches there are, if that is known."""
    if is_whole(x):
        return -(-rows_of(as_array(x)) // size)
    try:
        return len(x)
    except TypeError:  # it has no length, or does not know it
        return None


def _is_due(epoch, freq):
    """Is validation due after so many epochs? A list names them."""
    return epoch in freq if isinstance(freq, (list, tuple, set)) else epoch % int(freq) == 0
