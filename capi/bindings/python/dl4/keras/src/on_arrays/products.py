"""Products and linear algebra of arrays."""

from ..backend.dtypes import result_type, standardize
from ..backend.lazy import np
from .arguments import array, cast, common, dtype_of, FUNCTIONS, on_arrays, real, wide


def _product(name):
    def f(x1, x2, *args, **kwargs):
        a, b = common(x1, x2)
        return np.asarray(getattr(np, name)(wide(a), wide(b), *args, **kwargs)).astype(a.dtype, copy=False)

    return f


FUNCTIONS.update({name: _product(name) for name in ("dot", "inner", "outer", "vdot", "kron")})


@on_arrays
def matmul(x1, x2):
    if str(dtype_of(x1)) == str(dtype_of(x2)) == "int8":
        return np.matmul(array(x1).astype("int32"), array(x2).astype("int32"))
    a, b = common(x1, x2)
    return np.matmul(wide(a), wide(b)).astype(a.dtype, copy=False)


@on_arrays
def tensordot(x1, x2, axes=2):
    a, b = common(x1, x2)
    return np.asarray(np.tensordot(wide(a), wide(b), axes)).astype(a.dtype, copy=False)


@on_arrays
def correlate(x1, x2, mode="valid"):
    a, b = common(x1, x2, floats=True)
    return np.correlate(wide(a), wide(b), mode).astype(a.dtype)


@on_arrays
def cross(x1, x2, axisa=-1, axisb=-1, axisc=-1, axis=None):
    a, b = common(x1, x2)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    for v, name in ((a, "x1"), (b, "x2")):
        if v.shape[-1] not in (2, 3):
            raise ValueError(
                f"`{name}`'s dim on `axis{'a' if name == 'x1' else 'b'}` must be either 2 or 3, received: {v.shape}"
            )
    flat = a.shape[-1] == b.shape[-1] == 2
    a, b = (np.concatenate([v, np.zeros_like(v[..., :1])], -1) if v.shape[-1] == 2 else v for v in (a, b))
    a, b = np.broadcast_arrays(a, b)
    i, j = [1, 2, 0], [2, 0, 1]
    if a.dtype == bool:
        y = np.logical_xor(a[..., i] & b[..., j], a[..., j] & b[..., i])
    else:
        y = a[..., i] * b[..., j] - a[..., j] * b[..., i]
    return y[..., 2] if flat else np.moveaxis(y, -1, axisc)


@on_arrays
def cdist(x, y):
    a, b = common(x, y, floats=True)
    if a.ndim < 2 or b.ndim < 2:
        raise ValueError(f"cdist: expected arrays of two axes or more, got {a.shape} and {b.shape}")
    return np.sqrt(np.sum(np.square(a[..., :, None, :] - b[..., None, :, :]), -1))


# ---- linear algebra


def _square(a, name="x"):
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Expected a square matrix. Received input with shape: {a.shape}")
    return a


def _at_least_2d(a):
    if a.ndim < 2:
        raise ValueError(
            f"Input should have rank >= 2. Received: input.shape = {a.shape}. Expected input to have rank >= 2."
        )
    return a


@on_arrays
def cholesky(x, upper=False):
    a = _square(_at_least_2d(real(x)))
    try:
        y = np.linalg.cholesky(wide(a))
    except np.linalg.LinAlgError as e:
        raise ValueError(f"Cholesky decomposition failed: {e}") from e
    return (np.swapaxes(y, -1, -2) if upper else y).astype(a.dtype, copy=False)


@on_arrays
def cholesky_inverse(x, upper=False):
    a = _square(_at_least_2d(real(x)))
    low = np.swapaxes(wide(a), -1, -2) if upper else wide(a)
    back = np.linalg.inv(low.astype("float64"))
    return (np.swapaxes(back, -1, -2) @ back).astype(a.dtype)


@on_arrays
def det(x):
    a = _square(_at_least_2d(real(x)))
    return np.asarray(np.linalg.det(wide(a))).astype(a.dtype)


@on_arrays
def logdet(x):
    return slogdet(x)[1]


@on_arrays
def slogdet(x):
    a = _square(_at_least_2d(real(x)))
    return tuple(np.asarray(v).astype(a.dtype) for v in np.linalg.slogdet(wide(a)))


@on_arrays
def inv(x):
    a = _square(_at_least_2d(real(x)))
    return np.linalg.inv(wide(a)).astype(a.dtype)


@on_arrays
def pinv(x, rcond=None):
    a = _at_least_2d(real(x))
    return np.linalg.pinv(wide(a), rcond).astype(a.dtype)


@on_arrays
def matrix_rank(x, tol=None):
    return np.asarray(np.linalg.matrix_rank(wide(_at_least_2d(real(x))), tol)).astype("int32")


@on_arrays
def eigh(x):
    a = _square(_at_least_2d(real(x)))
    return tuple(v.astype(a.dtype) for v in np.linalg.eigh(wide(a)))


@on_arrays
def eig(x):
    raise NotImplementedError("eig: its values are complex numbers, which are not in this version of the library")


@on_arrays
def qr(x, mode="reduced"):
    if mode not in ("reduced", "complete"):
        raise ValueError(
            f"`mode` argument value not supported. Expected one of {{'reduced', 'complete'}}. Received: mode={mode}"
        )
    a = _at_least_2d(real(x))
    return tuple(v.astype(a.dtype) for v in np.linalg.qr(wide(a), mode))


