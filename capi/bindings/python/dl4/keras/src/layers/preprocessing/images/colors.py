"""Layers that change the colours of images: brightness, contrast, hue, saturation, and the like."""

from ....backend.lazy import np
from ...layer import category
from ....on_arrays import pixels
from .image_layer import ImageLayer, signed_range


class ColorLayer(ImageLayer):
    """A layer with a range of values."""

    def _prepare(self):
        super()._prepare()
        self._values = self._value_range()

    def _clipped(self, images):
        return np.clip(images, *self._values).astype("float32")


@category.base_of("RandomBrightness")
class Brightness(ColorLayer):
    """Images made lighter or darker at random, by shares of the range of values."""

    def _drawn(self, shape):
        span = np.float32(self._values[1] - self._values[0])
        return {"rgb_delta": self._uniform((shape[0], 1, 1, 1), *self._range) * span}

    def _changed(self, images, t):
        return self._clipped(images + np.asarray(t["rgb_delta"], "float32"))


@category.base_of("RandomContrast")
class Contrast(ColorLayer):
    """Images with less or more contrast, at random."""

    _BOUNDS = (0, 1)

    def _drawn(self, shape):
        return {"contrast_factor": self._uniform((shape[0], 1, 1, 1), 1.0 - self._range[0], 1.0 + self._range[1])}

    def _changed(self, images, t):
        middle = images.mean(1, keepdims=True).mean(2, keepdims=True)
        return self._clipped((images - middle) * np.asarray(t["contrast_factor"], "float32") + middle)


@category.base_of("RandomColorDegeneration")
class ColorDegeneration(ColorLayer):
    """Images with less colour, at random."""

    def _drawn(self, shape):
        return {"factor": self._uniform((shape[0], 1, 1, 1), *self._range)}

    def _changed(self, images, t):
        return self._clipped(images + np.asarray(t["factor"], "float32") * (pixels.grayscale(images) - images))


@category.base_of("RandomHue")
class Hue(ColorLayer):
    """Images of another hue, at random."""

    _BOUNDS = (0, 1)

    def _drawn(self, shape):
        sign = np.where(self._uniform((shape[0],)) > 0.5, np.float32(-1), np.float32(1))
        return {"factor": sign * self._uniform((shape[0],), *self._range) * np.float32(0.5)}

    def _changed(self, images, t):
        hsv = pixels.to_hsv(pixels.scaled(images, self._values, (0, 1)))
        hue = hsv[..., 0] + np.asarray(t["factor"], "float32")[:, None, None]
        hue = np.where(hue > 1, hue - 1, hue)
        hsv[..., 0] = np.where(hue < 0, hue + 1, hue)
        return pixels.scaled(np.clip(pixels.to_rgb(hsv), 0, 1), (0, 1), self._values)


@category.base_of("RandomSaturation")
class Saturation(ColorLayer):
    """Images of more or less saturated colours, at random."""

    def _drawn(self, shape):
        factor = self._uniform((shape[0],), *self._range)
        return {"factor": factor / (1 - factor + np.float32(1e-7))}

    def _changed(self, images, t):
        hsv = pixels.to_hsv(images)
        hsv[..., 1] = np.clip(hsv[..., 1] * np.asarray(t["factor"], "float32")[:, None, None], *self._values)
        return pixels.to_rgb(hsv)


