"""Keras's callbacks that look at a fit's numbers or keep its files."""

import csv
import json
import os
import shutil
import warnings

from ._told import Callback

_UP = {
    *("AUC", "Accuracy", "BinaryAccuracy", "BinaryIoU", "CategoricalAccuracy", "ConcordanceCorrelation"),
    *("CosineSimilarity", "F1Score", "FBetaScore", "IoU", "MeanIoU", "OneHotIoU", "OneHotMeanIoU"),
    *("PearsonCorrelation", "Precision", "PrecisionAtRecall", "R2Score", "Recall", "RecallAtPrecision"),
    *("SensitivityAtSpecificity", "SparseCategoricalAccuracy", "SparseTopKCategoricalAccuracy"),
    *("SpecificityAtSensitivity", "TopKCategoricalAccuracy"),
}
_DOWN = {
    *("BinaryCrossentropy", "CategoricalCrossentropy", "CategoricalHinge", "Hinge", "KLDivergence", "LogCoshError"),
    *("MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredError", "MeanSquaredLogarithmicError"),
    *("Poisson", "RootMeanSquaredError", "SparseCategoricalCrossentropy", "SquaredHinge"),
}


class MonitorCallback(Callback):
    """One that compares a number of the logs from epoch to epoch."""

    def __init__(self, monitor="val_loss", mode="auto", baseline=None, min_delta=0):
        super().__init__()
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{type(self).__name__} mode '{mode}' is unknown, fallback to auto mode.", stacklevel=3)
            mode = "auto"
        self.monitor, self.mode, self.best, self.min_delta, self.monitor_op = monitor, mode, baseline, abs(min_delta), None

    def _set_monitor_op(self):
        from . import ops

        name = self.monitor[len("val_") :] if self.monitor.startswith("val_") else self.monitor
        kind = getattr(self.model, "_kinds_of_metrics", dict)().get(name)
        up = self.mode == "max" or self.mode == "auto" and kind in _UP
        if self.mode == "auto" and not up and name != "loss" and kind not in _DOWN:
            raise ValueError(
                f"{type(self).__name__} callback received monitor={self.monitor}, but Keras isn't able to automatically "
                "determine whether that metric should be maximized or minimized. Pass `mode='max'` in order to monitor "
                "based on the highest metric value, or pass `mode='min'` in order to use the lowest value."
            )
        self.monitor_op = ops.greater if up else ops.less
        self.min_delta = self.min_delta if up else -self.min_delta

    def _is_improvement(self, monitor_value, reference_value):
        import numpy

        if reference_value is None:
            return True
        from . import ops

        value, reference = numpy.float32(monitor_value - self.min_delta), numpy.float32(reference_value)
        return bool(value > reference if self.monitor_op is ops.greater else value < reference)


