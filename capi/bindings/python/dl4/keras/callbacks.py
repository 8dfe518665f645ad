"""Callbacks: Keras's, where the library has them, and a base for one's own."""
import sys
import time

from ..abi import constants, registry
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

    def on_batch_end(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        self.on_batch_end(batch, logs)


class History(Callback):
    """What fit() returns: `epoch`, and `history`, a list for each name."""

    def __init__(self):
        super().__init__()
        self.epoch, self.history = [], {}


class LambdaCallback(Callback):
    """Functions as a callback."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None,
                 on_train_batch_end=None, **kwargs):
        super().__init__()
        for name, function in {**kwargs, "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end,
                               "on_train_begin": on_train_begin, "on_train_end": on_train_end,
                               "on_train_batch_end": on_train_batch_end}.items():
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
        return "".join(f" - {name}: {value:.4f}" if abs(value) > 1e-3 else f" - {name}: {value:.4e}"
                       for name, value in (logs or {}).items())

    def on_train_batch_end(self, batch, logs=None):
        self.batches = batch + 1
        now = time.perf_counter()
        if not self.bar or now - self.shown < 0.05:
            return
        self.shown, total = now, self.params["steps"]
        done = "" if not total or total < 0 else "━" * (20 * self.batches // total) + " " * (20 - 20 * self.batches // total)
        print(f"\r{self.batches}/{total if done else '?'} {done}{self._numbers(logs)}", end="", flush=True)

    def on_epoch_end(self, epoch, logs=None):
        spent = time.perf_counter() - self.begun
        print(f"{chr(13) if self.bar else ''}{self.batches}/{self.batches} - {spent:.1f}s{self._numbers(logs)}")


class CallbackList:
    """The callbacks of one fit, as its progress function."""

    def __init__(self, callbacks, model, trainer, verbose, epochs):
        callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
        self.native = [c for c in callbacks if isinstance(c, _kinds.Kind)]
        self.history = next((c for c in callbacks if isinstance(c, History)), None) or History()
        self.list = [c for c in callbacks if not isinstance(c, _kinds.Kind)]
        for c in self.list:
            if not isinstance(c, Callback):
                raise TypeError(f"expected callbacks, got {c!r}")
        if verbose == "auto" or verbose:
            self.list.append(ProgbarLogger(2 if verbose == 2 else 1))
        self.model, self.names = model, trainer.names
        self.params = {"epochs": int(epochs), "steps": None, "verbose": verbose}
        for c in self.list + [self.history]:
            c.set_model(model)
            c.set_params(self.params)
        self.epoch = 0

    def __call__(self, event, step, total, metrics):
        from . import _state
        logs = dict(zip(self.names + ["val_" + n for n in self.names], metrics))
        if event == constants["DL4_BATCH_END"]:
            self.params["steps"] = total
            for c in self.list:
                c.on_train_batch_end(step - 1, logs)
        else:
            _state.changed()
            for c in self.list:
                if event == constants["DL4_TRAIN_BEGIN"]:
                    c.on_train_begin()
                elif event == constants["DL4_EPOCH_BEGIN"]:
                    c.on_epoch_begin(step)
                elif event == constants["DL4_EPOCH_END"]:
                    c.on_epoch_end(step - 1, logs)
                elif event == constants["DL4_TRAIN_END"]:
                    c.on_train_end()
        return self.model.stop_training


class NativeCallback(_kinds.Kind):
    """One that the library runs itself."""
    category = "callback"


def _known():
    return "callback" in registry()


if _known():
    _kinds.serve(globals(), "callback", NativeCallback)