@category.base_of("RandomColorJitter")
class ColorJitter(ImageLayer):
    """Images of other brightness, contrast, saturation and hue, at random."""

    _USE_FACTOR = False
    _PARTS = ("brightness", "contrast", "saturation", "hue")

    def _prepare(self):
        super()._prepare()
        more = {k: self._argument(k) for k in ("value_range", "seed") if self._argument(k) is not None}
        if self._first():
            more["data_format"] = "channels_first"
        self._layers_by_part = {}
        for part in self._PARTS:
            factor = self._argument(f"{part}_factor")
            if factor is not None:
                kind = category.class_of(f"Random{part.capitalize()}")
                self._layers_by_part[part] = kind(factor=factor, **more)

    def _drawn(self, shape):
        given = (shape[0], shape[-1], *shape[1:-1]) if self._first() else shape
        blank = np.broadcast_to(np.float32(0), given)
        return {part: layer.get_random_transformation(blank) for part, layer in self._layers_by_part.items()}

    def transform_images(self, images, transformation, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        images = np.asarray(images).astype("float32")
        for part, layer in self._layers_by_part.items() if training and transformation is not None else ():
            images = np.asarray(layer.transform_images(images, transformation[part]))
        return images


@category.base_of("RandomGrayscale")
class Grayscale(ImageLayer):
    """Images without colour, each with a chance."""

    _USE_FACTOR = False

    def _prepare(self):
        super()._prepare()
        factor = self._argument("factor")
        if not 0 <= factor <= 1:
            raise ValueError(f"`factor` should be between 0 and 1. Received: factor={factor}")

    def _drawn(self, shape):
        return self._uniform((shape[0], 1, 1, 1)) < self._argument("factor")

    def _changed(self, images, t):
        return np.where(np.asarray(t), pixels.grayscale(images), images)


@category.base_of("RandomInvert")
class Invert(ColorLayer):
    """Images of inverted colours, each with a chance."""

    _BOUNDS = (0, 1)

    def _drawn(self, shape):
        chance = self._uniform((shape[0],), *self._range)
        return {"apply_inversion": self._uniform((shape[0],)) < chance}

    def _changed(self, images, t):
        return np.where(
            np.asarray(t["apply_inversion"])[:, None, None, None], np.float32(self._values[1]) - images, images
        )


@category.base_of("RandomPosterization")
class Posterization(ColorLayer):
    """Images of fewer bits a colour, at random."""

    _BOUNDS = (1, 8)

    def _drawn(self, shape):
        low, high = (int(f) for f in self._range)
        bits = np.full(shape[0], low) if low == high else self._source.numpy.integers(low, high, shape[0])
        return {"shift_factor": (8 - bits).astype("uint8")}

    def _changed(self, images, t):
        shift = np.asarray(t["shift_factor"], "uint8")[:, None, None, None]
        whole = pixels.scaled(images, self._values, (0, 255)).astype("int64").astype("uint8")
        return pixels.scaled(((whole >> shift) << shift).astype("float32"), (0, 255), self._values)


@category.base_of("RandomSharpness")
class Sharpness(ColorLayer):
    """Images made blurred or sharp at random."""

    _BOUNDS = (0, 1)

    def _drawn(self, shape):
        return {"factor": self._uniform((shape[0],), *self._range)}

    def _changed(self, images, t):
        kernel = np.full((3, 3), 1 / 13, "float32")
        kernel[1, 1] = 5 / 13
        factor = np.asarray(t["factor"], "float32").reshape(-1, 1, 1, 1) * 2
        return self._clipped(images + (1 - factor) * (pixels.filtered(images, kernel) - images))


@category.base_of("RandomGaussianBlur")
class GaussianBlur(ColorLayer):
    """Images blurred by a Gaussian kernel, each with a chance."""

    _BOUNDS = (0, 1)

    def _prepare(self):
        super()._prepare()
        size, sigma = self._argument("kernel_size"), self._argument("sigma")
        self._size = tuple(size) if isinstance(size, (tuple, list)) else (size, size)
        if len(self._size) != 2 or any(n % 2 == 0 for n in self._size):
            raise ValueError(f"kernel_size must be an odd number. Received: kernel_size={size}")
        words = "The `sigma` argument should be a number (or a list of two numbers) in the range [0, 1]. "
        self._sigma = signed_range(sigma, "factor", 0, 1, words, two_sided=False)

    def _drawn(self, shape):
        chance = self._uniform((shape[0],), *self._range)
        applied = self._uniform((shape[0],)) < chance
        return {"should_apply_blur": applied, "blur_factor": self._uniform((2,), *self._sigma) + np.float32(1e-6)}

    def _changed(self, images, t):
        blurred = pixels.filtered(images, pixels.gaussian(self._size, np.asarray(t["blur_factor"])))
        return self._clipped(np.where(np.asarray(t["should_apply_blur"])[:, None, None, None], blurred, images))


@category.base_of("Solarization")
class Solarization(ColorLayer):
    """Images whose values from a threshold up are inverted, after an addition, at random."""

    _USE_FACTOR = False
    _ERROR = (
        "The `addition_factor` and `threshold_factor` arguments should be a number (or a list of two numbers) in the "
        "range [0, 1]. "
    )

    def _prepare(self):
        super()._prepare()
        self._addition, self._threshold = (
            signed_range(self._argument(n), n, 0, 1.0, self._ERROR, two_sided=False)
            for n in ("addition_factor", "threshold_factor")
        )

    def _drawn(self, shape):
        each = (shape[0], 1, 1, 1)
        low, high = self._addition, self._threshold
        return {
            "additions": self._uniform(each, low[0], low[1] * 255),
            "thresholds": self._uniform(each, high[0], high[1] * 255),
        }

    def _changed(self, images, t):
        whole = pixels.scaled(images, self._values, (0, 255)) + np.asarray(t["additions"], "float32")
        whole = np.clip(whole, 0, 255)
        whole = np.where(whole < np.asarray(t["thresholds"], "float32"), whole, 255 - whole)
        return pixels.scaled(whole.astype("float32"), (0, 255), self._values)
