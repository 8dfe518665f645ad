"""Gradients of what NumPy computes: of the results y, the gradients g of these and the arguments, by the arguments."""

import numpy as np


def _turned(a):
    return np.swapaxes(a, -1, -2)


def _double(x):
    return np.asarray(x, "float64")


def _symmetric(a):
    return (a + _turned(a)) / 2


def _wide(g):
    return np.asarray(g)[..., None, None]


def of_cholesky(y, g, a, upper):
    y, g = (_turned(y), _turned(g)) if upper else (y, g)
    inner = np.tril(_turned(y) @ np.tril(g))
    inner -= 0.5 * inner * np.eye(inner.shape[-1])
    inverse = np.linalg.inv(y)
    return [_symmetric(_turned(inverse) @ inner @ inverse)]


def of_inv(y, g, a):
    return [-_turned(y) @ g @ _turned(y)]


def of_det(y, g, a):
    return [_wide(g * y) * _turned(np.linalg.inv(_double(a)))]


def of_slogdet(y, g, a):
    return of_logdet(y[1], g[1], a)


def of_logdet(y, g, a):
    return [_wide(g) * _turned(np.linalg.inv(_double(a)))]


def _apart(values):
    """1 / (w_j - w_i), with zeros on the diagonal."""
    d = values[..., None, :] - values[..., :, None]
    return np.where(d == 0, 0, 1 / np.where(d == 0, 1, d))


def of_eigh(y, g, a):
    (w, v), (gw, gv) = y, g
    inner = _apart(w) * (_turned(v) @ gv) + gw[..., None, :] * np.eye(w.shape[-1])
    return [_symmetric(v @ inner @ _turned(v))]


def _of_systems(y, g, a, b):
    if b.ndim == a.ndim - 1:
        ga, gb = _of_systems(y[..., None], g[..., None], a, b[..., None])
        return ga, gb[..., 0]
    gb = np.linalg.solve(_turned(_double(a)), g)
    return _reduced(-gb @ _turned(y), a.shape), _reduced(gb, b.shape)


def _reduced(g, shape):
    """The sum over axes along which an argument was repeated."""
    g = g.sum(tuple(range(g.ndim - len(shape)))) if g.ndim > len(shape) else g
    return g.sum(tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1), keepdims=True)


def of_solve(y, g, a, b):
    return list(_of_systems(y, g, a, b))


def of_solve_triangular(y, g, a, b, lower):
    part = np.tril if lower else np.triu
    ga, gb = _of_systems(y, g, part(_double(a)), b)
    return [part(ga), gb]


def of_qr(y, g, x, mode):
    (q, r), (gq, gr) = y, g
    if q.shape[-1] != r.shape[-1]:
        raise NotImplementedError("qr of a matrix that is wide, or in the mode complete")
    m = r @ _turned(np.triu(gr)) - _turned(gq) @ q
    m = np.tril(m) + _turned(np.tril(m, -1))
    return [(gq + q @ m) @ _turned(np.linalg.inv(r))]


def of_svd(y, g, x, full_matrices, compute_uv):
    if not compute_uv:
        u, _, v = np.linalg.svd(_double(x), False)
        return [(u * g[..., None, :]) @ v]
    (u, s, vt), (gu, gs, gvt) = y, g
    k = s.shape[-1]
    if u.shape[-1] != k or vt.shape[-2] != k:
        raise NotImplementedError("svd with full matrices")
    v, gv, eye = _turned(vt), _turned(gvt), np.eye
    f, wide = _apart(s**2), s[..., None, :]
    uu, vv = _turned(u) @ gu, vt @ gv
    inner = (f * (uu - _turned(uu))) * wide + s[..., :, None] * (f * (vv - _turned(vv)))
    found = u @ (inner + gs[..., None, :] * eye(k)) @ vt
    found += (eye(u.shape[-2]) - u @ _turned(u)) @ (gu / wide) @ vt
    return [found + (u / wide) @ gvt @ (eye(v.shape[-2]) - v @ vt)]


def _of_pinv(p, g, a):
    rows, columns = a @ p, p @ a
    left = np.eye(rows.shape[-1]) - rows
    right = np.eye(columns.shape[-1]) - columns
    t = _turned
    return -t(p) @ g @ t(p) + left @ t(g) @ p @ t(p) + t(p) @ p @ t(g) @ right


def of_pinv(y, g, x, rcond):
    return [_of_pinv(y, g, _double(x))]


def of_lstsq(y, g, a, b, rcond):
    p = np.linalg.pinv(_double(a))
    g2, b2 = (g[..., None], _double(b)[..., None]) if b.ndim == 1 else (g, _double(b))
    gb = _turned(p) @ g2
    return [_of_pinv(p, g2 @ _turned(b2), _double(a)), gb.reshape(b.shape)]


def of_norm(y, g, x, order, axis, keepdims):
    x = np.moveaxis(_double(x), axis, (-2, -1))
    u, s, v = np.linalg.svd(x, False)
    g = np.moveaxis(g, axis, (-2, -1)) if keepdims else _wide(g)
    if order == "nuc":
        found = u @ v
    else:
        at = 0 if order == 2 else s.shape[-1] - 1
        found = u[..., :, at : at + 1] * v[..., at : at + 1, :]
    return [np.moveaxis(g * found, (-2, -1), axis)]


def of_i0(y, g, x):
    """I1 is the mean of exp(x cos t) cos t around the circle."""
    cosines = np.cos(2 * np.pi * np.arange(256) / 256)
    return [g * (np.exp(_double(x)[..., None] * cosines) * cosines).mean(-1)]


# ---- spectra, which are linear: the transposed of each


def _pair(y):
    return [[y.real, y.imag]]


def of_fft(y, g, x):
    return _pair(np.fft.ifft(g[0] + 1j * g[1]) * g[0].shape[-1])


def of_fft2(y, g, x):
    return _pair(np.fft.ifft2(g[0] + 1j * g[1]) * (g[0].shape[-1] * g[0].shape[-2]))


def of_ifft2(y, g, x):
    return _pair(np.fft.fft2(g[0] + 1j * g[1]) / (g[0].shape[-1] * g[0].shape[-2]))


def of_rfft(y, g, x, fft_length):
    n = x.shape[-1] if fft_length is None else fft_length
    found = (np.fft.ifft(g[0] + 1j * g[1], n) * n).real[..., : x.shape[-1]]
    return [np.concatenate([found, np.zeros((*found.shape[:-1], x.shape[-1] - found.shape[-1]))], -1)]


def of_irfft(y, g, x, fft_length):
    n, count = y.shape[-1], x[0].shape[-1]
    found = np.fft.rfft(g) * (2 / n)
    found[..., 0] /= 2
    if n % 2 == 0:
        found[..., -1] /= 2
    found = np.concatenate([found, np.zeros((*found.shape[:-1], max(0, count - found.shape[-1])))], -1)[..., :count]
    return _pair(found)
