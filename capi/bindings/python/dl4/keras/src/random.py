"""Random arrays; of symbolic shapes, layers that draw in each run."""

from . import ops
from .backend import call_context
from .backend.dtypes import FLOATS, INTEGERS, standardize
from .backend.eager_tensor import eager_tensor
from .export import keras_export
from .ops.dispatch import is_symbolic
from .registry import register_model
from .saving.serialization_lib import serialize_keras_object
from .symbolic.tensor import operation
from .utils.naming import unique_name


@keras_export("random")
class SeedGenerator:
    """Seeds, one after the other: `state` has the first one and how many there were."""

    def __init__(self, seed=None, name=None, **kwargs):
        if kwargs:
            raise ValueError(f"Unrecognized keyword arguments: {kwargs}")
        if seed is not None and (not hasattr(seed, "__index__") or seed < 0):
            raise ValueError(f"Argument `seed` must be an integer. Received: seed={seed}")
        self.name, self.initial_seed = name or unique_name("seed_generator"), seed
        self._begin = make_default_seed() if seed is None else int(seed) % 2**32
        self._count = 0

    @property
    def state(self):
        """The variable with the state."""
        return ops.cast([self._begin, self._count], "uint32")

    def next(self, ordered=True):
        """A seed, another one at each call."""
        seed = self.state
        if ordered:
            self._count += 1
        else:
            self._begin, self._count = ((n + 1) * 5387 % 933199 for n in (self._begin, self._count))
        return seed

    @property
    def numpy(self):
        """A generator of NumPy's that begins at the next seed."""
        import numpy

        return numpy.random.default_rng([int(n) for n in self.next()])

    def get_config(self):
        """The arguments of the constructor, as a dict."""
        return {"seed": self.initial_seed, "name": self.name}

    @classmethod
    def from_config(cls, config):
        """A generator of what get_config() gave."""
        return cls(**config)

    def _as_config(self):
        return serialize_keras_object(self)


register_model(SeedGenerator)  # which configs name
_global = []  # the generator of draws without a seed


def global_seed_generator():
    if not _global:
        _global.append(SeedGenerator())
    return _global[0]


def make_default_seed():
    """By NumPy's seed."""
    import numpy

    return int(numpy.random.randint(1, 10**9))


def draw_seed(seed):
    """Two numbers of 32 bits: of a seed, of the next one of a generator, or of any."""
    if isinstance(seed, SeedGenerator):
        return seed.next()
    if hasattr(seed, "__index__"):
        return ops.cast([int(seed) % 2**32, 0], "uint32")
    if seed is None:
        return global_seed_generator().next(ordered=False)
    raise ValueError(
        "Argument `seed` must be either an integer or an instance of `SeedGenerator`. "
        f"Received: seed={seed} (of type {type(seed)})"
    )


def _source(seed):
    import numpy

    if isinstance(seed, SeedGenerator):
        return seed.numpy
    if seed is not None and not hasattr(seed, "__index__"):
        draw_seed(seed)  # refused
    return numpy.random.default_rng(numpy.random.randint(2**31) if seed is None else seed)


def in_trace():
    """Is a step or a call() being traced, whose runs each draw anew?"""
    step = call_context.step()
    return call_context.owner() is not None if step is None else not step.binds


def _by_layer(kind, shape, seed, dtype=None, **config):
    """Numbers that a layer draws in each run."""
    shape = [int(d) for d in shape]
    drawn = operation(kind, shape=shape, seed=layers_seed(seed), **config)._call_native()
    return drawn if str(dtype or "float32") == "float32" else ops.cast(drawn, str(dtype))


def _drawn(draw, shape, dtype, seed):
    if in_trace():
        raise NotImplementedError(
            "a traced step or call() supports only normal, uniform, randint, categorical and dropout of keras.random"
        )
    return ops.cast(draw(_source(seed), tuple(int(d) for d in shape)), dtype or "float32")


