"""SwapEMAWeights."""

from ..export import keras_export
from .callback import Callback


@keras_export("callbacks")
class SwapEMAWeights(Callback):
    """Validates with the averages of the weights, which an optimizer with use_ema keeps, in the weights' place."""

    def __init__(self, swap_on_epoch=False):
        super().__init__()
        self.swap_on_epoch, self._swapped = swap_on_epoch, False

    def _swap(self, yes):
        if self._swapped != yes:
            self.model._swap_averages()
            self._swapped = yes

    def on_epoch_begin(self, epoch, logs=None):
        if self.swap_on_epoch:
            self._swap(False)

    def on_epoch_end(self, epoch, logs=None):
        if self.swap_on_epoch:
            self._swap(True)
            if epoch == self.params["epochs"] - 1:
                self.model._swap_averages(keep=True)  # the fit's end makes averages the weights

    def on_test_begin(self, logs=None):
        self._swap(True)

    def on_test_end(self, logs=None):
        self._swap(False)

    def on_predict_begin(self, logs=None):
        self._swap(True)

    def on_predict_end(self, logs=None):
        self._swap(False)
