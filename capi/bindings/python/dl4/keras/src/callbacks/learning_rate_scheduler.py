"""LearningRateScheduler."""

from ..export import keras_export
from ..optimizers.optimizer import rates_of
from ..utils.io_utils import print_msg
from .callback import Callback


@keras_export("callbacks")
class LearningRateScheduler(Callback):
    """The rate of each epoch, by a function of its number and, if it takes two arguments, the rate before."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        for name, optimizer in rates_of(self.model.optimizer).items():
            try:
                rate = self.schedule(epoch, float(optimizer.learning_rate))
            except TypeError:
                rate = self.schedule(epoch)
            if not hasattr(rate, "__float__"):
                raise ValueError(f"The output of the `schedule` function should be a float. Got: {rate}")
            optimizer.learning_rate = float(rate)
            if self.verbose > 0:
                which = f"{optimizer.name} " if name != "learning_rate" else ""
                print_msg(f"\nEpoch {epoch + 1}: LearningRateScheduler setting {which}learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs.update({name: float(o.learning_rate) for name, o in rates_of(self.model.optimizer).items()})
