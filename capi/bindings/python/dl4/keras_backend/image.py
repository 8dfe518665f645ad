"""Keras's contract of `backend.image`. Images are channels last inside."""

import itertools

import numpy as np
from keras.src.backend import config

from .convolutions import _back, _last, depthwise_conv
from .core import cast
from .dtypes import is_float
from .elementwise import absolute, mod
from .fallback import homography
from .functions import op
from .reductions import over
from .random import normal
from .shapes import expand_dims, pad, reshaped, transpose
from .tensor import array
from .trace import emit, plain, recast, tensor

RESIZE_INTERPOLATIONS = ("bilinear", "nearest", "lanczos3", "lanczos5", "bicubic")
_FILL_MODES = ("constant", "nearest", "wrap", "mirror", "reflect")


def _need(name, value, among):
    if value not in among:
        raise ValueError(f"Invalid value for argument `{name}`. Expected one of {set(among)}. Received: {name}={value}")


def _need_rank(name, x, ranks=(3, 4)):
    if len(x.shape) not in ranks:
        raise ValueError(
            f"Invalid {name} rank: expected rank {' or rank '.join(map(str, ranks))}. "
            f"Received input with shape: {name}.shape={tuple(x.shape)}"
        )


def _batched(f):
    """A function of a batch of images, for one image too."""

    def g(images, data_format, *args):
        one = len(images.shape) == 3
        x = expand_dims(images, 0) if one else images
        y = _back(f(_last(x, data_format), *args), data_format)
        return reshaped(y, y.shape[1:]) if one else y

    return g


def _float_type(x):
    return x.type_name if is_float(x.type_name) else "float32"


def _mul(a, b):
    return emit("BroadcastMultiply", a, b if hasattr(b, "shape") else array(b, a.type_name))


def _add(a, b):
    return emit("BroadcastAdd", a, b if hasattr(b, "shape") else array(b, a.type_name))


def _sub(a, b):
    return emit("BroadcastSubtract", a, b)


# ---- colours


@op("images")
def rgb_to_grayscale(images, data_format=None):
    _need_rank("images", images)
    if _count_of_channels(images, data_format) not in (1, 3):
        raise ValueError(f"Invalid channel size: expected 3 (RGB) or 1 (Grayscale). Received: {tuple(images.shape)}")

    def gray(x):
        if x.shape[-1] == 1:
            return x
        weights = array(np.array([0.2989, 0.5870, 0.1140]), "float32")
        return over("Sum", _mul(cast(x, "float32"), weights), -1, True, _float_type(images))

    return _batched(gray)(images, data_format)


def _count_of_channels(images, data_format):
    return images.shape[-3 if (data_format or config.image_data_format()) == "channels_first" else -1]


def _need_rgb(images, data_format):
    _need_rank("images", images)
    found = _count_of_channels(images, data_format)
    if found != 3:
        raise ValueError(f"Input images must have 3 channels, but received images with {found} channels.")
    if not is_float(images.type_name):
        raise ValueError(f"Invalid images dtype: expected float dtype. Received: images.dtype={images.type_name}")


def _channels(x):
    return [x[..., i] for i in range(3)]


@op("images")
def rgb_to_hsv(images, data_format=None):
    _need_rgb(images, data_format)

    def hsv(x):
        x = cast(x, "float32")
        r, g, b = _channels(x)
        most, least = over("Max", x, -1), over("Min", x, -1)
        span = _sub(most, least)
        s = emit("DivideNoNan", span, most)
        hue = emit(
            "Where",
            emit("Equal", r, most),
            emit("DivideNoNan", _sub(g, b), span),
            emit(
                "Where",
                emit("Equal", g, most),
                _add(emit("DivideNoNan", _sub(b, r), span), 2.0),
                _add(emit("DivideNoNan", _sub(r, g), span), 4.0),
            ),
        )
        hue = emit("Where", emit("Equal", span, array(0.0, "float32")), array(0.0, "float32"), _mul(hue, 1 / 6))
        hue = _sub(hue, emit("Floor", hue))
        return emit("Stack", hue, s, most, to=images.type_name, axis=-1)

    return _batched(hsv)(images, data_format)


