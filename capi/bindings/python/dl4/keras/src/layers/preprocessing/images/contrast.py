"""AutoContrast and Equalization: the same for the same images."""

from ....backend.eager_tensor import eager_tensor
from ....backend.lazy import np
from ....export import keras_export
from ...layer import category
from ..data_layer import DataLayer
from ....on_arrays import pixels


class _Fixed(DataLayer):
    """A layer of images without chance."""

    def __init__(self, value_range=(0, 255), data_format=None, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
            raise ValueError(
                f"The `value_range` argument should be a list of two numbers. Received: value_range={value_range}"
            )
        self.value_range, self.data_format = sorted(value_range), data_format or "channels_last"

    def get_random_transformation(self, data, training=True, seed=None):
        return None

    def call(self, inputs, training=True):
        images = np.asarray(inputs)
        one = images.ndim == 3
        out = np.asarray(self.transform_images(images[None] if one else images, training=training))
        return eager_tensor(out[0] if one else out)

    def transform_images(self, images, transformation=None, training=True):
        images = np.asarray(images).astype("float32")
        first = self.data_format == "channels_first"
        out = self._changed(np.moveaxis(images, 1, -1) if first else images)
        return eager_tensor(np.ascontiguousarray(np.moveaxis(out, -1, 1) if first else out))

    def get_config(self):
        return {**super().get_config(), "value_range": self.value_range, "data_format": self.data_format}


@category.add
@keras_export("layers")
class AutoContrast(_Fixed):
    """The darkest and the lightest pixel of each channel become the ends of the range."""

    def _changed(self, images):
        whole = pixels.scaled(images, self.value_range, (0, 255))
        low, high = whole.min((1, 2), keepdims=True), whole.max((1, 2), keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.float32(255.0) / (high - low)
            out = np.clip(whole * scale - low * scale, 0, 255).astype("float32")
        out = pixels.scaled(out, (0, 255), self.value_range)
        return np.where(np.isnan(out), images, out)


@category.add
@keras_export("layers")
class Equalization(_Fixed):
    """Each value of a channel becomes about as frequent as the others, over the whole batch as in Keras."""

    def __init__(self, value_range=(0, 255), bins=256, data_format=None, **kwargs):
        super().__init__(value_range, data_format, **kwargs)
        self.bins = bins

    def transform_images(self, images, transformation=None, training=True):
        return super().transform_images(images) if training else eager_tensor(np.asarray(images))

    def _changed(self, images):
        return np.stack([self._equalized(images[..., i]) for i in range(images.shape[-1])], -1)

    def _equalized(self, channel):
        channel = pixels.scaled(channel, self.value_range, (0, 255))
        places = np.clip((channel * np.float32((self.bins - 1) / 255)).astype("int32"), 0, self.bins - 1)
        counts = np.bincount(places.ravel(), minlength=self.bins)
        out = channel
        if np.count_nonzero(counts) > 1:
            sums = counts.cumsum()
            least = sums[np.nonzero(sums)[0][0]]
            table = np.clip(np.round((sums - least) * 255 / max(sums[-1] - least, 1)), 0, 255).astype("float32")
            at = np.clip(channel / np.float32(255) * np.float32(self.bins - 1), 0, self.bins - 1).astype("int32")
            out = table[at]
        return pixels.scaled(out, (0, 255), self.value_range)

    def get_config(self):
        return {**super().get_config(), "bins": self.bins}
