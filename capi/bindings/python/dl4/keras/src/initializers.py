"""Initializers of weights."""

from .backend.eager_tensor import eager_tensor
from .errors import keras_errors
from .export import keras_export
from .kind import as_json, Kind
from .layers.variable import Variable
from .random import layers_seed, SeedGenerator
from .registry import Category, create, register_getter


@keras_export("initializers")
class Initializer(Kind):
    """The first values of a weight. One of your own has __call__(shape, dtype=None)."""

    _category = "initializer"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        seed = self._config.get("seed")
        if isinstance(seed, dict):
            self._config["seed"] = SeedGenerator.from_config(seed["config"])
        if self._class_name is not None:
            with keras_errors(self._class_name, self._config):
                self._try_out()

    def _try_out(self):
        create("layer", "Weight", shape=[1, 1], initializer=self._native(), name="initializer")

    def __call__(self, shape, dtype=None):
        import numpy

        if self._class_name is None:
            raise NotImplementedError(f"{type(self).__name__} has no __call__()")
        value = Variable(self._native(), tuple(int(d) for d in shape)).numpy()
        return eager_tensor(numpy.array(value, str(dtype or "float32")))

    def _native(self):
        """A generator gives the seed of each use."""
        seed = self._config.get("seed")
        config = {**self._config, "seed": layers_seed(seed)} if isinstance(seed, SeedGenerator) else self._config
        return {"class_name": self._class_name, "config": {k: as_json(v) for k, v in config.items()}}

    def clone(self):
        """An initializer of the same configuration."""
        return type(self).from_config(self.get_config())


category = Category("initializer", "initializers", Initializer, lambda cls, _: cls)
_WINDOWS = (None, "hann", "hamming", "blackman", "boxcar")  # those of the library; others are SciPy's, or numbers


@category.base_of("STFT")
class Spectrum(Initializer):
    """The terms of a Fourier transform of short times, which a convolution with such a kernel takes."""

    def _try_out(self):
        if self._is_ours():
            return super()._try_out()
        type(self)(**{**self._config, "window": None})  # the others are refused
        self._window(None)

    def _is_ours(self):
        window = self._config.get("window")
        return window is None or isinstance(window, str) and window in _WINDOWS

    def _native(self):
        if not self._is_ours():
            raise NotImplementedError(f"STFT: window={self.window!r}: in a layer expected one of {_WINDOWS}")
        return super()._native()

    def _window(self, size):
        import numpy

        if not isinstance(self.window, str):
            window = numpy.asarray(self.window, "float32")
            if size is not None and window.shape != (size,):
                raise ValueError(f"The shape of `window` must be equal to [{size}]. Received: {window.shape}")
            return window
        try:
            import scipy.signal
        except ImportError:
            raise ImportError(f"STFT: window={self.window!r} needs the package SciPy") from None

        return scipy.signal.windows.get_window(self.window, size or 1, self.periodic).astype("float32")

    def __call__(self, shape, dtype=None):
        import numpy

        if self._is_ours():
            return super().__call__(shape, dtype)
        size, _, terms = shape
        window = self._window(size)
        angles = -numpy.pi * numpy.outer(numpy.arange(size), numpy.arange(terms)) / (terms - 1)
        values = (numpy.cos if self.side == "real" else numpy.sin)(angles) * window[:, None]
        if self.scaling == "density":
            values = values / numpy.sqrt(numpy.square(window).sum())
        elif self.scaling == "spectrum":
            values = values / numpy.abs(window).sum()
        return eager_tensor(values[:, None].astype(str(dtype or "float32")))



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