class EarlyStopping(MonitorCallback):
    """Ends a fit whose monitor has not improved for `patience` epochs; the first epoch never ends it."""

    def __init__(
        self,
        monitor="val_loss",
        min_delta=0,
        patience=0,
        verbose=0,
        mode="auto",
        baseline=None,
        restore_best_weights=False,
        start_from_epoch=0,
    ):
        super().__init__(monitor, mode, min_delta=min_delta)
        self.patience, self.verbose, self.baseline = patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        self.wait, self.stopped_epoch, self.best_weights, self.best_epoch = 0, 0, None, 0

    def on_train_begin(self, logs=None):
        self.wait, self.stopped_epoch, self.best, self.best_weights, self.best_epoch = 0, 0, None, None, 0

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor_op is None:
            self._set_monitor_op()
        current = self.get_monitor_value(logs)
        if current is None or epoch < self.start_from_epoch:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._is_improvement(current, self.best):
            self.best, self.best_epoch = current, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._is_improvement(current, self.baseline):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self.stopped_epoch, self.model.stop_training = epoch, True

    def on_train_end(self, logs=None):
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose > 0:
                print(f"Restoring model weights from the end of the best epoch: {self.best_epoch + 1}.")
            self.model.set_weights(self.best_weights)

    def get_monitor_value(self, logs):
        value = (logs or {}).get(self.monitor)
        if value is None:
            warnings.warn(
                f"Early stopping conditioned on metric `{self.monitor}` which is not available. Available metrics are: "
                f"{','.join(logs or {})}",
                stacklevel=3,
            )
        return value


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
            raise ValueError(
                f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values"
            )
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
            print(f"\nEpoch {epoch + 1}: {self.monitor} {said if improved else f'did not improve from {best}'}")
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
            print(f"\nEpoch {epoch + 1}: saving model to {path}")
        if os.path.dirname(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        (self.model.save_weights if self.save_weights_only else self.model.save)(path, overwrite=True)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: finished saving model to {path}")


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
        self.factor, self.patience, self.verbose, self.cooldown, self.min_lr = factor, patience, verbose, cooldown, min_lr
        self.cooldown_counter = self.wait = 0

    def on_train_begin(self, logs=None):
        self.best, self.cooldown_counter, self.wait = None, 0, 0

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor_op is None:
            self._set_monitor_op()
        logs = {} if logs is None else logs
        logs["learning_rate"] = float(self.model.optimizer.learning_rate)
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
            if self.wait >= self.patience and self._reduce(epoch):
                self.cooldown_counter, self.wait = self.cooldown, 0

    def _reduce(self, epoch):
        import numpy

        before = float(self.model.optimizer.learning_rate)
        if before <= numpy.float32(self.min_lr):
            return False
        rate = max(before * self.factor, self.min_lr)
        self.model.optimizer.learning_rate = rate
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {rate}.")
        return True

    def in_cooldown(self):
        return self.cooldown_counter > 0


class CSVLogger(Callback):
    """A line for each epoch: its number from 0, then what the logs have, by name."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.sep, self.append = os.fspath(filename), separator, append
        self.csv_file, self.writer, self.keys, self.append_header = None, None, None, True

    def on_train_begin(self, logs=None):
        if self.append and os.path.exists(self.filename):
            with open(self.filename) as file:
                self.append_header = not file.readline()
        if self.csv_file is not None:
            self.csv_file.close()
        self.csv_file = open(self.filename, "a" if self.append else "w", newline="")  # noqa: SIM115 until the end
        self.writer = self.keys = None

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        if self.keys is None:
            self.keys = sorted(logs)
            if not any(key.startswith("val_") for key in self.keys):
                self.keys += [f"val_{key}" for key in self.keys]
        if self.writer is None:
            self.writer = csv.DictWriter(
                self.csv_file, ["epoch", *self.keys], delimiter=self.sep, lineterminator="\n"
            )
            if self.append_header:
                self.writer.writeheader()
        self.writer.writerow({"epoch": epoch, **{key: logs.get(key, "NA") for key in self.keys}})
        self.csv_file.flush()

    def on_train_end(self, logs=None):
        if self.csv_file is not None:
            self.csv_file.close()
        self.writer = None


class TerminateOnNaN(Callback):
    """Ends a fit whose loss, the mean over the epoch so far, is NaN or infinite."""

    def __init__(self, raise_error=False):
        super().__init__()
        self.raise_error = raise_error

    def on_batch_end(self, batch, logs=None):
        import math

        loss = (logs or {}).get("loss")
        if loss is None or math.isfinite(loss):
            return
        if self.raise_error:
            raise RuntimeError(
                f"NaN or Inf loss encountered at batch {batch}. Loss value: {loss}. Terminating training immediately."
            )
        print(f"Batch {batch}: Invalid loss, terminating training")
        self.model.stop_training = True


class BackupAndRestore(Callback):
    """Keeps a checkpoint of the fit in a folder, weights and the state of the optimizer, and goes on from the epoch
    after it where one is there."""

    def __init__(self, backup_dir, save_freq="epoch", double_checkpoint=False, delete_checkpoint=True):
        super().__init__()
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(
                f"Invalid value for argument `save_freq`. Received: save_freq={save_freq}. Expected either 'epoch' or "
                "an integer value."
            )
        self.backup_dir, self.save_freq = os.fspath(backup_dir), save_freq
        self.double_checkpoint, self.delete_checkpoint = double_checkpoint, delete_checkpoint
        self._seen, self._last, self._current_epoch = 0, 0, 0
        self._path = os.path.join(self.backup_dir, "latest.dl4")
        self._metadata = os.path.join(self.backup_dir, "training_metadata.json")

    def on_train_begin(self, logs=None):
        if not os.path.exists(self._path):
            return
        self.model._load_checkpoint(self._path)
        with open(self._metadata) as file:
            self._current_epoch = self.model._initial_epoch = json.load(file)["epoch"]

    def on_train_batch_end(self, batch, logs=None):
        if self.save_freq == "epoch":
            return
        self._seen += batch + 1 if batch <= self._last else batch - self._last
        self._last = batch
        if self._seen >= self.save_freq:
            self._seen = 0
            self._save()

    def on_epoch_end(self, epoch, logs=None):
        self._current_epoch, self._last = epoch + 1, 0
        if self.save_freq == "epoch":
            self._save()

    def _save(self):
        os.makedirs(self.backup_dir, exist_ok=True)
        if self.double_checkpoint:
            for path in (self._path, self._metadata):
                if os.path.exists(path):
                    shutil.copy(path, f"{path}.bkp")
        self.model._save_checkpoint(self._path)
        with open(self._metadata, "w") as file:
            json.dump({"epoch": self._current_epoch, "batch": self._last}, file)

    def on_train_end(self, logs=None):
        if self.delete_checkpoint and os.path.exists(self.backup_dir):
            shutil.rmtree(self.backup_dir)


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
