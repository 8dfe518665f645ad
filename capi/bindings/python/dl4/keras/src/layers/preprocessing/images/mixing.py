"""RandomErasing, MixUp, CutMix, RandAugment, AugMix, RandomElasticTransform."""

from ....backend.eager_tensor import eager_tensor
from ....backend.lazy import np
from ...layer import category
from ....on_arrays import pixels
from ....on_arrays.image import elastic_transform
from .colors import ColorLayer
from .image_layer import factor_range, GeometricLayer, ImageLayer, signed_range


def _bounds(layer, count, length, ratio):
    """Where boxes begin and end, of a share of a length."""
    size = np.asarray(ratio * length, "float32")
    begin = layer._uniform((count,)) * (length - size)
    return begin, begin + size


@category.base_of("RandomErasing")
class Erasing(ColorLayer):
    """Images with a rectangle filled, each with a chance."""

    _BOUNDS = (0, 1)

    def _prepare(self):
        super()._prepare()
        self._scale = factor_range(self._argument("scale"), (0, 1))

    def _drawn(self, shape):
        n, h, w, c = shape
        share = np.sqrt(self._uniform((n, 2), *self._scale))
        x, y = _bounds(self, n, w, share[:, 0]), _bounds(self, n, h, share[:, 1])
        masks = np.repeat(pixels.boxes(shape, *x, *y), c, -1)
        chance = self._uniform((n,), *self._range)
        applied = self._uniform((n,)) < chance
        return {"apply_erasing": applied, "batch_masks": masks, "fill_value": self._fill(shape)}

    def _fill(self, shape):
        value = self._argument("fill_value")
        if value is None:
            value = self._source.numpy.standard_normal(shape) * self._values[1]
        elif isinstance(value, (tuple, list)) and len(value) != 3 or not isinstance(value, (tuple, list, int, float)):
            raise ValueError("The `fill_value` argument should be a number (or a list of three numbers) ")
        return self._clipped(np.broadcast_to(np.asarray(value, "float32"), shape))

    def _changed(self, images, t):
        erased = np.where(np.asarray(t["batch_masks"]), np.asarray(t["fill_value"]), images)
        return np.where(np.asarray(t["apply_erasing"])[:, None, None, None], erased, images)


class _Mixing(ImageLayer):
    """Labels are mixed as the images."""

    def transform_labels(self, labels, transformation, training=True):
        """The labels for a transformation of the pictures."""
        if not training or transformation is None:
            return labels
        labels, order = np.asarray(labels), np.asarray(transformation["permutation_order"])
        weight = np.asarray(transformation["mix_weight"], "float32").reshape(-1, 1)
        return eager_tensor((weight * labels + (1 - weight) * labels[order]).astype("float32"))


@category.base_of("MixUp")
class MixUp(_Mixing):
    """Images, and labels, mixed with those of another image of the batch."""

    _USE_FACTOR = False

    def _drawn(self, shape):
        alpha = self._argument("alpha")
        order = self._source.numpy.permutation(shape[0])
        weight = self._source.numpy.beta(alpha, alpha, shape[0]).astype("float32")
        return {"mix_weight": weight, "permutation_order": order}

    def _changed(self, images, t):
        weight = np.asarray(t["mix_weight"], "float32").reshape(-1, 1, 1, 1)
        return weight * images + (1 - weight) * images[np.asarray(t["permutation_order"])]

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """Those of both images."""
        if not training or transformation is None:
            return bounding_boxes
        order = np.asarray(transformation["permutation_order"])
        both = {k: (v, v[order]) for k, v in ((k, np.asarray(bounding_boxes[k])) for k in ("boxes", "labels"))}
        return {k: eager_tensor(np.concatenate(v, min(1, v[0].ndim - 1))) for k, v in both.items()}


@category.base_of("CutMix")
class CutMix(_Mixing):
    """Images with a rectangle of another image of the batch, and labels mixed by its share."""

    _BOUNDS = (0, 1)

    def get_random_transformation(self, data, training=True, seed=None):
        one = not isinstance(data, dict) and np.ndim(data) == 3
        return None if one else super().get_random_transformation(data, training, seed)

    def call(self, data, training=None):
        images = data["images"] if isinstance(data, dict) else data
        return super().call(data, training=training if len(images.shape) == 4 else False)

    def _drawn(self, shape):
        n, h, w, _ = shape
        alpha = float(self._uniform((), *self._range)) + 1e-6
        ratio = np.sqrt(1 - self._source.numpy.beta(alpha, alpha, n).astype("float32"))
        (x0, x1), (y0, y1) = _bounds(self, n, w, ratio), _bounds(self, n, h, ratio)
        masks = np.repeat(pixels.boxes(shape, x0, x1, y0, y1), shape[3], -1)
        weight = 1 - (x1 - x0) * (y1 - y0) / (w * h)
        return {"permutation_order": self._source.numpy.permutation(n), "batch_masks": masks, "mix_weight": weight}

    def _changed(self, images, t):
        return np.where(np.asarray(t["batch_masks"]), images[np.asarray(t["permutation_order"])], images)

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """The bounding boxes under a transformation of the pictures."""
        raise NotImplementedError("CutMix does not support bounding boxes, as in Keras")


