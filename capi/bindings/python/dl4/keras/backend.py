"""keras.backend: settings, and the names of a session."""

from .src.backend.config import (
    backend,
    epsilon,
    floatx,
    image_data_format,
    set_epsilon,
    set_floatx,
    set_image_data_format,
)
from .src.backend.global_state import clear as clear_session
from .src.legacy.backend import ctc_batch_cost, ctc_decode
from .src.ops.core import is_keras_tensor
from .src.saving.serialization_lib import enable_unsafe_deserialization
