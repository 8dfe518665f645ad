"""Operations on batches of images (B, H, W, C) in float32."""

from ..backend.lazy import np

f32 = "float32"


def transformed(images, matrices, interpolation, fill_mode, fill_value):
    """Each pixel from where its image's matrix of 8 numbers sends its place: a projective transform."""
    b, h, w, _ = images.shape
    m = np.broadcast_to(np.asarray(matrices, f32).reshape(-1, 8), (b, 8))[:, :, None, None]
    y, x = np.meshgrid(np.arange(h, dtype=f32), np.arange(w, dtype=f32), indexing="ij")
    k = m[:, 6] * x + m[:, 7] * y + np.float32(1)
    beyond = k == 0
    if beyond.any():
        k = np.where(beyond, np.float32(1), k)
    xs = _place((m[:, 0] * x + m[:, 1] * y + m[:, 2]) / k, w, fill_mode)
    ys = _place((m[:, 3] * x + m[:, 4] * y + m[:, 5]) / k, h, fill_mode)
    read = _reader(images, np.float32(fill_value), fill_mode == "constant")
    if interpolation == "nearest":
        out = read(_rounded(ys), _rounded(xs))
    else:
        y0, x0 = np.floor(ys), np.floor(xs)
        dy, dx = (ys - y0)[..., None], (xs - x0)[..., None]
        ry, rx = (y0 + 1 - ys)[..., None], (x0 + 1 - xs)[..., None]
        top = rx * read(y0, x0) + dx * read(y0, x0 + 1)
        out = ry * top + dy * (rx * read(y0 + 1, x0) + dx * read(y0 + 1, x0 + 1))
    if beyond.any():
        out = np.where(beyond[..., None], np.float32(fill_value), out)
    return out.astype(f32)


def _rounded(x):
    """To the nearest, halves away from 0."""
    return np.sign(x) * np.floor(np.abs(x) + np.float32(0.5))


def _place(at, size, mode):
    """Where a place outside the image is taken from."""
    if mode == "constant":
        return at
    last = np.float32(size - 1)
    if mode == "nearest" or size <= 1:
        return np.clip(at, 0, last)
    if mode == "reflect":
        two = np.float32(2 * size)
        low = np.where(at < two, two * np.trunc(-at / two) + at, at)
        low = np.where(low < -size, low + two, -low - 1)
        high = at - two * np.trunc(at / two)
        high = np.where(high >= size, two - high - 1, high)
    else:  # wrap
        low = at + np.float32(size) * (np.trunc(-at / last) + 1)
        high = at - np.float32(size) * np.trunc(at / last)
    return np.clip(np.where(at < 0, low, np.where(at > last, high, at)), 0, last).astype(f32)


def _reader(images, fill, filled):
    """A function that gives pixels; `filled`: those outside have a value, else they have no weight."""
    b, h, w, c = images.shape
    flat, row = np.ascontiguousarray(images).reshape(-1, c), (np.arange(b) * h * w)[:, None, None]

    def read(y, x):
        index = np.clip(y, 0, h - 1).astype("int64") * w + np.clip(x, 0, w - 1).astype("int64") + row
        found = flat.take(index.ravel(), 0).reshape(*index.shape, c)
        if filled:
            outside = (y < 0) | (y >= h) | (x < 0) | (x >= w)
            found[outside] = fill
        return found

    return read


def rotations(angles, height, width):
    """Matrices that turn images around their middle, by degrees."""
    angles = np.asarray(angles, f32) * np.float32(np.pi / 180.0)
    cx, cy = np.float32(0.5 * (width - 1)), np.float32(0.5 * (height - 1))
    cos, sin, zero = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    columns = [cos, -sin, cx - cx * cos + cy * sin, sin, cos, cy - cx * sin - cy * cos, zero, zero]
    return np.stack(columns, 1).astype(f32)


