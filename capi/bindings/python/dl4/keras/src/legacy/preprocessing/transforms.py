"""Changes of one image: turned, moved, sheared, zoomed, in other colours."""

from ...backend.lazy import np
from ...utils.image_utils import array_to_img, img_to_array, pillow

_MODES = ("constant", "nearest", "reflect", "wrap")


def _place(at, size, mode):
    """Where a place outside of an axis is taken from, and whether it is nowhere."""
    last = size - 1
    out = (at < 0) | (at > last)
    if mode == "constant":
        return np.clip(at, 0, last), out
    if mode == "nearest" or size <= 1:
        return np.clip(at, 0, last), np.zeros_like(out)
    if mode == "reflect":
        two = 2 * size
        low = np.where(at < two, two * np.trunc(-at / two) + at, at)
        low = np.where(low < -size, low + two, -low - 1)
        high = at - two * np.trunc(at / two)
        high = np.where(high >= size, two - high - 1, high)
    else:
        low = at + last * (np.trunc(-at / last) + 1)
        high = at - last * np.trunc(at / last)
    return np.clip(np.where(at < 0, low, np.where(at > last, high, at)), 0, last), np.zeros_like(out)


def _moved(x, matrix, offset, order, mode, cval):
    """Channels (H, W) of an image, each place from matrix @ place + offset."""
    h, w = x.shape[1:]
    at = np.stack(np.meshgrid(np.arange(h), np.arange(w), indexing="ij")).reshape(2, -1).astype("float64")
    rows, columns = matrix @ at + offset[:, None]
    (rows, no_row), (columns, no_column) = _place(rows, h, mode), _place(columns, w, mode)
    if order == 0:
        r, c = np.floor(rows + 0.5).astype(int), np.floor(columns + 0.5).astype(int)
        out = x[:, np.minimum(r, h - 1), np.minimum(c, w - 1)].astype("float64")
    else:
        r0, c0 = np.floor(rows).astype(int), np.floor(columns).astype(int)
        r1, c1 = np.minimum(r0 + 1, h - 1), np.minimum(c0 + 1, w - 1)
        dr, dc = rows - r0, columns - c0
        top = x[:, r0, c0] * (1 - dc) + x[:, r0, c1] * dc
        out = top * (1 - dr) + (x[:, r1, c0] * (1 - dc) + x[:, r1, c1] * dc) * dr
    out = np.where(no_row | no_column, cval, out)
    return out.reshape(x.shape).astype(x.dtype)


