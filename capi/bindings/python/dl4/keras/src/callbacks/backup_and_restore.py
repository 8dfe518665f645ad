"""BackupAndRestore."""

import json
import os
import shutil

from ..export import keras_export
from .callback import Callback


@keras_export("callbacks")
class BackupAndRestore(Callback):
    """Keeps a checkpoint of the fit in a folder, weights and the state of the optimizer, and resumes from the epoch
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
        self._seen, self._last_batch_seen, self._current_epoch = 0, 0, 0
        self._weights_path = os.path.join(self.backup_dir, "latest.dl4")
        self._training_metadata_path = os.path.join(self.backup_dir, "training_metadata.json")
        self._prev_weights_path = f"{self._weights_path}.bkp"
        self._prev_training_metadata_path = f"{self._training_metadata_path}.bkp"

    def on_train_begin(self, logs=None):
        try:
            self._load()
        except (OSError, ValueError):  # it may have been interrupted while it was written
            if not os.path.exists(self._prev_weights_path):
                raise
            shutil.copy(self._prev_weights_path, self._weights_path)
            shutil.copy(self._prev_training_metadata_path, self._training_metadata_path)
            self._load()

    def _load(self):
        if not os.path.exists(self._weights_path):
            return
        self.model._load_checkpoint(self._weights_path)
        with open(self._training_metadata_path) as file:
            self._current_epoch = self.model._initial_epoch = json.load(file)["epoch"]

    def on_train_batch_end(self, batch, logs=None):
        if self.save_freq == "epoch":
            return
        self._seen += batch + 1 if batch <= self._last_batch_seen else batch - self._last_batch_seen
        self._last_batch_seen = batch
        if self._seen >= self.save_freq:
            self._seen = 0
            self._save()

    def on_epoch_end(self, epoch, logs=None):
        self._current_epoch, self._last_batch_seen = epoch + 1, 0
        if self.save_freq == "epoch":
            self._save()

    def _save(self):
        os.makedirs(self.backup_dir, exist_ok=True)
        if self.double_checkpoint:
            for path in (self._weights_path, self._training_metadata_path):
                if os.path.exists(path):
                    shutil.copy(path, f"{path}.bkp")
        self.model._save_checkpoint(self._weights_path)
        with open(self._training_metadata_path, "w") as file:
            json.dump({"epoch": self._current_epoch, "batch": self._last_batch_seen}, file)

    def on_train_end(self, logs=None):
        if self.delete_checkpoint and os.path.exists(self.backup_dir):
            shutil.rmtree(self.backup_dir)
