"""CallbackList: the callbacks of a fit(), evaluate() or predict()."""

from ..export import keras_export
from .callback import Callback


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
        self.callbacks, self.model, self.params, self._late = listed(callbacks), model, params, None
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
        return bool(self._overridden(*names, *(["on_batch_begin", "on_batch_end"] if of == "train" else [])))

    def _notify(self, method, *arguments):
        """Calls the callbacks; of `steps_per_execution` batches they hear where the first begins and the last ends."""
        n = self._executed()
        if method.endswith("_batch_begin") and arguments[0] % n:
            return
        late, self._late = self._late, None
        if method.endswith("_batch_end"):
            if (arguments[0] + 1) % n:
                return self._put_off(method, *arguments)
        elif late is not None:
            self._tell(*late)
        self._tell(method, *arguments)

    def _put_off(self, method, batch, logs):
        """The end of a batch, which is told where the next thing happens."""
        n = self._executed()
        self._late = method, batch - batch % n + n - 1, logs

    def _executed(self):
        n = getattr(self.model, "steps_per_execution", 1)
        return 1 if n in ("auto", None) else int(n)

    def _tell(self, method, *arguments):
        for c in self.callbacks:
            getattr(c, method)(*arguments)
