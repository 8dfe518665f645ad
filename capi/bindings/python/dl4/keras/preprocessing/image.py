"""Images of files, and batches of changed images."""

from ..src.legacy.preprocessing.image import ImageDataGenerator
from ..src.legacy.preprocessing.iterators import DataFrameIterator, DirectoryIterator, Iterator, NumpyArrayIterator
from ..src.legacy.preprocessing.transforms import (
    apply_affine_transform,
    apply_brightness_shift,
    apply_channel_shift,
    random_brightness,
    random_channel_shift,
    random_rotation,
    random_shear,
    random_shift,
    random_zoom,
)
from ..src.utils.image_utils import array_to_img, img_to_array, load_img, save_img, smart_resize
