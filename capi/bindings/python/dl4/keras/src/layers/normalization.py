"""Normalization: adapt(), and the given mean and variance as they broadcast against the inputs."""

import itertools


def adapt(self, data, batch_size=None, steps=None):
    """Takes mean and variance from data: an array, or something that gives batches of it."""
    import numpy

    if hasattr(data, "__array__") or isinstance(data, (list, tuple)) and data and numpy.isscalar(data[0]):
        data = numpy.asarray(data, "float32")
    else:
        data = _joined(data, steps)
    if data.ndim == 1 and not self.built:
        self.build((None, *data.shape))
    elif not self.built:
        self.build((None, *data.shape[1:]))
    axis = self._config.get("axis", -1)
    kept = {a % data.ndim for a in ([] if axis is None else axis if isinstance(axis, (list, tuple)) else [axis])}
    over = tuple(i for i in range(data.ndim) if i not in kept)
    wide = data.astype("float64")
    for name, value in (("mean", wide.mean(over)), ("variance", wide.var(over))):
        weight = self._weight(name)
        if value.size != weight.size:
            raise ValueError(
                f"The layer was built with weights of shape {weight.shape}, but adapt() is being called with data with "
                f"an incompatible shape, data.shape={data.shape}"
            )
        weight.assign(value.astype("float32").reshape(weight.shape))


def _shown(name):
    """A property: the numbers of that name, in a shape that broadcasts against the inputs."""

    def get(self):
        """The variance whose root divides."""
        import numpy

        if not self._calls:
            return None
        shape = self._calls[0].inputs[0].shape
        axis = self._config.get("axis", -1)
        kept = {a % len(shape) for a in ([] if axis is None else axis if isinstance(axis, (list, tuple)) else [axis])}
        wide = tuple(d if i in kept else 1 for i, d in enumerate(shape))
        given = self._config.get(name)
        if given is None:
            return self._weight(name).numpy().reshape(wide)
        kept_shape = tuple(wide[a] for a in sorted(kept))
        return numpy.broadcast_to(numpy.asarray(given, "float32"), kept_shape).reshape(wide)

    return property(get)


mean, variance = _shown("mean"), _shown("variance")


def _joined(data, steps):
    """All batches of an iterable, of each the inputs."""
    import numpy

    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        data = map(data.__getitem__, range(len(data)))
    if not hasattr(data, "__iter__"):
        raise TypeError(f"Unsupported data type: {type(data)}. `adapt` supports arrays and iterables of batches.")
    batches = [x[0] if isinstance(x, (tuple, list)) and len(x) else x for x in itertools.islice(iter(data), steps)]
    if not batches:
        raise ValueError("adapt() received an empty iterable (no batches). Expected at least one batch.")
    for x in batches:
        if not hasattr(x, "shape"):
            raise TypeError(
                "adapt() expects an iterable that yields arrays or tensors with a `.shape` attribute. Got an element "
                f"of type {type(x).__name__}."
            )
        if tuple(x.shape[1:]) != tuple(batches[0].shape[1:]):
            raise ValueError(
                f"adapt() yielded a batch with incompatible shape. Expected {tuple(batches[0].shape)}, got "
                f"{tuple(x.shape)}."
            )
    return numpy.concatenate([numpy.asarray(x, "float32") for x in batches])
