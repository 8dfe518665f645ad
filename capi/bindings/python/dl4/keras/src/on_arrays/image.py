"""keras.ops.image on arrays."""

import itertools

from ..backend import config
from ..backend.lazy import np
from . import pixels
from .arguments import array, cast, FUNCTIONS, is_real, wide

_METHODS = ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5")


def _image(f):
    """Adds a function of keras.ops.image."""
    FUNCTIONS[f"image.{f.__name__}"] = f
    return f


def channels_first(data_format):
    data_format = data_format or config.image_data_format()
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(
            f"The `data_format` argument must be one of {{'channels_first', 'channels_last'}}. Received: {data_format}"
        )
    return data_format == "channels_first"


def need_images(shape, more=""):
    if len(shape) not in (3, 4):
        raise ValueError(
            "Invalid images rank: expected rank 3 (single image) or rank 4 (batch of images). "
            f"Received{more}: images.shape={tuple(shape)}"
        )


class _Batch:
    """Images as a batch in float32 with the channels last; back() gives results the form of what was given."""

    def __init__(self, images, data_format, more=""):
        a = array(images)
        need_images(a.shape, more)
        self.dtype, self.first, self.one = a.dtype, channels_first(data_format), a.ndim == 3
        a = a[None] if self.one else a
        self.images = np.moveaxis(a, 1, -1) if self.first else a

    def floats(self):
        return self.images.astype("float32")

    def back(self, y, dtype=None):
        to = self.dtype if dtype is None else dtype
        if to.kind in "iu" and y.dtype.kind == "f":
            info = np.iinfo(to)
            y = np.clip(np.rint(y), info.min, info.max)
        y = (np.moveaxis(y, -1, 1) if self.first else y).astype(to, copy=False)
        return y[0] if self.one else y


def _colored(images, data_format):
    b = _Batch(images, data_format)
    if not is_real(b.images):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={b.dtype}")
    if b.images.shape[-1] != 3:
        raise ValueError(f"Input images must have 3 channels, but received images with {b.images.shape[-1]} channels.")
    return b


@_image
def rgb_to_grayscale(images, data_format=None):
    b = _Batch(images, data_format)
    if b.images.shape[-1] not in (1, 3):
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). "
            f"Received input with shape: images.shape={array(images).shape}"
        )
    y = pixels.grayscale(b.floats())
    return b.back(np.trunc(y) if b.dtype.kind in "iu" else y)


@_image
def rgb_to_hsv(images, data_format=None):
    b = _colored(images, data_format)
    return b.back(pixels.to_hsv(b.floats()))


@_image
def hsv_to_rgb(images, data_format=None):
    b = _colored(images, data_format)
    return b.back(pixels.to_rgb(b.floats()))


# ---- sizes


def _cubic(x):
    near = ((1.5 * x - 2.5) * x) * x + 1.0
    far = ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return np.where(x >= 2, 0.0, np.where(x >= 1, far, near))


def _lanczos(radius):
    def kernel(x):
        y = radius * np.sin(np.pi * x) * np.sin(np.pi * x / radius)
        return np.where(x > 1e-3, np.where(x < radius, y / np.where(x > 1e-3, (np.pi * x) ** 2, 1), 0.0), 1.0)

    return kernel


_KERNELS = {
    "linear": lambda x: np.maximum(0, 1 - x),
    "cubic": _cubic,
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
}
_KERNELS.update(bilinear=_KERNELS["linear"], trilinear=_KERNELS["linear"], bicubic=_cubic, triangle=_KERNELS["linear"])


def _weights(size, target, scale, translation, kernel, antialias, steps=None):
    """How much of each of `size` pixels is in each of `target` ones; `steps`: places between pixels that count."""
    inverse = 1.0 / scale
    wide_ = max(inverse, 1.0) if antialias else 1.0
    at = (np.arange(target) + 0.5) * inverse - translation * inverse - 0.5
    if steps is not None:
        at = np.floor(at) + np.rint((at - np.floor(at)) * steps) / steps
    w = kernel(np.abs(at[None] - np.arange(size)[:, None]) / wide_)
    total = w.sum(0, keepdims=True)
    w = np.where(np.abs(total) > 1000 * np.finfo("float32").eps, w / np.where(total != 0, total, 1), 0)
    return np.where((at >= -0.5) & (at <= size - 0.5), w, 0).astype("float32")


def _along(a, axis, weights):
    return np.moveaxis(np.tensordot(a, weights, ([axis], [0])), -1, axis)


