"""keras.config: settings."""

from .src.backend.config import (
    backend,
    epsilon,
    floatx,
    image_data_format,
    max_epochs,
    max_steps_per_epoch,
    set_image_data_format,
    set_max_epochs,
    set_max_steps_per_epoch,
)
from .src.backend.global_state import clear as clear_session
from .src.backend.global_state import set_context
from .src.ops.core import is_keras_tensor
from .src.saving.serialization_lib import enable_unsafe_deserialization
