"""tf.random: the seed."""

from .keras.src import state as _state
from .keras.src.kinds import absent as _absent


def set_seed(seed):
    """Models made from now on have the initial weights that TensorFlow gives after tf.random.set_seed(seed)."""
    _state.set_seed(seed, "tensorflow")


def __getattr__(name):
    raise _absent("module 'dl4.random'", name, () if name[:2] == "__" else ("set_seed",))
