"""Gradients of functions that NumPy computes: f(arguments, gradients of what it gave) is a list of those of the tensors
among the arguments, which are all given by position."""

from ..backend.lazy import np
from .arguments import array, FUNCTIONS, wide
from .image import channels_first
from .products import spelled
from .sequences import ctc_gradient
from .signals import dual, framing

GRADIENTS = {}  # by the names in keras.ops


def _gradient(*names):
    def add(f):
        GRADIENTS.update(dict.fromkeys(names, f))
        return f

    return add


# ---- functions that move elements, and put zeros between


def _moved(name):
    """Of a function of one tensor: where each element comes from is seen on their numbers."""

    def f(args, given):
        x = args[0]
        numbers = np.arange(1, x.size + 1, dtype="int64").reshape(x.shape)
        places, total = FUNCTIONS[name](numbers, *args[1:]), np.zeros(x.size + 1, given[0].dtype)
        for place, g in zip(places if isinstance(places, (list, tuple)) else [places], given):
            np.add.at(total, np.asarray(place).ravel(), g.ravel())
        return [total[1:].reshape(x.shape)]

    return f


_MOVING = (
    "unfold depth_to_space space_to_depth copy real image.extract_patches image.extract_patches_3d image.pad_images "
    "image.crop_images rot90 array_split hsplit vsplit dsplit diag diagflat extract_sequences"
)
GRADIENTS.update({name: _moved(name) for name in _MOVING.split()})


@_gradient("append")
def _append(args, given):
    x, y = args[:2]
    axis = args[2]
    a, b = np.split(given[0], [x.size if axis is None else x.shape[axis]], 0 if axis is None else axis)
    return [a.reshape(x.shape), b.reshape(y.shape)]


@_gradient("sort")
def _sort(args, given):
    x = args[0]
    axis = args[1]
    total = np.zeros_like(given[0])
    np.put_along_axis(total, np.argsort(x, axis, kind="stable"), given[0], axis)
    return [total]


@_gradient("top_k")
def _top_k(args, given):
    places, total = np.asarray(FUNCTIONS["top_k"](*args)[1]), np.zeros(args[0].shape, given[0].dtype)
    np.put_along_axis(total, places, given[0], -1)
    return [total]


@_gradient("scatter")
def _scatter(args, given):
    return [None, given[0][tuple(np.moveaxis(np.asarray(args[0]), -1, 0))]]


@_gradient("scatter_update")
def _scatter_update(args, given):
    places = tuple(np.moveaxis(np.asarray(args[1]), -1, 0))
    if args[3] not in (None, "add"):
        raise NotImplementedError(f"scatter_update: the gradient of reduction={args[3]!r}")
    kept = given[0].copy()
    kept[places] = 0 if args[3] is None else kept[places]
    return [kept, None, given[0][places]]


@_gradient("slice_update")
def _slice_update(args, given):
    places = tuple(slice(int(b), int(b) + n) for b, n in zip(np.ravel(args[1]), np.shape(args[2])))
    kept = given[0].copy()
    kept[places] = 0
    return [kept, *(None for a in args[1:2] if hasattr(a, "dtype")), given[0][places]]


# ---- spectra


def _conjugate(name, scaled):
    """By the conjugate transform."""

    def f(_, given):
        c = given[0] + 1j * given[1]
        axes = (-1,) if name == "fft" else (-2, -1)
        count = np.prod([c.shape[a] for a in axes])
        back = (np.fft.fftn if scaled else np.fft.ifftn)(c, axes=axes) * (1 / count if scaled else count)
        return [back.real, back.imag]

    return f


GRADIENTS.update({name: _conjugate(name, name == "ifft2") for name in ("fft", "fft2", "ifft2")})


def _fitted(g, size):
    """The first numbers of the last axis, with zeros behind."""
    return np.pad(g[..., :size], [(0, 0)] * (g.ndim - 1) + [(0, max(size - g.shape[-1], 0))])


@_gradient("rfft")
def _rfft(args, given):
    x, size = args[0], args[1]
    size = size or x.shape[-1]
    whole = np.zeros((*given[0].shape[:-1], size), "complex128")
    whole[..., : given[0].shape[-1]] = given[0] + 1j * given[1]
    return [_fitted((np.fft.ifft(whole) * size).real, x.shape[-1])]


