"""RandomFlip, RandomCrop, RandomRotation, RandomZoom, RandomTranslation, RandomShear, RandomPerspective."""

from ....backend.lazy import np
from ...layer import category
from ....on_arrays import pixels
from ....utils.bounding_boxes import affine_transform
from .image_layer import GeometricLayer, ImageLayer, signed_range


@category.base_of("RandomFlip")
class Flip(ImageLayer):
    """Images mirrored at random, each with the chance of a half."""

    _USE_FACTOR, _BOXES = False, "rel_xyxy"

    def _drawn(self, shape):
        return {"flips": self._uniform((shape[0], 1, 1, 1)) <= 0.5, "input_shape": shape}

    def _changed(self, images, t):
        mode = self._argument("mode")
        if mode not in ("horizontal", "vertical", "horizontal_and_vertical"):
            raise ValueError(
                f"`mode` should be 'horizontal', 'vertical' or 'horizontal_and_vertical'. Received: mode={mode}"
            )
        if "horizontal" in mode:
            images = np.where(t["flips"], images[:, :, ::-1], images)
        return np.where(t["flips"], images[:, ::-1], images) if "vertical" in mode else images

    def _changed_boxes(self, boxes, t, height, width):
        mode, flips = self._argument("mode"), np.squeeze(np.asarray(t["flips"]), -1)
        if "horizontal" in mode:
            x1, y1, x2, y2 = np.moveaxis(boxes, -1, 0)
            boxes = np.where(flips, np.stack([1 - x2, y1, 1 - x1, y2], -1), boxes)
        if "vertical" in mode:
            x1, y1, x2, y2 = np.moveaxis(boxes, -1, 0)
            boxes = np.where(flips, np.stack([x1, 1 - y2, x2, 1 - y1], -1), boxes)
        return boxes

    def transform_segmentation_masks(self, segmentation_masks, transformation, training=True):
        """The segmentation masks under a transformation of the pictures."""
        return self.transform_images(segmentation_masks, transformation, training)


class _Corner(tuple):
    """Where a part begins, in an image of a size."""

    def __new__(cls, begin, size):
        self = super().__new__(cls, begin)
        self.size = size
        return self


@category.base_of("RandomCrop")
class Crop(ImageLayer):
    """A part of each image, at random; of smaller images as much as has that form, in another size."""

    _USE_FACTOR, _BOXES = False, "xyxy"

    def _changed_shape(self, shape):
        size = (self._argument("height"), self._argument("width"))
        return (shape[0], shape[1], *size) if self._first() else (shape[0], *size, shape[3])

    def _drawn(self, shape):
        h, w, height, width = shape[1], shape[2], self._argument("height"), self._argument("width")
        if h > height and w > width:
            return _Corner((int(self._uniform((), 0, n + 1)) for n in (h - height, w - width)), (h, w))
        high = max(min(h, int(float(w * height) / width)), 1)
        wide = max(min(w, int(float(h * width) / height)), 1)
        return _Corner((int(float(h - high) / 2), int(float(w - wide) / 2)), (h, w))

    def _changed(self, images, t):
        height, width = self._argument("height"), self._argument("width")
        images = images[:, t[0] : t[0] + height, t[1] : t[1] + width]
        if images.shape[1:3] == (height, width):
            return images
        return np.asarray(category.class_of("Resizing")(height, width)(np.ascontiguousarray(images)))

    def _size_of(self, t):
        return getattr(t, "size", self._size_after(None))

    def _size_after(self, size):
        return self._argument("height"), self._argument("width")

    def _changed_boxes(self, boxes, t, height, width):
        (high, wide), (top, left) = self._size_after(None), t
        down, across = high / min(high, height - top), wide / min(wide, width - left)
        return (boxes - np.float32([left, top] * 2)) * np.float32([across, down] * 2)

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """The labels stay, as Keras's."""
        found = super().transform_bounding_boxes(bounding_boxes, transformation, training)
        return {**found, "labels": bounding_boxes["labels"]}

    def transform_segmentation_masks(self, segmentation_masks, transformation, training=True):
        """The segmentation masks under a transformation of the pictures."""
        return self.transform_images(segmentation_masks, transformation, training)


