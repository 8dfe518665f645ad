"""What NumPy computes. In a traced step it is called by the library, with gradients where they are given here.

Sizes that depend on numbers, which no trace has: nonzero, unique, bincount. Counting: histogram. Decompositions and
spectra, for which the library has no kernels: the functions of linear algebra and of Fourier transforms. Bits: view,
nextafter. Whole numbers: gcd, lcm. Special functions: i0. Draws with rejection: gamma, beta, binomial. Decoding:
ctc_decode. Python's functions over elements: vectorize."""

import numpy as np
from keras.src.backend.common import dtypes

from . import derivatives as of
from . import shapes, trace
from .dtypes import NeedsNumbers, Unsupported, name_of, numpy_dtype
from .functions import by_numpy


def _like(y, *xs):
    """float32 of what NumPy computed in double, or the type of the inputs."""
    kinds = [np.asarray(x).dtype for x in xs]
    t = next((k for k in kinds if k.kind == "f" or k.name == "bfloat16"), np.dtype("float32"))
    return np.asarray(y, t)


def _double(x):
    return np.asarray(x, "float64")


# ---- sizes that depend on numbers


@by_numpy("x", sized=False)
def nonzero(x):
    return tuple(i.astype("int32") for i in np.nonzero(x))


shapes.nonzero = nonzero


def unique(
    x,
    sorted=True,  # noqa: A002
    return_index=False,
    return_inverse=False,
    return_counts=False,
    axis=None,
    size=None,
    fill_value=None,
):
    f = _unique if size is None else _unique_sized
    return f(x, return_index, return_inverse, return_counts, axis, size, fill_value)


def _unique_of(x, return_index, return_inverse, return_counts, axis, size, fill_value):
    found = np.unique(x, True, True, True, axis=axis, equal_nan=False)
    values, index, inverse, counts = found
    inverse = inverse.reshape(x.shape if axis is None else -1)
    if size is not None:
        values, index, counts = (
            _sized(v, size, axis, fill) for v, fill in ((values, fill_value), (index, None), (counts, 0))
        )
    more = [(return_index, index), (return_inverse, inverse), (return_counts, counts)]
    picked = [v.astype("int32") for wanted, v in more if wanted]
    return (values, *picked) if picked else values


_unique = by_numpy("x", sized=False, name="unique")(_unique_of)
_unique_sized = by_numpy("x", name="unique")(_unique_of)


def _sized(values, size, axis, fill):
    axis = (axis or 0) if values.ndim > 1 else 0
    values = np.take(values, range(min(size, values.shape[axis])), axis)
    missing = size - values.shape[axis]
    if missing <= 0:
        return values
    rest = list(values.shape)
    rest[axis] = missing
    first = values.flat[0] if values.size else 0
    return np.concatenate([values, np.full(rest, first if fill is None else fill, values.dtype)], axis)


def bincount(x, weights=None, minlength=0, sparse=False):
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with the backend dl4")
    return (_counts_below if minlength and trace.has_traced(x) else _counts)(x, weights, int(minlength))


@by_numpy("x weights", name="bincount")
def _counts_below(x, weights, size):
    """In a trace, which has no other size."""
    if x.size and x.max() >= size:
        raise ValueError(f"keras.ops.bincount: expected values below minlength, {size}, in a trace, got {x.max()}")
    return _counts.__wrapped__(x, weights, size)


@by_numpy("x weights", sized=False, name="bincount")
def _counts(x, weights, size):
    t = "int32" if weights is None or weights.dtype == bool else name_of(weights.dtype)
    rows = x.reshape(-1, x.shape[-1])
    given = [None] * len(rows) if weights is None else weights.reshape(rows.shape)
    size = max(size, int(x.max()) + 1 if x.size else 0)
    found = [np.bincount(r, w, size) for r, w in zip(rows, given)]
    return np.stack(found).reshape(*x.shape[:-1], size).astype(numpy_dtype(t))


@by_numpy("x")
def histogram(x, bins=10, range=None):  # noqa: A002
    counts, edges = np.histogram(_double(x), bins, range)
    return counts.astype("int32"), edges.astype("float32")


# ---- bits and whole numbers


