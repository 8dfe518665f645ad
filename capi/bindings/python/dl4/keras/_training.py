"""compile, fit, evaluate and predict."""
from .. import core
from . import _kinds, _state
from ._tensors import flatten


class Training:
    """What a model is trained and run with."""

    def compile(self, optimizer="rmsprop", loss=None, loss_weights=None, metrics=None, weighted_metrics=None,
                run_eagerly=False, steps_per_execution=1, jit_compile="auto", auto_scale_loss=True):
        from . import optimizers
        self.optimizer = optimizers.get(optimizer)
        self._compiled = {"loss": loss, "loss_weights": loss_weights, "metrics": metrics,
                          "weighted_metrics": weighted_metrics}
        self._trainer = None
        if self._functional is not None:
            self._trained()  # what can't be is refused here

    def _by_output(self, value, several):
        """A list in the order of the outputs, of a dict by their names."""
        if isinstance(value, dict):
            names = self.output_names
            for key in value:
                if key not in names:
                    raise ValueError(f"expected the name of an output, one of {names}, got {key!r}")
            return [value.get(name) for name in names]
        return value

    def _trained(self):
        """The trainer."""
        if self._compiled is None:
            raise ValueError("You must call `compile()` before using the model.")
        if self._trainer is None:
            options = {"optimizer": _kinds.as_json(self.optimizer)}
            for key, value in self._compiled.items():
                value = self._by_output(value, len(self.outputs) > 1)
                if value is not None:
                    options[key] = [value] if key.endswith("metrics") and not isinstance(value, list) else value
            for leaf in flatten([options.get("loss"), options.get("metrics")]):
                if callable(leaf) and not hasattr(leaf, "to_json_value"):
                    raise NotImplementedError(f"{leaf!r}: a loss or metric that is a function of Python is not in this "
                                              "version; make it of layers, with loss=\"output\"")
            self._trainer = core.Trainer(self.core, _kinds.as_json(options))
            self.optimizer.bind(self._trainer)
        return self._trainer

    @property
    def metrics_names(self):
        return list(self._trained().names)

    # ---- data

    def _lists(self, x, y, w):
        """Tensors of the inputs, the targets and their weights."""
        functional = self._built_for(x)
        xs = [core.Tensor.of(v, t.dtype) for v, t in zip(self._arranged(x), functional.inputs)]
        ys = [] if y is None else [core.Tensor.of(v) for v in self._targets(y)]
        ws = [] if w is None else [None if v is None else core.Tensor.of(v, "float32") for v in self._targets(w)]
        return xs, ys, ws

    def _targets(self, y):
        if isinstance(y, dict):
            return [y[name] for name in self.output_names if name in y]
        if isinstance(y, (list, tuple)) and len(self.outputs) > 1:
            return list(y)
        return [y]

    def _dataset(self, x, y=None, sample_weight=None, class_weight=None, steps=None, **options):
        """Of arrays, or of anything that gives batches."""
        if isinstance(x, core.Dataset):
            return x
        if hasattr(x, "__array__") or isinstance(x, dict) or (isinstance(x, (list, tuple)) and x is not None and
                                                              not hasattr(x, "__next__")):
            if class_weight is not None:
                if sample_weight is not None:
                    raise ValueError("You cannot `class_weight` and `sample_weight` at the same time.")
                sample_weight = weights_of_classes(y, class_weight)
            return core.Dataset(*self._lists(x, y, sample_weight), context=_state.context(), **options)
        return self._stream(x, class_weight, steps)

    def _stream(self, source, class_weight, steps):
        """Batches of a generator, a data set or a loader: tuples (x, y) or (x, y, sample_weight)."""
        indexed = hasattr(source, "__getitem__") and hasattr(source, "__len__") and not hasattr(source, "__iter__")
        if steps is None and hasattr(source, "__len__"):
            steps = len(source)
        endless = hasattr(source, "__next__")
        state = {"iterator": None}

        def batch(index):
            if steps is not None and index >= steps:
                return None
            if indexed:
                got = source[index]
            else:
                if state["iterator"] is None or (index == 0 and not endless):
                    state["iterator"] = iter(source)
                got = next(state["iterator"], None)
            if got is None:
                return None
            x, y, w = (tuple(got) + (None, None))[:3] if isinstance(got, (tuple, list)) else (got, None, None)
            if class_weight is not None and w is None:
                w = weights_of_classes(y, class_weight)
            return self._lists(as_array(x), as_array(y), as_array(w))
        if self._functional is None:
            import itertools
            first = next(iter(source)) if not indexed else source[0]
            self._built_for(as_array(first[0] if isinstance(first, (tuple, list)) else first))
            if endless:
                source = itertools.chain([first], source)
        return core.Dataset(batches=batch, **({} if steps is None else {"steps": int(steps)}))

    # ---- Keras's verbs

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None, shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0,
            steps_per_epoch=None, validation_steps=None, validation_batch_size=None, validation_freq=1):
        from .callbacks import CallbackList
        train = self._dataset(x, y, sample_weight, class_weight, steps_per_epoch, batch_size=batch_size or 32,
                              shuffle=bool(shuffle), seed=_state.changes())
        trainer = self._trained()
        valid = None
        if validation_data is not None:
            parts = validation_data if isinstance(validation_data, (tuple, list)) else (validation_data,)
            valid = self._dataset(*parts, steps=validation_steps, batch_size=validation_batch_size or batch_size or 32,
                                  shuffle=False)
        self.stop_training = False
        told = CallbackList(callbacks, self, trainer, verbose, epochs)
        options = {"epochs": int(epochs), "initial_epoch": int(initial_epoch), "validation_freq": int(validation_freq),
                   "resume": False}
        if validation_split:
            options["validation_split"] = float(validation_split)
        if told.native:
            options["callbacks"] = _kinds.as_json(told.native)
        try:
            history = trainer.fit(train, valid, told, **options)
        finally:
            _state.changed()
        self.history = told.history
        self.history.epoch = history.pop("epoch", [])
        self.history.history = history
        return self.history

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, **_):
        data = self._dataset(x, y, sample_weight, steps=steps, batch_size=batch_size or 32, shuffle=False)
        trainer = self._trained()
        return self._told(trainer, trainer.evaluate(data), return_dict)

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        data = self._dataset(x, steps=steps, batch_size=batch_size or 32, shuffle=False)
        from ._tensors import pack_like
        return pack_like(self._need().nest_out, [t.numpy() for t in self._inference().predict(data)])

    def predict_on_batch(self, x):
        from .models import run
        import numpy
        return numpy.asarray(run(self._inference(), list(zip(self._arranged(x), [t.dtype for t in self.inputs])), 0))

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, return_dict=False):
        if class_weight is not None:
            sample_weight = weights_of_classes(y, class_weight)
        lists = self._lists(x, y, sample_weight)
        trainer = self._trained()
        try:
            return self._told(trainer, trainer.step(*lists), return_dict)
        finally:
            _state.changed()

    def test_on_batch(self, x, y=None, sample_weight=None, return_dict=False):
        return self.evaluate(x, y, batch_size=2**31 - 1, sample_weight=sample_weight, return_dict=return_dict)

    @staticmethod
    def _told(trainer, values, return_dict):
        if return_dict:
            return dict(zip(trainer.names, values))
        return values[0] if len(values) == 1 else values

    def _changed(self):
        return self._versions != self._now()

    @staticmethod
    def _now():
        return _state.changes()


def as_array(x):
    """What NumPy can see: tensors of other libraries too."""
    if x is None or isinstance(x, (list, tuple, dict)):
        return x
    return x.numpy() if hasattr(x, "numpy") else x


def weights_of_classes(y, class_weight):
    """Sample weights by class, as Keras: of labels, or of one-hot rows."""
    import numpy
    y = numpy.asarray(y)
    if y.ndim > 1 and y.shape[-1] > 1:
        y = y.argmax(-1)
    elif y.ndim > 1:
        y = y[..., 0]
    return numpy.vectorize(lambda c: float(class_weight.get(int(c), 1.0)), otypes=[numpy.float32])(y)
