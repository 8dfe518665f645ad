"""What a model is compiled with, and its training, evaluation and prediction."""

import numpy as np

from ... import abi, core
from ...abi import InvalidArgument
from . import data, state
from .callbacks import CallbackList
from .kinds import Closed, as_json, get, only_default, unsupported
from .tree import flatten, pack_like


class Training(Closed):
    """compile(), fit(), evaluate(), predict() and their like, by the library's trainer."""

    def __init__(self):
        self.optimizer = self.loss = self.history = None
        self.stop_training, self._trainable = False, True
        self._compiled = self._options = self._trainer = self._suspended = self._as_trained = None
        self._sessions = {}

    def _forget(self):
        """The graph is another one."""
        self._suspend()
        self._sessions, self._suspended, self._as_trained = {}, None, None

    # ---- what it is compiled with

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
        **options,
    ):
        """Sets what the model is trained with.

        Args:
            optimizer: a name or an optimizer.
            loss: a name or a loss of the library; of several outputs a list, or a dict by output; None for none.
            loss_weights: numbers, as the losses.
            metrics, weighted_metrics: lists of names or metrics of the library; of several outputs a list of lists or a
                dict. weighted_metrics take the sample weights.
            run_eagerly, steps_per_execution, auto_scale_loss: as by default, else refused.
            jit_compile: nothing; the library compiles in any case.
            options: options of the library's trainer, such as nan_guard="loss".
        """
        only_default("compile", run_eagerly=(run_eagerly, False), steps_per_execution=(steps_per_execution, 1))
        only_default("compile", auto_scale_loss=(auto_scale_loss, True))
        if jit_compile not in ("auto", False, True, None):
            raise InvalidArgument(f"compile: expected True, False or 'auto' as jit_compile, got {jit_compile!r}")
        optimizer = get("optimizer", optimizer)
        for category, given in (("loss", loss), ("metric", metrics), ("metric", weighted_metrics)):
            for one in _kinds_in(given):
                if not (category == "metric" and one in ("accuracy", "acc", "crossentropy", "ce")):
                    get(category, one)
        self._suspend()
        self.optimizer, self.loss, self._options, self._suspended = optimizer, loss, options, None
        self._compiled = {"loss": loss, "loss_weights": loss_weights, "metrics": metrics}
        self._compiled["weighted_metrics"] = weighted_metrics
        self._as_trained = None

    @property
    def compiled(self):
        """Whether compile() was called."""
        return self._compiled is not None

    def _apply(self, flags):
        """Tells the library which layers are trained."""
        for layer, yes in flags:
            layer._freeze(not yes)

    def _per_output(self, given, what):
        """A value for each output, of a value, a list or a dict by name."""
        n, names = len(self.outputs), self.output_names
        if isinstance(given, dict) and "class_name" not in given:
            unknown = [key for key in given if key not in names]
            if unknown:
                raise InvalidArgument(f"{what}: expected names of outputs, {names}, got {unknown[0]!r}")
            return [given.get(name) for name in names]
        if isinstance(given, (list, tuple)):
            if len(given) != n:
                raise InvalidArgument(f"{what}: expected {n} values, one for each output, got {len(given)}")
            return list(given)
        return [given] * n

    def _losses(self):
        found = self._per_output(self._compiled["loss"], "loss")
        return [v[0] if isinstance(v, (list, tuple)) and len(v) == 1 else v for v in found]

    def _metric_lists(self, key):
        given, n = self._compiled[key], len(self.outputs)
        if given is None:
            return [None] * n
        if n == 1 and not isinstance(given, dict):
            lists = [list(given) if isinstance(given, (list, tuple)) else [given]]
            return [flatten(lists[0])]
        lists = self._per_output(given, key)
        return [v if v is None else list(v) if isinstance(v, (list, tuple)) else [v] for v in lists]

    def _get_trainer(self, training=False):
        """The trainer. What is trained is settled, as in Keras, when training begins, until the next compile()."""
        if self._compiled is None:
            raise InvalidArgument(f"{self.name}: expected a compiled model: call compile() first")
        self.core  # noqa: B018 a Sequential model is built by now
        self.optimizer._trained_by(self)
        if training and self._as_trained is None:
            self._as_trained = self._flags()
        self._apply(self._as_trained or self._flags())
        if self._trainer is None:
            options = {"nan_guard": "off", **self._options, "optimizer": self.optimizer}
            options.update(loss=self._losses(), output_names=_apart(self.output_names))
            for key in ("metrics", "weighted_metrics"):
                if self._compiled[key] is not None:
                    options[key] = self._metric_lists(key)
            if self._compiled["loss_weights"] is not None:
                options["loss_weights"] = self._per_output(self._compiled["loss_weights"], "loss_weights")
            options = as_json(options)
            try:
                self._trainer = core.Trainer(self.core, options)
            except abi.Busy:  # another model trains the same weights
                for other in list(state.training):
                    other._suspend()
                self._trainer = core.Trainer(self.core, options)
            state.training.add(self)
            self._resume()
        return self._trainer

    def _suspend(self):
        """Gives the trainer up, and keeps its state for the next one."""
        if self._trainer is not None:
            self._suspended = abi.content(abi.made("dl4_trainer_save_bytes", self._trainer))
            self.optimizer._release()
            self._trainer = None
            state.training.discard(self)

    def _resume(self):
        if self._suspended is not None:
            file, self._suspended = self._suspended, None
            values = {name: self.core.get_weight(name).copy() for name in self.core.names(2)}
            abi.call("dl4_trainer_load_bytes", self._trainer, file, len(file))
            for name, value in values.items():
                self.core.set_weight(name, value)

    @property
    def metrics_names(self):
        """The names in logs, the loss first."""
        return list(self._get_trainer().names)

    def reset_metrics(self):
        """Does nothing: train_on_batch() and test_on_batch() give the numbers of their batch alone."""

    # ---- arrays

    def _in_order(self, x):
        """The inputs, in the order of the model's."""
        if isinstance(x, dict):
            keys = sorted(self._nest_in) if isinstance(self._nest_in, dict) else self.input_names
            missing = [key for key in keys if key not in x]
            if missing:
                raise InvalidArgument(f"{self.name}: expected the inputs {keys}, got none named {missing[0]!r}")
            return [x[key] for key in keys]
        if len(self.inputs) == 1 and not (isinstance(x, (list, tuple)) and len(x) == 1 and hasattr(x[0], "shape")):
            return [x]
        leaves = flatten(x) if isinstance(x, (list, tuple)) else [x]
        if len(leaves) != len(self.inputs):
            raise InvalidArgument(f"{self.name}: expected {len(self.inputs)} inputs, got {len(leaves)}")
        return leaves

    def _tensors(self, leaves):
        """Tensors of arrays in the order of the inputs, in their types; an axis of 1 is added or left out."""
        found = []
        for value, wanted in zip(leaves, self.inputs):
            if isinstance(value, core.Tensor):
                found.append(value)
                continue
            value = value if hasattr(value, "shape") else np.asarray(value)
            rank, shape = len(wanted.shape), wanted.shape
            if len(value.shape) == rank - 1 and shape[-1] == 1:
                value = np.asarray(value)[..., None]
            elif len(value.shape) == rank + 1 and value.shape[-1] == 1:
                value = np.asarray(value)[..., 0]
            found.append(core.Tensor.of(value, wanted.dtype))
        return found

    def _targets(self, y, what="y"):
        """Tensors of targets, one for each output with a loss."""
        if y is None:
            return []
        n, losses = len(self.outputs), self._losses()
        if isinstance(y, dict):
            each = self._per_output(y, what)
        elif n > 1:
            loss = self._compiled["loss"]
            if isinstance(loss, dict) and "class_name" not in loss and len(loss) < n:
                raise InvalidArgument(f"{what}: expected a dict by the outputs' names, as of the losses, got a list")
            each = self._per_output(list(y) if isinstance(y, (list, tuple)) else y, what)
        else:
            each = [y[0] if isinstance(y, (list, tuple)) and len(y) == 1 and hasattr(y[0], "shape") else y]
        if isinstance(self._nest_out, dict) and isinstance(y, (list, tuple)):
            raise InvalidArgument(f"{what}: expected a dict by the outputs' names, got a list")
        return [None if v is None else core.Tensor.of(v) for v, loss in zip(each, losses) if loss is not None]

    def _weights_of(self, w):
        """Tensors of sample weights, one for each output with a loss."""
        if w is None:
            return []
        losses = [loss for loss in self._losses() if loss is not None]
        if not isinstance(w, (dict, list, tuple)):
            return [core.Tensor.of(np.asarray(w, "float32"))] * len(losses)
        each = [v for v, loss in zip(self._per_output(w, "sample_weight"), self._losses()) if loss is not None]
        return [None if v is None else core.Tensor.of(np.asarray(v, "float32")) for v in each]

    def _batch(self, x, y=None, w=None):
        return self._tensors(self._in_order(x)), self._targets(y), self._weights_of(w)

    def _build_for(self, x):
        """A Sequential model without an input shape takes that of the data."""

    # ---- training

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
        """Trains for some epochs.

        Args:
            x: arrays, one for each input (a list, or a dict by name); or what gives batches (x, y) or (x, y, weights):
                a generator, a PyDataset, another iterable.
            y: targets, one for each output with a loss; None where x gives batches.
            batch_size: samples of a step, 32 by default.
            epochs: the number of the epoch to stop at.
            verbose: 0 prints nothing, 1 a bar and 2 a line for each epoch; "auto" is 1.
            callbacks: a list of callbacks, those of the library first.
            validation_split: the fraction of the data, from its end, to validate on.
            validation_data: (x, y) or (x, y, weights) of arrays, or what gives batches.
            shuffle: whether each epoch takes the data in a new order.
            class_weight: a dict of weights by class.
            sample_weight: weights of the samples.
            initial_epoch: epochs that are done already.
            steps_per_epoch, validation_steps: batches of an epoch and a validation; all by default.
            validation_batch_size: batch_size by default.
            validation_freq: epochs from one validation to the next.

        Returns:
            A History: lists by name, `history.history["loss"]`.
        """
        self._build_for(x)
        trainer = self._get_trainer(training=True)
        size, source = batch_size or 32, data.Source(self, x, y, sample_weight, "fit")
        if validation_split and not source.whole:
            raise InvalidArgument("fit: validation_split needs arrays, got batches")
        train = source.dataset(size, shuffle, steps_per_epoch)
        valid = self._validation(validation_data, validation_batch_size or size, validation_steps)
        steps = source.steps(size, steps_per_epoch, validation_split)
        heard = CallbackList(callbacks, self, epochs, steps, verbose)
        options = {"epochs": epochs, "initial_epoch": initial_epoch, "validation_freq": validation_freq}
        options["callbacks"] = heard.native
        if validation_split:
            options["validation_split"] = validation_split
        if class_weight is not None:
            options["class_weight"] = by_class(class_weight)
        self.stop_training = False
        progress = heard.progress(trainer.names) if heard.wanted() else None
        if steps is None and heard.hears["on_train_batch_begin"]:
            source.begins = lambda batch: heard.call("on_train_batch_begin", batch, {})
        try:
            made = trainer.fit(train, valid, progress, **as_json(options))
        finally:
            state.changed()
        self.history = heard.history_of(made)
        self.stop_training |= bool(made.get("epoch")) and made["epoch"][-1] + 1 < epochs
        return self.history

    def _validation(self, given, size, steps):
        if given is None:
            return None
        parts = given if isinstance(given, (list, tuple)) else (given,)
        if not 1 <= len(parts) <= 3:
            raise InvalidArgument(f"validation_data: expected (x, y) or (x, y, weights), got {len(parts)} parts")
        return data.Source(self, *(*parts, None, None)[:3], "validation_data").dataset(size, False, steps)

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        """Makes a step on a batch of arrays, and gives its loss and metrics: a number, a list or a dict."""
        self._build_for(x)
        trainer = self._get_trainer(training=True)
        if class_weight is not None:
            if sample_weight is not None:
                raise InvalidArgument("train_on_batch: expected sample_weight or class_weight, got both")
            sample_weight = weights_by_class(y, class_weight)
        try:
            values = trainer.step(*self._batch(x, y, sample_weight))
        finally:
            state.changed()
        return self._logs(values, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        """Loss and metrics of a batch of arrays: a number, a list or a dict."""
        return self.evaluate(
            x, y, batch_size=2**31 - 1, sample_weight=sample_weight, verbose=0, return_dict=return_dict
        )

    def _logs(self, values, return_dict):
        logs = dict(zip(self._trainer.names, values))
        return logs if return_dict else values[0] if len(values) == 1 else list(values)

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
    ):
        """Loss and metrics on data, without training.

        Args:
            x, y, batch_size, verbose, sample_weight, callbacks: as of fit().
            steps: batches to take; None for all.
            return_dict: gives a dict by name.

        Returns:
            The loss if there are no metrics; else a list, the loss first, or a dict.
        """
        self._build_for(x)
        trainer = self._get_trainer()
        source, size = data.Source(self, x, y, sample_weight, "evaluate"), batch_size or 32
        heard = CallbackList(callbacks, self, 1, source.steps(size, steps), verbose, "evaluate")
        heard.call("on_test_begin", {})
        values = trainer.evaluate(source.dataset(size, False, steps))
        logs = dict(zip(trainer.names, values))
        heard.call("on_test_end", logs)
        return self._logs(values, return_dict)

    # ---- prediction

    def _session(self, training=False):
        """A session with today's weights."""
        if self._sessions.get("version") != state.version():
            self._sessions = {"version": state.version()}
        if training not in self._sessions:
            with state.building:
                self._sessions[training] = self.core.session(training=training)
        return self._sessions[training]

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        """The outputs for many samples, in batches.

        Args:
            x: inputs, as of fit(). Of one sample pass x[None].
            batch_size: samples of a run, 32 by default.
            verbose, callbacks: as of fit().
            steps: batches to take; None for all.

        Returns:
            An array; of several outputs a list or dict, as the model was made.
        """
        self._build_for(x)
        source, size = data.Source(self, x, None, None, "predict"), batch_size or 32
        session = self._session()
        if not callbacks and verbose in (0, "auto") and source.whole and steps is None:
            got = self._at_once(session, source, size)
            if got is not None:
                return pack_like(self._nest_out, got)
        heard = CallbackList(callbacks, self, 1, source.steps(size, steps), verbose, "predict")
        heard.call("on_predict_begin", {})
        parts = []
        for i, batch in enumerate(source.batches(size, steps)):
            heard.call("on_predict_batch_begin", i, {})
            parts.append([t.numpy() for t in self._session().run(batch[0])])
            heard.call("on_predict_batch_end", i, {"outputs": pack_like(self._nest_out, parts[-1])})
        heard.call("on_predict_end", {})
        if not parts:
            raise InvalidArgument("predict: the data have no batch")
        return pack_like(self._nest_out, [np.concatenate(arrays) for arrays in zip(*parts)])

    def _at_once(self, session, source, size):
        """The outputs for whole arrays; None where they have to come in batches."""
        if source.rows <= size:
            if len(source.x) == 1 and getattr(source.x[0], "array", None) is not None:
                return session.through(source.x[0].array)
            return [t.numpy() for t in session.run(source.x)]
        if isinstance(session, core.KeptSession):
            return None
        return [t.numpy() for t in session.predict(source.dataset(size, False, None))]

    def predict_on_batch(self, x):
        """The outputs for a batch of arrays, as arrays."""
        self._build_for(x)
        got = self._session().run(self._tensors(self._in_order(x)))
        return pack_like(self._nest_out, [t.numpy() for t in got])

    def reset_states(self):
        """Sets the states of stateful layers to zeros."""
        session = self._session()
        if not isinstance(session, core.KeptSession):
            raise InvalidArgument(f"{self.name}: expected a layer with stateful=True, got none")
        session.reset()
        state.changed()


