"""Normalization.adapt()."""


def adapt(self, data, batch_size=None, steps=None):
    """Takes mean and variance from data: an array, or something that gives batches of it."""
    import numpy

    if not hasattr(data, "__array__"):
        batches = (
            [
                numpy.asarray(x[0] if isinstance(x, tuple) else x)
                for _, x in zip(range(steps) if steps else iter(int, 1), data)
            ]
            if not isinstance(data, (list, tuple))
            else [numpy.asarray(data)]
        )
        data = numpy.concatenate(batches)
    data = numpy.asarray(data, "float32")
    if not self.built:
        self.build(data.shape if data.ndim > 1 else (None, *data.shape))
    axis = self._config.get("axis", -1)
    kept = {a % data.ndim for a in ([] if axis is None else axis if isinstance(axis, (list, tuple)) else [axis])}
    over = tuple(i for i in range(data.ndim) if i not in kept)
    wide = data.astype("float64")
    for name, value in (("mean", wide.mean(over)), ("variance", wide.var(over))):
        weight = self._weight(name)
        weight.assign(value.astype("float32").reshape(weight.shape))
