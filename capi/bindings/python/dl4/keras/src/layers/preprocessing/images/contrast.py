"""AutoContrast, Equalization, CLAHE and MaxNumBoundingBoxes: the same for the same images."""

from ....backend.config import image_data_format
from ....backend.eager_tensor import eager_tensor
from ....backend.lazy import np
from ....export import keras_export
from ...layer import category
from ..data_layer import DataLayer
from ....on_arrays import pixels
from .boxes import OfDicts


class Unchanged(OfDicts, DataLayer):
    """A layer of images without chance, which keeps images as they are."""

    def __init__(self, data_format=None, **kwargs):
        self._take_box_format(kwargs)
        super().__init__(**kwargs)
        self.data_format = data_format or image_data_format()

    def get_random_transformation(self, data, training=True, seed=None):
        """Draws the numbers of a transformation, for a batch of data."""
        return None

    def call(self, inputs, training=True):
        return self._changed_data(inputs, training)

    def transform_images(self, images, transformation=None, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        return images

    def get_config(self):
        return {**super().get_config(), "data_format": self.data_format}


@category.add
@keras_export("layers")
class MaxNumBoundingBoxes(Unchanged):
    """So many bounding boxes for each image: those beyond are left out, missing ones filled up."""

    def __init__(self, max_number, fill_value=-1, **kwargs):
        super().__init__(**kwargs)
        self.max_number, self.fill_value = int(max_number), int(fill_value)

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """Cuts or fills the boxes to their number."""
        boxes, labels = (np.asarray(bounding_boxes[k])[:, : self.max_number] for k in ("boxes", "labels"))
        more = [(0, 0), (0, self.max_number - boxes.shape[1])]
        boxes = np.pad(boxes, [*more, (0, 0)], constant_values=self.fill_value)
        labels = np.pad(labels, more + [(0, 0)] * (labels.ndim - 2), constant_values=self.fill_value)
        return {**bounding_boxes, "boxes": boxes, "labels": labels}

    def get_config(self):
        return {**super().get_config(), "max_number": self.max_number, "fill_value": self.fill_value}


class _Fixed(Unchanged):
    """A layer of images without chance, of a range of values."""

    def __init__(self, value_range=(0, 255), data_format=None, **kwargs):
        super().__init__(data_format, **kwargs)
        if not isinstance(value_range, (tuple, list)) or len(value_range) != 2:
            raise ValueError(
                f"The `value_range` argument should be a list of two numbers. Received: value_range={value_range}"
            )
        self.value_range = sorted(value_range)

    def transform_images(self, images, transformation=None, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        images = np.asarray(images).astype("float32")
        first = self.data_format == "channels_first"
        out = self._changed(np.moveaxis(images, 1, -1) if first else images)
        return eager_tensor(np.ascontiguousarray(np.moveaxis(out, -1, 1) if first else out))

    def get_config(self):
        return {**super().get_config(), "value_range": self.value_range}


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
        """Equalizes pictures (B, H, W, C)."""
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


@category.add
@keras_export("layers")
class ContrastLimitedAdaptiveHistogramEqualization(_Fixed):
    """Equalization in each tile of an image, of a bounded slope, with smooth changes between tiles."""

    def __init__(self, value_range=(0, 255), clip_limit=4.0, tile_grid_size=(8, 8), data_format=None, **kwargs):
        super().__init__(value_range, data_format, **kwargs)
        self.clip_limit, self.tile_grid_size = clip_limit, tuple(tile_grid_size)

    def transform_images(self, images, transformation=None, training=True):
        """Equalizes pictures (B, H, W, C)."""
        return eager_tensor(np.asarray(super().transform_images(images)).astype(np.asarray(images).dtype))

    def _changed(self, images):
        whole = pixels.scaled(images, self.value_range, (0, 255))
        (n, h, w, c), (rows, columns) = whole.shape, self.tile_grid_size
        high, wide = -(-h // rows), -(-w // columns)
        padded = np.pad(whole, [(0, 0), (0, rows * high - h), (0, columns * wide - w), (0, 0)], mode="symmetric")
        levels = np.clip(padded, 0, 255).astype("int32")
        tiles = levels.reshape(n, rows, high, columns, wide, c).transpose(0, 1, 3, 5, 2, 4).reshape(-1, high * wide)
        table = self._levels_of(tiles).reshape(n, rows, columns, c, 256)
        table = np.pad(table, [(0, 0), (1, 1), (1, 1), (0, 0), (0, 0)], mode="edge")
        (y0, y1, wy), (x0, x1, wx) = _between(rows, high), _between(columns, wide)
        wy, wx = wy[:, None, None], wx[:, None]
        image, channel = np.arange(n)[:, None, None, None], np.arange(c)

        def at(y, x):
            return table[image, y[:, None, None], x[:, None], channel, levels]

        top = at(y0, x0) * (1 - wx) + at(y0, x1) * wx
        bottom = at(y1, x0) * (1 - wx) + at(y1, x1) * wx
        out = (top * (1 - wy) + bottom * wy)[:, :h, :w].astype("float32")
        return pixels.scaled(out, (0, 255), self.value_range)

    def _levels_of(self, tiles):
        """Of the levels in each tile: what each of 256 becomes."""
        counts = np.stack([np.bincount(tile, minlength=256) for tile in tiles]).astype("float32")
        size = tiles.shape[1]
        if self.clip_limit > 0:
            kept = np.minimum(counts, np.float32(self.clip_limit * size / 256))
            counts = kept + (counts - kept).sum(-1, keepdims=True) / np.float32(256)
        sums = counts.cumsum(-1, dtype="float32")
        least = sums.min(-1, keepdims=True)
        span = size - least
        return np.clip((sums - least) * 255 / np.where(span == 0, 1, span), 0, 255)

    def get_config(self):
        return {**super().get_config(), "clip_limit": self.clip_limit, "tile_grid_size": self.tile_grid_size}


def _between(count, length):
    """Of each pixel along an axis: the tiles before and after its place, of those with one more at each end, and how
    near it is to the one after."""
    place = (np.arange(count * length, dtype="float32") - np.float32(length / 2)) / length + 1
    before = np.floor(place)
    return (*(np.clip(t, 0, count + 1).astype("int32") for t in (before, before + 1)), place - before)