def _kinds_in(given):
    if isinstance(given, dict) and "class_name" in given:
        return [given]
    items = given.values() if isinstance(given, dict) else given if isinstance(given, (list, tuple)) else [given]
    if isinstance(given, (dict, list, tuple)):
        return [kind for item in items for kind in _kinds_in(item)]
    return [] if given is None else [given]


def _apart(names):
    """Of a second output of one layer a name of its own."""
    return [name if name not in names[:i] else f"{name}_{i}" for i, name in enumerate(names)]


def by_class(class_weight):
    """The library's list, of Keras's dict."""
    if not isinstance(class_weight, dict) or not all(isinstance(c, (int, np.integer)) and c >= 0 for c in class_weight):
        raise InvalidArgument(f"class_weight: expected a dict of weights by class number, got {class_weight!r}")
    return [float(class_weight.get(i, 1.0)) for i in range(max(class_weight, default=-1) + 1)]


def weights_by_class(y, class_weight):
    """Weights of samples, by their targets' classes."""
    y = np.asarray(y)
    if y.ndim > 2:
        raise unsupported("class_weight", f"expected targets of one axis or one-hot, got shape {y.shape}")
    classes = y.argmax(-1) if y.ndim == 2 and y.shape[-1] > 1 else y.reshape(-1)
    weights = by_class(class_weight)
    return np.array([weights[c] if 0 <= c < len(weights) else 1.0 for c in classes.astype("int64")], "float32")