def _matrix(theta, tx, ty, shear, zx, zy):
    """The product of those that do something; None if none does."""
    parts = []
    if theta:
        a = np.deg2rad(theta)
        parts.append([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    if tx or ty:
        parts.append([[1, 0, tx], [0, 1, ty], [0, 0, 1]])
    if shear:
        a = np.deg2rad(shear)
        parts.append([[1, -np.sin(a), 0], [0, np.cos(a), 0], [0, 0, 1]])
    if zx != 1 or zy != 1:
        parts.append([[zx, 0, 0], [0, zy, 0], [0, 0, 1]])
    if not parts:
        return None
    found = np.eye(3)
    for part in parts:
        found = found @ np.array(part, "float64")
    return found


def apply_affine_transform(
    x,
    theta=0,
    tx=0,
    ty=0,
    shear=0,
    zx=1,
    zy=1,
    row_axis=1,
    col_axis=2,
    channel_axis=0,
    fill_mode="nearest",
    cval=0.0,
    order=1,
):
    """An image turned by degrees, moved by pixels, sheared and zoomed."""
    if sorted((row_axis, col_axis, channel_axis)) != [0, 1, 2]:
        raise ValueError("'row_axis', 'col_axis', and 'channel_axis' must be distinct, of 0, 1 and 2")
    if x.ndim != 3:
        raise ValueError("Input arrays must be multi-channel 2D images.")
    if channel_axis not in (0, 2):
        raise ValueError("Channels are allowed and the first and last dimensions.")
    if fill_mode not in _MODES:
        raise ValueError(f"`fill_mode`: expected one of {_MODES}, got {fill_mode!r}")
    if order not in (0, 1):
        raise NotImplementedError(f"`order` (`interpolation_order`): expected 0 or 1, got {order}")
    matrix = _matrix(theta, tx, ty, shear, zx, zy)
    if matrix is None:
        return x
    cx, cy = x.shape[row_axis] / 2 - 0.5, x.shape[col_axis] / 2 - 0.5
    matrix = np.array([[1, 0, cx], [0, 1, cy], [0, 0, 1]]) @ matrix @ np.array([[1, 0, -cx], [0, 1, -cy], [0, 0, 1]])
    if col_axis > row_axis:
        matrix[:, [0, 1]] = matrix[:, [1, 0]]
        matrix[[0, 1]] = matrix[[1, 0]]
    channels = np.moveaxis(x, channel_axis, 0)
    return np.moveaxis(_moved(channels, matrix[:2, :2], matrix[:2, 2], order, fill_mode, cval), 0, channel_axis)


def _with(name):
    """A function that changes an image by what `draw` gives."""

    def decorate(draw):
        def function(x, *args, row_axis=1, col_axis=2, channel_axis=0, fill_mode="nearest", cval=0.0, **kwargs):
            order = kwargs.pop("interpolation_order", 1)
            sizes = x.shape[row_axis], x.shape[col_axis]
            axes = {"row_axis": row_axis, "col_axis": col_axis, "channel_axis": channel_axis}
            drawn = draw(sizes, *args, **kwargs)
            return apply_affine_transform(x, **drawn, **axes, fill_mode=fill_mode, cval=cval, order=order)

        function.__name__, function.__doc__ = name, draw.__doc__
        return function

    return decorate


@_with("random_rotation")
def random_rotation(_, rg):
    """An image turned by up to `rg` degrees."""
    return {"theta": np.random.uniform(-rg, rg)}


@_with("random_shift")
def random_shift(sizes, wrg, hrg):
    """An image moved by a share of its width and height."""
    return {"tx": np.random.uniform(-hrg, hrg) * sizes[0], "ty": np.random.uniform(-wrg, wrg) * sizes[1]}


@_with("random_shear")
def random_shear(_, intensity):
    """An image sheared by up to so many degrees."""
    return {"shear": np.random.uniform(-intensity, intensity)}


@_with("random_zoom")
def random_zoom(_, zoom_range):
    """An image zoomed by factors of a range."""
    if len(zoom_range) != 2:
        raise ValueError(f"`zoom_range` should be a tuple or list of two floats. Received: {zoom_range}")
    if tuple(zoom_range) == (1, 1):
        return {}
    zx, zy = np.random.uniform(zoom_range[0], zoom_range[1], 2)
    return {"zx": zx, "zy": zy}


def apply_channel_shift(x, intensity, channel_axis=0):
    """An image with a number added to each channel, within its own range."""
    return np.clip(x + intensity, x.min(), x.max())


def random_channel_shift(x, intensity_range, channel_axis=0):
    return apply_channel_shift(x, np.random.uniform(-intensity_range, intensity_range), channel_axis)


def apply_brightness_shift(x, brightness, scale=True):
    """An image made lighter or darker, by Pillow."""
    pillow("apply_brightness_shift")
    from_, to = x.min(), x.max()
    beyond = from_ < 0 or to > 255
    image = np.asarray(array_to_img(x, scale=beyond or scale))
    out = np.clip(np.float32(brightness) * img_to_array(image), 0, 255).astype("uint8")
    out = img_to_array(out)
    return out / 255 * (to - from_) + from_ if beyond and not scale else out


def random_brightness(x, brightness_range, scale=True):
    if len(brightness_range) != 2:
        raise ValueError(f"`brightness_range should be tuple or list of two floats. Received: {brightness_range}")
    return apply_brightness_shift(x, np.random.uniform(*brightness_range), scale)
