"""Initializers of weights."""

from .backend.eager_tensor import eager_tensor
from .errors import keras_errors
from .export import keras_export
from .kind import Kind
from .layers.variable import Variable
from .registry import Category, create, register_getter


@keras_export("initializers")
class Initializer(Kind):
    """The first values of a weight. One of your own has __call__(shape, dtype=None)."""

    _category = "initializer"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)

        if self._class_name is not None:
            with keras_errors(self._class_name, self._config):
                create("layer", "Weight", shape=[1, 1], initializer=self._native(), name="initializer")

    def __call__(self, shape, dtype=None):
        import numpy

        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no __call__()")
        value = Variable(self._native(), tuple(int(d) for d in shape)).numpy()
        return eager_tensor(numpy.array(value, str(dtype or "float32")))

    def clone(self):
        return type(self).from_config(self.get_config())


category = Category("initializer", "initializers", Initializer, lambda cls, _: cls)


def get(identifier):
    """An initializer of a name or a config; of an array a function that gives it."""
    if not hasattr(identifier, "__array__"):
        return category.get(identifier)

    def values(shape, dtype=None):
        import numpy

        if tuple(shape) != tuple(identifier.shape):
            raise ValueError(
                f"Expected `shape` to be {tuple(identifier.shape)} for the array. Received: {tuple(shape)}"
            )
        return numpy.asarray(identifier, dtype)

    return values


register_getter("initializer", get)