@_gradient("stft")
def _stft(args, given):
    """Of overlapping frames, the last of which the padding mirrored."""
    x, length, step, size, window, center = args
    weights = framing(window, length, size, "float32")
    numbers = np.arange(x.size).reshape(x.shape)
    if center:
        numbers = np.pad(numbers, [(0, 0)] * (x.ndim - 1) + [(size // 2,) * 2], mode="reflect")
    places, total = FUNCTIONS["extract_sequences"](numbers, size, step), np.zeros(x.size)
    (frames,) = _rfft([places, None], given)
    np.add.at(total, places.ravel(), (frames * weights).ravel())
    return [total.reshape(x.shape)]


@_gradient("irfft")
def _irfft(args, given):
    bins, size = args[0][0].shape[-1], args[1]
    size = size or 2 * (bins - 1)
    c = np.fft.rfft(given[0], size) / size
    c[..., 1 : (size + 1) // 2] *= 2
    c = _fitted(c, bins)
    c.imag[..., 0] = 0
    if size % 2 == 0 and bins > size // 2:
        c.imag[..., size // 2] = 0
    return [c.real, c.imag]


@_gradient("istft")
def _istft(args, given):
    """Of the frames that were added up."""
    (real, _), length, step, size, _, window, center = args
    count, start = real.shape[-2], size // 2 if center else 0
    total = size + (count - 1) * step
    g = np.zeros((*given[0].shape[:-1], total))
    inside = given[0][..., : total - start]
    g[..., start : start + inside.shape[-1]] = inside
    frames = g[..., np.arange(count)[:, None] * step + np.arange(size)]
    return _irfft([args[0], size], [frames * dual(window, length, step, size)])


# ---- products


@_gradient("cumprod")
def _cumprod(args, given):
    x = np.asarray(args[0], "float64")
    axis = args[1]
    g, flat = (given[0].reshape(-1), x.reshape(-1)) if axis is None else (given[0], x)
    flat, g = (np.moveaxis(a, 0 if axis is None else axis, -1) for a in (flat, g))
    size, total = flat.shape[-1], np.zeros(flat.shape)
    for i in range(size):  # of the i-th factor: the products behind it without it
        others = flat.copy()
        others[..., i] = 1
        total[..., i] = (np.cumprod(others, -1)[..., i:] * g[..., i:]).sum(-1)
    return [np.moveaxis(total, -1, 0 if axis is None else axis).reshape(x.shape)]


def _t(a):
    return np.swapaxes(a, -1, -2)


@_gradient("inv")
def _inv(args, given):
    y = np.linalg.inv(args[0])
    return [-_t(y) @ given[0] @ _t(y)]


@_gradient("det")
def _det(args, given):
    return [(given[0] * np.linalg.det(args[0]))[..., None, None] * _t(np.linalg.inv(args[0]))]


@_gradient("logdet")
def _logdet(args, given):
    return [given[0][..., None, None] * _t(np.linalg.inv(args[0]))]


@_gradient("slogdet")
def _slogdet(args, given):
    return [given[1][..., None, None] * _t(np.linalg.inv(args[0]))]


@_gradient("solve")
def _solve(args, given):
    a, b = args
    column = b.ndim == a.ndim - 1
    g, x = given[0], np.linalg.solve(a, b[..., None] if column else b)
    back = np.linalg.solve(_t(a), g[..., None] if column else g)
    return [-back @ _t(x), back[..., 0] if column else back]


@_gradient("cholesky")
def _cholesky(args, given):
    """By the formula of Murray."""
    low = np.linalg.cholesky(np.asarray(args[0], "float64"))
    p = np.tril(_t(low) @ given[0])
    p[..., np.arange(p.shape[-1]), np.arange(p.shape[-1])] /= 2
    s = np.linalg.solve(_t(low), p) @ np.linalg.inv(low)
    return [(s + _t(s)) / 2]


@_gradient("cdist")
def _cdist(args, given):
    a, b = args[:2]
    difference = a[..., :, None, :] - b[..., None, :, :]
    distance = np.sqrt((difference**2).sum(-1, keepdims=True))
    g = given[0][..., None] * np.divide(difference, distance, out=np.zeros_like(difference), where=distance > 0)
    return [g.sum(-2), -g.sum(-3)]


@_gradient("cross")
def _cross(args, given):
    a, b = args[:2]
    if any(x not in (-1, None) for x in args[2:]) or a.shape != b.shape or a.shape[-1] != 3:
        raise NotImplementedError("cross: of vectors of 3 along the last axis")
    return [np.cross(b, given[0]), np.cross(given[0], a)]


# ---- of images and sequences


@_gradient("image.rgb_to_grayscale")
def _grayscale(args, given):
    first = args[1] == "channels_first"
    shares = np.array([0.2989, 0.5870, 0.1140], "float32")
    return [given[0] * (shares[:, None, None] if first else shares)]


@_gradient("image.resize")
def _resize(args, given):
    """Each axis has its shares of pixels, which the resized unit matrix tells."""
    x, size, how, antialias, crops, pads = args[:6]
    if crops or pads:
        raise NotImplementedError("image.resize: the gradient with crop_to_aspect_ratio or pad_to_aspect_ratio")
    height = -2 if channels_first(args[8]) else -3
    total = given[0]
    for axis, n in ((height, size[0]), (height + 1, size[1])):
        unit = np.eye(x.shape[axis], dtype="float32")[None, :, None]
        shares = FUNCTIONS["image.resize"](unit, (n, 1), how, antialias, data_format="channels_last")[0, :, 0]
        total = np.moveaxis(np.tensordot(total, shares, ([axis], [0])), -1, axis)
    return [total]


@_gradient("_einsum")
def _einsum(args, given):
    operands = [wide(array(x)) for x in args[0]]
    sources, result = spelled(args[1].replace(" ", ""), [x.ndim for x in operands])
    found = []
    for i, (x, labels) in enumerate(zip(operands, sources)):
        terms = [(result, given[0]), *((s, y) for j, (s, y) in enumerate(zip(sources, operands)) if j != i)]
        kept = [c for c in labels if any(c in s for s, _ in terms)]
        words = ",".join("".join(s) for s, _ in terms) + "->" + "".join(kept)
        total = np.einsum(words, *(y for _, y in terms), optimize=True)
        total = np.expand_dims(total, [k for k, c in enumerate(labels) if c not in kept])
        alike = tuple(k for k, n in enumerate(x.shape) if n == 1 and total.shape[k] > 1)
        found.append(np.broadcast_to(total.sum(alike, keepdims=True), x.shape))
    return found


@_gradient("ctc_loss")
def _ctc(args, given):
    return [None, ctc_gradient(*args) * given[0][:, None, None]]


def gradients(name, args, given):
    """Of the tensors among the arguments of a function, in their order; None where there is none."""
    given = [wide(array(g)) for g in given]
    return GRADIENTS[name](args, given)
