"""keras.preprocessing: images, sequences and texts of old programs."""

from . import image, sequence, text
from ..src.utils.directory_utils import image_dataset_from_directory, text_dataset_from_directory
from ..src.utils.sequence_utils import timeseries_dataset_from_array
