"""ModelCheckpoint."""

import os
import warnings

from ..export import keras_export
from ..utils.io_utils import print_msg
from .monitor_callback import MonitorCallback


@keras_export("callbacks")
class ModelCheckpoint(MonitorCallback):
    """Saves the model, or its weights, after each epoch or some batches; with save_best_only where the monitor has
    improved. `filepath` may hold {epoch}, {batch} and names of logs."""

    def __init__(
        self,
        filepath,
        monitor="val_loss",
        verbose=0,
        save_best_only=False,
        save_weights_only=False,
        mode="auto",
        save_freq="epoch",
        initial_value_threshold=None,
    ):
        super().__init__(monitor, mode, initial_value_threshold)
        self.verbose, self.filepath, self.save_best_only = verbose, os.fspath(filepath), save_best_only
        self.save_weights_only, self.save_freq = save_weights_only, save_freq
        self._seen, self._last, self._current_epoch = 0, None, 0
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values")
        if save_weights_only and not self.filepath.endswith((".weights.h5", ".npz", ".safetensors")):
            raise ValueError(
                "When using `save_weights_only=True` in `ModelCheckpoint`, the filepath provided must end in "
                f"`.weights.h5` (Keras weights format), `.npz` or `.safetensors`. Received: filepath={self.filepath}"
            )
        if not save_weights_only and not self.filepath.endswith((".keras", ".safetensors")):
            raise ValueError(
                "The filepath provided must end in `.keras` (Keras model format) or `.safetensors`. Received: "
                f"filepath={self.filepath}"
            )

    def on_epoch_begin(self, epoch, logs=None):
        self._current_epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        if self.save_freq == "epoch":
            return
        self._seen += batch + 1 if self._last is None or batch <= self._last else batch - self._last
        self._last = batch
        if self._seen >= self.save_freq:
            self._seen = 0
            self._save_model(self._current_epoch, batch, logs)

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor_op is None and self.save_best_only:
            self._set_monitor_op()
        if self.save_freq == "epoch":
            self._save_model(epoch, None, logs)

    def _improved(self, epoch, logs, path):
        current = logs.get(self.monitor)
        if current is None:
            warnings.warn(f"Can save best model only with {self.monitor} available.", stacklevel=4)
            return True
        if self.monitor_op is None:
            self._set_monitor_op()
        best = "None" if self.best is None else f"{self.best:.5f}"
        improved = self._is_improvement(current, self.best)
        if self.verbose > 0:
            said = f"improved from {best} to {current:.5f}, saving model to {path}"
            print_msg(f"\nEpoch {epoch + 1}: {self.monitor} {said if improved else f'did not improve from {best}'}")
        self.best = current if improved else self.best
        return improved

    def _save_model(self, epoch, batch, logs):
        logs = logs or {}
        try:
            more = {} if batch is None or "batch" in logs else {"batch": batch + 1}
            path = self.filepath.format(epoch=epoch + 1, **more, **logs)
        except KeyError as e:
            raise KeyError(f'Failed to format this callback filepath: "{self.filepath}". Reason: {e}') from None
        if self.save_best_only and not self._improved(epoch, logs, path):
            return
        if not self.save_best_only and self.verbose > 0:
            print_msg(f"\nEpoch {epoch + 1}: saving model to {path}")
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        (self.model.save_weights if self.save_weights_only else self.model.save)(path, overwrite=True)
        if self.verbose > 0:
            print_msg(f"\nEpoch {epoch + 1}: finished saving model to {path}")
