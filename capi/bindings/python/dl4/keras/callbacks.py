"""Callbacks: Keras's, where the library has them, and a base for one's own."""

import sys
import time

from ..abi import constants
from . import _kinds


class Callback:
    """What fit() tells; model and params are set before. In these methods a model may be read and run, its optimizer's
    learning rate be set, and model.stop_training."""

    def __init__(self):
        self.model, self.params = None, None

    def set_model(self, model):
        self.model = model

    def set_params(self, params):
        self.params = params

    def on_train_begin(self, logs=None):
        pass

    def on_train_end(self, logs=None):
        pass

    def on_epoch_begin(self, epoch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass

    def on_batch_begin(self, batch, logs=None):
        pass

    def on_batch_end(self, batch, logs=None):
        pass

    def on_train_batch_begin(self, batch, logs=None):
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)

    def on_test_begin(self, logs=None):
        pass

    def on_test_end(self, logs=None):
        pass

    def on_test_batch_begin(self, batch, logs=None):
        pass

    def on_test_batch_end(self, batch, logs=None):
        pass

    def on_predict_begin(self, logs=None):
        pass

    def on_predict_end(self, logs=None):
        pass

    def on_predict_batch_begin(self, batch, logs=None):
        pass

    def on_predict_batch_end(self, batch, logs=None):
        pass


class History(Callback):
    """What fit() returns: `epoch`, and `history`, a list for each name."""

    def __init__(self):
        super().__init__()
        self.epoch, self.history = [], {}


class LambdaCallback(Callback):
    """Functions as a callback."""

    def __init__(
        self,
        on_epoch_begin=None,
        on_epoch_end=None,
        on_train_begin=None,
        on_train_end=None,
        on_train_batch_end=None,
        **kwargs,
    ):
        super().__init__()
        for name, function in {
            **kwargs,
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_end": on_train_batch_end,
        }.items():
            if function is not None:
                setattr(self, name, function)


