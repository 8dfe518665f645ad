"""compile, fit, evaluate and predict."""

import contextlib
import itertools
import json
import warnings
import weakref

from .. import abi, core
from ..cancel import inside_waiting, interruptible
from . import _compiled, _overrides, _state
from ._data import Cut, Stream, as_array, is_whole, split
from ._kept import Kept
from ._losses_of import Structure
from ._objective import Objective, is_still
from ._steps import Steps, Watched
from ._tensors import flatten, pack_like
from ._traced import is_native
from ._told import CallbackList, Unknown, listed
from ._words import keras_words

_trained = weakref.WeakSet()  # models that have a trainer


def make_room(layers, but=None):
    """Models that train these layers, by their ids, give their trainers up, and go on from their state later."""
    for other in list(_trained):
        if other is not but and other._trainer is not None and any(id(c.layer) in layers for c in other._need().calls):
            other._suspend()


def joined(batches):
    """The outputs of batches, each along its first axis."""
    import numpy

    return [core.Tensor.of(numpy.concatenate([t.numpy() for t in outs])) for outs in zip(*batches)]


class Training(Objective, Steps):
    """What a model is trained and run with."""

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
        from . import optimizers

        self.optimizer = optimizers.get(optimizer)
        _overrides.refuse(self.optimizer, "compile()", "compile")
        self._own_metrics = None
        self._compiled = {
            "loss": loss,
            "loss_weights": loss_weights,
            "metrics": metrics,
            "weighted_metrics": weighted_metrics,
        }
        self.loss, self._trainer, self._suspended, self._as_trained, self._loaded = loss, None, None, None, False
        from ._traced import needs_targets

        if self._functional is not None and not needs_targets(self._compiled) and self._functional.assigned is None:
            try:
                self._ready()  # what can't be is refused here
            except Structure:
                pass  # as in Keras by what needs it

    @property
    def compiled(self):
        return self._compiled is not None

    def _ready(self, targets=None, training=False):
        """The trainer; `targets`, arrays, are looked at by losses that are functions of Python. The first time that it
        is for training, what is trainable is kept, as in Keras, until the next compile()."""
        if self._compiled is None:
            raise ValueError("You must call `compile()` before calling `fit()`, `evaluate()` or the like.")
        if training and self._as_trained is None:
            self._as_trained = {c.layer: c.layer.trainable for c in self._need().calls if c.layer is not None}
            if self._trainer is not None and self._trainer.still != is_still(self._for_training()):
                self.optimizer.bind(None)
                self._trainer = None
            self.optimizer.need_known(self.trainable_weights)
            if is_still(self._for_training()):
                warnings.warn("The model does not have any trainable weights.", stacklevel=3)
        functional = self._for_training()
        self._need_pure(functional)
        if self._trainer is None:
            with self._as_compiled():
                try:
                    self._trainer = self._trainer_of(functional, targets, self.optimizer.to_json_value())
                except abi.Busy:
                    self._take_over()
                    self._trainer = self._trainer_of(functional, targets, self.optimizer.to_json_value())
                _trained.add(self)
                self.optimizer.bind(None if self._trainer.still else self._trainer)
                self._resume()
        return self._trainer

    @contextlib.contextmanager
    def _as_compiled(self):
        """While it lasts those layers are trainable that were when training began."""
        changed = [layer for layer, yes in (self._as_trained or {}).items() if layer.trainable != yes]
        for layer in changed:
            layer._let_train(self._as_trained[layer])
        try:
            yield
        finally:
            changed += [layer for layer in self._as_trained or () if vars(layer).pop("_waits", False)]
            for layer in changed:
                layer._let_train(layer.trainable)

    def _take_over(self):
        """Other models that share weights with this one give their trainers up, and go on from their state later."""
        make_room({id(c.layer) for c in self._need().calls if c.layer is not None}, self)

    def _suspend(self):
        """Gives the trainer up and keeps its state for the next one."""
        with self._as_compiled():
            if self._as_trained is not None or self._loaded:
                self._suspended = abi.content(abi.made("dl4_trainer_save_memory", self._trainer))
        self.optimizer.bind(None)
        self._trainer = None
        _trained.discard(self)

    def _resume(self):
        if self._suspended is not None:
            data, self._suspended = self._suspended, None
            names = [name for name, _, _ in self.core.weights()]
            now = [self.core.get_weight(name) for name in names]
            abi.call("dl4_trainer_load_memory", self._trainer, data, len(data))
            for name, value in zip(names, now):
                self.core.set_weight(name, value)

    def _save_training(self, path):
        """The model, what it was compiled with and the state of its optimizer, as Keras's file."""
        trainer = self._ready()
        if trainer.added:
            raise ValueError("a loss of a layer's own has no place in the file")
        for metric in filter(_compiled.is_python, self._compiled_metrics()):
            warnings.warn(f"{path}: saved without metric {metric.name}, which is Python", stacklevel=5)
        with self._as_compiled():
            abi.call("dl4_trainer_save", trainer, path.encode())

    def _resume_training(self, loaded, path):
        """Compiles as the file of Keras says that `loaded` comes from, and goes on where training stopped there."""
        from . import losses, metrics, optimizers

        try:
            told = json.loads(core.Trainer(loaded).describe(0))["options"]
        except abi.InvalidArgument as e:
            if e.argument == "options":
                return  # the model was not compiled
            raise

        def made(module, value):
            if isinstance(value, list):
                return [made(module, v) for v in value]
            if not isinstance(value, dict):
                return value
            if "class_name" in value:
                return module.deserialize(value)
            return {k: made(module, v) for k, v in value.items()}

        self.compile(
            optimizers.deserialize(told["optimizer"]),
            made(losses, told.get("loss")),
            told.get("loss_weights"),
            made(metrics, told.get("metrics")),
            made(metrics, told.get("weighted_metrics")),
        )
        abi.call("dl4_trainer_load", self._ready(), path.encode())
        self._loaded = True

    @property
    def metrics_names(self):
        return [m.name for m in self.metrics]

    def _compiled_metrics(self):
        """Metrics that were given, each as it is named in logs: names for text."""
        leaves = [v for key in ("metrics", "weighted_metrics") for v in flatten(self._compiled[key])]
        return [v for v in leaves if v is not None]

    def _kinds_of_metrics(self):
        """By a name in the logs: the library's kind of a metric, or of the loss of an output."""
        from . import metrics

        found, outputs = {}, self._output_keys() if self._functional is not None else ()
        for given in self._compiled_metrics() if self.compiled else ():
            if isinstance(given, str):
                known = metrics.get(given)
                name = given
            else:
                known, name = given, getattr(given, "name", getattr(given, "__name__", None))
            kind = getattr(known, "class_name", None)
            if kind is None and hasattr(known, "to_json_value"):
                kind = metrics.get(known.to_json_value()).class_name
            found[name] = kind
            found.update({f"{output}_{name}": kind for output in outputs})
        found.update({f"{output}_loss": "MeanSquaredError" for output in outputs})
        return found

    # ---- data

    def _lists(self, x, y, w):
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
        self, x, y=None, sample_weight=None, steps=None, batch_size=32, shuffle=False, around=None, goes_on=False
    ):
        """Of arrays, or of anything that gives batches: a dataset, the first targets, how many batches it has."""
        if is_whole(x):
            lists = self._lists(as_array(x), as_array(y), as_array(sample_weight))
            if steps or around:
                cut = Cut(lists, batch_size, steps, _state.next_seed() if shuffle else None, around, goes_on)
                return cut.dataset, lists[1], cut.count
            options = {"batch_size": batch_size, "shuffle": bool(shuffle), "seed": _state.next_seed() if shuffle else 0}
            rows = next((t.shape[0] for part in lists for t in part if t is not None and t.shape), 1)
            return core.Dataset(*lists, context=_state.context(), **options), lists[1], -(-rows // batch_size)
        if y is not None:
            raise ValueError(
                f"When providing `x` as a {type(x).__name__}, `y` should not be passed. Instead, the targets "
                "should be included as part of it."
            )
        if sample_weight is not None:
            raise ValueError(
                f"When providing `x` as a {type(x).__name__}, `sample_weight` should not be passed. Instead, "
                "the sample weights should be included as part of it."
            )
        stream = Stream(self, x, steps, around=around)
        return stream.dataset, stream.first[1], stream.steps

    # ---- Keras's verbs

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
        if self._compiled is None:
            raise ValueError("You must call `compile()` before calling `fit()`.")
        if class_weight is not None and sample_weight is not None:
            raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
        self._need_library_steps("fit()")
        size, watched = batch_size or 32, None
        if validation_split and validation_data is None:
            given = [as_array(v) for v in (x, y, sample_weight)]
            (x, y, sample_weight), validation_data = split(given, float(validation_split))
        if self._has_python_metrics():
            seed = _state.next_seed() if shuffle else None
            watched = Watched(self, (x, y, sample_weight), size, steps_per_epoch, class_weight, seed)
            data, targets, steps = watched.dataset, watched.targets, watched.steps
        else:
            data, targets, steps = self._dataset(x, y, sample_weight, steps_per_epoch, size, shuffle, goes_on=True)
        told = _fit_callbacks(callbacks, self, verbose, epochs=int(epochs), steps=steps)
        validate = None
        if validation_data is not None:
            parts = validation_data if isinstance(validation_data, (tuple, list)) else (validation_data,)
            validate = self._validation(parts, validation_batch_size or size, validation_steps, told)
        options = {"resume": False, "average": False}
        if class_weight is not None:
            options["class_weight"] = by_class(class_weight)
        self.stop_training = False
        self._ready(targets, training=True)
        with interruptible():
            with inside_waiting:
                told.tell("on_train_begin", {})
            first, self._initial_epoch = self._initial_epoch or int(initial_epoch), None
            logs = {}
            for epoch in range(first, int(epochs)):
                with inside_waiting:
                    told.tell("on_epoch_begin", epoch, {})
                progress = Progress(told, self, self._ready(targets, training=True), watched, epoch)
                with keras_words("fit", options), self._as_compiled():
                    try:
                        self._trainer.fit(data, None, progress, epochs=epoch + 1, initial_epoch=epoch, **options)
                    finally:
                        _state.changed()
                logs = progress.logs(progress.last)
                del progress  # whose trainer may have to make room
                self._note(logs)
                if validate is not None and _is_due(epoch + 1, validation_freq):
                    logs.update({f"val_{name}": v for name, v in validate().items()})
                with inside_waiting:
                    told.tell("on_epoch_end", epoch, logs)
                if self.stop_training:
                    break
            if epochs > 0 and getattr(self.optimizer, "use_ema", False):
                with self._as_compiled():  # the averages become the weights
                    self._ready(targets, training=True).fit(data, epochs=int(epochs), initial_epoch=int(epochs), resume=False)
                _state.changed()
            with inside_waiting:
                told.tell("on_train_end", logs)
        return self.history

    def _need_library_steps(self, who):
        """Raises for what training would have to call of this model's, or of its layers'."""
        _overrides.refuse(self, who, "fit", "python", "run")
        for layer in self._flatten_layers(include_self=False):
            _overrides.refuse(layer, who, "fit")

    def _validation(self, data, size, steps, told):
        """A function that evaluates the data of the validation, and gives the logs."""
        x, y, sample_weight = (*data, None, None)[:3]
        if not self._has_steps() and not _overrides.overrides(self, "evaluate"):
            around = _each_batch(told, "test")
            given, targets, _ = self._dataset(x, y, sample_weight, steps, size, around=around)
            return lambda: dict(sorted(self._measured(given, targets, told).items()))

        def validate():
            if not _overrides.overrides(self, "evaluate"):
                return self._tested(x, y, sample_weight, size, steps, told)
            self._fitting = True
            try:
                return self.evaluate(
                    x=x,
                    y=y,
                    sample_weight=sample_weight,
                    batch_size=size,
                    steps=steps,
                    callbacks=told,
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
        if kwargs:
            raise ValueError(f"Arguments not recognized: {kwargs}")
        _overrides.refuse(self, "evaluate()", "evaluate", "run")
        told = CallbackList.of(callbacks, self, epochs=1, steps=steps, verbose=verbose)
        if self._fitting or self._has_steps():
            logs = self._tested(x, y, sample_weight, batch_size or 32, steps, told)
            return logs if return_dict else _one(self._in_order(logs))
        around = _each_batch(told, "test")
        data, targets, _ = self._dataset(x, y, sample_weight, steps, batch_size or 32, around=around)
        logs = self._measured(data, targets, told)
        return dict(sorted(logs.items())) if return_dict else _one(list(logs.values()))

    def _measured(self, data, targets, told):
        """Loss and metrics of all batches, by name."""
        with inside_waiting:
            self._ready(targets)
            told.tell("on_test_begin", {})
        self._ready(targets)
        with self._as_compiled():
            values = self._evaluated(data, targets) if self._need().branches() else self._trainer.evaluate(data)
        logs = dict(zip(self._trainer.shown, self._trainer.kept(values)))
        self._note(logs)
        with inside_waiting:
            told.tell("on_test_end", dict(sorted(logs.items())))
        return logs

    def _evaluated(self, data, targets):
        """Where a call() asks whether it is training: by a trainer of the other model, put in this one's place."""
        self._suspend()
        values = self._trainer_of(self._need(), targets, "SGD").evaluate(data)
        self._ready(targets)
        return values

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        size = batch_size or 32
        _overrides.refuse(self, "predict()", "predict", "run")
        if _overrides.overrides(self, "predict_step"):
            return self._predicted(x, size, steps, CallbackList.of(callbacks, self, epochs=1, steps=steps, verbose=verbose))
        if callbacks is None and steps is None and hasattr(x, "flags") and 0 < len(x) <= size:
            got = self._quick(x)
            if got is not None:
                return got[0]
        told = CallbackList.of(callbacks, self, epochs=1, steps=steps, verbose=verbose)
        told.tell("on_predict_begin", {})
        got = self._outputs_of(x, size, steps, told)
        told.tell("on_predict_end", {})
        return pack_like(self._need().nest_out, [t.numpy() for t in got])

    def _outputs_of(self, x, size, steps, told):
        whole = is_whole(x)
        tensors = self._inputs_of(as_array(x)) if whole else ()
        data = Cut((tensors, [], []), size, steps) if whole else Stream(self, x, steps, labels=False)
        session = self._inference()
        if not (told.hears_batches("predict") or isinstance(session, core.KeptSession)):
            if whole and data.rows <= size:
                return session.run(tensors)
            if steps or not whole:
                return session.predict(data.dataset)
            return session.predict(core.Dataset(tensors, context=_state.context(), batch_size=size, shuffle=False))
        parts = []
        for i in itertools.count():
            batch = data.got(i)
            if batch is None:
                return joined(parts)
            told.tell("on_predict_batch_begin", i, {})
            parts.append(self._inference().run(batch[0]))
            outputs = pack_like(self._need().nest_out, [t.numpy() for t in parts[-1]])
            told.tell("on_predict_batch_end", i, {"outputs": outputs})

    def predict_on_batch(self, x):
        _overrides.refuse(self, "predict_on_batch()", "predict", "run")
        if _overrides.overrides(self, "predict_step"):
            return _compiled.joined([self.predict_step((as_array(x),))])
        given = self._inputs_of(x)
        return pack_like(self._need().nest_out, [t.numpy() for t in self._inference().run(given)])

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        if class_weight is not None:
            if sample_weight is not None:
                raise ValueError(
                    "Arguments `sample_weight` and `class_weight` cannot be specified at the same time. "
                    f"Received: sample_weight={sample_weight}, class_weight={class_weight}"
                )
            return self._one_step(x, y, class_weight, return_dict)
        self._need_library_steps("train_on_batch()")
        lists = self._lists(x, y, sample_weight)
        trainer, watched = self._ready(lists[1], training=True), None
        if self._has_python_metrics():
            watched = Watched(self, (x, y, sample_weight), len(flatten(as_array(x))[0]))
            watched.epoch_begin(0)
        schedule = self.optimizer.own_schedule()
        if schedule is not None:
            trainer.set("learning_rate", float(schedule(int(trainer.get("iterations")))))
        try:
            with self._as_compiled():
                values = trainer.step(*lists)
            for weight in self._constrained():
                weight.constrain()
        finally:
            _state.changed()
        logs = dict(zip(trainer.shown, trainer.kept(values)))
        if watched is not None:
            logs.update(watched.results())
        self._note(logs)
        return dict(sorted(logs.items())) if return_dict else _one(self._in_order(logs) if watched else [*logs.values()])

    def _one_step(self, x, y, class_weight, return_dict):
        history = self.fit(x, y, batch_size=2**31 - 1, class_weight=class_weight, shuffle=False, verbose=0).history
        logs = {k: v[-1] for k, v in history.items()}
        return logs if return_dict else _one([logs[k] for k in self._trainer.shown])

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        return self.evaluate(x, y, batch_size=2**31 - 1, sample_weight=sample_weight, return_dict=return_dict)

    def _constrained(self):
        """Weights with a constraint in Python, called after each update."""
        return [w for w in self.trainable_weights if not is_native(w.constraint)]

    def _note(self, logs):
        """What was measured last, which metrics show."""
        self._counted(logs)
        for metric in self._compiled_metrics():
            if hasattr(metric, "_show") and not _compiled.is_python(metric):
                metric._show(logs)

    # ---- what callbacks keep

    def _save_checkpoint(self, path):
        with self._as_compiled():
            self._trainer.save(path)

    def _load_checkpoint(self, path):
        with self._as_compiled():
            self._trainer.load(path)
        _state.changed()

    def _swap_averages(self, keep=False):
        """The averages of the weights change places with them, or with `keep` become what the weights are."""
        if not getattr(self.optimizer, "use_ema", False):
            raise ValueError("SwapEMAWeights must be used when `use_ema=True` is set on the optimizer.")
        with self._as_compiled():
            kept = Kept(self._trainer)
            for name, average in zip(kept.trained, kept.of("slot:optimizer/average")):
                weight = kept.weight(name)
                before = weight.copy()
                if not keep:
                    weight[...] = average
                average[...] = before
            kept.put(self._trainer)
        _state.changed()


class Progress:
    """What a fit of one epoch tells, for callbacks."""

    def __init__(self, told, model, trainer, watched, epoch):
        self.told, self.model, self.trainer, self.watched, self.last = told, model, trainer, watched, []
        self.epoch, self.schedule = epoch, model.optimizer.own_schedule()
        self.hears, self.constrained = told.hears_batches("train"), model._constrained()

    def logs(self, metrics):
        """By name, as Keras has them."""
        logs = dict(zip(self.trainer.shown, self.trainer.kept(metrics)))
        if self.watched is not None:
            logs.update(self.watched.results())
        return dict(sorted(logs.items()))

    def _begin(self, batch):
        if self.schedule is not None:
            self.trainer.set("learning_rate", float(self.schedule(int(self.trainer.get("iterations")))))
        if self.hears:
            self.told.tell("on_train_batch_begin", batch, {})

    def __call__(self, event, step, total, metrics):
        if event == abi.constants["DL4_EPOCH_BEGIN"]:
            self._begin(0)
            if self.watched is not None:
                self.watched.epoch_begin(self.epoch)
        elif event == abi.constants["DL4_EPOCH_END"]:
            self.last = metrics
        elif event == abi.constants["DL4_BATCH_END"]:
            for weight in self.constrained:
                weight.constrain()
            if self.hears:
                _state.changed()
                self.told.tell("on_train_batch_end", step - 1, self.logs(metrics))
            if not self.model.stop_training and step != total:
                self._begin(step)
            if self.watched is not None:
                _state.changed()
                self.watched.batch_begin()
            return self.model.stop_training
        return False


def _fit_callbacks(callbacks, model, verbose, **params):
    """Those that are given, and what shows and keeps the numbers."""
    from .callbacks import History, ProgbarLogger

    callbacks = listed(callbacks)
    if verbose and not any(isinstance(c, ProgbarLogger) for c in callbacks):
        callbacks.append(ProgbarLogger(2 if verbose == 2 else 1))
    if not any(isinstance(c, History) for c in callbacks):
        callbacks.append(History())
    model.history = next(c for c in callbacks if isinstance(c, History))
    return CallbackList(callbacks, model, verbose=1 if verbose == "auto" else verbose, **params)


def _each_batch(told, of):
    """A function that tells of the batches of an evaluation; None where nobody wants to know."""
    if not told.hears_batches(of):
        return None
    last = []

    def around(index):
        if last:
            told.tell(f"on_{of}_batch_end", last.pop(), Unknown())
        if index is not None:
            last.append(index)
            told.tell(f"on_{of}_batch_begin", index, {})

    return around


def _is_due(epoch, freq):
    """Is validation due after so many epochs? A list names them."""
    return epoch in freq if isinstance(freq, (list, tuple, set)) else epoch % int(freq) == 0


def _one(values):
    return values[0] if len(values) == 1 else values


def by_class(class_weight):
    """The library's list, of Keras's dict."""
    if not isinstance(class_weight, dict):
        raise ValueError(f"`class_weight`: expected a dict of class numbers, got {class_weight!r}")
    return [float(class_weight.get(i, 1.0)) for i in range(max(class_weight, default=-1) + 1)]