@_image
def scale_and_translate(images, output_shape, scale, translation, spatial_dims, method, antialias=True):
    a = array(images)
    if method not in _KERNELS:
        raise ValueError(
            f"Invalid value for argument `method`. Expected of one {sorted(_KERNELS)}. Received: method={method}"
        )
    y, scales, moves = wide(a).astype("float32"), np.ravel(array(scale)), np.ravel(array(translation))
    for axis, s, t in zip(spatial_dims, scales, moves):
        weights = _weights(a.shape[axis], output_shape[axis], float(s), float(t), _KERNELS[method], antialias)
        y = _along(y, axis, weights)
    if not is_real(a) and a.dtype.kind in "iu":
        info = np.iinfo(a.dtype)
        y = np.clip(np.rint(y), info.min, info.max)
    return y.astype(a.dtype)


def need_size(size, interpolation, pad, crop):
    if len(size) != 2:
        raise ValueError(f"Expected `size` to be a tuple of 2 integers. Received: size={size}")
    if size[0] <= 0 or size[1] <= 0:
        raise ValueError(f"`size` must have positive height and width. Received: size={size}")
    if interpolation not in _METHODS:
        raise ValueError(
            f"Invalid value for argument `interpolation`. Expected of one {_METHODS}. "
            f"Received: interpolation={interpolation}"
        )
    if pad and crop:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")


@_image
def resize(
    images,
    size,
    interpolation="bilinear",
    antialias=False,
    crop_to_aspect_ratio=False,
    pad_to_aspect_ratio=False,
    fill_mode="constant",
    fill_value=0.0,
    data_format=None,
):
    size = tuple(int(n) for n in size)
    need_size(size, interpolation, pad_to_aspect_ratio, crop_to_aspect_ratio)
    if fill_mode != "constant":
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: fill_mode={fill_mode}"
        )
    b = _Batch(images, data_format, " input with shape")
    x, (height, width) = b.images, b.images.shape[1:3]
    if crop_to_aspect_ratio:
        high = min(height, int(float(width * size[0]) / size[1]))
        broad = min(width, int(float(height * size[1]) / size[0]))
        top, left = int(float(height - high) / 2), int(float(width - broad) / 2)
        x = x[:, top : top + high, left : left + broad]
    if pad_to_aspect_ratio:
        high = max(height, int(float(width * size[0]) / size[1]))
        broad = max(width, int(float(height * size[1]) / size[0]))
        top, left = int(float(high - height) / 2), int(float(broad - width) / 2)
        sides = [(0, 0), (top, top), (left, left), (0, 0)]  # as TensorFlow, both alike
        x = np.pad(x, sides, constant_values=cast(fill_value, x.dtype))
    if interpolation == "nearest":
        for axis, n in enumerate(size, 1):
            at = np.floor((np.arange(n) + 0.5) * x.shape[axis] / n).astype("int64")
            x = np.take(x, np.clip(at, 0, x.shape[axis] - 1), axis)
        return b.back(x)
    y = x.astype("float32")
    steps = 1024 if interpolation == "bicubic" and not antialias else None  # as TensorFlow's table has
    for axis, n in enumerate(size, 1):
        m = y.shape[axis]
        y = _along(y, axis, _weights(m, n, n / m, 0.0, _KERNELS[interpolation], antialias, steps))
    return b.back(y)


# ---- places


_FILLS = {"constant": "grid-constant", "nearest": "nearest", "wrap": "wrap", "mirror": "mirror", "reflect": "reflect"}


def _folded(at, size, mode):
    """The places of pixels outside, by whole numbers."""
    if mode == "nearest":
        return np.clip(at, 0, size - 1)
    if mode == "wrap":
        return at % size
    if mode == "mirror":
        if size == 1:
            return np.zeros_like(at)
        at = np.abs(at) % (2 * (size - 1))
        return np.where(at >= size, 2 * (size - 1) - at, at)
    at = at % (2 * size)
    return np.where(at >= size, 2 * size - 1 - at, at)


