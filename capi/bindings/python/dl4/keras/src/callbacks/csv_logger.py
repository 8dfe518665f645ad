"""CSVLogger."""

import csv
import os

from ..export import keras_export
from .callback import Callback


@keras_export("callbacks")
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
            self.writer = csv.DictWriter(self.csv_file, ["epoch", *self.keys], delimiter=self.sep, lineterminator="\n")
            if self.append_header:
                self.writer.writeheader()
        self.writer.writerow({"epoch": epoch, **{key: logs.get(key, "NA") for key in self.keys}})
        self.csv_file.flush()

    def on_train_end(self, logs=None):
        if self.csv_file is not None:
            self.csv_file.close()
        self.writer = None
