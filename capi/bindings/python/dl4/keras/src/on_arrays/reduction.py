"""Functions of arrays over axes."""

from ..backend.dtypes import result_type
from ..backend.lazy import np
from .arguments import array, axes_of, cast, common, dtype_of, FUNCTIONS, need_dense, on_arrays, real, wide

_SUMS = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


def _summed(name):
    def f(x, axis=None, keepdims=False, dtype=None):
        a = array(x)
        to = str(dtype or _SUMS.get(str(a.dtype), a.dtype))
        work = "float32" if to in ("float16", "bfloat16") else to
        return getattr(np, name)(a, axis=axes_of(axis), keepdims=keepdims, dtype=work).astype(to, copy=False)

    return f


FUNCTIONS.update({name: _summed(name) for name in ("prod", "nansum", "nanprod")})


@on_arrays
def sum_(x, axis=None, keepdims=False):
    return _sum(x, axis, keepdims)


_sum = _summed("sum")


def _averaged(name):
    def f(x, axis=None, keepdims=False):
        a = real(x)
        with np.errstate(all="ignore"):
            return np.asarray(getattr(np, name)(wide(a), axis=axes_of(axis), keepdims=keepdims)).astype(
                a.dtype, copy=False
            )

    return f


FUNCTIONS.update(
    {name: _averaged(name) for name in ("mean", "var", "std", "median", "nanmean", "nanvar", "nanstd", "nanmedian")}
)


def _extreme(name, without_nans=False):
    def f(x, axis=None, keepdims=False, initial=None):
        a = array(x)
        if initial is None and not a.size and axis is None:
            raise ValueError(f"{name}: an array of no elements has none: expected `initial`")
        given = {} if initial is None else {"initial": cast(initial, a.dtype)}
        return getattr(np, name)(a, axis=axes_of(axis), keepdims=keepdims, **given)

    def of_axes(x, axis=None, keepdims=False):
        return f(x, axis, keepdims)

    return of_axes if without_nans or name[0] == "a" else f


FUNCTIONS.update({name: _extreme(name) for name in ("max", "min", "amax", "amin")})
FUNCTIONS.update({name: _extreme(name, True) for name in ("nanmax", "nanmin")})


@on_arrays
def any_(x, axis=None, keepdims=False):
    return np.any(array(x), axis=axes_of(axis), keepdims=keepdims)


@on_arrays
def all_(x, axis=None, keepdims=False):
    return np.all(array(x), axis=axes_of(axis), keepdims=keepdims)


def _place(name):
    def f(x, axis=None, keepdims=False):
        a = array(x)
        return getattr(np, name)(wide(a), axis=axis, keepdims=keepdims).astype("int32")

    return f


FUNCTIONS.update(argmax=_place("argmax"), argmin=_place("argmin"))


def _place_without_nans(name, worst):
    def f(x, axis=None, keepdims=False):
        a = wide(array(x))
        if a.dtype.kind != "f":
            return getattr(np, name)(a, axis=axis, keepdims=keepdims).astype("int32")
        gone = np.isnan(a)
        found = getattr(np, name)(np.where(gone, np.float32(worst), a), axis=axis, keepdims=keepdims)
        return np.where(gone.all(axis=axis, keepdims=keepdims), -1, found).astype("int32")

    return f


FUNCTIONS.update(
    nanargmax=_place_without_nans("argmax", -float("inf")), nanargmin=_place_without_nans("argmin", float("inf"))
)


@on_arrays
def count_nonzero(x, axis=None):
    return np.asarray(np.count_nonzero(array(x), axis=axes_of(axis))).astype("int32")


@on_arrays
def ptp(x, axis=None, keepdims=False):
    a = array(x)
    high, low = (f(a, axis=axes_of(axis), keepdims=keepdims) for f in (np.max, np.min))
    return np.logical_xor(high, low) if a.dtype == bool else high - low


@on_arrays
def average(x, axis=None, weights=None):
    if weights is None:
        return FUNCTIONS["mean"](x, axis)
    a, w = common(x, weights, floats=True)
    if a.shape != w.shape:
        if axis is None or w.ndim != 1:
            raise ValueError(
                f"average: expected weights of the shape {a.shape}, or an axis and a vector, got {w.shape}"
            )
        w = w.reshape([-1 if i == axis % a.ndim else 1 for i in range(a.ndim)])
    w, over = np.broadcast_to(wide(w), a.shape), axes_of(axis)
    with np.errstate(all="ignore"):
        return np.asarray(np.sum(wide(a) * w, over) / np.sum(w, over)).astype(a.dtype)


