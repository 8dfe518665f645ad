"""keras.config: settings."""

from .src.absent import absent_from as _absent_from
from .src.backend.config import (
    backend,
    disable_interactive_logging,
    disable_traceback_filtering,
    enable_interactive_logging,
    epsilon,
    floatx,
    image_data_format,
    is_interactive_logging_enabled,
    is_traceback_filtering_enabled,
    max_epochs,
    max_steps_per_epoch,
    set_epsilon,
    set_floatx,
    set_image_data_format,
    set_max_epochs,
    set_max_steps_per_epoch,
)
from .src.backend.global_state import clear as clear_session
from .src.backend.global_state import set_context
from .src.dtype_policies import dtype_policy, set_dtype_policy
from .src.ops.core import is_keras_tensor
from .src.saving.serialization_lib import enable_unsafe_deserialization

__getattr__ = _absent_from(__name__)
