"""The base class of callbacks."""

from .. import overrides
from ..export import keras_export


@keras_export("callbacks")
class Callback:
    """What fit(), evaluate() and predict() tell; model and params are set before. Between two batches a model may be
    read and run, its weights and its optimizer's learning rate be set; between two epochs it may do anything."""

    _category = "callback"

    def __new__(cls, *args, **kwargs):
        overrides.need_class(cls)
        return super().__new__(cls)

    def __init__(self):
        self.model, self.params = None, None

    def set_model(self, model):
        """Gets the model before the first event."""
        self.model = model

    def set_params(self, params):
        """Gets a dict with "epochs", "steps" and "verbose" before the first event."""
        self.params = params

    def on_train_begin(self, logs=None):
        """fit() begins."""

    def on_train_end(self, logs=None):
        """fit() ends; `logs` has the last numbers by name."""

    def on_epoch_begin(self, epoch, logs=None):
        """An epoch begins, counted from 0."""

    def on_epoch_end(self, epoch, logs=None):
        """An epoch ends; `logs` has its results by name, with "val_" before those of the validation."""

    def on_batch_begin(self, batch, logs=None):
        """Another name of on_train_batch_begin()."""

    def on_batch_end(self, batch, logs=None):
        """Another name of on_train_batch_end()."""

    def on_train_batch_begin(self, batch, logs=None):
        """A batch begins, counted from 0."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """A batch ends; `logs` has the means of the epoch so far by name."""
        self.on_batch_end(batch, logs)

    def on_test_begin(self, logs=None):
        """evaluate() begins, or the validation of fit()."""

    def on_test_end(self, logs=None):
        """evaluate() ends, or the validation of fit(); `logs` has the results by name."""

    def on_test_batch_begin(self, batch, logs=None):
        """A batch begins, counted from 0."""

    def on_test_batch_end(self, batch, logs=None):
        """A batch ends; `logs` has the means of the epoch so far by name."""

    def on_predict_begin(self, logs=None):
        """predict() begins."""

    def on_predict_end(self, logs=None):
        """predict() ends."""

    def on_predict_batch_begin(self, batch, logs=None):
        """A batch begins, counted from 0."""

    def on_predict_batch_end(self, batch, logs=None):
        """A batch ends; `logs` has its outputs."""
