"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class Callback:
    """What fit() tells; model and params are set before. In these methods a model may be read and run, its optimizer's"""

    model: _Any
    params: _Any
    def __init__(self) -> None: ...
    def set_model(self, model: _Any) -> None: ...
    def set_params(self, params: _Any) -> None: ...
    def on_train_begin(self, logs: _Any = None) -> _Any: ...
    def on_train_end(self, logs: _Any = None) -> _Any: ...
    def on_epoch_begin(self, epoch: _Any, logs: _Any = None) -> _Any: ...
    def on_epoch_end(self, epoch: _Any, logs: _Any = None) -> _Any: ...
    def on_batch_begin(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_batch_end(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_train_batch_begin(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_train_batch_end(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_test_begin(self, logs: _Any = None) -> _Any: ...
    def on_test_end(self, logs: _Any = None) -> _Any: ...
    def on_test_batch_begin(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_test_batch_end(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_predict_begin(self, logs: _Any = None) -> _Any: ...
    def on_predict_end(self, logs: _Any = None) -> _Any: ...
    def on_predict_batch_begin(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_predict_batch_end(self, batch: _Any, logs: _Any = None) -> _Any: ...

class CallbackList:
    """The callbacks of one fit, as its progress function."""

    native: _Any
    history: _Any
    list: _Any
    model: _Any
    trainer: _Any
    names: _Any
    params: _Any
    batches: _Any
    schedule: _Any
    recorded: _Any
    def __init__(
        self, callbacks: _Any, model: _Any, trainer: _Any, verbose: _Any, epochs: _Any, steps: _Any = None
    ) -> None: ...
    def __call__(self, event: _Any, step: _Any, total: _Any, metrics: _Any) -> _Any: ...

class History(Callback):
    """What fit() returns: `epoch`, and `history`, a list for each name."""

    epoch: _Any
    history: _Any
    def __init__(self) -> None: ...

class LambdaCallback(Callback):
    """Functions as a callback."""
    def __init__(
        self,
        on_epoch_begin: _Any = None,
        on_epoch_end: _Any = None,
        on_train_begin: _Any = None,
        on_train_end: _Any = None,
        on_train_batch_end: _Any = None,
        **kwargs: _Any,
    ) -> None: ...

class ProgbarLogger(Callback):
    """A line for each epoch; on a terminal a bar while it is under way."""

    bar: _Any
    def __init__(self, verbose: _Any = 1) -> None: ...
    def on_epoch_begin(self, epoch: _Any, logs: _Any = None) -> _Any: ...
    def on_train_batch_end(self, batch: _Any, logs: _Any = None) -> _Any: ...
    def on_epoch_end(self, epoch: _Any, logs: _Any = None) -> _Any: ...

class NativeCallback:
    """One that the library runs itself. Its files have architecture and weights, whatever save_weights_only says."""

    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class EarlyStopping(NativeCallback):
    """ends a fit whose monitor has not improved for some epochs; the epoch numbered 0 never ends it."""

    def __init__(
        self,
        monitor: str = "val_loss",
        min_delta: float = 0.0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
        start_from_epoch: int = 0,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    monitor: _Any
    mode: _Any
    verbose: _Any
    min_delta: _Any
    patience: _Any
    baseline: _Any
    restore_best_weights: _Any
    start_from_epoch: _Any

class ReduceLROnPlateau(NativeCallback):
    """lowers the learning rate while the monitor does not improve."""

    def __init__(
        self,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 0.0001,
        cooldown: int = 0,
        min_lr: float = 0.0,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    monitor: _Any
    mode: _Any
    verbose: _Any
    factor: _Any
    patience: _Any
    min_delta: _Any
    cooldown: _Any
    min_lr: _Any

class ModelCheckpoint(NativeCallback):
    """saves the model after epochs or batches, as dl4_model_save() does; a fit whose model can't be saved can be resumed."""

    def __init__(
        self,
        filepath: str,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        mode: str = "auto",
        save_freq: int | None = None,
        initial_value_threshold: float | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    filepath: _Any
    monitor: _Any
    mode: _Any
    verbose: _Any
    save_best_only: _Any
    save_weights_only: _Any
    save_freq: _Any
    initial_value_threshold: _Any

class BackupAndRestore(NativeCallback):
    """keeps a checkpoint of the fit, "latest.dl4" in a folder, and goes on from one that is there: bit for bit as if nothing had happened, what other callbacks remember included."""

    def __init__(
        self,
        backup_dir: str,
        save_freq: int | None = None,
        double_checkpoint: bool = False,
        delete_checkpoint: bool = True,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    backup_dir: _Any
    save_freq: _Any
    double_checkpoint: _Any
    delete_checkpoint: _Any

class CSVLogger(NativeCallback):
    """a line for each epoch: its number from 0, then what the history has, by name."""

    def __init__(
        self, filename: str, separator: str = ",", append: bool = False, *, name: str | None = None, **kwargs: _Any
    ) -> None: ...
    filename: _Any
    separator: _Any
    append: _Any

class TerminateOnNaN(NativeCallback):
    """ends a fit whose loss, the mean over the epoch so far, is NaN or infinite; a trainer with a nan_guard fails before it comes to that."""

    def __init__(self, raise_error: bool = False, *, name: str | None = None, **kwargs: _Any) -> None: ...
    raise_error: _Any

class LearningRateScheduler(NativeCallback):
    """sets the learning rate as an epoch begins, to what a schedule gives for its number."""

    def __init__(self, schedule: _Any, verbose: int = 0, *, name: str | None = None, **kwargs: _Any) -> None: ...
    schedule: _Any
    verbose: _Any

class SwapEMAWeights(NativeCallback):
    """validates with the averages of the weights, which an optimizer with use_ema keeps, in the weights' place."""

    def __init__(self, swap_on_epoch: bool = False, *, name: str | None = None, **kwargs: _Any) -> None: ...
    swap_on_epoch: _Any

def listed(callbacks: _Any) -> _Any: ...
def told(callbacks: _Any, model: _Any, method: _Any, *arguments: _Any) -> _Any: ...
