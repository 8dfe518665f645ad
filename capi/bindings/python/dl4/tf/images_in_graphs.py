"""tf.image on symbolic tensors and on tapes: the functions of image.py in keras.ops."""

import builtins

import numpy as np

from ..keras import ops, random
from .dispatch import name_of


def resize(images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None):
    if preserve_aspect_ratio:
        raise NotImplementedError("tf.image.resize: `preserve_aspect_ratio` of symbolic tensors is not here")
    size = tuple(int(n) for n in np.ravel(size))
    return ops.image.resize(images, size, interpolation=method, antialias=antialias)


def _places(low, high, size, count, method):
    """Of each box: the share of each of `size` places of an axis in each of `count`, and which of these lie outside."""
    steps = np.arange(count, dtype="float32") / max(count - 1, 1) if count > 1 else np.array([0.5], "float32")
    at = (ops.expand_dims(low, 1) + ops.expand_dims(high - low, 1) * steps) * float(size - 1)
    inside = ops.cast(ops.logical_and(at >= 0.0, at <= float(size - 1)), "float32")
    at = ops.expand_dims(ops.floor(at + 0.5) if method == "nearest" else at, -1)
    shares = ops.maximum(1.0 - ops.abs(at - np.arange(size, dtype="float32")), 0.0)
    return shares * ops.expand_dims(inside, -1), inside


def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None):
    """The parts of images in boxes, each in the size that is said."""
    if method not in ("bilinear", "nearest"):
        raise ValueError(f"tf.image.crop_and_resize: `method`: expected 'bilinear' or 'nearest', got {method!r}")
    height, width, channels = image.shape[-3:]
    tall, wide = (int(n) for n in np.ravel(crop_size))
    sides = [boxes[:, i] for i in builtins.range(4)]
    rows, row_inside = _places(sides[0], sides[2], height, tall, method)
    columns, column_inside = _places(sides[1], sides[3], width, wide, method)
    x = ops.reshape(ops.take(ops.cast(image, "float32"), box_indices, axis=0), (-1, height, width * channels))
    x = ops.transpose(ops.reshape(ops.matmul(rows, x), (-1, tall, width, channels)), (0, 2, 1, 3))
    x = ops.matmul(columns, ops.reshape(x, (-1, width, tall * channels)))
    x = ops.transpose(ops.reshape(x, (-1, wide, tall, channels)), (0, 2, 1, 3))
    if not extrapolation_value:
        return x
    inside = ops.expand_dims(row_inside, 2) * ops.expand_dims(column_inside, 1)
    return x + ops.expand_dims(1.0 - inside, -1) * float(extrapolation_value)


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    top, left = int(offset_height), int(offset_width)
    return image[..., top : top + int(target_height), left : left + int(target_width), :]


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    h, w = image.shape[-3:-1]
    around = [
        (int(offset_height), int(target_height) - h - int(offset_height)),
        (int(offset_width), int(target_width) - w - int(offset_width)),
    ]
    return ops.pad(image, [(0, 0)] * (len(image.shape) - 3) + [*around, (0, 0)])


