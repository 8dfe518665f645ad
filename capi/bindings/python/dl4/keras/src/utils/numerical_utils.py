"""One-hot labels and norms."""


def to_categorical(x, num_classes=None):
    """One-hot rows of labels."""
    import numpy

    x = numpy.asarray(x, dtype="int64")
    if x.ndim > 1 and x.shape[-1] == 1:
        x = x[..., 0]
    classes = int(num_classes or x.max() + 1)
    return numpy.eye(classes, dtype="float32")[x]


def normalize(x, axis=-1, order=2):
    """An array divided by its norms along an axis."""
    import numpy

    norms = numpy.atleast_1d(numpy.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / numpy.expand_dims(norms, axis)