def layers_seed(seed):
    """Where a layer's own numbers begin, which go on from run to run."""
    if isinstance(seed, SeedGenerator):
        return int(seed.numpy.integers(2**31))
    if seed is None or hasattr(seed, "__index__"):
        return seed if seed is None else int(seed)
    raise ValueError(
        "Argument `seed` must be either an integer or an instance of `SeedGenerator`. "
        f"Received: seed={seed} (of type {type(seed)})"
    )


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Numbers of a normal distribution: a tensor of `shape`."""
    if is_symbolic(list(shape)):
        noise = operation("GaussianNoise", stddev=1.0, seed=layers_seed(seed))
        return noise(ops.zeros(shape), training=True) * float(stddev) + float(mean)
    if in_trace():
        return _by_layer("RandomNormal", shape, seed, dtype, mean=float(mean), stddev=float(stddev))
    return _drawn(lambda r, n: r.normal(mean, stddev, n), shape, dtype, seed)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    """Numbers of a normal distribution within two deviations: a tensor of `shape`."""
    def draw(r, n):
        import numpy

        x = r.standard_normal(n)
        while (out := numpy.abs(x) > 2).any():
            x = numpy.where(out, r.standard_normal(n), x)
        return mean + stddev * x

    return _drawn(draw, shape, dtype, seed)


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    """Numbers from minval up to, not including, maxval: a tensor of `shape`."""
    if dtype is not None and standardize(dtype) not in FLOATS and not in_trace():
        raise ValueError(f"`keras.random.uniform` requires a floating point dtype. Received: dtype={dtype} ")
    if is_symbolic(list(shape)) and "int" not in str(dtype):
        drawn = _uniform_of_any_size(shape, minval, maxval, seed)
        return drawn if str(dtype or "float32") == "float32" else ops.cast(drawn, str(dtype))
    if in_trace():
        if "int" in str(dtype):
            return randint(shape, minval, maxval, dtype, seed)
        return _by_layer("RandomUniform", shape, seed, dtype, minval=float(minval), maxval=float(maxval))
    return _drawn(lambda r, n: r.uniform(minval, maxval, n), shape, dtype, seed)


def _uniform_of_any_size(shape, minval, maxval, seed):
    share = 0.5 + 0.5 * ops.erf(normal(shape, stddev=0.5**0.5, seed=seed))  # of normal numbers, how many are less
    return ops.minimum(share, 1 - 2.0**-24) * (float(maxval) - float(minval)) + float(minval)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    """Whole numbers from minval up to, not including, maxval: a tensor of `shape`."""
    if standardize(dtype) not in INTEGERS:
        raise ValueError(f"`keras.random.randint` requires an integer dtype. Received: dtype={dtype} ")
    symbolic = is_symbolic(list(shape))
    if symbolic or in_trace():
        if symbolic:
            drawn = _uniform_of_any_size(shape, minval, maxval, seed)
        else:
            drawn = _by_layer("RandomUniform", shape, seed, minval=float(minval), maxval=float(maxval))
        return ops.cast(ops.minimum(ops.floor(drawn), float(maxval) - 1.0), str(dtype))
    return _drawn(lambda r, n: r.integers(minval, maxval, n), shape, dtype, seed)


def gamma(shape, alpha, dtype=None, seed=None):
    """Numbers of the gamma distribution: a tensor of `shape`."""
    return _drawn(lambda r, n: r.gamma(alpha, size=n), shape, dtype, seed)


def beta(shape, alpha, beta, dtype=None, seed=None):
    """Numbers of the beta distribution: a tensor of `shape`."""
    return _drawn(lambda r, n: r.beta(alpha, beta, n), shape, dtype, seed)


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    """How many of `counts` trials succeed: a tensor of `shape`."""
    return _drawn(lambda r, n: r.binomial(counts, probabilities, n), shape, dtype, seed)


def categorical(logits, num_samples, dtype="int32", seed=None):
    """Classes drawn by logits (B, classes): int32 (B, num_samples)."""
    import numpy

    if is_symbolic(logits):
        if not in_trace():
            raise NotImplementedError("keras.random.categorical supports symbolic logits only in a traced step")
        rows, classes = logits.shape
        uniform_ = _by_layer("RandomUniform", (rows, num_samples, classes), seed, minval=1e-7, maxval=1.0)
        return ops.cast(ops.argmax(ops.expand_dims(logits, 1) - ops.log(-ops.log(uniform_)), -1), str(dtype))
    logits = numpy.asarray(logits, "float64")
    if logits.ndim != 2:
        raise ValueError(
            "`logits` should be a 2-D tensor with shape [batch_size, num_classes]. Received: "
            f"logits.shape={logits.shape}"
        )
    noise = _source(seed).gumbel(size=(logits.shape[0], num_samples, logits.shape[1]))
    return eager_tensor((logits[:, None] + noise).argmax(-1).astype(str(dtype)))


def shuffle(x, axis=0, seed=None):
    """The parts of a tensor along an axis, in random order."""
    import numpy

    if is_symbolic(x):
        raise NotImplementedError("keras.random.shuffle: of arrays alone in this version, got a symbolic tensor")
    return eager_tensor(_source(seed).permutation(numpy.asarray(x), axis))


def dropout(inputs, rate, noise_shape=None, seed=None):
    """Inputs with a fraction set to 0 and the others scaled up."""
    layer = operation("Dropout", rate=float(rate), noise_shape=noise_shape, seed=layers_seed(seed))
    if is_symbolic(inputs):
        return layer(inputs, training=True)
    inputs = ops.convert_to_tensor(inputs)
    return ops.cast(layer(ops.cast(inputs, "float32"), training=True), inputs.dtype)