@on_arrays
def svd(x, full_matrices=True, compute_uv=True):
    a = _at_least_2d(real(x))
    got = np.linalg.svd(wide(a), full_matrices, compute_uv)
    return tuple(v.astype(a.dtype) for v in got) if compute_uv else got.astype(a.dtype)


def _right_sides(a, b):
    """b as columns of matrices; are they vectors?"""
    if b.ndim == a.ndim - 1:
        if b.shape != a.shape[:-1]:
            raise ValueError(
                "Incompatible shapes between `a` and `b`. Expected `a.shape[-2] == b.shape[-1]`. Received: "
                f"a.shape={a.shape}, b.shape={b.shape}"
            )
        return b[..., None], True
    if b.ndim != a.ndim:
        raise ValueError(
            f"Expected `b.ndim` to be `a.ndim` or `a.ndim - 1`. Received: a.ndim={a.ndim}, b.ndim={b.ndim}"
        )
    if b.shape[-2] != a.shape[-2]:
        raise ValueError(
            "Incompatible shapes between `a` and `b`. Expected `a.shape[-2] == b.shape[-2]`. Received: "
            f"a.shape={a.shape}, b.shape={b.shape}"
        )
    return b, False


@on_arrays
def solve(a, b):
    a, b = common(a, b, floats=True)
    b, is_vector = _right_sides(_square(_at_least_2d(a)), b)
    y = np.linalg.solve(wide(a), wide(b)).astype(a.dtype)
    return y[..., 0] if is_vector else y


@on_arrays
def solve_triangular(a, b, lower=False):
    a, b = common(a, b, floats=True)
    b, is_vector = _right_sides(_square(_at_least_2d(a)), b)
    part = np.tril(wide(a)) if lower else np.triu(wide(a))
    y = np.linalg.solve(part, wide(b)).astype(a.dtype)
    return y[..., 0] if is_vector else y


@on_arrays
def lstsq(a, b, rcond=None):
    a, b = common(a, b, floats=True)
    if a.ndim != 2:
        raise ValueError(f"Expected `a` to have rank 2. Received: a.shape={a.shape}")
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"Expected `b` to have rank 1 or 2 and as many rows as `a`. Received: a.shape={a.shape}, b.shape={b.shape}"
        )
    return np.linalg.lstsq(wide(a), wide(b), rcond)[0].astype(a.dtype)


@on_arrays
def lu_factor(x):
    a = _at_least_2d(real(x))
    work = np.array(wide(a), "float64")
    n = min(a.shape[-2:])
    swaps = np.zeros((*a.shape[:-2], n), "int32")
    for at in np.ndindex(a.shape[:-2]):
        m, places = work[at], swaps[at]
        for k in range(n):
            p = k + int(np.argmax(np.abs(m[k:, k])))
            places[k] = p
            m[[k, p]] = m[[p, k]]
            if m[k, k] != 0:
                m[k + 1 :, k] /= m[k, k]
                m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return work.astype(a.dtype), swaps


@on_arrays
def normalize(x, axis=-1, order=2, epsilon=None):
    a = real(x)
    least = 1e-7 if epsilon is None else epsilon
    size = np.linalg.norm(wide(a), ord=order, axis=axis, keepdims=True)
    return (wide(a) / np.maximum(size, least)).astype(a.dtype)


@on_arrays
def saturate_cast(x, dtype):
    a, to = array(x), cast(0, standardize(dtype)).dtype
    if to.kind == "b":
        return a.astype(bool)
    if to.kind in "iu":
        info = np.iinfo(to)
        a = a.astype("float64") if a.dtype.kind not in "iub" else a.astype("int64")
        return np.clip(a, info.min, info.max).astype(to)
    return a.astype(to)


def spelled(subscripts, ranks):
    """The labels of each operand and of the result; "..." stands for capitals."""
    given, _, result = subscripts.partition("->")
    sources = given.split(",")
    if len(sources) != len(ranks):
        raise ValueError(f"einsum: {subscripts!r} names {len(sources)} operands, got {len(ranks)}")
    if "->" not in subscripts:
        letters = sorted(set(given) - set(",."))
        result = ("..." if "..." in given else "") + "".join(c for c in letters if given.count(c) == 1)
    spare = [c for c in "ZYXWVUTSRQPONM" if c not in given]
    hidden = [r - len(s.replace("...", "")) for s, r in zip(sources, ranks)]
    longest = max([0] + [h for s, h in zip(sources, hidden) if "..." in s])
    spelled = []
    for s, rank, h in zip(sources, ranks, hidden):
        labels = list(s.replace("...", "".join(spare[longest - h : longest])))
        if len(labels) != rank:
            raise ValueError(f"einsum: {s!r} is not for an operand of {rank} axes")
        if len(set(labels)) < len(labels):
            raise NotImplementedError(f"einsum: a label twice in one operand of {subscripts!r}")
        spelled.append(labels)
    return spelled, list(result.replace("...", "".join(spare[:longest])))


def einsum(operands, subscripts):
    dtypes = [dtype_of(x) for x in operands]
    whole = len(set(map(str, dtypes))) == 1 and str(dtypes[0]) == "int8"
    to = "int32" if whole else result_type(*dtypes)
    return np.asarray(np.einsum(subscripts, *(wide(cast(x, to)) for x in operands), optimize=True)).astype(to)


FUNCTIONS["_einsum"] = einsum