def resize_with_crop_or_pad(image, target_height, target_width):
    x, around = image, [(0, 0)] * len(image.shape)
    for axis, size in ((-3, target_height), (-2, target_width)):
        more = size - x.shape[axis]
        if more < 0:
            x = ops.take(x, np.arange(-more // 2, -more // 2 + size), axis=axis)
        around[axis] = (more // 2, more - more // 2) if more > 0 else (0, 0)
    return ops.pad(x, around)


def central_crop(image, central_fraction):
    h, w = image.shape[-3:-1]
    top, left = int((h - h * central_fraction) / 2), int((w - w * central_fraction) / 2)
    return crop_to_bounding_box(image, top, left, h - 2 * top, w - 2 * left)


def flip_left_right(image):
    return ops.flip(image, -2)


def flip_up_down(image):
    return ops.flip(image, -3)


def transpose(image, name=None):
    return ops.swapaxes(image, -3, -2)


def rot90(image, k=1, name=None):
    return ops.rot90(image, k, (-3 % len(image.shape), -2 % len(image.shape)))


def rgb_to_grayscale(images, name=None):
    return ops.sum(images * np.array([0.2989, 0.5870, 0.1140], "float32"), axis=-1, keepdims=True)


def grayscale_to_rgb(images, name=None):
    return ops.repeat(images, 3, axis=-1)


def rgb_to_hsv(images, name=None):
    return ops.image.rgb_to_hsv(images)


def hsv_to_rgb(images, name=None):
    return ops.image.hsv_to_rgb(images)


def convert_image_dtype(image, dtype, saturate=False, name=None):
    was, to = str(image.dtype), name_of(dtype)
    if was == to:
        return image
    if "float" in to:
        return ops.cast(image, to) * (1 if "float" in was else 1 / np.iinfo(was).max)
    scaled = image * (np.iinfo(to).max + 0.5)
    return ops.cast(ops.clip(scaled, 0, np.iinfo(to).max) if saturate else scaled, to)


def _in_floats(image, change):
    return convert_image_dtype(change(convert_image_dtype(image, "float32")), image.dtype, saturate=True)


def adjust_brightness(image, delta):
    return _in_floats(image, lambda x: x + delta)


def adjust_contrast(images, contrast_factor):
    def change(x):
        middle = ops.mean(x, axis=(-3, -2), keepdims=True)
        return (x - middle) * contrast_factor + middle

    return _in_floats(images, change)


def adjust_gamma(image, gamma=1, gain=1):
    return _in_floats(image, lambda x: gain * x**gamma)


def _adjusted(image, channel, change):
    def on_hsv(x):
        parts = [rgb_to_hsv(x)[..., i : i + 1] for i in builtins.range(3)]
        parts[channel] = change(parts[channel])
        return hsv_to_rgb(ops.concatenate(parts, axis=-1))

    return _in_floats(image, on_hsv)


def adjust_saturation(image, saturation_factor, name=None):
    return _adjusted(image, 1, lambda s: ops.clip(s * saturation_factor, 0, 1))


def adjust_hue(image, delta, name=None):
    return _adjusted(image, 0, lambda h: (h + delta) % 1)


def per_image_standardization(image):
    x, axes = ops.cast(image, "float32"), (-3, -2, -1)
    least = float(1 / np.sqrt(np.prod(image.shape[-3:])))
    deviation = ops.maximum(ops.std(x, axis=axes, keepdims=True), least)
    return (x - ops.mean(x, axis=axes, keepdims=True)) / deviation


def _differences(x):
    return x[..., 1:, :, :] - x[..., :-1, :, :], x[..., :, 1:, :] - x[..., :, :-1, :]


def total_variation(images, name=None):
    return builtins.sum(ops.sum(ops.abs(d), axis=(-3, -2, -1)) for d in _differences(images))


def image_gradients(image):
    down, right = _differences(image)
    none = [(0, 0)] * (len(image.shape) - 3)
    return ops.pad(down, [*none, (0, 1), (0, 0), (0, 0)]), ops.pad(right, [*none, (0, 0), (0, 1), (0, 0)])


def psnr(a, b, max_val, name=None):
    top = max_val if "float" in str(a.dtype) else 1
    a, b = (convert_image_dtype(ops.convert_to_tensor(v), "float32") for v in (a, b))
    error = ops.mean(ops.square(a - b), axis=(-3, -2, -1))
    return float(20 * np.log10(top)) - ops.log(error) * float(10 / np.log(10))


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False):
    if return_index_map:
        raise NotImplementedError("tf.image.ssim: `return_index_map` is not in this version of the library")
    top = max_val if "float" in str(img1.dtype) else 1
    x, y = (convert_image_dtype(ops.convert_to_tensor(v), "float32") for v in (img1, img2))
    at = np.arange(filter_size) - (filter_size - 1) / 2
    bell = np.exp(-(at**2) / (2 * filter_sigma**2))
    bell /= bell.sum()
    channels = x.shape[-1]
    window = np.tile((bell[:, None] * bell)[:, :, None, None], (1, 1, channels, 1)).astype("float32")
    batch = x.shape[:-3]

    def mean(v):
        v = ops.reshape(v, (-1, *v.shape[-3:])) if len(batch) != 1 else v
        return ops.depthwise_conv(v, window, padding="valid", data_format="channels_last")

    c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
    mx, my = mean(x), mean(y)
    luminance = (mx * my * 2 + c1) / (mx * mx + my * my + c1)
    contrast = (mean(x * y) * 2 - mx * my * 2 + c2) / (mean(x * x + y * y) - mx * mx - my * my + c2)
    out = ops.mean(luminance * contrast, axis=(-3, -2, -1))
    return out if len(batch) == 1 else ops.reshape(out, batch)


def sobel_edges(image):
    """Differences downwards and to the right, smoothed across: the last axis."""
    x = ops.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], "float32")
    channels = x.shape[-1]
    found = [
        ops.depthwise_conv(
            x,
            np.tile(kernel[:, :, None, None], (1, 1, channels, 1)),
            padding="valid",
            data_format="channels_last",
        )
        for kernel in (down, down.T)
    ]
    return ops.stack(found, axis=-1)


def extract_patches(images, sizes, strides, rates, padding, name=None):
    return ops.image.extract_patches(
        images,
        tuple(sizes[1:3]),
        strides=tuple(strides[1:3]),
        dilation_rate=tuple(rates[1:3]),
        padding=padding.lower(),
        data_format="channels_last",
    )


def _drawn(image, seed, low=0.0, high=1.0):
    """A number for each image."""
    batch = ops.shape(image)[:-3]
    return random.uniform((*batch, 1, 1, 1), low, high, seed=seed)


def random_flip_left_right(image, seed=None):
    return ops.where(_drawn(image, seed) < 0.5, flip_left_right(image), image)


def random_flip_up_down(image, seed=None):
    return ops.where(_drawn(image, seed) < 0.5, flip_up_down(image), image)


def random_brightness(image, max_delta, seed=None):
    return adjust_brightness(image, random.uniform((), -max_delta, max_delta, seed=seed))


def random_contrast(image, lower, upper, seed=None):
    return adjust_contrast(image, random.uniform((), lower, upper, seed=seed))


def random_saturation(image, lower, upper, seed=None):
    return adjust_saturation(image, random.uniform((), lower, upper, seed=seed))


def random_hue(image, max_delta, seed=None):
    return adjust_hue(image, random.uniform((), -max_delta, max_delta, seed=seed))


__all__ = [n for n, v in list(globals().items()) if n[0] != "_" and callable(v) and v.__module__ == __name__]
