"""tf.random: the seed that gives TensorFlow's initial weights."""

from .keras import _state


def set_seed(seed):
    _state.set_seed(seed, "tensorflow")
