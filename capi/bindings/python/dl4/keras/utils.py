"""Seeds, one-hot labels, sequences, drawings, files, datasets of directories."""

from .src.backend.config import (
    disable_interactive_logging,
    enable_interactive_logging,
    is_interactive_logging_enabled,
)
from .src.backend.global_state import clear as clear_session
from .src.later import names_later as _names_later
from .src.ops.core import is_keras_tensor
from .src.saving.object_registration import (
    custom_object_scope,
    CustomObjectScope,
    get_custom_objects,
    get_registered_name,
    get_registered_object,
    register_keras_serializable,
)
from .src.saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from .src.utils.data_utils import pack_x_y_sample_weight, PyDataset, Sequence, unpack_x_y_sample_weight
from .src.utils.model_visualization import model_to_dot, plot_model
from .src.utils.numerical_utils import normalize, to_categorical
from .src.utils.rng_utils import set_random_seed

__getattr__, __dir__ = _names_later(
    __package__,
    globals(),
    {
        ".src.layers.preprocessing.feature_space": "FeatureSpace",
        ".src.utils.bounding_boxes": "bounding_boxes",
        ".src.utils.dataset_utils": "split_dataset",
        ".src.utils.directory_utils": "audio_dataset_from_directory image_dataset_from_directory "
        "text_dataset_from_directory",
        ".src.utils.file_utils": "get_file",
        ".src.utils.image_utils": "array_to_img img_to_array load_img save_img",
        ".src.utils.progbar": "Progbar",
        ".src.utils.sequence_utils": "pad_sequences timeseries_dataset_from_array",
    },
)
