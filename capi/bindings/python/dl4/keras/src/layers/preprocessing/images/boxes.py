"""What images come with in a dict: labels, segmentation masks and bounding boxes, which change as the images do."""

from ....backend.eager_tensor import eager_tensor
from ....backend.lazy import np
from ....utils.bounding_boxes import clip_to_image_size, convert_format

_WORDS = ("images", "labels", "bounding_boxes", "segmentation_masks")


class OfDicts:
    """A layer that takes images, or a dict of them and what they come with."""

    _BOXES = None  # the format in which boxes are changed; None where they stay
    bounding_box_format = None

    def _take_box_format(self, kwargs):
        name = kwargs.pop("bounding_box_format", None)
        if name is not None:
            self.__dict__["bounding_box_format"] = name

    def get_config(self):
        """The arguments of the constructor, as a dict."""
        name = self.bounding_box_format
        return {**super().get_config(), **({} if name is None else {"bounding_box_format": name})}

    def _changed_data(self, data, training):
        if not isinstance(data, dict):
            images, single = batch_of(data)
            given = self.transform_images(images, self.get_random_transformation(images, training), training)
            return eager_tensor(np.asarray(given)[0] if single else np.asarray(given))
        self._need_known(data)
        images, single = batch_of(data["images"])
        t, out = self.get_random_transformation(images, training), dict(data)
        for key in _WORDS:
            if key in data:
                given = dense(data[key]) if key == "bounding_boxes" else data[key]
                given = images if key == "images" else _each(_lifted, given) if single else given
                got = getattr(self, f"transform_{key}")(given, t, training)
                out[key] = _each(lambda x: eager_tensor(np.asarray(x)[0] if single else np.asarray(x)), got)
        return out

    def _need_known(self, data):
        if "images" not in data or not set(data) <= set(_WORDS):
            raise NotImplementedError(
                f"{type(self).__name__}: expected a dict of {sorted(_WORDS)}, got {sorted(data)}"
            )
        if "bounding_boxes" in data and self.bounding_box_format is None:
            raise ValueError(
                "You passed an input with a 'bounding_boxes' key, but you didn't specify a bounding box format. Pass a "
                f"`bounding_box_format` argument to your {type(self).__name__} layer, e.g. "
                "`bounding_box_format='xyxy'`."
            )

    def transform_labels(self, labels, transformation, training=True):
        """The labels for a transformation of the pictures."""
        return labels

    def transform_segmentation_masks(self, segmentation_masks, transformation, training=True):
        """The segmentation masks under a transformation of the pictures."""
        return segmentation_masks

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """The bounding boxes under a transformation of the pictures."""
        if not training or transformation is None or self._BOXES is None:
            return bounding_boxes
        before = self._size_of(transformation)
        after = self._size_after(before)
        boxes = convert_format(dict(bounding_boxes), self.bounding_box_format, self._BOXES, *before)
        boxes["boxes"] = self._changed_boxes(np.asarray(boxes["boxes"]), transformation, *before).astype("float32")
        boxes = clip_to_image_size(boxes, *after, self._BOXES)
        return convert_format(boxes, self._BOXES, self.bounding_box_format, *after)

    def _size_of(self, transformation):
        """Height and width of the images that it was drawn for."""
        shape = transformation["input_shape"]
        return tuple(shape[-2:] if self._first() else shape[-3:-1])

    def _size_after(self, size):
        return size

    def _first(self):
        return self.data_format == "channels_first"


def _lifted(x):
    return np.asarray(x)[None]


def _each(change, value):
    """Of an array, or of each array of a dict."""
    return {k: change(v) for k, v in value.items()} if isinstance(value, dict) else change(value)


def batch_of(images):
    """Images with the axis of the batch, and whether it was missing."""
    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise ValueError(
            "Expected image tensor to have rank 3 (single image) or 4 (batch of images). Received: "
            f"data.shape={images.shape}"
        )
    return (images[None], True) if images.ndim == 3 else (images, False)


def dense(bounding_boxes):
    """Boxes and labels as arrays; lists of different lengths are filled up with boxes of 0 and the label -1."""
    if not isinstance(bounding_boxes, dict) or not {"boxes", "labels"} <= set(bounding_boxes):
        raise ValueError(
            "Expected `bounding_boxes` agurment to be a dict with keys 'boxes' and 'labels'. Received: "
            f"bounding_boxes={bounding_boxes}"
        )
    boxes, labels = bounding_boxes["boxes"], bounding_boxes["labels"]
    if isinstance(boxes, list) and boxes and isinstance(boxes[0], list) and boxes[0] and isinstance(boxes[0][0], list):
        if not isinstance(labels, list) or len(labels) != len(boxes):
            raise ValueError(
                "If `bounding_boxes['boxes']` is a list, then `bounding_boxes['labels']` must also be a list of the "
                f"same length. Received: bounding_boxes['labels']={labels}"
            )
        most = max(len(b) for b in boxes)
        boxes = [b + [[0.0] * 4] * (most - len(b)) for b in boxes]
        labels = [n + [-1] * (most - len(n)) for n in labels]
    boxes, labels = np.asarray(boxes, "float32"), np.asarray(labels)
    if boxes.ndim not in (2, 3):
        raise ValueError(
            "Expected `bounding_boxes['boxes']` to have rank 2 or 3, with shape (num_boxes, 4) or (batch_size, "
            f"num_boxes, 4). Received: bounding_boxes['boxes'].shape={boxes.shape}"
        )
    if labels.ndim not in (boxes.ndim - 1, boxes.ndim):
        raise ValueError(
            f"Found bounding_boxes['boxes'].shape={boxes.shape} and expected bounding_boxes['labels'] to have rank "
            f"{boxes.ndim - 1} or {boxes.ndim}, but received: bounding_boxes['labels'].shape={labels.shape} "
        )
    return {**bounding_boxes, "boxes": boxes, "labels": labels}