@category.base_of("RandomRotation")
class Rotation(GeometricLayer):
    """Images turned at random, by shares of a full turn."""

    _BOXES = "xyxy"

    def _drawn(self, shape):
        angle = self._uniform((shape[0],), *(f * 360.0 for f in self._range))
        size = {"image_height": shape[1], "image_width": shape[2], "batch_size": shape[0]}
        return {"angle": angle, "rotation_matrix": pixels.rotations(angle, shape[1], shape[2]), **size}

    def _size_of(self, t):
        return t["image_height"], t["image_width"]

    def _warped(self, images, t, interpolation):
        return pixels.transformed(
            images, t["rotation_matrix"], interpolation, self._argument("fill_mode"), self._argument("fill_value")
        )
    def _changed_boxes(self, boxes, t, height, width):
        angle = np.asarray(t["angle"], "float32")
        none = np.zeros_like(angle)
        turned = affine_transform(
            boxes.reshape(len(angle), -1, 4), angle, none, none, none + 1, none, none, height, width
        )
        return np.asarray(turned).reshape(boxes.shape)



@category.base_of("RandomZoom")
class Zoom(GeometricLayer):
    """Images made smaller or larger at random; a positive factor makes them smaller."""

    _USE_FACTOR, _BOXES = False, "xyxy"
    _ERROR = (
        "The `height_factor` and `width_factor` arguments should be a number (or a list of two numbers) in the range "
        "(-1.0, 1.0]. "
    )

    def _prepare(self):
        super()._prepare()
        self._height = signed_range(self._argument("height_factor"), "height_factor", -1.0, 1.0, self._ERROR)
        width = self._argument("width_factor")
        self._width = None if width is None else signed_range(width, "width_factor", -1.0, 1.0, self._ERROR)

    def _drawn(self, shape):
        high = self._uniform((shape[0], 1), *(1.0 + f for f in self._height))
        wide = high if self._width is None else self._uniform((shape[0], 1), *(1.0 + f for f in self._width))
        return {"height_zoom": high, "width_zoom": wide, "input_shape": shape}

    def _warped(self, images, t, interpolation):
        h, w = images.shape[1:3]
        x, y = np.asarray(t["width_zoom"], "float32"), np.asarray(t["height_zoom"], "float32")
        zero = np.zeros_like(x)
        dx, dy = np.float32((w - 1) / 2) * (1 - x), np.float32((h - 1) / 2) * (1 - y)
        matrices = np.concatenate([x, zero, dx, zero, y, dy, zero, zero], 1)
        return pixels.transformed(
            images, matrices, interpolation, self._argument("fill_mode"), self._argument("fill_value")
        )

    def _changed_boxes(self, boxes, t, height, width):
        columns = []
        for i, (name, n) in enumerate((("width_zoom", width), ("height_zoom", height)) * 2):
            zoom = np.asarray(t[name], "float32").reshape(-1, 1)
            begin = np.float32((n - 1) / 2) * (1 - zoom)
            seen = np.float32(n) * zoom
            columns.append((np.clip(boxes[..., i], begin, begin + seen) - begin) * (np.float32(n) / seen))
        return np.stack(columns, -1)


@category.base_of("RandomTranslation")
class Translation(GeometricLayer):
    """Images moved at random, by shares of their height and width."""

    _USE_FACTOR, _BOXES = False, "xyxy"
    _ERROR = "The `factor` argument should be a number (or a list of two numbers) in the range [-1.0, 1.0]. "

    def _prepare(self):
        super()._prepare()
        self._height, self._width = (
            signed_range(self._argument(n), n, -1.0, 1.0, self._ERROR) for n in ("height_factor", "width_factor")
        )

    def _drawn(self, shape):
        down = self._uniform((shape[0], 1), *self._height) * shape[1]
        right = self._uniform((shape[0], 1), *self._width) * shape[2]
        return {"translations": np.concatenate([right, down], 1).astype("float32"), "input_shape": shape}

    def _warped(self, images, t, interpolation):
        by = np.asarray(t["translations"], "float32")
        one, zero = np.ones_like(by[:, :1]), np.zeros_like(by[:, :1])
        matrices = np.concatenate([one, zero, -by[:, :1], zero, one, -by[:, 1:], zero, zero], 1)
        return pixels.transformed(
            images, matrices, interpolation, self._argument("fill_mode"), self._argument("fill_value")
        )

    def _changed_boxes(self, boxes, t, height, width):
        by = np.tile(np.asarray(t["translations"], "float32"), 2)
        return boxes + (by[:, None] if boxes.ndim == 3 else by)


