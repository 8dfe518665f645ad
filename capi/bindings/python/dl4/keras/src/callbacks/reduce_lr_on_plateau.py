"""ReduceLROnPlateau."""

import warnings

from ..export import keras_export
from ..optimizers.optimizer import rates_of
from ..utils.io_utils import print_msg
from .monitor_callback import MonitorCallback


@keras_export("callbacks")
class ReduceLROnPlateau(MonitorCallback):
    """Lowers the learning rate while the monitor does not improve."""

    def __init__(
        self,
        monitor="val_loss",
        factor=0.1,
        patience=10,
        verbose=0,
        mode="auto",
        min_delta=1e-4,
        cooldown=0,
        min_lr=0.0,
    ):
        super().__init__(monitor, mode, min_delta=min_delta)
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Received factor={factor}")
        self.factor, self.patience, self.verbose, self.cooldown, self.min_lr = (
            factor,
            patience,
            verbose,
            cooldown,
            min_lr,
        )
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs=None):
        self.best, self.cooldown_counter, self.wait = None, 0, 0

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor_op is None:
            self._set_monitor_op()
        logs = {} if logs is None else logs
        logs.update({name: float(o.learning_rate) for name, o in rates_of(self.model.optimizer).items()})
        current = logs.get(self.monitor)
        if current is None:
            warnings.warn(
                f"Learning rate reduction is conditioned on metric `{self.monitor}` which is not available. Available "
                f"metrics are: {','.join(logs)}.",
                stacklevel=3,
            )
            return
        if self.in_cooldown():
            self.cooldown_counter, self.wait = self.cooldown_counter - 1, 0
        if self._is_improvement(current, self.best):
            self.best, self.wait = current, 0
        elif not self.in_cooldown():
            self.wait += 1
            named = rates_of(self.model.optimizer).items()
            if self.wait >= self.patience and any([self._reduce(epoch, o, name) for name, o in named]):
                self.cooldown_counter, self.wait = self.cooldown, 0

    def _reduce(self, epoch, optimizer, name):
        import numpy

        before = float(optimizer.learning_rate)
        if before <= numpy.float32(self.min_lr):
            return False
        rate = max(before * self.factor, self.min_lr)
        optimizer.learning_rate = rate
        if self.verbose > 0:
            which = f"{optimizer.name} " if name != "learning_rate" else ""
            print_msg(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing {which}learning rate to {rate}.")
        return True

    def in_cooldown(self):
        """Whether a reduction was less than `cooldown` epochs ago."""
        return self.cooldown_counter > 0