@_image
def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0):
    a, c = array(inputs), array(coordinates)
    if c.shape[0] != a.ndim:
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. "
            f"Received inputs with shape: {a.shape} and coordinate leading dim of {c.shape[0]}"
        )
    if c.ndim < 2:
        raise ValueError(f"Invalid coordinates rank: expected at least rank 2. Received input with shape: {c.shape}")
    if fill_mode not in _FILLS:
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Expected one of {set(_FILLS)}. Received: fill_mode={fill_mode}"
        )
    if order not in (0, 1):
        raise ValueError(f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}")
    work, places = wide(a), wide(c).astype("float64")
    if order == 0:
        corners = [(np.floor(places + 0.5).astype("int64"), 1.0)]
    else:
        low = np.floor(places).astype("int64")
        corners = []
        for sides in itertools.product((0, 1), repeat=a.ndim):
            at = low + np.reshape(sides, [-1] + [1] * (c.ndim - 1))
            share = np.prod([1 - np.abs(p - i) for p, i in zip(places, at)], axis=0)
            corners.append((at, share))
    total = np.zeros(c.shape[1:], "float64")
    for at, share in corners:
        sizes = np.reshape(a.shape, [-1] + [1] * (c.ndim - 1))
        if fill_mode == "constant":
            inside = ((at >= 0) & (at < sizes)).all(0)
            found = np.where(inside, work[tuple(np.clip(at, 0, sizes - 1))].astype("float64"), float(fill_value))
        else:
            found = work[tuple(_folded(i, n, fill_mode) for i, n in zip(at, a.shape))].astype("float64")
        total += share * found
    if a.dtype.kind in "iu":
        total = np.sign(total) * np.floor(np.abs(total) + 0.5)
    return total.astype(a.dtype)


_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _need_modes(interpolation, fill_mode="constant"):
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError(
            "Invalid value for argument `interpolation`. Expected of one ('nearest', 'bilinear'). "
            f"Received: interpolation={interpolation}"
        )
    if fill_mode not in _MODES:
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Expected of one {_MODES}. Received: fill_mode={fill_mode}"
        )


@_image
def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    _need_modes(interpolation, fill_mode)
    b, t = _Batch(images, data_format, " input with shape"), array(transform)
    if t.ndim not in (1, 2):
        raise ValueError(
            "Invalid transform rank: expected rank 1 (single transform) or rank 2 (batch of transforms). "
            f"Received input with shape: transform.shape={t.shape}"
        )
    x, (n, h, w, channels) = b.floats(), b.images.shape
    m = np.broadcast_to(wide(t).reshape(-1, 8).astype("float64"), (n, 8))[:, :, None, None]
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    k = m[:, 6] * xs + m[:, 7] * ys + 1
    with np.errstate(all="ignore"):
        px, py = (m[:, 0] * xs + m[:, 1] * ys + m[:, 2]) / k, (m[:, 3] * xs + m[:, 4] * ys + m[:, 5]) / k
    if not (np.isfinite(px).all() and np.isfinite(py).all()):
        return b.back(np.full_like(x, fill_value))
    order = int(interpolation == "bilinear")
    y = np.empty_like(x)
    for i in range(n):
        for j in range(channels):
            y[i, ..., j] = map_coordinates(x[i, ..., j], np.stack([py[i], px[i]]), order, fill_mode, fill_value)
    return b.back(y)


@_image
def perspective_transform(images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None):
    start, end = array(start_points), array(end_points)
    _need_modes(interpolation)
    for name, points in (("start_points", start), ("end_points", end)):
        if points.ndim not in (2, 3) or points.shape[-2:] != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {points.shape}"
            )
    if start.shape != end.shape:
        raise ValueError(
            "start_points and end_points must have the same shape. "
            f"Received start_points.shape={start.shape}, end_points.shape={end.shape}"
        )
    m = pixels.homographies(*(wide(p).reshape(-1, 4, 2).astype("float32") for p in (start, end)))
    return affine_transform(
        images, m if array(images).ndim == 4 else m[0], interpolation, "constant", fill_value, data_format
    )


@_image
def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    b = _Batch(images, data_format)
    kernel_size, sigma = (np.broadcast_to(array(v), (2,)).tolist() for v in (kernel_size, sigma))
    return b.back(pixels.filtered(b.floats(), pixels.gaussian(tuple(int(n) for n in kernel_size), tuple(sigma))))


@_image
def elastic_transform(
    images,
    alpha=20.0,
    sigma=5.0,
    interpolation="bilinear",
    fill_mode="reflect",
    fill_value=0.0,
    seed=None,
    data_format=None,
):
    _need_modes(interpolation, fill_mode)
    b = _Batch(images, data_format)
    x, (n, h, w, channels) = b.floats(), b.images.shape
    source = getattr(seed, "numpy", None) or np.random.default_rng(seed)
    size = int(6 * sigma) | 1
    kernel = pixels.gaussian((size, size), (sigma, sigma))
    dx, dy = (
        alpha * pixels.filtered(source.standard_normal((n, h, w, 1)).astype("float32") * sigma, kernel)[..., 0]
        for _ in "xy"
    )
    ys, xs = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    y = np.empty_like(x)
    for i in range(n):
        for j in range(channels):
            at = np.stack([ys + dy[i], xs + dx[i]])
            y[i, ..., j] = map_coordinates(x[i, ..., j], at, int(interpolation == "bilinear"), fill_mode, fill_value)
    return b.back(y)
