"""compile, fit, evaluate and predict."""

import json
import weakref

from .. import abi, core
from . import _compiled, _kinds, _overrides, _state
from ._data import Stream, as_array, is_whole
from ._losses_of import Structure
from ._objective import Objective
from ._steps import Steps, Watched
from ._tensors import flatten, pack_like
from ._words import keras_words

_trained = weakref.WeakSet()  # models that have a trainer


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
        self.loss, self._trainer, self._suspended = loss, None, None
        from ._traced import needs_targets

        if self._functional is not None and not needs_targets(self._compiled):
            try:
                self._ready()  # what can't be is refused here
            except Structure:
                pass  # as in Keras by what needs it

    @property
    def compiled(self):
        return self._compiled is not None

    def _ready(self, targets=None):
        """The trainer; `targets`, arrays, are looked at by losses that are functions of Python."""
        if self._compiled is None:
            raise ValueError("You must call `compile()` before calling `fit()`, `evaluate()` or the like.")
        if self._trainer is None:
            functional = self._for_training()
            try:
                self._trainer = self._trainer_of(functional, targets, self.optimizer.to_json_value())
            except abi.Busy:
                self._take_over()
                self._trainer = self._trainer_of(functional, targets, self.optimizer.to_json_value())
            _trained.add(self)
            self.optimizer.bind(self._trainer)
            self._resume()
        return self._trainer

    def _take_over(self):
        """Other models that share weights with this one give their trainers up, and go on from their state later."""
        mine = {id(c.layer) for c in self._need().calls if c.layer is not None}
        for other in list(_trained):
            if (
                other is not self
                and other._trainer is not None
                and any(id(c.layer) in mine for c in other._need().calls)
            ):
                other._suspend()

    def _suspend(self):
        """Gives the trainer up and keeps its state for the next one."""
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

    @property
    def metrics_names(self):
        return ["loss"] + [m for m in self._ready().shown if m != "loss"]

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

    def _dataset(self, x, y=None, sample_weight=None, steps=None, **options):
        """Of arrays, or of anything that gives batches; with the first targets."""
        if is_whole(x):
            lists = self._lists(as_array(x), as_array(y), as_array(sample_weight))
            return core.Dataset(*lists, context=_state.context(), **options), lists[1]
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
        stream = Stream(self, x, steps)
        return stream.dataset, stream.first[1]

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
        from .callbacks import CallbackList

        if self._compiled is None:
            raise ValueError("You must call `compile()` before calling `fit()`.")
        if class_weight is not None and sample_weight is not None:
            raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
        self._need_library_steps("fit()")
        size, seed = batch_size or 32, _state.changes()
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be between 0 and 1, received: {validation_split}.")
        if validation_split and is_whole(x) and self._validates_in_python(x):
            (x, y, sample_weight), validation_data = _compiled.split(x, y, sample_weight, validation_split)
            validation_split = 0.0
        if self._has_python_metrics():
            watched = Watched(self, (x, y, sample_weight), size, steps_per_epoch, class_weight, seed if shuffle else None)
            train, targets = watched.dataset, watched.targets
        else:
            watched = None
            train, targets = self._dataset(
                x, y, sample_weight, steps_per_epoch, batch_size=size, shuffle=bool(shuffle), seed=seed
            )
        trainer = self._ready(targets)
        valid, validate, size = None, None, validation_batch_size or size
        if validation_data is not None:
            parts = validation_data if isinstance(validation_data, (tuple, list)) else (validation_data,)
            if self._validates_in_python(x):
                validate = self._validation(parts, size, validation_steps)
            else:
                valid, _ = self._dataset(*parts, steps=validation_steps, batch_size=size, shuffle=False)
        self.stop_training = False
        told = CallbackList(callbacks, self, trainer, verbose, epochs)
        told.watched, told.validate, told.freq = watched, validate, validation_freq
        options = {
            "epochs": int(epochs),
            "initial_epoch": int(initial_epoch),
            "validation_freq": int(validation_freq),
            "resume": False,
        }
        if validation_split:
            options["validation_split"] = float(validation_split)
        if class_weight is not None:
            options["class_weight"] = by_class(class_weight)
        if told.native:
            options["callbacks"] = _kinds.as_json(told.native)
        try:
            with keras_words("fit", options):
                history = trainer.fit(train, valid, told, **options)
        finally:
            _state.changed()
        self.history = told.history
        self.history.epoch = history.pop("epoch", [])
        names = dict(zip(trainer.kept(trainer.names), trainer.shown))
        names.update({f"val_{k}": f"val_{v}" for k, v in names.items()})
        more = {names.get(k, k): v for k, v in history.items() if k in names or k == "learning_rate"}
        # In the order of what was recorded, which has what JSON can't say, NaN.
        self.history.history = {**told.recorded, **more, **told.recorded}
        self._counted({k: v[-1] for k, v in self.history.history.items() if k in told.shown})
        return self.history

    def _need_library_steps(self, who):
        """Raises for what training would have to call of this model's, or of its layers'."""
        _overrides.refuse(self, who, "fit", "python")
        for layer in self._flatten_layers(include_self=False):
            _overrides.refuse(layer, who, "fit")

    def _validates_in_python(self, x):
        """Is there something for evaluate() to call within fit()?"""
        if self._has_steps() or _overrides.overrides(self, "evaluate"):
            return True
        if self._functional is None and is_whole(x):
            self._inputs_of(as_array(x))
        return self._functional is not None and self._functional.branches()

    def _validation(self, data, size, steps):
        """A function of callbacks: what evaluate() gives for the data of the validation."""
        x, y, sample_weight = (*data, None, None)[:3]

        def validate(callbacks):
            if not _overrides.overrides(self, "evaluate"):
                return self._tested(x, y, sample_weight, size, steps, callbacks)
            self._fitting = True
            try:
                return self.evaluate(
                    x=x,
                    y=y,
                    sample_weight=sample_weight,
                    batch_size=size,
                    steps=steps,
                    callbacks=callbacks,
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
        **_,
    ):
        from .callbacks import told

        _overrides.refuse(self, "evaluate()", "evaluate")
        if self._fitting or self._has_steps():
            logs = self._tested(x, y, sample_weight, batch_size or 32, steps, callbacks)
            return logs if return_dict else _one(self._in_order(logs))
        data, targets = self._dataset(x, y, sample_weight, steps, batch_size=batch_size or 32, shuffle=False)
        told(callbacks, self, "on_test_begin", {})
        self._ready(targets)
        values = self._evaluated(data, targets) if self._need().branches() else self._trainer.evaluate(data)
        logs = dict(zip(self._trainer.shown, self._trainer.kept(values)))
        by_name = dict(sorted(logs.items()))
        self._counted(logs)
        told(callbacks, self, "on_test_end", by_name)
        return by_name if return_dict else _one(list(logs.values()))

    def _evaluated(self, data, targets):
        """Where a call() asks whether it is training: by a trainer of the other model, put in this one's place."""
        self._suspend()
        values = self._trainer_of(self._need(), targets, "SGD").evaluate(data)
        self._ready(targets)
        return values

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        from .callbacks import told

        size = batch_size or 32
        _overrides.refuse(self, "predict()", "predict")
        if _overrides.overrides(self, "predict_step"):
            return self._predicted(x, size, steps, callbacks)
        if callbacks is None and hasattr(x, "flags") and 0 < len(x) <= size:
            got = self._quick(x)
            if got is not None:
                return got[0]
        told(callbacks, self, "on_predict_begin", {})
        if is_whole(x):
            tensors = self._inputs_of(as_array(x))
            rows = tensors[0].shape[0] if tensors and tensors[0].shape else 1
            if rows <= size:
                got = self._inference().run(tensors)
            elif isinstance(self._inference(), core.KeptSession):
                parts = [[core.Tensor.of(t.numpy()[i : i + size]) for t in tensors] for i in range(0, rows, size)]
                got = joined([self._inference().run(part) for part in parts])
            else:
                data = core.Dataset(tensors, context=_state.context(), batch_size=size, shuffle=False)
                got = self._inference().predict(data)
        else:
            stream = Stream(self, x, steps, labels=False)
            got = self._inference().predict(stream.dataset)
        told(callbacks, self, "on_predict_end", {})
        return pack_like(self._need().nest_out, [t.numpy() for t in got])

    def predict_on_batch(self, x):
        _overrides.refuse(self, "predict_on_batch()", "predict")
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
        trainer, watched = self._ready(lists[1]), None
        if self._has_python_metrics():
            watched = Watched(self, (x, y, sample_weight), len(flatten(as_array(x))[0]))
            watched.epoch_begin(0)
        schedule = self.optimizer.own_schedule()
        if schedule is not None:
            trainer.set("learning_rate", float(schedule(int(trainer.get("iterations")))))
        try:
            return self._told(trainer, trainer.step(*lists), return_dict, watched)
        finally:
            _state.changed()

    def _one_step(self, x, y, class_weight, return_dict):
        history = self.fit(x, y, batch_size=2**31 - 1, class_weight=class_weight, shuffle=False, verbose=0).history
        logs = {k: v[-1] for k, v in history.items()}
        return logs if return_dict else _one([logs[k] for k in self._trainer.shown])

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        return self.evaluate(x, y, batch_size=2**31 - 1, sample_weight=sample_weight, return_dict=return_dict)

    def _told(self, trainer, values, return_dict, watched=None):
        logs = dict(zip(trainer.shown, trainer.kept(values)))
        if watched is not None:
            logs.update(watched.results())
        self._counted(logs)
        return dict(sorted(logs.items())) if return_dict else _one(list(logs.values()))


def _one(values):
    return values[0] if len(values) == 1 else values


def by_class(class_weight):
    """The library's list, of Keras's dict."""
    if not isinstance(class_weight, dict):
        raise ValueError(f"`class_weight`: expected a dict of class numbers, got {class_weight!r}")
    return [float(class_weight.get(i, 1.0)) for i in range(max(class_weight, default=-1) + 1)]
