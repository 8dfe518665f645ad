"""The base class of callbacks in Python, and what fit() returns."""


class Callback:
    """A callback in Python: a subclass has some of these methods. `self.model` is the model and `self.params` has
    "epochs", "steps" and "verbose"."""

    model = None
    params = None

    def set_params(self, params):
        """Takes the parameters of the call."""
        self.params = params

    def set_model(self, model):
        """Takes the model."""
        self.model = model

    def on_batch_begin(self, batch, logs=None):
        """Another name of on_train_batch_begin()."""

    def on_batch_end(self, batch, logs=None):
        """Another name of on_train_batch_end()."""

    def on_epoch_begin(self, epoch, logs=None):
        """As an epoch of fit() begins."""

    def on_epoch_end(self, epoch, logs=None):
        """When an epoch has ended; logs has the losses and metrics, those of validation as val_..."""

    def on_train_batch_begin(self, batch, logs=None):
        """Before a step of fit()."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """After a step of fit(); logs has the means over the epoch so far."""
        self.on_batch_end(batch, logs)

    def on_test_batch_begin(self, batch, logs=None):
        """Not called here: an override is refused."""

    def on_test_batch_end(self, batch, logs=None):
        """Not called here: an override is refused."""

    def on_predict_batch_begin(self, batch, logs=None):
        """Before a batch of predict()."""

    def on_predict_batch_end(self, batch, logs=None):
        """After a batch of predict(); logs has "outputs"."""

    def on_train_begin(self, logs=None):
        """As fit() begins."""

    def on_train_end(self, logs=None):
        """As fit() ends."""

    def on_test_begin(self, logs=None):
        """As evaluate() begins."""

    def on_test_end(self, logs=None):
        """When evaluate(), or the validation of an epoch, has ended."""

    def on_predict_begin(self, logs=None):
        """As predict() begins."""

    def on_predict_end(self, logs=None):
        """As predict() ends."""


class History(Callback):
    """What fit() returns: `history`, lists by name, and `epoch`, the numbers of the epochs."""

    def __init__(self):
        self.history, self.epoch = {}, []

    def on_epoch_end(self, epoch, logs=None):
        """Takes the numbers of an epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