def homographies(start, end):
    """Matrices of the transforms that bring 4 points to 4 others."""
    sx, sy, ex, ey = start[..., 0], start[..., 1], end[..., 0], end[..., 1]
    one, zero = np.ones_like(ex), np.zeros_like(ex)
    a = np.stack([ex, ey, one, zero, zero, zero, -sx * ex, -sx * ey], -1)
    b = np.stack([zero, zero, zero, ex, ey, one, -sy * ex, -sy * ey], -1)
    system = np.stack([a, b], 2).reshape(len(ex), 8, 8)
    wanted = np.stack([sx, sy], 2).reshape(len(ex), 8, 1)
    try:
        return np.linalg.solve(system.astype("float64"), wanted.astype("float64"))[..., 0].astype(f32)
    except np.linalg.LinAlgError:  # points in a line
        return np.full((len(ex), 8), np.nan, f32)


def grayscale(images):
    """One channel, of the brightness of three."""
    if images.shape[-1] == 1:
        return images
    if images.shape[-1] != 3:
        raise ValueError(
            "Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received input with shape: "
            f"images.shape={images.shape}"
        )
    return (images @ np.array([0.2989, 0.5870, 0.1140], f32))[..., None]


def to_hsv(images):
    """Red, green and blue as hue, saturation and value."""
    r, g, b = (images[..., i] for i in range(3))
    value, span = images.max(-1), images.max(-1) - images.min(-1)
    saturation = np.where(value > 0, span / np.where(value > 0, value, 1), 0)
    norm = 1 / (6 * np.where(span > 0, span, 1))
    hue = np.where(r == value, norm * (g - b), np.where(g == value, norm * (b - r) + 2 / 6, norm * (r - g) + 4 / 6))
    hue = np.where(span <= 0, 0, hue)
    return np.stack([np.where(hue < 0, hue + 1, hue), saturation, value], -1).astype(f32)


def to_rgb(images):
    """Hue, saturation and value as red, green and blue."""
    h, s, v = images[..., 0:1] * 6, images[..., 1:2], images[..., 2:3]
    parts = [np.abs(h - 3) - 1, 2 - np.abs(h - 2), 2 - np.abs(h - 4)]
    return ((1 - s + s * np.clip(np.concatenate(parts, -1), 0, 1)) * v).astype(f32)


def filtered(images, kernel):
    """Each channel's sum of its neighbours by a kernel; zeros around the images."""
    kh, kw = kernel.shape
    top, left = (kh - 1) // 2, (kw - 1) // 2
    wide = np.pad(images, ((0, 0), (top, kh - 1 - top), (left, kw - 1 - left), (0, 0)))
    h, w = images.shape[1:3]
    out = np.zeros_like(images)
    for i in range(kh):
        for j in range(kw):
            out += wide[:, i : i + h, j : j + w] * np.float32(kernel[i, j])
    return out


def gaussian(kernel_size, sigma):
    """A kernel of weights by distance."""

    def line(size, s):
        x = np.arange(size, dtype=f32) - np.float32((size - 1) / 2)
        k = np.exp(np.float32(-0.5) * (x / np.float32(s)) ** 2)
        return k / k.sum()

    return np.outer(line(kernel_size[1], sigma[1]), line(kernel_size[0], sigma[0])).reshape(kernel_size).astype(f32)


def scaled(images, source, target):
    """Numbers of one range in another."""
    if tuple(source) == tuple(target):
        return images
    (a, b), (c, d) = source, target
    return ((images - np.float32(a)) / np.float32(b - a) * np.float32(d - c) + np.float32(c)).astype(f32)


def boxes(shape, x0, x1, y0, y1):
    """Masks (B, H, W, 1) of the pixels in a box of each image."""
    y, x = np.meshgrid(np.arange(shape[1], dtype=f32), np.arange(shape[2], dtype=f32), indexing="ij")
    x0, x1, y0, y1 = (v[:, None, None] for v in (x0, x1, y0, y1))
    return ((x >= x0) & (x < x1) & (y >= y0) & (y < y1))[..., None]