@by_numpy("x", name="view")
def _viewed(x, name):
    return np.ascontiguousarray(x).reshape(x.shape).view(numpy_dtype(name))


shapes._viewed = _viewed


@by_numpy("x1 x2")
def nextafter(x1, x2):
    t = numpy_dtype(dtypes.result_type(name_of(x1.dtype), name_of(x2.dtype), float))
    return np.nextafter(x1.astype("float32"), x2.astype("float32")).astype(t)


def _whole(f):
    @by_numpy("x1 x2", name=f.__name__)
    def g(x1, x2):
        t = numpy_dtype(dtypes.result_type(name_of(x1.dtype), name_of(x2.dtype)))
        return f(x1.astype(t), x2.astype(t))

    return g


gcd, lcm = _whole(np.gcd), _whole(np.lcm)


@by_numpy("x", of.of_i0)
def i0(x):
    return _like(np.i0(_double(x)), x)


def vectorize(pyfunc, *, excluded=None, signature=None):
    if not callable(pyfunc):
        raise ValueError(f"Expected `pyfunc` to be callable. Received: pyfunc={pyfunc}")
    over = np.vectorize(lambda *a, **k: np.asarray(pyfunc(*a, **k)), excluded=excluded, signature=signature)

    def either(*args, **kwargs):
        if trace.has_traced(list(args)):
            raise NeedsNumbers("keras.ops.vectorize: expected arrays, got a traced tensor")
        return trace.convert(over(*(np.asarray(a) if hasattr(a, "shape") else a for a in args), **kwargs))

    return either


# ---- linear algebra


@by_numpy("a", of.of_cholesky)
def cholesky(a, upper=False):
    try:
        y = np.linalg.cholesky(_double(a))
    except np.linalg.LinAlgError:
        raise np.linalg.LinAlgError(
            "Cholesky decomposition failed. The input might not be a valid positive definite matrix."
        ) from None
    return _like(np.swapaxes(y, -1, -2) if upper else y, a)


@by_numpy("a")
def cholesky_inverse(a, upper=False):
    a = np.asarray(a)
    inverse = np.linalg.inv(np.triu(_double(a)) if upper else np.tril(_double(a)))
    turned = np.swapaxes(inverse, -1, -2)
    return _like(inverse @ turned if upper else turned @ inverse, a)


@by_numpy("a", of.of_det)
def det(a):
    return _like(np.linalg.det(_double(a)), a)


@by_numpy("x", of.of_slogdet)
def slogdet(x):
    sign, size = np.linalg.slogdet(_double(x))
    return _like(sign, x), _like(size, x)


@by_numpy("x", of.of_logdet)
def logdet(x):
    return _like(np.linalg.slogdet(_double(x))[1], x)


def eig(x):
    raise Unsupported("keras.ops.eig: the backend dl4 has no complex numbers: expected eigh() of a symmetric matrix")


@by_numpy("x", of.of_eigh)
def eigh(x):
    values, vectors = np.linalg.eigh(_double(x))
    return _like(values, x), _like(vectors, x)


@by_numpy("a", of.of_inv)
def inv(a):
    return _like(np.linalg.inv(_double(a)), a)


@by_numpy("x")
def lu_factor(x):
    """Rows are exchanged for the largest pivot of each column."""
    lu = _double(x).copy()
    m, n = lu.shape[-2:]
    flat = lu.reshape(-1, m, n)
    pivots = np.tile(np.arange(min(m, n), dtype="int32"), (len(flat), 1))
    for a, p in zip(flat, pivots):
        for k in range(min(m, n)):
            p[k] = k + np.argmax(np.abs(a[k:, k]))
            a[[k, p[k]]] = a[[p[k], k]]
            if a[k, k] != 0:
                a[k + 1 :, k] /= a[k, k]
            a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return _like(lu, x), pivots.reshape(*lu.shape[:-2], -1)


@by_numpy("x", of.of_qr)
def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}"
        )
    q, r = np.linalg.qr(_double(x), mode)
    return _like(q, x), _like(r, x)


@by_numpy("a b", of.of_solve)
def solve(a, b):
    b2 = b[..., None] if b.ndim == a.ndim - 1 else b
    y = np.linalg.solve(_double(a), _double(b2))
    return _like(y[..., 0] if b.ndim == a.ndim - 1 else y, a)


