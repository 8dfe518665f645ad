"""tf.image."""

import numpy as np

from ..keras.src.on_arrays import pixels
from ..keras.src.utils.directory_utils import padded
from ..keras.src.utils.image_utils import resized
from . import images_in_graphs, random
from .dispatch import array, by_tensors, name_of, refuse, tensor
from .io import decode_bmp, decode_gif, decode_image, decode_jpeg, decode_png, encode_jpeg, encode_png


class ResizeMethod:
    BILINEAR, NEAREST_NEIGHBOR, BICUBIC, LANCZOS3, LANCZOS5 = "bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"
    AREA, GAUSSIAN, MITCHELLCUBIC = "area", "gaussian", "mitchellcubic"


def resize(images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False, name=None):
    """Images in another size, in float32; of bytes by the nearest pixel bytes again."""
    if method in ("gaussian", "mitchellcubic"):
        raise NotImplementedError(f"tf.image.resize: `method`: {method!r} is not in this version of the library")
    x, size = array(images), [int(n) for n in np.ravel(size)]
    h, w = x.shape[-3:-1]
    if preserve_aspect_ratio:
        ratio = min(size[0] / h, size[1] / w)
        size = [int(round(h * ratio)), int(round(w * ratio))]
    if method == "area":
        rows, columns = _shares(h, size[0]), _shares(w, size[1])
        return tensor(np.einsum("ih,...hwc,jw->...ijc", rows, x, columns, optimize=True).astype("float32"))
    out = np.asarray(resized(x, size, method, antialias=antialias))
    return tensor(out.astype(x.dtype) if method == "nearest" else out)


def _shares(size, to):
    """The share of each old pixel of an axis in each new one, by what they cover."""
    step, ends = size / to, np.arange(1, size + 1)
    begin = np.arange(to)[:, None] * step
    covered = np.minimum(begin + step, ends) - np.maximum(begin, ends - 1)
    return np.maximum(covered, 0) / step


def resize_with_pad(image, target_height, target_width, method="bilinear", antialias=False):
    refuse("tf.image.resize_with_pad", antialias=(antialias, False))
    x = array(image)
    if x.ndim == 4:
        return tensor(np.stack([padded(one, (target_height, target_width), method) for one in x]))
    return padded(x, (target_height, target_width), method)


def crop_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    at = slice(offset_height, offset_height + target_height), slice(offset_width, offset_width + target_width)
    return tensor(array(image)[(Ellipsis, *at, slice(None))])


def pad_to_bounding_box(image, offset_height, offset_width, target_height, target_width):
    x = array(image)
    h, w = x.shape[-3:-1]
    around = [
        (offset_height, target_height - h - offset_height),
        (offset_width, target_width - w - offset_width),
        (0, 0),
    ]
    return tensor(np.pad(x, [(0, 0)] * (x.ndim - 3) + around))


