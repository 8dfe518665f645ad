"""History."""

from ..export import keras_export
from .callback import Callback


@keras_export("callbacks")
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