@category.base_of("RandomShear")
class Shear(GeometricLayer):
    """Images sheared at random."""

    _USE_FACTOR, _BOXES = False, "rel_xyxy"
    _ERROR = "The `factor` argument should be a number (or a list of two numbers) in the range [0, 1.0]. "

    def _prepare(self):
        super()._prepare()
        self._x, self._y = (signed_range(self._argument(n), n, 0.0, 1.0, self._ERROR) for n in ("x_factor", "y_factor"))

    def _drawn(self, shape):
        sign = np.where(self._uniform((shape[0], 1)) > 0.5, np.float32(-1), np.float32(1))
        y, x = self._uniform((shape[0], 1), *self._y), self._uniform((shape[0], 1), *self._x)
        return {"shear_factor": np.concatenate([x, y], 1) * sign, "input_shape": shape}

    def _warped(self, images, t, interpolation):
        by = np.asarray(t["shear_factor"], "float32")
        one, zero = np.ones_like(by[:, 0]), np.zeros_like(by[:, 0])
        matrices = np.stack([one, by[:, 0], zero, by[:, 1], one, zero, zero, zero], 1)
        return pixels.transformed(
            images, matrices, interpolation, self._argument("fill_mode"), self._argument("fill_value")
        )

    def _changed_boxes(self, boxes, t, height, width):
        across, down = np.split(np.asarray(t["shear_factor"], "float32"), 2, -1)
        x1, y1, x2, y2 = np.moveaxis(boxes, -1, 0)
        x1, x2 = x1 - across * np.where(across < 0, y1, y2), x2 - across * np.where(across < 0, y2, y1)
        y1, y2 = y1 - down * np.where(down > 0, x2, x1), y2 - down * np.where(down > 0, x1, x2)
        return np.stack([x1, y1, x2, y2], -1)


@category.base_of("RandomPerspective")
class Perspective(GeometricLayer):
    """Images seen from another side at random."""

    _BOUNDS, _BOXES = (0, 1), "xyxy"

    def _prepare(self):
        super()._prepare()
        scale = self._argument("scale")
        if not 0.0 <= scale <= 1.0:
            raise ValueError(f"The `scale` argument should be a number in the range [0,1]. Received: scale={scale}")

    def _drawn(self, shape):
        chance = self._uniform((shape[0],), *self._range)
        applied = self._uniform((shape[0],)) < chance
        half = 0.5 * self._argument("scale")
        w, h = shape[2] - 1, shape[1] - 1
        start = np.repeat(np.array([[[0, 0], [w, 0], [0, h], [w, h]]], "float32"), shape[0], 0)
        end = start + start * self._uniform((shape[0], 4, 2), -half, half)
        return {"apply_perspective": applied, "start_points": start, "end_points": end, "input_shape": shape}

    def _warped(self, images, t, interpolation):
        matrices = pixels.homographies(np.asarray(t["start_points"]), np.asarray(t["end_points"]))
        warped = pixels.transformed(images, matrices, interpolation, "constant", self._argument("fill_value"))
        return np.where(np.asarray(t["apply_perspective"])[:, None, None, None], warped, images)


    def _changed_boxes(self, boxes, t, height, width):
        matrices = pixels.homographies(np.asarray(t["start_points"]), np.asarray(t["end_points"]))
        whole = np.concatenate([matrices, np.ones_like(matrices[:, :1])], 1).reshape(-1, 1, 3, 3)
        x1, y1, x2, y2 = np.moveaxis(boxes.reshape(len(whole), -1, 4), -1, 0)
        corners = np.stack([np.stack([x, y, np.ones_like(x)], -1) for x in (x1, x2) for y in (y1, y2)], -1)
        seen = np.linalg.inv(whole) @ corners
        seen = seen[..., :2, :] / seen[..., 2:, :]
        moved = np.concatenate([seen.min(-1), seen.max(-1)], -1)
        applied = np.asarray(t["apply_perspective"]).reshape(-1, 1, 1)
        return np.where(applied, moved, boxes.reshape(moved.shape)).reshape(boxes.shape)
