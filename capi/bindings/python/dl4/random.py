"""tf.random: the seed that gives TensorFlow's initial weights."""

from .keras.src.backend import global_state


def set_seed(seed):
    global_state.set_seed(seed, "tensorflow")
