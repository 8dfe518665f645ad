"""What the layers that change images share."""

from .... import overrides, random
from ....backend import call_context
from ....backend.eager_tensor import eager_tensor
from ....backend.lazy import np
from ....symbolic.host import host_call
from ....symbolic.tensor import is_tensor
from ....tree import flatten
from ...layer import Layer
from .boxes import OfDicts

_CHANGES = ("get_random_transformation", "transform_images")  # which inference calls too where they are a user's


class ImageLayer(OfDicts, Layer):
    """Images changed at random where the layer is called on arrays, unless `training` is false: as Keras's, by a draw
    for each image."""

    _USE_FACTOR, _BOUNDS = True, (-1, 1)
    _interface, _changes_images = "layer", True

    def __init__(self, *args, **kwargs):
        self._take_box_format(kwargs)
        super().__init__(*args, **kwargs)
        self._prepare()

    def _prepare(self):
        """Reads the arguments."""
        self._source = random.SeedGenerator(self._argument("seed"))
        if self._USE_FACTOR:
            self._range = factor_range(self._argument("factor"), self._BOUNDS)

    def _argument(self, name):
        """As it was given."""
        return self._config.get(name, getattr(self, name, None))

    def _value_range(self):
        given = self._argument("value_range")
        given = (0, 255) if given is None else given
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise ValueError(
                f"The `value_range` argument should be a list of two numbers. Received: value_range={given}"
            )
        return sorted(given)

    def _uniform(self, shape, low=0.0, high=1.0):
        return self._source.numpy.uniform(low, high, shape).astype("float32")

    # ---- calls

    def __call__(self, data, training=None, **kwargs):
        if call_context.owner() is not None or any(is_tensor(leaf) for leaf in flatten(data)):
            now = call_context.training() if training is None else training
            if isinstance(now, call_context.Flag):
                now = now.value
            if now is None and call_context.step() is not None:
                now = True  # what call() takes where nobody says it
            if is_tensor(data) and (now or overrides.is_overridden(self, *_CHANGES)):
                shape = self._changed_shape(data.shape) if now else data.shape
                return host_call(self, (data,), {"training": bool(now)}, shape, "float32")
            return super().__call__(data, **({} if training is None else {"training": training}), **kwargs)
        more = {} if training is None else {"training": bool(training)}
        with call_context.running(self, training):
            return self.call(data, **more, **kwargs)

    def _changed_shape(self, shape):
        return shape

    def call(self, data, training=None):
        if any(is_tensor(leaf) for leaf in flatten(data)):
            return super().call(data, **({} if training is None else {"training": training}))
        training = call_context.training() if training is None else training
        training = True if training is None else bool(training)
        return self._changed_data(data, training)

    def _first(self):
        return self._argument("data_format") == "channels_first"

    def get_random_transformation(self, data, training=True, seed=None):
        """What is drawn for images: `transform_images` takes it."""
        if not training:
            return None
        if seed is not None:
            raise NotImplementedError(
                f"{type(self).__name__}.get_random_transformation: expected no `seed`, got {seed}"
            )
        images = np.asarray(data["images"] if isinstance(data, dict) else data)
        shape = (1, *images.shape) if images.ndim == 3 else images.shape
        t = self._drawn((shape[0], *shape[2:], shape[1]) if self._first() else shape)
        return {**t, "input_shape": images.shape} if isinstance(t, dict) and self._BOXES is not None else t

    def transform_images(self, images, transformation, training=True):
        """The pictures (B, H, W, C) under a transformation."""
        images = np.asarray(images).astype("float32")
        if not training or transformation is None:
            return eager_tensor(images)
        return eager_tensor(self._moved(images, lambda x: self._changed(x, transformation)))

    def _moved(self, images, change):
        """A change of images whose channels are the last axis."""
        return np.moveaxis(change(np.moveaxis(images, 1, -1)), -1, 1) if self._first() else change(images)


class GeometricLayer(ImageLayer):
    """Pixels that move, and those of segmentation masks with them, by the nearest pixel."""

    _WORDS, _FILLS = ("nearest", "bilinear"), ("reflect", "wrap", "constant", "nearest")

    def _prepare(self):
        super()._prepare()
        for name, known in (("fill_mode", self._FILLS), ("interpolation", self._WORDS)):
            value = self._argument(name)
            if value is not None and value not in known:
                raise NotImplementedError(f"Unknown `{name}` {value}. Expected of one {known}.")

    def _changed(self, images, t, interpolation=None):
        interpolation = interpolation or self._argument("interpolation")
        return (
            self._warped(images[None], t, interpolation)[0]
            if images.ndim == 3
            else self._warped(images, t, interpolation)
        )

    def transform_segmentation_masks(self, segmentation_masks, transformation, training=True):
        """The segmentation masks under a transformation of the pictures."""
        masks = np.asarray(segmentation_masks).astype("float32")
        if not training or transformation is None:
            return masks
        return self._moved(masks, lambda x: self._changed(x, transformation, "nearest"))


def factor_range(factor, bounds):
    """The two ends of a factor: it is a list of two numbers, or a number for both sides of 0."""
    wrong = ValueError(
        f"The `factor` argument should be a number (or a list of two numbers) in the range [{bounds[0]}, {bounds[1]}]. "
        f"Received: factor={factor}"
    )
    if isinstance(factor, (tuple, list)):
        if len(factor) != 2 or factor[0] > bounds[1] or factor[1] < bounds[0]:
            raise wrong
        return tuple(sorted(factor))
    if not isinstance(factor, (int, float)) or not bounds[0] <= factor <= bounds[1]:
        raise wrong
    return max(-abs(factor), bounds[0]), abs(factor)


def signed_range(factor, name, low, high, words, two_sided=True):
    """As factor_range(), with Keras's words for factors of other names."""

    def check(number):
        if number > high or number < low or number == low and words.endswith("(-1.0, 1.0]. "):
            raise ValueError(f"{words}Received: input_number={number}")

    if isinstance(factor, (tuple, list)):
        if len(factor) != 2:
            raise ValueError(f"{words}Received: {name}={factor}")
        for number in factor:
            check(number)
        return tuple(sorted(factor))
    if not isinstance(factor, (int, float)):
        raise ValueError(f"{words}Received: {name}={factor}")
    check(factor)
    return (-abs(factor), abs(factor)) if two_sided else (0, factor)
