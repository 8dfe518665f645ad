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
from .src.later import names_later as _names_later
from .src.ops.core import is_keras_tensor
from .src.saving.serialization_lib import enable_unsafe_deserialization

__getattr__, __dir__ = _names_later(
    __package__,
    globals(),
    {
        ".src.legacy.backend": """
            abs all any arange argmax argmin batch_flatten batch_get_value batch_set_value binary_crossentropy cast
            cast_to_floatx categorical_crossentropy clip concatenate constant cos count_params ctc_batch_cost ctc_decode
            cumprod cumsum dot dropout dtype elu equal eval exp expand_dims flatten gather get_value greater
            greater_equal hard_sigmoid int_shape l2_normalize less less_equal log max maximum mean min minimum ndim
            not_equal one_hot ones ones_like permute_dimensions pow prod random_normal random_uniform relu repeat
            repeat_elements reshape reverse round set_value shape sigmoid sign sin softmax softplus softsign
            sparse_categorical_crossentropy spatial_2d_padding sqrt square squeeze stack std stop_gradient sum switch
            tanh temporal_padding tile transpose update update_add update_sub var variable zeros zeros_like
        """,
    },
)
