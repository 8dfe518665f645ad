"""TerminateOnNaN."""

import math

from ..export import keras_export
from ..utils.io_utils import print_msg
from .callback import Callback


@keras_export("callbacks")
class TerminateOnNaN(Callback):
    """Ends a fit whose loss, the mean over the epoch so far, is NaN or infinite."""

    def __init__(self, raise_error=False):
        super().__init__()
        self.raise_error = raise_error

    def on_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is None or math.isfinite(loss):
            return
        if self.raise_error:
            raise RuntimeError(
                f"NaN or Inf loss encountered at batch {batch}. Loss value: {loss}. Terminating training immediately."
            )
        print_msg(f"Batch {batch}: Invalid loss, terminating training")
        self.model.stop_training = True