class _Several(ImageLayer):
    """Other layers, chosen at random."""

    _BOUNDS = (0, 1)

    def _made(self, names):
        """The layers by name."""
        more, values = {"seed": self._argument("seed")}, {"value_range": self._value_range()}
        if self.bounding_box_format is not None:
            more["bounding_box_format"] = self.bounding_box_format
        if self._first():
            more["data_format"] = "channels_first"
        moving, factor = {"interpolation": self._argument("interpolation")}, self._range
        arguments = {
            "RandomShear": {"x_factor": factor, "y_factor": factor, **moving, **more},
            "RandomTranslation": {"height_factor": factor, "width_factor": factor, **moving, **more},
            "RandomRotation": {"factor": factor, **moving, **more},
            "RandomPosterization": {"factor": max(1, int(8 * factor[1])), **values, **more},
            "Solarization": {"addition_factor": factor, "threshold_factor": factor, **values, "seed": more["seed"]},
            "AutoContrast": values,
            "Equalization": values,
        }
        return {n: category.class_of(n)(**arguments.get(n, {"factor": factor, **values, **more})) for n in names}


_ALL = (
    "RandomShear RandomTranslation RandomRotation RandomBrightness RandomColorDegeneration RandomContrast "
    "RandomSharpness RandomPosterization Solarization AutoContrast Equalization"
).split()
_WITHOUT_COLORS = (
    "RandomShear RandomTranslation RandomRotation RandomPosterization Solarization AutoContrast Equalization"
)


@category.base_of("RandAugment")
class RandAugment(_Several):
    """Images changed by some layers, which are chosen at random."""

    def _prepare(self):
        super()._prepare()
        self._parts = self._made(_ALL)

    def get_random_transformation(self, data, training=True, seed=None):
        if not training:
            return None
        chosen = self._source.numpy.integers(0, len(_ALL), self._argument("num_ops"))
        drawn = tuple(self._parts[_ALL[i]].get_random_transformation(data) for i in chosen)
        return {"layer_idxes": chosen, "transforms": drawn}

    def transform_images(self, images, transformation, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        images = np.asarray(images).astype("float32")
        if training and transformation is not None:
            for i, t in zip(transformation["layer_idxes"], transformation["transforms"]):
                images = np.asarray(self._parts[_ALL[int(i)]].transform_images(images, t))
        return images

    def transform_bounding_boxes(self, bounding_boxes, transformation, training=True):
        """The bounding boxes under a transformation of the pictures."""
        if training and transformation is not None:
            for i, t in zip(transformation["layer_idxes"], transformation["transforms"]):
                bounding_boxes = self._parts[_ALL[int(i)]].transform_bounding_boxes(bounding_boxes, t)
        return bounding_boxes


@category.base_of("AugMix")
class AugMix(_Several):
    """Images mixed with what chains of layers, which are chosen at random, make of them."""

    def _prepare(self):
        super()._prepare()
        self._names = _ALL if self._argument("all_ops") else _WITHOUT_COLORS.split()
        self._parts = self._made(self._names)

    def get_random_transformation(self, data, training=True, seed=None):
        if not training:
            return None
        rng, alpha = self._source.numpy, self._argument("alpha")
        weights = rng.gamma(alpha, size=self._argument("num_chains"))
        chains = []
        for _ in range(self._argument("num_chains")):
            chosen = [int(i) for i in rng.integers(0, len(self._names) + 1, self._argument("chain_depth"))]
            names = [self._names[i] for i in chosen if i < len(self._names)]
            chains.append([(n, self._parts[n].get_random_transformation(data)) for n in names])
        return {"weights": weights / weights.sum(), "share": rng.beta(alpha, alpha), "chains": chains}

    def transform_images(self, images, transformation, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        images = np.asarray(images).astype("float32")
        if not training or transformation is None:
            return images
        mixed = np.zeros_like(images)
        for weight, chain in zip(transformation["weights"], transformation["chains"]):
            changed = images
            for name, t in chain:
                changed = np.asarray(self._parts[name].transform_images(changed, t))
            mixed += changed * np.float32(weight)
        share = np.float32(transformation["share"])
        return np.clip(share * images + (1 - share) * mixed, *self._value_range()).astype("float32")


@category.base_of("RandomElasticTransform")
class ElasticTransform(GeometricLayer):
    """Images whose pixels move by smooth random ways, each image with a chance."""

    _BOUNDS, _FILLS = (0, 1), (*GeometricLayer._FILLS, "mirror")

    def _prepare(self):
        super()._prepare()
        words = "The `scale` argument should be a number (or a list of two numbers) in the range [0, 1]. "
        self._scale = signed_range(self._argument("scale"), "factor", 0, 1, words, two_sided=False)

    def _drawn(self, shape):
        if self._scale[1] == 0 or self._range[1] == 0:
            return None
        chance = self._uniform((shape[0],), *self._range)
        applied = self._uniform((shape[0],)) < chance
        return {"apply_transform": applied, "distortion_factor": self._uniform((), *self._scale), "seed": self._source}

    def _warped(self, images, t, interpolation):
        height, width = images.shape[1:3]
        far = {"alpha": max(height, width) * 0.1, "sigma": min(height, width) * 0.05}
        far = {k: float(v * t["distortion_factor"]) for k, v in far.items()}
        fill = {k: self._argument(k) for k in ("fill_mode", "fill_value")}
        fill["data_format"] = "channels_last"
        moved = elastic_transform(images, interpolation=interpolation, seed=t["seed"], **far, **fill)
        images = np.where(np.asarray(t["apply_transform"]).reshape(-1, 1, 1, 1), np.asarray(moved), images)
        return np.clip(images, *self._value_range()).astype("float32")
