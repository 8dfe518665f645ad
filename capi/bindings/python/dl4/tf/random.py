"""tf.random: draws that follow from the seeds of set_seed() and of the operations."""

import numpy as np

from ..keras.src import random as keras_random
from ..keras.src.backend import global_state
from ..keras.src.ops.dispatch import is_symbolic
from ..keras.src.random import in_trace

from .dispatch import array, name_of, tensor

_source = None


def set_seed(seed):
    """Models made from now on have TensorFlow's initial weights, and draws repeat."""
    global _source
    global_state.set_seed(seed, "tensorflow")
    _source = np.random.default_rng(int(seed))


def generator(seed=None):
    """Of an operation: its own of a seed, or the one that all share."""
    global _source
    if in_trace():
        raise NotImplementedError(
            "in a tf.function, train_step() or call(), tf.random draws normal and uniform numbers alone"
        )
    if seed is not None:
        seed = [abs(int(s)) for s in np.ravel(seed)]
        return _seeded.setdefault(tuple(seed), np.random.default_rng(seed))
    if _source is None:
        _source = np.random.default_rng(global_state.next_seed())
    return _source


_seeded = {}


def _shape(shape):
    if is_symbolic(shape):  # sizes that are known when it runs
        return tuple(shape)
    return tuple(int(d) for d in np.ravel(np.asarray(shape)))


def _in_graph(shape):
    return in_trace() or is_symbolic(shape)


def _drawn(x, dtype):
    return tensor(np.asarray(x).astype(name_of(dtype)))


def normal(shape, mean=0.0, stddev=1.0, dtype="float32", seed=None, name=None):
    if _in_graph(shape):
        if is_symbolic(mean, stddev) or np.ndim(mean) or np.ndim(stddev):
            return mean + stddev * keras_random.normal(_shape(shape), dtype=name_of(dtype), seed=seed)
        return keras_random.normal(_shape(shape), 1.0 * mean, 1.0 * stddev, name_of(dtype), seed)
    return _drawn(array(mean) + array(stddev) * generator(seed).standard_normal(_shape(shape)), dtype)


def _truncated(rng, shape):
    x = rng.standard_normal(shape)
    while (out := np.abs(x) > 2).any():
        x = np.where(out, rng.standard_normal(shape), x)
    return x


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype="float32", seed=None, name=None):
    return _drawn(mean + stddev * _truncated(generator(seed), _shape(shape)), dtype)


def _uniform(rng, shape, minval, maxval, dtype):
    dtype = name_of(dtype)
    if dtype.startswith(("int", "uint")):
        if maxval is None:
            raise ValueError("Must specify maxval for integer dtype " + dtype)
        return _drawn(rng.integers(array(minval), array(maxval), shape), dtype)
    return _drawn(rng.uniform(array(minval), 1 if maxval is None else array(maxval), shape), dtype)


def uniform(shape, minval=0, maxval=None, dtype="float32", seed=None, name=None):
    if _in_graph(shape):
        most = 1 if maxval is None else maxval
        return keras_random.uniform(_shape(shape), minval, most, name_of(dtype), seed)
    return _uniform(generator(seed), _shape(shape), minval, maxval, dtype)


def shuffle(value, seed=None, name=None):
    return tensor(generator(seed).permutation(array(value)))


def categorical(logits, num_samples, dtype="int64", seed=None, name=None):
    if in_trace():
        return keras_random.categorical(logits, num_samples, name_of(dtype), seed)
    return _categorical(generator(seed), logits, num_samples, dtype)


def _categorical(rng, logits, num_samples, dtype):
    logits = array(logits).astype("float64")
    noise = rng.gumbel(size=(logits.shape[0], int(num_samples), logits.shape[1]))
    return _drawn((logits[:, None] + noise).argmax(-1), dtype)


def gamma(shape, alpha, beta=None, dtype="float32", seed=None, name=None):
    alpha = array(alpha)
    scale = 1 if beta is None else 1 / array(beta)
    return _drawn(generator(seed).gamma(alpha, scale, (*_shape(shape), *np.broadcast(alpha, scale).shape)), dtype)


def poisson(shape, lam, dtype="float32", seed=None, name=None):
    return _drawn(generator(seed).poisson(array(lam), (*_shape(shape), *array(lam).shape)), dtype)


# ---- of a seed alone


def _of(seed):
    return np.random.default_rng([abs(int(s)) for s in np.ravel(seed)])


def stateless_normal(shape, seed, mean=0.0, stddev=1.0, dtype="float32", name=None):
    return _drawn(mean + stddev * _of(seed).standard_normal(_shape(shape)), dtype)


def stateless_truncated_normal(shape, seed, mean=0.0, stddev=1.0, dtype="float32", name=None):
    return _drawn(mean + stddev * _truncated(_of(seed), _shape(shape)), dtype)


def stateless_uniform(shape, seed, minval=0, maxval=None, dtype="float32", name=None):
    return _uniform(_of(seed), _shape(shape), minval, maxval, dtype)


def stateless_categorical(logits, num_samples, seed, dtype="int64", name=None):
    return _categorical(_of(seed), logits, num_samples, dtype)


class Generator:
    """Draws with a state of their own."""

    def __init__(self, rng):
        self._rng = rng

    @classmethod
    def from_seed(cls, seed, alg=None):
        return cls(_of(seed))

    @classmethod
    def from_non_deterministic_state(cls, alg=None):
        return cls(np.random.default_rng())

    def normal(self, shape, mean=0.0, stddev=1.0, dtype="float32", name=None):
        return _drawn(mean + stddev * self._rng.standard_normal(_shape(shape)), dtype)

    def uniform(self, shape, minval=0, maxval=None, dtype="float32", name=None):
        return _uniform(self._rng, _shape(shape), minval, maxval, dtype)

    def make_seeds(self, count=1):
        return tensor(self._rng.integers(0, 2**31, (2, count)))
