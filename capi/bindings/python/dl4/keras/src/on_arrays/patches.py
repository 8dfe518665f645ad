"""keras.ops.image on arrays: patches, margins, edges and likeness."""

from ..backend.lazy import np
from . import pixels
from .arguments import array, real
from .convolutions import _padded, _several, _windows
from .image import _Batch, _image, channels_first, need_images


def patches(x, size, strides, dilation, padding):
    """(N, out..., size... * C) of x (N, spatial..., C)."""
    rank = len(size)
    spread = [(k - 1) * d + 1 for k, d in zip(size, dilation)]
    v = _windows(_padded(x, spread, strides, padding), size, strides, dilation)
    v = np.moveaxis(v, rank + 1, -1)
    return v.reshape(*v.shape[: rank + 1], -1)


def _patched(images, size, strides, dilation_rate, padding, data_format, rank, word):
    a = array(images)
    if not isinstance(size, int) and len(size) != rank:
        raise ValueError(
            f"Invalid `size` argument. Expected an int or a tuple of length {rank}. Received: size={size}"
            + (f" with length {len(size)}" if rank == 2 else "")
        )
    if a.ndim not in (rank + 1, rank + 2):
        raise ValueError(
            f"Invalid {word} rank: expected rank {rank + 1} (single {word[:-1]}) or rank {rank + 2} (batch of {word}). "
            f"Received input with shape: {word}.shape={a.shape}"
        )
    size = _several(size, rank, "size")
    strides = size if strides is None else _several(strides, rank, "strides")
    one, first = a.ndim == rank + 1, channels_first(data_format)
    x = a[None] if one else a
    y = patches(np.moveaxis(x, 1, -1) if first else x, size, strides, _several(dilation_rate, rank, "d"), padding)
    y = np.moveaxis(y, -1, 1) if first else y
    return y[0] if one else y


@_image
def extract_patches(images, size, strides=None, dilation_rate=1, padding="valid", data_format=None):
    if not isinstance(size, int) and len(size) == 3:
        return extract_patches_3d(images, size, strides, dilation_rate, padding, data_format)
    if not isinstance(size, int) and len(size) != 2:
        raise ValueError(
            f"Invalid `size` argument. Expected a tuple of length 2 or 3. Received: size={size} with length {len(size)}"
        )
    return _patched(images, size, strides, dilation_rate, padding, data_format, 2, "images")


@_image
def extract_patches_3d(volumes, size, strides=None, dilation_rate=1, padding="valid", data_format=None):
    return _patched(volumes, size, strides, dilation_rate, padding, data_format, 3, "volumes")


def sides(before, after, target, names):
    """What is put or taken before and behind an axis, of which two are given."""
    if [before, after, target].count(None) != 1:
        words = ", ".join(names)
        got = ", ".join(f"{n}={v}" for n, v in zip(names, (before, after, target)))
        raise ValueError(f"Must specify exactly two of {words}. Received: {got}")
    for name, value in zip(names, (before, after, target)):
        if value is not None and value < 0:
            raise ValueError(f"{name} must be >= 0. Received: {name}={value}")
    return before, after, target


@_image
def pad_images(
    images,
    top_padding=None,
    left_padding=None,
    bottom_padding=None,
    right_padding=None,
    target_height=None,
    target_width=None,
    data_format=None,
):
    a = array(images)
    given = (
        (top_padding, bottom_padding, target_height, ("top_padding", "bottom_padding", "target_height")),
        (left_padding, right_padding, target_width, ("left_padding", "right_padding", "target_width")),
    )
    for one in given:
        sides(*one)
    need_images(a.shape)
    first, widths = channels_first(data_format), [(0, 0)] * a.ndim
    for axis, (before, after, target, names) in zip((-2, -1) if first else (-3, -2), given):
        size = a.shape[axis]
        before = target - size - after if before is None else before
        after = target - size - before if after is None else after
        sides(before, after, None, names)
        widths[axis] = (before, after)
    return np.pad(a, widths)


@_image
def crop_images(
    images,
    top_cropping=None,
    left_cropping=None,
    bottom_cropping=None,
    right_cropping=None,
    target_height=None,
    target_width=None,
    data_format=None,
):
    a = array(images)
    given = (
        (top_cropping, bottom_cropping, target_height, ("top_cropping", "bottom_cropping", "target_height")),
        (left_cropping, right_cropping, target_width, ("left_cropping", "right_cropping", "target_width")),
    )
    for one in given:
        sides(*one)
    need_images(a.shape)
    first, at = channels_first(data_format), [slice(None)] * a.ndim
    for axis, (before, after, target, names) in zip((-2, -1) if first else (-3, -2), given):
        size = a.shape[axis]
        before = size - target - after if before is None else before
        target = size - before - after if target is None else target
        sides(before, None, target, names)
        at[axis] = slice(before, before + target)
    return np.array(a[tuple(at)])


@_image
def sobel_edges(images, data_format=None):
    b = _Batch(images, data_format)
    x = np.pad(b.floats(), [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], "float32")
    h, w = b.images.shape[1:3]
    found = []
    for kernel in (down, down.T):
        found.append(sum(x[:, i : i + h, j : j + w] * kernel[i, j] for i in range(3) for j in range(3)))
    y = np.stack(found, -1)
    y = np.moveaxis(y, -2, 1) if b.first else y
    return (y[0] if b.one else y).astype(real(images).dtype)


@_image
def ssim(image1, image2, max_val=1.0, filter_size=11, filter_sigma=1.5, k1=0.01, k2=0.03, data_format=None):
    a, b = _Batch(image1, data_format), _Batch(image2, data_format)
    x, y = a.floats(), b.floats()
    k = pixels.gaussian((filter_size, filter_size), (filter_sigma, filter_sigma))

    def blurred(v):
        w = _windows(v, k.shape, (1, 1), (1, 1))
        return np.tensordot(w, k, ([-2, -1], [0, 1]))

    c1, c2 = (k1 * max_val) ** 2, (k2 * max_val) ** 2
    mx, my = blurred(x), blurred(y)
    vx, vy, cov = blurred(x * x) - mx * mx, blurred(y * y) - my * my, blurred(x * y) - mx * my
    found = (2 * mx * my + c1) * (2 * cov + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2))
    got = found.mean(axis=(1, 2, 3)).astype(real(image1).dtype)
    return got[0] if a.one else got
