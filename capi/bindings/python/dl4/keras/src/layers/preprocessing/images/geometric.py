"""RandomFlip, RandomCrop, RandomRotation, RandomZoom, RandomTranslation, RandomShear, RandomPerspective."""

from ....backend.lazy import np
from ...layer import category
from ....on_arrays import pixels
from .image_layer import GeometricLayer, ImageLayer, signed_range


@category.base_of("RandomFlip")
class Flip(ImageLayer):
    """Images mirrored at random, each with the chance of a half."""

    _USE_FACTOR = False

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

    def transform_segmentation_masks(self, segmentation_masks, transformation, training=True):
        return self.transform_images(segmentation_masks, transformation, training)


@category.base_of("RandomCrop")
class Crop(ImageLayer):
    """A part of each image, at random; of smaller images as much as has that form, in another size."""

    _USE_FACTOR = False

    def _changed_shape(self, shape):
        size = (self._argument("height"), self._argument("width"))
        return (shape[0], shape[1], *size) if self._first() else (shape[0], *size, shape[3])

    def _drawn(self, shape):
        h, w, height, width = shape[1], shape[2], self._argument("height"), self._argument("width")
        if h > height and w > width:
            return tuple(int(self._uniform((), 0, n + 1)) for n in (h - height, w - width))
        high = max(min(h, int(float(w * height) / width)), 1)
        wide = max(min(w, int(float(h * width) / height)), 1)
        return int(float(h - high) / 2), int(float(w - wide) / 2)

    def _changed(self, images, t):
        height, width = self._argument("height"), self._argument("width")
        images = images[:, t[0] : t[0] + height, t[1] : t[1] + width]
        if images.shape[1:3] == (height, width):
            return images
        return np.asarray(category.class_of("Resizing")(height, width)(np.ascontiguousarray(images)))

    def transform_segmentation_masks(self, segmentation_masks, transformation, training=True):
        return self.transform_images(segmentation_masks, transformation, training)


@category.base_of("RandomRotation")
class Rotation(GeometricLayer):
    """Images turned at random, by shares of a full turn."""

    def _drawn(self, shape):
        angle = self._uniform((shape[0],), *(f * 360.0 for f in self._range))
        return {"angle": angle, "rotation_matrix": pixels.rotations(angle, shape[1], shape[2])}

    def _warped(self, images, t, interpolation):
        return pixels.transformed(
            images, t["rotation_matrix"], interpolation, self._argument("fill_mode"), self._argument("fill_value")
        )


@category.base_of("RandomZoom")
class Zoom(GeometricLayer):
    """Images made smaller or larger at random; a positive factor makes them smaller."""

    _USE_FACTOR = False
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


@category.base_of("RandomTranslation")
class Translation(GeometricLayer):
    """Images moved at random, by shares of their height and width."""

    _USE_FACTOR = False
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


@category.base_of("RandomShear")
class Shear(GeometricLayer):
    """Images sheared at random."""

    _USE_FACTOR = False
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


@category.base_of("RandomPerspective")
class Perspective(GeometricLayer):
    """Images seen from another side at random."""

    _BOUNDS = (0, 1)

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
