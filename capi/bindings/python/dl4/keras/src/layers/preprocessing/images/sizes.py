"""Resizing and CenterCrop, on arrays also of one image."""

from ....backend import call_context
from ....backend.eager_tensor import eager_tensor
from ....backend.lazy import np
from ....ops import arange, cast, convert_to_tensor, shape, take
from ....ops.image import resize
from ....symbolic.tensor import is_tensor
from ....tree import flatten
from ...layer import category, Layer
from .boxes import OfDicts


class OfOne(OfDicts, Layer):
    """A layer that gives all images the same size, those of one image or of a dict too."""

    _BOXES = "xyxy"

    def __init__(self, *args, **kwargs):
        self._take_box_format(kwargs)
        super().__init__(*args, **kwargs)

    def __call__(self, data, **kwargs):
        if is_tensor(data) and len(data.shape) == 4 and None in data.shape[1:]:
            self.__dict__["_sizes_are_free"] = True  # call() is in keras.ops, as the library needs to know them
        if isinstance(data, dict) and not any(is_tensor(leaf) for leaf in flatten(data)):
            with call_context.running(self, kwargs.get("training")):
                return self._changed_data(data, True)
        if call_context.owner() is not None or is_tensor(data) or np.ndim(data) != 3:
            return super().__call__(data, **kwargs)
        return super().__call__(np.asarray(data)[None], **kwargs)[0]

    def _is_custom(self):
        return "_sizes_are_free" in self.__dict__ or super()._is_custom()

    def _with_mask(self, args, kwargs, outputs):
        return outputs if "_sizes_are_free" in self.__dict__ else super()._with_mask(args, kwargs, outputs)

    def transform_images(self, images, transformation=None, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        return self(images)

    def transform_segmentation_masks(self, segmentation_masks, transformation=None, training=True):
        """The segmentation masks under a transformation of the pictures."""
        return self(segmentation_masks)

    def get_random_transformation(self, data, training=True, seed=None):
        """Draws the numbers of a transformation, for a batch of data."""
        return {"input_shape": np.shape(data["images"] if isinstance(data, dict) else data)}

    def _size_after(self, size):
        return self.height, self.width


@category.base_of("CenterCrop")
class Cropped(OfOne):
    """The middle of images; of smaller images as much as has that form, in another size."""

    def call(self, data):
        """Where sizes are known in the run alone: the middle, of images that are not smaller."""
        if None not in data.shape[1:]:
            return super().call(data)
        data, first = cast(data, "float32"), 1 + (self.data_format == "channels_first")
        for axis, size in ((first, self.height), (first + 1, self.width)):
            start = (shape(data)[axis] - size) // 2
            data = take(data, arange(size) + start, axis=axis)
        return data

    def _changed_boxes(self, boxes, t, height, width):
        high, wide = self.height, self.width
        if height < high or width < wide:
            high = max(min(height, int(float(width * self.height) / self.width)), 1)
            wide = max(min(width, int(float(height * self.width) / self.height)), 1)
        top, left = int((height - high) / 2), int((width - wide) / 2)
        inside = np.clip(boxes - np.float32([left, top] * 2), 0, np.float32([wide, high] * 2))
        return inside * np.float32([self.width / wide, self.height / high] * 2)


@category.base_of("Resizing")
class Resized(OfOne):
    """Images in another size"""

    _PADDED = {"pad_to_aspect_ratio": False, "fill_mode": "constant", "fill_value": 0.0}

    def __init__(self, *args, **kwargs):
        given = dict(self.__signature__.bind(*args, **kwargs).arguments)
        given.update(given.pop("kwargs", {}))
        self._take_box_format(given)
        padded = {key: given.pop(key, default) for key, default in self._PADDED.items()}
        if not padded["pad_to_aspect_ratio"]:
            padded, given = {}, {**given, **{k: v for k, v in padded.items() if v != self._PADDED[k]}}
        self.__dict__["_padded"] = padded  # with margins, where the library's layer has none
        super().__init__(**given)
        if padded and self.crop_to_aspect_ratio:
            raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")

    def __getattr__(self, key):
        padded = self.__dict__.get("_padded", {})
        return padded[key] if key in padded else super().__getattr__(key)

    def get_config(self):
        return {**super().get_config(), **self.__dict__["_padded"]}

    _RESIZED = ("interpolation", "antialias", "crop_to_aspect_ratio", "data_format", *_PADDED)

    def __call__(self, data, **kwargs):
        if self.__dict__["_padded"] and not isinstance(data, dict):
            self.built = True
            return self.call(data)
        return super().__call__(data, **kwargs)

    def _is_custom(self):
        return bool(self.__dict__["_padded"]) or super()._is_custom()

    def call(self, data):
        """By keras.ops: with margins, and where the library needs to know the sizes."""
        return self._resized(data)

    def _resized(self, data, **more):
        how = {**{key: getattr(self, key) for key in self._RESIZED if hasattr(self, key)}, **more}
        return resize(cast(convert_to_tensor(data), "float32"), (self.height, self.width), **how)

    def get_random_transformation(self, data, training=True, seed=None):
        """Draws the numbers of a transformation, for a batch of data."""
        return super()._size_of(super().get_random_transformation(data))

    def _size_of(self, transformation):
        return transformation

    def transform_segmentation_masks(self, segmentation_masks, transformation=None, training=True):
        """The segmentation masks under a transformation of the pictures."""
        return self._resized(segmentation_masks, interpolation="nearest")

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """Boxes that only fill the row up, of -1 or 0, become 0."""
        given = np.asarray(bounding_boxes["boxes"])
        none = np.all(given == -1, -1) | np.all(given == 0, -1)
        found = super().transform_bounding_boxes(bounding_boxes, transformation)
        return {**found, "boxes": eager_tensor(np.where(none[..., None], np.float32(0), np.asarray(found["boxes"])))}

    def _changed_boxes(self, boxes, t, height, width):
        down, across, margin = self.height / height, self.width / width, (0, 0)
        if self.crop_to_aspect_ratio:
            down = across = max(down, across)
            margin = -((width * across - self.width) // 2), -((height * down - self.height) // 2)
        elif self.pad_to_aspect_ratio:
            down = across = min(down, across)
            margin = (self.width - width * across) // 2, (self.height - height * down) // 2
        return boxes * np.float32([across, down] * 2) + np.float32(margin * 2)
