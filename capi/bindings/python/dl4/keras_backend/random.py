"""Draws. Numbers are a function of the seed's two numbers and of their place, so a traced step draws what Keras's
seeds say.

Of 64 bits, by squares and shifts: Widynski, "Squares: a fast counter-based RNG" (2020), with four rounds."""

import functools
import math

import numpy as np
from keras.src.backend import config
from keras.src.random.seed_generator import SeedGenerator, draw_seed, make_default_seed  # noqa: F401

from . import fallback
from .core import cast, convert_to_tensor
from .dtypes import is_float, name_of
from .elementwise import as_floats
from .functions import op
from .reductions import argmax, argsort
from .shapes import expand_dims, ints, reshaped, take
from .tensor import array
from .trace import emit, recast, tensor

_WORD = 0xFFFFFFFF


def _const(n):
    """A number of 64 bits as the library's."""
    n &= (1 << 64) - 1
    return array(n - (1 << 64) if n >> 63 else n, "int64")


@functools.lru_cache(maxsize=64)
def _places(n):
    return array(np.arange(1, n + 1), "int64")


def _high(x):
    return emit("BitwiseAnd", emit("RightShift", x, _const(32)), _const(_WORD))


def _turned(x):
    return emit("BitwiseOr", _high(x), emit("LeftShift", x, _const(32)))


def _mul(a, b):
    return emit("BroadcastMultiply", a, b)


def _add(a, b):
    return emit("BroadcastAdd", a, b)


def _mixed(x):
    """A number of 64 bits whose bits all depend on all of x's."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        low = emit("BitwiseAnd", emit("RightShift", x, _const(shift)), _const((1 << (64 - shift)) - 1))
        x = _mul(emit("BitwiseXor", x, low), _const(factor))
    low = emit("BitwiseAnd", emit("RightShift", x, _const(31)), _const((1 << 33) - 1))
    return emit("BitwiseXor", x, low)


def _key(seed):
    """Of the two numbers of a seed an odd number."""
    seed = cast(seed, "int64")
    first, second = (emit("Take", seed, indices=i, axis=0) for i in (0, 1))
    first = _mixed(_add(first, _const(0x9E3779B97F4A7C15)))
    key = _mixed(_add(emit("BitwiseXor", first, second), _const(0x9E3779B97F4A7C15)))
    return emit("BitwiseOr", key, _const(1))


def _bits(seed, n):
    """n numbers of 32 bits."""
    key = _key(seed)
    x = y = _mul(_places(n), key)
    z = _add(y, key)
    x = _turned(_add(_mul(x, x), y))
    x = _turned(_add(_mul(x, x), z))
    x = _turned(_add(_mul(x, x), y))
    return _high(_add(_mul(x, x), z))


def _parts(seed, n):
    """n floats from 0 up to and without 1, of 24 bits."""
    bits = recast(emit("RightShift", _bits(seed, n), _const(8)), "float32")
    return emit("BroadcastMultiply", bits, array(2.0**-24, "float32"))


def _inner_parts(seed, n):
    """Without 0 as well."""
    return emit("BroadcastAdd", _parts(seed, n), array(2.0**-25, "float32"))


def _number(shape):
    return math.prod(shape)


@op("seed low high")
def _uniform(seed, low, high, shape, to):
    x = reshaped(_parts(seed, _number(shape)), shape)
    low, high = cast(low, "float32"), cast(high, "float32")
    y = emit("BroadcastAdd", emit("BroadcastMultiply", x, emit("BroadcastSubtract", high, low)), low)
    return cast(y, to)


@op("seed mean stddev")
def _normal(seed, mean, stddev, shape, to, bound):
    x = reshaped(_inner_parts(seed, _number(shape)), shape)
    width = math.erf(bound / math.sqrt(2)) if bound else 1.0
    x = emit("BroadcastMultiply", emit("BroadcastSubtract", x, array(0.5, "float32")), array(2 * width, "float32"))
    x = emit("BroadcastMultiply", emit("Erfinv", x), array(math.sqrt(2), "float32"))
    if bound:
        x = emit("Clip", x, x_min=-float(bound), x_max=float(bound))
    return cast(emit("BroadcastAdd", emit("BroadcastMultiply", x, cast(stddev, "float32")), cast(mean, "float32")), to)


def _seed(seed):
    return convert_to_tensor(draw_seed(seed))


def _sizes(shape):
    return tuple(ints(shape))


def _float(dtype):
    name = name_of(dtype or config.floatx())
    if not is_float(name):
        raise ValueError(f"`keras.random` requires a floating point `dtype`. Received: dtype={name}")
    return name


def normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return _normal(_seed(seed), mean, stddev, _sizes(shape), _float(dtype), 0)


def truncated_normal(shape, mean=0.0, stddev=1.0, dtype=None, seed=None):
    return _normal(_seed(seed), mean, stddev, _sizes(shape), _float(dtype), 2)


def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
    return _uniform(_seed(seed), minval, maxval, _sizes(shape), _float(dtype))


@op("seed low high")
def _whole(seed, low, high, shape, to):
    bits = reshaped(_bits(seed, _number(shape)), shape)
    low, high = cast(low, "int64"), cast(high, "int64")
    span = emit("BroadcastSubtract", high, low)
    return cast(_add(_high(_mul(bits, span)), low), to)


def randint(shape, minval, maxval, dtype="int32", seed=None):
    return _whole(_seed(seed), minval, maxval, _sizes(shape), name_of(dtype))


@op("seed logits")
def _categories(seed, logits, count, to):
    rows, classes = logits.shape
    x = reshaped(_inner_parts(seed, rows * count * classes), [rows, count, classes])
    extreme = emit("Negative", emit("Log", emit("Negative", emit("Log", x))))
    return cast(argmax(emit("BroadcastAdd", extreme, expand_dims(cast(logits, "float32"), 1)), -1), to)


def categorical(logits, num_samples, dtype="int32", seed=None):
    return _categories(_seed(seed), logits, int(num_samples), name_of(dtype))


@op("inputs seed")
def _dropped(inputs, seed, rate, shape):
    kept = emit("GreaterEqual", reshaped(_parts(seed, _number(shape)), shape), array(rate, "float32"))
    grown = emit("BroadcastMultiply", cast(inputs, "float32"), array(1 / (1 - rate), "float32"))
    return emit("Where", kept, grown, array(0.0, "float32"), to=inputs.type_name)


def dropout(inputs, rate, noise_shape=None, seed=None):
    inputs, seed = as_floats(inputs), _seed(seed)
    if rate >= 1:
        return inputs * 0
    sizes = inputs.shape if noise_shape is None else noise_shape
    sizes = tuple(int(d) if n is None else int(n) for n, d in zip(sizes, inputs.shape))
    return _dropped(inputs, seed, float(rate), sizes)


@op("x seed")
def _shuffled(x, seed, axis):
    order = argsort(cast(_bits(seed, x.shape[axis]), "int64"))
    return take(x, order, axis)


def shuffle(x, axis=0, seed=None):
    x = tensor(x)
    return _shuffled(x, _seed(seed), axis % len(x.shape))


# ---- by rejection


def gamma(shape, alpha, dtype=None, seed=None):
    return fallback.gamma_of(_seed(seed), alpha, _sizes(shape), _float(dtype))


def binomial(shape, counts, probabilities, dtype=None, seed=None):
    return fallback.binomial_of(_seed(seed), counts, probabilities, _sizes(shape), _float(dtype))


def beta(shape, alpha, beta, dtype=None, seed=None):
    return fallback.beta_of(_seed(seed), alpha, beta, _sizes(shape), _float(dtype))