def _cumulated(name):
    def f(x, axis=None, dtype=None):
        a = array(x)
        to = str(dtype or ("int32" if a.dtype == bool else a.dtype))
        work = "float32" if to in ("float16", "bfloat16") else to
        return getattr(np, name)(cast(a, work), axis=axis, dtype=work).astype(to, copy=False)

    return f


FUNCTIONS.update({name: _cumulated(name) for name in ("cumsum", "cumprod", "nancumsum", "nancumprod")})


def _parted(name, scale):
    def f(x, q, axis=None, method="linear", keepdims=False):
        a = real(x)
        with np.errstate(all="ignore"):
            found = getattr(np, name)(
                wide(a).astype("float64"),
                np.asarray(array(q), "float64"),
                axis=axes_of(axis),
                method=method,
                keepdims=keepdims,
            )
        return np.asarray(found).astype(a.dtype)

    return f


FUNCTIONS.update({name: _parted(name, 1) for name in ("quantile", "percentile", "nanquantile", "nanpercentile")})


@on_arrays
def logsumexp(x, axis=None, keepdims=False):
    a = real(x)
    w, axis = wide(a), axes_of(axis)
    with np.errstate(all="ignore"):
        top = np.max(w, axis=axis, keepdims=True) if w.size else np.zeros((), w.dtype)
        top = np.where(np.isfinite(top), top, np.zeros((), w.dtype))
        y = np.log(np.sum(np.exp(w - top), axis=axis, keepdims=True)) + top
    return (y if keepdims else np.squeeze(y, axis)).astype(a.dtype, copy=False)


@on_arrays
def moments(x, axes, keepdims=False, synchronized=False):
    if synchronized:
        raise NotImplementedError("moments: synchronized=True is of distributed training, which is not here")
    a = real(x)
    work = wide(a)
    got = [f(work, axis=axes_of(axes), keepdims=keepdims) for f in (np.mean, np.var)]
    return tuple(np.asarray(v).astype(a.dtype, copy=False) for v in got)


@on_arrays
def bincount(x, weights=None, minlength=0, sparse=False):
    need_dense("bincount", sparse)
    a = np.asarray(array(x), "int64")
    weights = None if weights is None else array(weights)
    to = "int32" if weights is None or weights.dtype.kind == "b" else weights.dtype

    def one(row, weight):
        return np.bincount(row[row >= 0] if weight is None else row, weight, minlength).astype(to)

    if a.ndim < 2:
        return one(a, None if weights is None else weights.astype("float64"))
    minlength = max(minlength, int(a.max(initial=-1)) + 1)
    return np.stack([one(r, None if weights is None else weights[i].astype("float64")) for i, r in enumerate(a)])


@on_arrays
def histogram(x, bins=10, range=None):
    if not isinstance(bins, int):
        raise ValueError(f"Argument `bins` should be a non-negative integer. Received: bins={bins}")
    a = array(x)
    counts, edges = np.histogram(wide(a), bins=bins, range=range)
    return counts.astype("int32"), edges.astype(real(a).dtype)


@on_arrays
def digitize(x, bins):
    return np.digitize(wide(array(x)), wide(array(bins))).astype("int32")


@on_arrays
def searchsorted(sorted_sequence, values, side="left"):
    a, v = array(sorted_sequence), array(values)
    if a.ndim != 1:
        raise ValueError(
            "`searchsorted` only supports 1-D sorted sequences. You can use `keras.ops.vectorized_map` to extend it to "
            f"N-D sequences. Received: sorted_sequence.shape={a.shape}"
        )
    return np.searchsorted(wide(a), wide(v), side).astype("int32")


@on_arrays
def corrcoef(x):
    a = real(x)
    return np.corrcoef(wide(a)).astype(a.dtype)


@on_arrays
def trapezoid(y, x=None, dx=1.0, axis=-1):
    a = real(y)
    to = a.dtype if x is None else result_type(a.dtype, dtype_of(x), float)
    dx = dx if isinstance(dx, (int, float)) else array(dx)
    return np.asarray(np.trapezoid(wide(a), None if x is None else wide(array(x)), dx, axis)).astype(to)


@on_arrays
def norm(x, ord=None, axis=None, keepdims=False):
    a = real(x)
    return np.asarray(np.linalg.norm(wide(a), ord=ord, axis=axes_of(axis), keepdims=keepdims)).astype(a.dtype)
