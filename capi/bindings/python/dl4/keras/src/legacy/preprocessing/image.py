"""ImageDataGenerator."""

import warnings

from ...backend.config import image_data_format
from ...backend.lazy import np
from .iterators import DataFrameIterator, DirectoryIterator, NumpyArrayIterator
from .transforms import apply_affine_transform, apply_brightness_shift, apply_channel_shift


class ImageDataGenerator:
    """Batches of images that are changed at random and standardized."""

    def __init__(
        self,
        featurewise_center=False,
        samplewise_center=False,
        featurewise_std_normalization=False,
        samplewise_std_normalization=False,
        zca_whitening=False,
        zca_epsilon=1e-6,
        rotation_range=0,
        width_shift_range=0.0,
        height_shift_range=0.0,
        brightness_range=None,
        shear_range=0.0,
        zoom_range=0.0,
        channel_shift_range=0.0,
        fill_mode="nearest",
        cval=0.0,
        horizontal_flip=False,
        vertical_flip=False,
        rescale=None,
        preprocessing_function=None,
        data_format=None,
        validation_split=0.0,
        interpolation_order=1,
        dtype=None,
    ):
        given = dict(locals())
        del given["self"]
        self._validation_split = given.pop("validation_split")
        vars(self).update(given)
        self.dtype, self.data_format = dtype or "float32", data_format or image_data_format()
        if self.data_format not in ("channels_last", "channels_first"):
            raise ValueError(
                '`data_format` should be `"channels_last"` (channel after row and column) or `"channels_first"` '
                f"(channel before row and column). Received: {data_format}"
            )
        first = self.data_format == "channels_first"
        self.channel_axis, self.row_axis, self.col_axis = (1, 2, 3) if first else (3, 1, 2)
        if validation_split and not 0 < validation_split < 1:
            raise ValueError(f"`validation_split` must be strictly between 0 and 1.  Received: {validation_split}")
        if isinstance(zoom_range, (float, int)):
            self.zoom_range = [1 - zoom_range, 1 + zoom_range]
        elif len(zoom_range) != 2:
            raise ValueError(f"`zoom_range` should be a float or a tuple or list of two floats. Received: {zoom_range}")
        if brightness_range is not None and (
            not isinstance(brightness_range, (tuple, list)) or len(brightness_range) != 2
        ):
            raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
        self.mean = self.std = self.zca_whitening_matrix = None
        self._imply("zca_whitening", "featurewise_center", True)
        self._imply("zca_whitening", "featurewise_std_normalization", False)
        self._imply("featurewise_std_normalization", "featurewise_center", True)
        self._imply("samplewise_std_normalization", "samplewise_center", True)

    def _imply(self, name, other, value):
        if getattr(self, name) and getattr(self, other) != value:
            setattr(self, other, value)
            warnings.warn(
                f"This ImageDataGenerator specifies `{name}`, which overrides setting of `{other}`.", stacklevel=3
            )

    def flow(
        self,
        x,
        y=None,
        batch_size=32,
        shuffle=True,
        sample_weight=None,
        seed=None,
        save_to_dir=None,
        save_prefix="",
        save_format="png",
        ignore_class_split=False,
        subset=None,
    ):
        """Batches of an array of images."""
        return NumpyArrayIterator(
            x,
            y,
            self,
            batch_size,
            shuffle,
            sample_weight,
            seed,
            self.data_format,
            save_to_dir,
            save_prefix,
            save_format,
            subset,
            ignore_class_split,
            self.dtype,
        )

    def flow_from_directory(self, directory, target_size=(256, 256), color_mode="rgb", **kwargs):
        """Batches of the images of a directory; arguments as DirectoryIterator's."""
        return DirectoryIterator(
            directory, self, target_size, color_mode, data_format=self.data_format, dtype=self.dtype, **kwargs
        )

    def flow_from_dataframe(self, dataframe, directory=None, x_col="filename", y_col="class", **kwargs):
        """Batches of the images whose names are in a table; arguments as DataFrameIterator's."""
        for old in ("has_ext", "sort", "drop_duplicates"):
            if kwargs.pop(old, None) is not None:
                warnings.warn(f"{old} is deprecated and has no effect.", DeprecationWarning, stacklevel=2)
        if kwargs.get("class_mode") == "other":
            kwargs["class_mode"] = "raw"
        return DataFrameIterator(
            dataframe, directory, self, x_col, y_col, data_format=self.data_format, dtype=self.dtype, **kwargs
        )

    def standardize(self, x):
        """An image with the mean and scale that were asked for."""
        if self.preprocessing_function:
            x = self.preprocessing_function(x)
        if self.rescale:
            x = x * self.rescale
        if self.samplewise_center:
            x = x - np.mean(x, keepdims=True)
        if self.samplewise_std_normalization:
            x = x / (np.std(x, keepdims=True) + 1e-6)
        for word, fitted in (
            ("featurewise_center", self.mean),
            ("featurewise_std_normalization", self.std),
            ("zca_whitening", self.zca_whitening_matrix),
        ):
            if not getattr(self, word):
                continue
            if fitted is None:
                warnings.warn(
                    f"This ImageDataGenerator specifies `{word}`, but it hasn't been fit on any training data. Fit it "
                    "first by calling `.fit(numpy_data)`.",
                    stacklevel=2,
                )
            elif word == "featurewise_center":
                x = x - fitted
            elif word == "featurewise_std_normalization":
                x = x / (fitted + 1e-6)
            else:
                x = (x.reshape(1, -1) @ fitted).reshape(x.shape)
        return x

    def get_random_transform(self, img_shape, seed=None):
        """What is drawn for an image."""
        if seed is not None:
            np.random.seed(seed)
        theta = np.random.uniform(-self.rotation_range, self.rotation_range) if self.rotation_range else 0
        tx = _shift(self.height_shift_range, img_shape[self.row_axis - 1])
        ty = _shift(self.width_shift_range, img_shape[self.col_axis - 1])
        shear = np.random.uniform(-self.shear_range, self.shear_range) if self.shear_range else 0
        zoom = self.zoom_range
        zx, zy = (1, 1) if tuple(zoom) == (1, 1) else np.random.uniform(zoom[0], zoom[1], 2)
        flips = [bool(np.random.random() < 0.5) * wanted for wanted in (self.horizontal_flip, self.vertical_flip)]
        channel = self.channel_shift_range
        return {
            "theta": theta,
            "tx": tx,
            "ty": ty,
            "shear": shear,
            "zx": zx,
            "zy": zy,
            "flip_horizontal": flips[0],
            "flip_vertical": flips[1],
            "channel_shift_intensity": np.random.uniform(-channel, channel) if channel != 0 else None,
            "brightness": None if self.brightness_range is None else np.random.uniform(*self.brightness_range),
        }

    def apply_transform(self, x, transform_parameters):
        """An image changed by what get_random_transform() gave."""
        given = transform_parameters
        x = apply_affine_transform(
            x,
            *(given.get(k, 0) for k in ("theta", "tx", "ty", "shear")),
            *(given.get(k, 1) for k in ("zx", "zy")),
            row_axis=self.row_axis - 1,
            col_axis=self.col_axis - 1,
            channel_axis=self.channel_axis - 1,
            fill_mode=self.fill_mode,
            cval=self.cval,
            order=self.interpolation_order,
        )
        if given.get("channel_shift_intensity") is not None:
            x = apply_channel_shift(x, given["channel_shift_intensity"], self.channel_axis - 1)
        if given.get("flip_horizontal"):
            x = np.flip(x, self.col_axis - 1)
        if given.get("flip_vertical"):
            x = np.flip(x, self.row_axis - 1)
        return apply_brightness_shift(x, given["brightness"], False) if given.get("brightness") is not None else x

    def random_transform(self, x, seed=None):
        return self.apply_transform(x, self.get_random_transform(x.shape, seed))

    def fit(self, x, augment=False, rounds=1, seed=None):
        """Takes what standardize() needs of the whole data from images."""
        x = np.array(x, dtype=self.dtype)
        if x.ndim != 4:
            raise ValueError(f"Input to `.fit()` should have rank 4. Got array with shape: {x.shape}")
        if seed is not None:
            np.random.seed(seed)
        if self.rescale:
            x = x * self.rescale
        if augment:
            x = np.stack([self.random_transform(image) for _ in range(rounds) for image in x])
        shape = [1, 1, 1]
        shape[self.channel_axis - 1] = x.shape[self.channel_axis]
        over = (0, self.row_axis, self.col_axis)
        if self.featurewise_center:
            self.mean = x.mean(over).reshape(shape)
            x = x - self.mean
        if self.featurewise_std_normalization:
            self.std = x.std(over).reshape(shape)
            x = x / (self.std + 1e-6)
        if self.zca_whitening:
            u, s, _ = np.linalg.svd(x.reshape(len(x), -1).T, full_matrices=False)
            self.zca_whitening_matrix = (u * (np.sqrt(len(x)) / (s + self.zca_epsilon))) @ u.T


def _shift(given, size):
    """A shift in pixels: a share of the size, or one of some numbers of pixels."""
    if not np.any(given):
        return 0
    try:
        shift = np.random.choice(given) * np.random.choice([-1, 1])
    except ValueError:
        shift = np.random.uniform(-given, given)
    return shift * size if np.max(given) < 1 else shift
