"""Files of models and weights, and objects as configs."""

from .src.later import names_later as _names_later
from .src.saving.object_registration import (
    custom_object_scope,
    CustomObjectScope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
)
from .src.saving.saving_api import load_model
from .src.saving.saving_lib import load_weights, save_model, save_weights
from .src.saving.serialization_lib import (
    deserialize_keras_object,
    enable_unsafe_deserialization,
    serialize_keras_object,
)

__getattr__, __dir__ = _names_later(__package__, globals(), {".src.saving.file_editor": "KerasFileEditor"})
