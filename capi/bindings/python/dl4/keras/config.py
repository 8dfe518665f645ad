"""keras.config: settings."""

from .src.backend.config import backend, epsilon, floatx, image_data_format, set_image_data_format
from .src.backend.global_state import clear as clear_session
from .src.backend.global_state import set_context
from .src.ops.core import is_keras_tensor
from .src.saving.serialization_lib import enable_unsafe_deserialization