@op("images")
def hsv_to_rgb(images, data_format=None):
    _need_rgb(images, data_format)

    def rgb(x):
        h, s, v = _channels(cast(x, "float32"))

        def part(n):
            k = emit("Mod", _add(_mul(h, 6.0), float(n)), array(6.0, "float32"))
            low = emit("BroadcastMinimum", k, _sub(array(4.0, "float32"), k))
            low = emit("Clip", low, x_min=0.0, x_max=1.0)
            return _sub(v, _mul(_mul(v, s), low))

        return emit("Stack", part(5), part(3), part(1), to=images.type_name, axis=-1)

    return _batched(rgb)(images, data_format)


# ---- sizes


@op("images")
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
    _need("interpolation", interpolation, RESIZE_INTERPOLATIONS)
    if fill_mode != "constant":
        raise ValueError(
            f"Invalid value for argument `fill_mode`. Only `'constant'` is supported. Received: fill_mode={fill_mode}"
        )
    if pad_to_aspect_ratio and crop_to_aspect_ratio:
        raise ValueError("Only one of `pad_to_aspect_ratio` & `crop_to_aspect_ratio` can be `True`.")
    size = plain(size)
    if len(size) != 2:
        raise ValueError(f"Argument `size` must be a tuple of two elements (height, width). Received: size={size}")
    _need_rank("images", images)

    def sized(x):
        x = cast(x, "float32")
        return emit(
            "Resizing",
            _with_margins(x, size, fill_value) if pad_to_aspect_ratio else x,
            to=_float_type(images),
            height=int(size[0]),
            width=int(size[1]),
            interpolation=interpolation,
            antialias=bool(antialias),
            crop_to_aspect_ratio=bool(crop_to_aspect_ratio),
            data_format="channels_last",
        )

    return _batched(sized)(images, data_format)


