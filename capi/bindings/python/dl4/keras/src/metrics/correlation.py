"""How far predictions follow targets along an axis: functions."""

from .. import ops


def _moments(y_true, y_pred, axis):
    t, p = (ops.cast(ops.convert_to_tensor(y), "float32") for y in (y_true, y_pred))
    means = [ops.mean(y, axis=axis, keepdims=True) for y in (t, p)]
    return means, t - means[0], p - means[1]


def pearson_correlation(y_true, y_pred, axis=-1):
    """The covariance over both deviations."""
    _, t, p = _moments(y_true, y_pred, axis)
    return ops.sum(ops.normalize(t, axis=axis) * ops.normalize(p, axis=axis), axis=axis)


def concordance_correlation(y_true, y_pred, axis=-1):
    """Twice the covariance over both variances and the square of how far the means are apart."""
    means, t, p = _moments(y_true, y_pred, axis)
    apart = ops.squeeze(ops.square(means[0] - means[1]), axis)
    spread = ops.mean(ops.square(t), axis=axis) + ops.mean(ops.square(p), axis=axis)
    return 2 * ops.mean(t * p, axis=axis) / (spread + apart + 1e-7)


FUNCTIONS = {f.__name__: f for f in (pearson_correlation, concordance_correlation)}
