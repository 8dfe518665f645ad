"""CallbackList: the callbacks of a fit(), evaluate() or predict()."""

from ..export import keras_export
from .callback import Callback


class PendingLogs(dict):
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


@keras_export("callbacks")
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

    def _overridden(self, *names):
        """Those that have a method of their own of one of these names."""
        return [
            c
            for c in self.callbacks
            if any(getattr(type(c), n) is not getattr(Callback, n) or n in vars(c) for n in names)
        ]

    def _wants_batches(self, of):
        """Does one want to know of each batch: of "train", "test" or "predict"?"""
        names = [f"on_{of}_batch_begin", f"on_{of}_batch_end"]
        found = self._overridden(*names, *(["on_batch_begin", "on_batch_end"] if of == "train" else []))
        own = [type(c).__name__ for c in found if not type(c).__module__.startswith(__name__.rpartition(".")[0])]
        n = getattr(self.model, "steps_per_execution", 1)
        if own and n not in (1, "auto"):
            raise NotImplementedError(
                f"compile(): `steps_per_execution`: expected 1, as the callback {own[0]} hears each batch, got {n}"
            )
        return bool(found)

    def _notify(self, method, *arguments):
        for c in self.callbacks:
            getattr(c, method)(*arguments)
