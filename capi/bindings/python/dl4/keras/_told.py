"""Who is told what happens in fit(), evaluate() and predict()."""

from . import _overrides

class Callback:
    """What fit(), evaluate() and predict() tell; model and params are set before. Between two batches a model may be
    read and run, its weights and its optimizer's learning rate be set; between two epochs it may do anything."""

    category = "callback"

    def __new__(cls, *args, **kwargs):
        _overrides.need_class(cls)
        return super().__new__(cls)

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

    def on_train_begin(self, logs=None):
        self.epoch = []

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class Unknown(dict):
    """The logs of a batch that is evaluated: its metrics are known when all batches are."""

    def __missing__(self, key):
        raise NotImplementedError(f"the logs of a batch within evaluate(): {key!r} is known in on_test_end()")

    def get(self, key, default=None):
        return self[key]


def listed(callbacks):
    """One callback, a list of them, or none, as a list."""
    found = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks else []
    for c in found:
        if not isinstance(c, Callback):
            raise TypeError(f"expected callbacks, got {c!r}")
    return found


class CallbackList:
    """Callbacks in their order; what one of them does not override is not called."""

    def __init__(self, callbacks=None, model=None, **params):
        self.callbacks, self.model, self.params = listed(callbacks), model, params
        for c in self.callbacks:
            c.set_params(params)
            c.set_model(model)

    @classmethod
    def of(cls, callbacks, model, **params):
        """Those of the fit() that validates, or new ones."""
        return callbacks if isinstance(callbacks, cls) else cls(callbacks, model, **params)

    def overridden(self, *names):
        """Those that have a method of their own of one of these names."""
        return [
            c
            for c in self.callbacks
            if any(getattr(type(c), n) is not getattr(Callback, n) or n in vars(c) for n in names)
        ]

    def hears_batches(self, of):
        """Does one want to know of each batch: of "train", "test" or "predict"?"""
        names = [f"on_{of}_batch_begin", f"on_{of}_batch_end"]
        return bool(self.overridden(*names, *(["on_batch_begin", "on_batch_end"] if of == "train" else [])))

    def tell(self, method, *arguments):
        for c in self.callbacks:
            getattr(c, method)(*arguments)
