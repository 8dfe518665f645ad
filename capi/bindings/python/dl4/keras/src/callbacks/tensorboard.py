"""TensorBoard."""

import os
import time

from ..errors import refuse
from ..export import keras_export
from ..utils.event_file import EventFile
from .callback import Callback


@keras_export("callbacks")
class TensorBoard(Callback):
    """Logs as files that TensorBoard shows: those of an epoch and of batches, histograms of weights, the model."""

    def __init__(
        self,
        log_dir="logs",
        histogram_freq=0,
        write_graph=True,
        write_images=False,
        write_steps_per_second=False,
        update_freq="epoch",
        profile_batch=0,
        embeddings_freq=0,
        embeddings_metadata=None,
    ):
        super().__init__()
        refuse(
            "TensorBoard",
            write_images=(write_images, False),
            profile_batch=(profile_batch, 0),
            embeddings_freq=(embeddings_freq, 0),
            embeddings_metadata=(embeddings_metadata, None),
        )
        if update_freq not in ("epoch", "batch") and not isinstance(update_freq, int):
            raise ValueError(f"update_freq: expected 'epoch', 'batch' or a number of batches, got {update_freq!r}")
        self.log_dir, self.histogram_freq = str(log_dir), histogram_freq
        self.write_graph, self.write_steps_per_second = write_graph, write_steps_per_second
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._files, self._global_train_batch = {}, 0
        self._batch_began = self._epoch_began = self._steps_before = 0

    def _file(self, name):
        if name not in self._files:
            self._files[name] = EventFile(os.path.join(self.log_dir, name))
        return self._files[name]

    def set_model(self, model):
        super().set_model(model)
        self._files = {}
        if self.write_graph and type(model).__name__ in ("Functional", "Model", "Sequential") and model.built:
            self._file("train").model("keras", model.to_json())

    def on_train_begin(self, logs=None):
        self._global_train_batch = 0

    def on_train_end(self, logs=None):
        for file in self._files.values():
            file.close()
        self._files = {}

    def on_train_batch_begin(self, batch, logs=None):
        self._global_train_batch += 1
        self._batch_began = time.time()

    def on_train_batch_end(self, batch, logs=None):
        step = self._global_train_batch
        if self.update_freq == "epoch" or step % self.update_freq:
            return
        if self.write_steps_per_second:
            self._file("train").scalar("batch_steps_per_second", 1 / max(time.time() - self._batch_began, 1e-9), step)
        for name, value in (logs or {}).items():
            self._file("train").scalar(f"batch_{name}", value, step)

    def on_test_end(self, logs=None):
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is None:
            return
        for name, value in (logs or {}).items():
            self._file("validation").scalar(f"evaluation_{name}_vs_iterations", value, int(optimizer.iterations))
        self._file("validation").flush()

    def on_epoch_begin(self, epoch, logs=None):
        if self.write_steps_per_second:
            self._steps_before, self._epoch_began = int(self.model.optimizer.iterations), time.time()

    def on_epoch_end(self, epoch, logs=None):
        logs = dict(logs or {})
        if logs:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
            if self.write_steps_per_second:
                steps = int(self.model.optimizer.iterations) - self._steps_before
                logs["steps_per_second"] = steps / max(time.time() - self._epoch_began, 1e-9)
        for name, value in logs.items():
            of_data, name = ("validation", name[4:]) if name.startswith("val_") else ("train", name)
            self._file(of_data).scalar(f"epoch_{name}", value, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            for layer in self.model.layers:
                for weight in layer.weights:
                    self._file("train").histogram(f"{weight.path}/histogram", weight.numpy(), epoch)
        for file in self._files.values():
            file.flush()
