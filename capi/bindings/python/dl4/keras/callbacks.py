"""Callbacks."""

from .src.absent import absent_from as _absent_from
from .src.callbacks.backup_and_restore import BackupAndRestore
from .src.callbacks.callback import Callback
from .src.callbacks.callback_list import CallbackList
from .src.callbacks.csv_logger import CSVLogger
from .src.callbacks.early_stopping import EarlyStopping
from .src.callbacks.history import History
from .src.callbacks.lambda_callback import LambdaCallback
from .src.callbacks.learning_rate_scheduler import LearningRateScheduler
from .src.callbacks.model_checkpoint import ModelCheckpoint
from .src.callbacks.monitor_callback import MonitorCallback
from .src.callbacks.progbar_logger import ProgbarLogger
from .src.callbacks.reduce_lr_on_plateau import ReduceLROnPlateau
from .src.callbacks.remote_monitor import RemoteMonitor
from .src.callbacks.swap_ema_weights import SwapEMAWeights
from .src.callbacks.tensorboard import TensorBoard
from .src.callbacks.terminate_on_nan import TerminateOnNaN

__getattr__ = _absent_from(__name__)