@by_numpy("a b", of.of_solve_triangular)
def solve_triangular(a, b, lower=False):
    b2 = b[..., None] if b.ndim == a.ndim - 1 else b
    y = np.linalg.solve((np.tril if lower else np.triu)(_double(a)), _double(b2))
    return _like(y[..., 0] if b.ndim == a.ndim - 1 else y, a)


@by_numpy("x", of.of_svd)
def svd(x, full_matrices=True, compute_uv=True):
    found = np.linalg.svd(_double(x), full_matrices, compute_uv)
    return tuple(_like(y, x) for y in found) if compute_uv else _like(found, x)


@by_numpy("a b", of.of_lstsq)
def lstsq(a, b, rcond=None):
    return _like(np.linalg.lstsq(_double(a), _double(b), rcond)[0], a)


@by_numpy("x")
def matrix_rank(x, tol=None):
    return np.asarray(np.linalg.matrix_rank(np.asarray(x, "float32"), tol), "int32")


@by_numpy("x", of.of_pinv)
def pinv(x, rcond=None):
    return _like(np.linalg.pinv(_double(x), 1e-15 * max(x.shape[-2:]) if rcond is None else rcond), x)


@by_numpy("x", of.of_norm, name="norm")
def norm_by_values(x, ord, axis, keepdims):  # noqa: A002
    return _like(np.linalg.norm(_double(x), ord, tuple(axis), bool(keepdims)), x)


# ---- spectra


def _spectrum(f, gradient):
    @by_numpy("x*", gradient, name=f.__name__)
    def g(x):
        y = f(_double(x[0]) + 1j * _double(x[1]))
        return _like(y.real, x[0]), _like(y.imag, x[0])

    return g


_fft, _fft2 = _spectrum(np.fft.fft, of.of_fft), _spectrum(np.fft.fft2, of.of_fft2)
_ifft2 = _spectrum(np.fft.ifft2, of.of_ifft2)


def _parts(f, least):
    def g(x):
        if not isinstance(x, (tuple, list)) or len(x) != 2:
            raise ValueError(f"Input `x` should be a tuple of two tensors - real and imaginary. Received: x={x}")
        real, imag = map(trace.tensor, x)
        if tuple(real.shape) != tuple(imag.shape):
            raise ValueError(
                "Input `x` should be a tuple of two tensors - real and imaginary. Both the real and imaginary parts "
                f"should have the same shape. Received: x[0].shape = {real.shape}, x[1].shape = {imag.shape}"
            )
        if len(real.shape) < least:
            raise ValueError(f"Input should have rank >= {least}. Received: input.shape = {real.shape}")
        return f([real, imag])

    return g


fft, fft2, ifft2 = _parts(_fft, 1), _parts(_fft2, 2), _parts(_ifft2, 2)


@by_numpy("x", of.of_rfft)
def rfft(x, fft_length=None):
    y = np.fft.rfft(_double(x), fft_length)
    return _like(y.real, x), _like(y.imag, x)


@by_numpy("x*", of.of_irfft, name="irfft")
def _irfft(x, fft_length=None):
    return _like(np.fft.irfft(_double(x[0]) + 1j * _double(x[1]), fft_length), x[0])


def irfft(x, fft_length=None):
    return _parts(lambda v: _irfft(v, fft_length), 1)(x)


# ---- draws with rejection, from a generator of its own for each seed


def generator(seed):
    return np.random.Generator(np.random.Philox(key=np.asarray(seed, "uint64").ravel()[:2].tolist()))


@by_numpy("seed alpha", name="random.gamma")
def gamma_of(seed, alpha, shape, name):
    return generator(seed).gamma(_double(alpha), size=tuple(shape)).astype(numpy_dtype(name))


@by_numpy("seed counts probabilities", name="random.binomial")
def binomial_of(seed, counts, probabilities, shape, name):
    drawn = generator(seed).binomial(counts.astype("int64"), _double(probabilities), tuple(shape))
    return drawn.astype(numpy_dtype(name))