def _with_margins(x, size, value):
    """Images of the aspect ratio of a size, with margins of a value."""
    height, width = x.shape[1:3]
    margins = []
    for now, other, new, ratio in ((height, width, size[0], size[1]), (width, height, size[1], size[0])):
        more = max(now, int(other * new / ratio)) - now
        margins.append([more // 2] * 2)  # as on Keras's backends, also of an odd number
    return pad(x, [[0, 0], *margins, [0, 0]], constant_values=float(value))


def _cubic(x):
    near = 1.5 * x**3 - 2.5 * x**2 + 1
    far = -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(radius):
    def f(x):
        y = np.where(x == 0, 1, np.sinc(x) * np.sinc(x / radius))
        return np.where(x < radius, y, 0)

    return f


_KERNELS = {
    "linear": lambda x: np.maximum(0, 1 - x),
    "cubic": _cubic,
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
}
_KERNELS |= {"bilinear": _KERNELS["linear"], "trilinear": _KERNELS["linear"], "triangle": _KERNELS["linear"]}
_KERNELS |= {"bicubic": _cubic, "tricubic": _cubic}


def _weights(size, new, scale, translation, kernel, antialias):
    """How much of each place each new place has."""
    spread = max(1 / scale, 1.0) if antialias else 1.0
    at = (np.arange(new) + 0.5) / scale - translation / scale - 0.5
    w = kernel(np.abs(at[None] - np.arange(size)[:, None]) / spread)
    total = w.sum(0, keepdims=True)
    w = np.where(np.abs(total) > 1000 * np.finfo("float32").eps, w / np.where(total != 0, total, 1), 0)
    inside = (at >= -0.5) & (at <= size - 0.5)
    return np.where(inside[None], w, 0)


def scale_and_translate(images, output_shape, scale, translation, spatial_dims, method, antialias=True):
    _need("method", method, tuple(_KERNELS))
    x = tensor(images)
    t = _float_type(x)
    scale, translation = (np.asarray(tensor(v).value, "float64") for v in (scale, translation))
    kernel = _KERNELS[method]
    for axis, s, offset in zip(plain(spatial_dims), scale, translation):
        w = _weights(x.shape[axis], int(output_shape[axis]), s, offset, kernel, antialias)
        x = _along(x, axis % len(x.shape), array(w, "float32"))
    return cast(x, t)


@op("x w")
def _along(x, axis, w):
    order = [i for i in range(len(x.shape)) if i != axis] + [axis]
    y = emit("MatMul", cast(transpose(x, order), "float32"), w)
    return transpose(y, [order.index(i) for i in range(len(order))])


# ---- samples at places


def _whole(x):
    return recast(emit("Floor", x), "int32")


def _mirrored(i, size):
    """0 1 2 1 0 1 2 ..."""
    last = size - 1
    return absolute(_sub(mod(_add(i, last), max(2 * last, 1)), array(last, "int32")))


def _inside(i, size, mode):
    if mode == "nearest" or mode == "constant":
        return emit("BroadcastMinimum", emit("BroadcastMaximum", i, array(0, "int32")), array(size - 1, "int32"))
    if mode == "wrap":
        return mod(i, size)
    if mode == "mirror":
        return _mirrored(i, size)
    twice = _add(_mul(i, 2), 1)
    return emit("RightShift", _mirrored(twice, 2 * size + 1), array(1, "int32"))


def _at(flat, places, sizes, base, order, mode, fill):
    """Rows of `flat` at places between those of a grid: `places`, a coordinate for each axis; `base`, their start."""
    corners = [[(_whole(_add(p, 0.5) if order == 0 else p), None)] for p in places]
    if order == 1:
        low = [c[0][0] for c in corners]
        parts = [_sub(p, recast(i, "float32")) for p, i in zip(places, low)]
        corners = [[(i, _sub(array(1.0, "float32"), w)), (_add(i, 1), w)] for i, w in zip(low, parts)]
    total = None
    for corner in itertools.product(*corners):
        at, weight, there = base, None, None
        for (i, w), size in zip(corner, sizes):
            if mode == "constant":
                fits = emit("Equal", _inside(i, size, mode), i)
                there = fits if there is None else emit("LogicalAnd", there, fits)
            at = _add(_mul(at, size), _inside(i, size, mode))
            weight = w if weight is None else weight if w is None else _mul(weight, w)
        rows = emit("Take", flat, at, axis=0)
        wide = [*at.shape, *[1] * (len(rows.shape) - len(at.shape))]
        if there is not None:
            rows = emit("Where", reshaped(there, wide), rows, fill)
        rows = rows if weight is None else _mul(rows, reshaped(weight, wide))
        total = rows if total is None else _add(total, rows)
    return total


@op("inputs coordinates fill_value")
def map_coordinates(inputs, coordinates, order, fill_mode="constant", fill_value=0.0):
    _need("fill_mode", fill_mode, _FILL_MODES)
    if order not in (0, 1):
        raise ValueError(f"Invalid value for argument `order`. Expected one of [0, 1]. Received: order={order}")
    if coordinates.shape[0] != len(inputs.shape):
        raise ValueError(
            "First dim of `coordinates` must be the same as the rank of `inputs`. "
            f"Received inputs with shape: {tuple(inputs.shape)} and coordinate leading dim of {coordinates.shape[0]}"
        )
    if len(coordinates.shape) < 2:
        raise ValueError(
            f"Invalid coordinates rank: expected at least rank 2. Received shape {tuple(coordinates.shape)}"
        )
    x = reshaped(cast(inputs, "float32"), [inputs.size])
    places = [cast(coordinates[i], "float32") for i in range(coordinates.shape[0])]
    base = array(np.zeros(places[0].shape), "int32")
    y = _at(x, places, inputs.shape, base, order, fill_mode, cast(fill_value, "float32"))
    if not is_float(inputs.type_name) and order:
        y = emit("Round", y)
    return cast(y, inputs.type_name)


def _sampled(x, ys, xs, order, mode, fill):
    """Of images (B, H, W, C) at places (B, h, w)."""
    b, h, w, c = x.shape
    flat = reshaped(cast(x, "float32"), [b * h * w, c])
    base = array(np.broadcast_to(np.arange(b).reshape(b, 1, 1), ys.shape), "int32")
    return _at(flat, [ys, xs], (h, w), base, order, mode, fill)


def _grid(h, w):
    return array(np.arange(h).reshape(1, h, 1), "float32"), array(np.arange(w).reshape(1, 1, w), "float32")


def _projected(x, m, order, mode, fill):
    """Each place from where eight numbers say: (B, 8)."""
    b, h, w, _ = x.shape
    ys, xs = _grid(h, w)
    m = [reshaped(m[:, i], [m.shape[0], 1, 1]) for i in range(8)]

    def line(i, one=None):
        y = _add(_mul(xs, m[i]), _mul(ys, m[i + 1]))
        return _add(y, m[i + 2] if one is None else one)

    by = line(6, 1.0)
    ones = array(np.ones((b, h, w)), "float32")
    return _sampled(
        x, _mul(emit("Divide", line(3), by), ones), _mul(emit("Divide", line(0), by), ones), order, mode, fill
    )


_ORDERS = {"nearest": 0, "bilinear": 1}


@op("images transform fill_value")
def affine_transform(images, transform, interpolation="bilinear", fill_mode="constant", fill_value=0, data_format=None):
    _need("interpolation", interpolation, tuple(_ORDERS))
    _need("fill_mode", fill_mode, _FILL_MODES)
    _need_rank("images", images)
    _need_rank("transform", transform, (1, 2))
    m = cast(transform, "float32")
    m = expand_dims(m, 0) if len(m.shape) == 1 else m
    fill = cast(fill_value, "float32")
    moved = _batched(lambda x: _projected(x, m, _ORDERS[interpolation], fill_mode, fill))
    return cast(moved(images, data_format), images.type_name)


def compute_homography_matrix(start_points, end_points):
    return homography(start_points, end_points)


@op("images matrix fill_value")
def _perspective(images, matrix, interpolation, fill_value, data_format):
    fill = cast(fill_value, "float32")
    moved = _batched(lambda x: _projected(x, matrix, _ORDERS[interpolation], "constant", fill))
    return cast(moved(images, data_format), images.type_name)


def perspective_transform(images, start_points, end_points, interpolation="bilinear", fill_value=0, data_format=None):
    images, start_points, end_points = tensor(images), tensor(start_points), tensor(end_points)
    _need("interpolation", interpolation, tuple(_ORDERS))
    _need_rank("images", images)
    for name, points in (("start_points", start_points), ("end_points", end_points)):
        if len(points.shape) not in (2, 3) or tuple(points.shape[-2:]) != (4, 2):
            raise ValueError(
                f"Invalid {name} shape: expected (4,2) for a single image or (N,4,2) for a batch. "
                f"Received shape: {tuple(points.shape)}"
            )
    matrix = homography(start_points, end_points)
    matrix = expand_dims(matrix, 0) if len(matrix.shape) == 1 else matrix
    return _perspective(images, matrix, interpolation, fill_value, data_format)


# ---- filters


def _bell(size, sigma):
    x = array(np.arange(size) - (size - 1) / 2, "float32")
    y = emit("Exp", _mul(emit("Square", emit("Divide", x, sigma)), -0.5))
    return emit("Divide", y, over("Sum", y, 0, True))


@op("images sigma")
def gaussian_blur(images, kernel_size=(3, 3), sigma=(1.0, 1.0), data_format=None):
    _need_rank("images", images)
    width, height = (int(n) for n in kernel_size)
    sigma = cast(sigma, "float32")
    down, across = _bell(height, sigma[1]), _bell(width, sigma[0])
    kernel = _mul(reshaped(down, [height, 1, 1, 1]), reshaped(across, [1, width, 1, 1]))

    def blurred(x):
        k = _mul(kernel, array(np.ones((1, 1, x.shape[-1], 1)), "float32"))
        return depthwise_conv(x, k, 1, "same", "channels_last", 1)

    return cast(_batched(blurred)(images, data_format), images.type_name)


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
    images = tensor(images)
    _need("interpolation", interpolation, tuple(_ORDERS))
    _need("fill_mode", fill_mode, _FILL_MODES)
    _need_rank("images", images)
    last = _last(expand_dims(images, 0) if len(images.shape) == 3 else images, data_format)
    b, h, w = last.shape[:3]
    size = int(6 * sigma) | 1
    bell = (size, size), (float(sigma), float(sigma))
    moves = gaussian_blur(normal((b, h, w, 2), dtype="float32", seed=seed), *bell, "channels_last") * float(alpha)
    return _elastic(images, moves, interpolation, fill_mode, fill_value, data_format)


@op("images moves fill_value")
def _elastic(images, moves, interpolation, fill_mode, fill_value, data_format):
    def moved(x):
        ys, xs = _grid(*x.shape[1:3])
        places = _add(ys, moves[..., 0]), _add(xs, moves[..., 1])
        return _sampled(x, *places, _ORDERS[interpolation], fill_mode, cast(fill_value, "float32"))

    return cast(_batched(moved)(images, data_format), images.type_name)


@op("images")
def sobel_edges(images, data_format=None):
    _need_rank("images", images, (4,))
    x = cast(_last(images, data_format), "float32")
    x = pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)], mode="reflect")
    down = np.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    parts = []
    for kernel in (down, down.T):
        k = array(np.repeat(kernel[:, :, None, None], x.shape[-1], 2), "float32")
        parts.append(_back(depthwise_conv(x, k, 1, "valid", "channels_last", 1), data_format))
    return emit("Stack", *parts, to=_float_type(images), axis=-1)
