"""Seeds, one-hot labels, sequences, drawings."""

from .src.backend.global_state import clear as clear_session
from .src.layers.preprocessing.feature_space import FeatureSpace
from .src.saving.object_registration import custom_object_scope, CustomObjectScope, register_keras_serializable
from .src.utils.data_utils import pack_x_y_sample_weight, PyDataset, Sequence, unpack_x_y_sample_weight
from .src.utils.dataset_utils import split_dataset
from .src.utils.directory_utils import (
    audio_dataset_from_directory,
    image_dataset_from_directory,
    text_dataset_from_directory,
)
from .src.utils.file_utils import get_file
from .src.utils.image_utils import array_to_img, img_to_array, load_img, save_img
from .src.utils.model_visualization import model_to_dot, plot_model
from .src.utils.numerical_utils import normalize, to_categorical
from .src.utils.rng_utils import set_random_seed
from .src.utils.sequence_utils import pad_sequences, timeseries_dataset_from_array