def resize_with_crop_or_pad(image, target_height, target_width):
    """The middle of an image, with zeros around it where it is smaller."""
    x = array(image)
    for axis, size in ((-3, target_height), (-2, target_width)):
        more = size - x.shape[axis]
        if more < 0:
            x = np.take(x, np.arange(-more // 2, -more // 2 + size), axis)
        elif more:
            around = [(0, 0)] * x.ndim
            around[axis] = (more // 2, more - more // 2)
            x = np.pad(x, around)
    return tensor(x)


def central_crop(image, central_fraction):
    x = array(image)
    h, w = x.shape[-3:-1]
    top, left = int((h - h * central_fraction) / 2), int((w - w * central_fraction) / 2)
    return crop_to_bounding_box(x, top, left, h - 2 * top, w - 2 * left)


def flip_left_right(image):
    return tensor(array(image)[..., :, ::-1, :].copy())


def flip_up_down(image):
    return tensor(array(image)[..., ::-1, :, :].copy())


def transpose(image, name=None):
    return tensor(array(image).swapaxes(-3, -2))


def rot90(image, k=1, name=None):
    return tensor(np.rot90(array(image), k, (-3, -2)).copy())


def rgb_to_grayscale(images, name=None):
    x = array(images)
    gray = np.asarray(convert_image_dtype(x, "float32")) @ np.array([0.2989, 0.5870, 0.1140], "float32")
    return convert_image_dtype(gray[..., None], x.dtype)


def grayscale_to_rgb(images, name=None):
    return tensor(np.repeat(array(images), 3, -1))


def rgb_to_hsv(images, name=None):
    return tensor(pixels.to_hsv(array(images)))


def hsv_to_rgb(images, name=None):
    return tensor(pixels.to_rgb(array(images)))


_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_RGB = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def rgb_to_yuv(images):
    return tensor(array(images) @ np.array(_YUV, "float32"))


def yuv_to_rgb(images):
    return tensor(array(images) @ np.array(_RGB, "float32"))


def convert_image_dtype(image, dtype, saturate=False, name=None):
    """Bytes as numbers from 0 to 1, and back."""
    x, to = array(image), np.dtype(name_of(dtype))
    if x.dtype == to:
        return tensor(x)
    if x.dtype.kind != "f" and to.kind == "f":
        return tensor((x * (1 / np.iinfo(x.dtype).max)).astype(to))
    if x.dtype.kind == "f" and to.kind != "f":
        scaled = x * (np.iinfo(to).max + 0.5)
        return tensor((np.clip(scaled, np.iinfo(to).min, np.iinfo(to).max) if saturate else scaled).astype(to))
    return tensor(x.astype(to))


def _in_floats(image, change):
    """A change of numbers from 0 to 1, of bytes too."""
    x = array(image)
    out = change(np.asarray(convert_image_dtype(x, "float32")))
    return convert_image_dtype(out.astype("float32"), x.dtype, saturate=True)


def adjust_brightness(image, delta):
    return _in_floats(image, lambda x: x + np.float32(delta))


def adjust_contrast(images, contrast_factor):
    def change(x):
        middle = x.mean((-3, -2), keepdims=True)
        return (x - middle) * np.float32(contrast_factor) + middle

    return _in_floats(images, change)


def adjust_saturation(image, saturation_factor, name=None):
    def change(x):
        hsv = pixels.to_hsv(x)
        hsv[..., 1] = np.clip(hsv[..., 1] * np.float32(saturation_factor), 0, 1)
        return pixels.to_rgb(hsv)

    return _in_floats(image, change)


def adjust_hue(image, delta, name=None):
    def change(x):
        hsv = pixels.to_hsv(x)
        hsv[..., 0] = (hsv[..., 0] + np.float32(delta)) % 1
        return pixels.to_rgb(hsv)

    return _in_floats(image, change)


def adjust_gamma(image, gamma=1, gain=1):
    return _in_floats(image, lambda x: gain * x**gamma)


def per_image_standardization(image):
    """Mean 0 and deviation 1, of at least 1 over the square root of the number of values."""
    x = array(image).astype("float32")
    mean, deviation = x.mean((-3, -2, -1), keepdims=True), x.std((-3, -2, -1), keepdims=True)
    return tensor((x - mean) / np.maximum(deviation, np.float32(1 / np.sqrt(np.prod(x.shape[-3:])))))


def _differences(x):
    return x[..., 1:, :, :] - x[..., :-1, :, :], x[..., :, 1:, :] - x[..., :, :-1, :]


def total_variation(images, name=None):
    """How much pixels differ from their neighbours."""
    down, right = _differences(array(images))
    return tensor(np.abs(down).sum((-3, -2, -1)) + np.abs(right).sum((-3, -2, -1)))


def image_gradients(image):
    """Differences downwards and to the right, zeros at the ends."""
    down, right = _differences(array(image))
    none = [(0, 0)] * (down.ndim - 3)
    return tensor(np.pad(down, [*none, (0, 1), (0, 0), (0, 0)])), tensor(np.pad(right, [*none, (0, 0), (0, 1), (0, 0)]))


def psnr(a, b, max_val, name=None):
    """The ratio of peak and noise in decibels."""
    a, b = (np.asarray(convert_image_dtype(v, "float32")) for v in (a, b))
    top = np.float32(max_val if array(a).dtype.kind == "f" else 1)
    error = ((a - b) ** 2).mean((-3, -2, -1))
    return tensor((20 * np.log10(top) - 10 * np.log10(error)).astype("float32"))


def extract_patches(images, sizes, strides, rates, padding, name=None):
    """The pixels around each place, as channels."""
    x, (_, kh, kw, _), (_, sh, sw, _), (_, rh, rw, _) = array(images), sizes, strides, rates
    spans = (kh - 1) * rh + 1, (kw - 1) * rw + 1
    if padding.upper() == "SAME":
        around = []
        for size, span, step in zip(x.shape[1:3], spans, (sh, sw)):
            more = max((-(-size // step) - 1) * step + span - size, 0)
            around.append((more // 2, more - more // 2))
        x = np.pad(x, [(0, 0), *around, (0, 0)])
    rows = np.arange(0, x.shape[1] - spans[0] + 1, sh)[:, None] + np.arange(kh) * rh
    columns = np.arange(0, x.shape[2] - spans[1] + 1, sw)[:, None] + np.arange(kw) * rw
    found = x[:, rows[:, None, :, None], columns[None, :, None, :]]
    return tensor(found.reshape(*found.shape[:3], -1))


# ---- of a seed alone


def stateless_random_flip_left_right(image, seed):
    return _flipped_if(image, random.stateless_uniform((), seed) < 0.5, flip_left_right)


def stateless_random_flip_up_down(image, seed):
    return _flipped_if(image, random.stateless_uniform((), seed) < 0.5, flip_up_down)


def _flipped_if(image, flips, flip):
    return flip(image) if flips else tensor(array(image))


def stateless_random_brightness(image, max_delta, seed):
    return adjust_brightness(image, float(random.stateless_uniform((), seed, -max_delta, max_delta)))


def stateless_random_contrast(image, lower, upper, seed):
    return adjust_contrast(image, float(random.stateless_uniform((), seed, lower, upper)))


def stateless_random_saturation(image, lower, upper, seed=None):
    return adjust_saturation(image, float(random.stateless_uniform((), seed, lower, upper)))


def stateless_random_hue(image, max_delta, seed):
    return adjust_hue(image, float(random.stateless_uniform((), seed, -max_delta, max_delta)))


def stateless_random_crop(value, size, seed, name=None):
    x = array(value)
    shares = np.asarray(random.stateless_uniform((x.ndim,), seed))
    begins = [int(s * (d - int(n) + 1)) for s, d, n in zip(shares, x.shape, size)]
    return tensor(x[tuple(slice(b, b + int(n)) for b, n in zip(begins, size))])


# ---- by chance


def _flipped(image, seed, flip):
    x = array(image)
    if x.ndim == 4:
        return tensor(np.stack([np.asarray(_flipped(one, seed, flip)) for one in x]))
    return flip(x) if random.generator(seed).random() < 0.5 else tensor(x)


def random_flip_left_right(image, seed=None):
    return _flipped(image, seed, flip_left_right)


def random_flip_up_down(image, seed=None):
    return _flipped(image, seed, flip_up_down)


def random_brightness(image, max_delta, seed=None):
    return adjust_brightness(image, random.generator(seed).uniform(-max_delta, max_delta))


def random_contrast(image, lower, upper, seed=None):
    return adjust_contrast(image, random.generator(seed).uniform(lower, upper))


def random_saturation(image, lower, upper, seed=None):
    return adjust_saturation(image, random.generator(seed).uniform(lower, upper))


def random_hue(image, max_delta, seed=None):
    return adjust_hue(image, random.generator(seed).uniform(-max_delta, max_delta))


def random_crop(value, size, seed=None, name=None):
    """A part of that size."""
    x, rng = array(value), random.generator(seed)
    begins = [int(rng.integers(0, d - int(n) + 1)) for d, n in zip(x.shape, size)]
    return tensor(x[tuple(slice(b, b + int(n)) for b, n in zip(begins, size))])


def sample_distorted_bounding_box(
    image_size,
    bounding_boxes,
    seed=0,
    min_object_covered=0.1,
    aspect_ratio_range=None,
    area_range=None,
    max_attempts=100,
    use_image_if_no_bounding_boxes=None,
    name=None,
):
    """Begin and size for tf.slice, and the box, of a part of an image that covers enough of one of the boxes."""
    (height, width, _), dtype = (int(n) for n in np.ravel(array(image_size))), array(image_size).dtype
    boxes, rng = array(bounding_boxes).reshape(-1, 4), random.generator(seed or None)
    if not len(boxes):
        if not use_image_if_no_bounding_boxes:
            raise ValueError("No bounding boxes provided as input. One must enable use_image_if_no_bounding_boxes.")
        boxes = np.array([[0, 0, 1, 1]], "float32")
    boxes = boxes * [height, width, height, width]
    smallest, largest = (share * height * width for share in (area_range or (0.05, 1)))
    found = 0, 0, height, width
    for _ in range(max_attempts):
        ratio = rng.uniform(*(aspect_ratio_range or (0.75, 1.33)))
        most = min(height, int(width / ratio), int(np.sqrt(largest / ratio)))
        least = int(np.ceil(np.sqrt(smallest / ratio)))
        if not 1 <= least <= most:
            continue
        h = int(rng.integers(least, most + 1))
        w = min(int(round(h * ratio)), width)
        top, left = int(rng.integers(0, height - h + 1)), int(rng.integers(0, width - w + 1))
        tall = np.minimum(boxes[:, 2], top + h) - np.maximum(boxes[:, 0], top)
        wide = np.minimum(boxes[:, 3], left + w) - np.maximum(boxes[:, 1], left)
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        if w and (np.maximum(tall, 0) * np.maximum(wide, 0) >= min_object_covered * areas).any():
            found = top, left, h, w
            break
    top, left, h, w = found
    box = np.array([[[top / height, left / width, (top + h) / height, (left + w) / width]]], "float32")
    return tensor(np.array([top, left, 0], dtype)), tensor(np.array([h, w, -1], dtype)), tensor(box)


def crop_and_resize(image, boxes, box_indices, crop_size, method="bilinear", extrapolation_value=0.0, name=None):
    """The parts of images in boxes, each in the size that is said."""
    x, boxes, at = array(image), array(boxes).astype("float32"), array(box_indices)
    return tensor(images_in_graphs.crop_and_resize(x, boxes, at, crop_size, method, extrapolation_value))


def ssim(img1, img2, max_val, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, return_index_map=False):
    """How alike images are in means, contrasts and structure."""
    arguments = filter_size, filter_sigma, k1, k2, return_index_map
    return images_in_graphs.ssim(tensor(array(img1)), tensor(array(img2)), max_val, *arguments)


def sobel_edges(image):
    """Differences downwards and to the right, smoothed across: the last axis."""
    return images_in_graphs.sobel_edges(tensor(array(image).astype("float32")))


for _name in images_in_graphs.__all__:
    globals()[_name] = by_tensors(globals()[_name], getattr(images_in_graphs, _name))

__all__ = [
    *(n for n, v in list(globals().items()) if n[0] != "_" and callable(v) and v.__module__ == __name__),
    *("decode_bmp", "decode_gif", "decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png"),
]