@by_numpy("seed alpha beta", name="random.beta")
def beta_of(seed, alpha, beta, shape, name):
    return generator(seed).beta(_double(alpha), _double(beta), tuple(shape)).astype(numpy_dtype(name))


# ---- images


@by_numpy("start_points end_points", name="image.perspective_transform")
def homography(start_points, end_points):
    """The eight numbers by which places of the end are those of the start."""
    start, end = (_double(p).reshape(-1, 4, 2) for p in (start_points, end_points))
    rows, wanted = [], []
    for i in range(4):
        x, y = end[:, i, 0], end[:, i, 1]
        u, v = start[:, i, 0], start[:, i, 1]
        one, none = np.ones_like(x), np.zeros_like(x)
        rows.append(np.stack([x, y, one, none, none, none, -u * x, -u * y], -1))
        rows.append(np.stack([none, none, none, x, y, one, -v * x, -v * y], -1))
        wanted += [u, v]
    found = np.linalg.solve(np.stack(rows, 1), np.stack(wanted, 1)[..., None])[..., 0].astype("float32")
    return found if start_points.ndim == 3 else found[0]


# ---- decoding


def _collapsed(best, length, merge, blank):
    ids = best[:length]
    if merge:
        ids = ids[np.concatenate([[True], ids[1:] != ids[:-1]])] if length else ids
    return ids[ids != blank]


@by_numpy("inputs sequence_lengths", name="ctc_decode")
def _greedy(inputs, sequence_lengths, merge_repeated, mask_index):
    x = _double(inputs)
    best = x.argmax(-1)
    y = np.full(best.shape, -1, "int32")
    scores = np.zeros((len(x), 1))
    for i, length in enumerate(sequence_lengths):
        ids = _collapsed(best[i], int(length), merge_repeated, mask_index)
        y[i, : len(ids)] = ids
        scores[i] = -x[i, : int(length)].max(-1).sum()
    return y[None], scores.astype("float32")


def _beams(log, width, blank):
    """Prefixes with the logarithms of their paths that end with a blank and without one, best first."""
    beams = {(): (0.0, -np.inf)}
    for step in log:
        found = {}

        def give(prefix, ends_blank, value):
            pair = found.setdefault(prefix, [-np.inf, -np.inf])
            pair[not ends_blank] = np.logaddexp(pair[not ends_blank], value)

        for prefix, (with_blank, without) in beams.items():
            both = np.logaddexp(with_blank, without)
            give(prefix, True, both + step[blank])
            for c in range(len(step)):
                if c == blank:
                    continue
                if prefix and prefix[-1] == c:
                    give(prefix, False, without + step[c])
                    give((*prefix, c), False, with_blank + step[c])
                else:
                    give((*prefix, c), False, both + step[c])
        order = sorted(found.items(), key=lambda item: -np.logaddexp(*item[1]))[:width]
        beams = {prefix: tuple(pair) for prefix, pair in order}
    return [(prefix, np.logaddexp(*pair)) for prefix, pair in beams.items()]


@by_numpy("inputs sequence_lengths", name="ctc_decode")
def _beam_search(inputs, sequence_lengths, beam_width, top_paths, mask_index):
    x = _double(inputs)
    log = x - np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)) - x.max(-1, keepdims=True)
    y = np.full((top_paths, *x.shape[:2]), -1, "int32")
    scores = np.full((len(x), top_paths), -np.inf)
    for i, length in enumerate(sequence_lengths):
        for k, (prefix, score) in enumerate(_beams(log[i, : int(length)], beam_width, mask_index)[:top_paths]):
            y[k, i, : len(prefix)] = prefix
            scores[i, k] = score
    return y, scores.astype("float32")


def ctc_decode(
    inputs,
    sequence_lengths,
    strategy="greedy",
    beam_width=100,
    top_paths=1,
    merge_repeated=True,
    mask_index=0,
):
    if strategy == "greedy":
        return _greedy(inputs, sequence_lengths, merge_repeated, mask_index)
    if strategy != "beam_search":
        raise ValueError(f"Invalid strategy {strategy}. Supported values are 'greedy' and 'beam_search'.")
    return _beam_search(inputs, sequence_lengths, beam_width, top_paths, mask_index)