class ProgbarLogger(Callback):
    """A line for each epoch; on a terminal a bar while it is under way."""

    def __init__(self, verbose=1):
        super().__init__()
        self.bar = verbose == 1 and sys.stdout.isatty()

    def on_epoch_begin(self, epoch, logs=None):
        print(f"Epoch {epoch + 1}/{self.params['epochs']}")
        self.begun, self.shown, self.batches = time.perf_counter(), 0.0, 0

    def _numbers(self, logs):
        return "".join(
            f" - {name}: {value:.4f}" if abs(value) > 1e-3 else f" - {name}: {value:.4e}"
            for name, value in (logs or {}).items()
        )

    def on_train_batch_end(self, batch, logs=None):
        self.batches = batch + 1
        now = time.perf_counter()
        if not self.bar or now - self.shown < 0.05:
            return
        self.shown, total = now, self.params["steps"]
        done = (
            ""
            if not total or total < 0
            else "━" * (20 * self.batches // total) + " " * (20 - 20 * self.batches // total)
        )
        print(f"\r{self.batches}/{total if done else '?'} {done}{self._numbers(logs)}", end="", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        spent = time.perf_counter() - self.begun
        print(f"{chr(13) if self.bar else ''}{self.batches}/{self.batches} - {spent:.1f}s{self._numbers(logs)}")


def listed(callbacks):
    """One callback, a list of them, or none, as a list."""
    found = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
    for c in found:
        if not isinstance(c, (Callback, _kinds.Kind)):
            raise TypeError(f"expected callbacks, got {c!r}")
    return found


def told(callbacks, model, method, *arguments):
    """Tells those of Python's, of evaluate() and predict()."""
    for c in listed(callbacks):
        if isinstance(c, Callback):
            if c.model is not model:
                c.set_model(model)
            getattr(c, method)(*arguments)


class LearningRateScheduler(Callback):
    """The rate of each epoch, by a function of its number and, if it takes two arguments, the rate before."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        import numbers

        try:
            rate = self.schedule(epoch, float(self.model.optimizer.learning_rate))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, numbers.Number)) and not hasattr(rate, "__float__"):
            raise ValueError(f"The output of the `schedule` function should be a float. Got: {rate}")
        self.model.optimizer.learning_rate = float(rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)


class CallbackList:
    """The callbacks of one fit, as its progress function."""

    def __init__(self, callbacks, model, trainer, verbose, epochs, steps=None):
        callbacks = listed(callbacks)
        self.native = [c for c in callbacks if isinstance(c, _kinds.Kind)]
        self.history = next((c for c in callbacks if isinstance(c, History)), None) or History()
        self.list = [c for c in callbacks if not isinstance(c, _kinds.Kind)]
        if verbose == "auto" or verbose:
            self.list.append(ProgbarLogger(2 if verbose == 2 else 1))
        self.model, self.trainer, self.names = model, trainer, trainer.shown
        self.params = {"epochs": int(epochs), "steps": steps, "verbose": 1 if verbose == "auto" else verbose}
        for c in self.list + [self.history]:
            c.set_model(model)
            c.set_params(self.params)
        self.batches = any(
            type(c).on_train_batch_begin is not Callback.on_train_batch_begin
            or type(c).on_batch_begin is not Callback.on_batch_begin
            or "on_train_batch_begin" in vars(c)
            for c in self.list
        )
        self.schedule = model.optimizer.own_schedule()
        self.watched = self.validate = None  # of metrics and steps in Python
        self.freq, self.shown, self.recorded = 1, (), {}  # with what callbacks put into the logs

    def _logs(self, metrics):
        """By name, as Keras has them."""
        n = len(self.trainer.names)
        logs = dict(zip(self.names, self.trainer.kept(metrics[:n])))
        if self.watched is not None:
            logs.update(self.watched.results())
        self.shown = set(logs)  # of training
        if len(metrics) > n:
            logs.update(zip(["val_" + name for name in self.names], self.trainer.kept(metrics[n:])))
        return dict(sorted(logs.items()))

    def _begin(self, batch):
        if self.schedule is not None:
            self.trainer.set("learning_rate", float(self.schedule(int(self.trainer.get("iterations")))))
        if self.batches:
            for c in self.list:
                c.on_train_batch_begin(batch, {})

    def __call__(self, event, step, total, metrics):
        from . import _state

        if event == constants["DL4_BATCH_END"]:
            self.params["steps"] = total if total >= 0 else None
            if self.list:
                _state.changed()
                logs = self._logs(metrics)
                for c in self.list:
                    c.on_train_batch_end(step - 1, logs)
            if step != total and not self.model.stop_training:
                self._begin(step)
            if self.watched is not None:
                _state.changed()
                self.watched.batch_begin()
            return self.model.stop_training
        _state.changed()
        logs = self._logs(metrics) if event == constants["DL4_EPOCH_END"] else {}
        if event == constants["DL4_EPOCH_END"] and self.validate is not None and step % self.freq == 0:
            found = self.validate([c for c in self.list if not isinstance(c, ProgbarLogger)])
            logs = dict(sorted({**logs, **{f"val_{name}": value for name, value in found.items()}}.items()))
        for c in self.list:
            if event == constants["DL4_TRAIN_BEGIN"]:
                c.on_train_begin({})
            elif event == constants["DL4_EPOCH_BEGIN"]:
                c.on_epoch_begin(step, {})
            elif event == constants["DL4_EPOCH_END"]:
                c.on_epoch_end(step - 1, logs)
            elif event == constants["DL4_TRAIN_END"]:
                c.on_train_end({})
        for name, value in logs.items():
            self.recorded.setdefault(name, []).append(value)
        if event == constants["DL4_EPOCH_BEGIN"]:
            self._begin(0)
            if self.watched is not None:
                self.watched.epoch_begin(step)
        return self.model.stop_training


class NativeCallback(_kinds.Kind):
    """One that the library runs itself. Its files have architecture and weights, whatever save_weights_only says."""

    category = "callback"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self._config.get("factor", 0) >= 1.0:
            raise ValueError(f"{self.class_name} does not support a factor >= 1.0. Got {self._config['factor']}")
        for key in ("save_weights_only", "verbose"):
            self._config.pop(key, None)
        for key in ("filepath", "filename", "backup_dir"):
            if key in self._config:
                import os

                self._config[key] = os.fspath(self._config[key])


__getattr__, __dir__ = _kinds.served(globals(), "callback", NativeCallback)
