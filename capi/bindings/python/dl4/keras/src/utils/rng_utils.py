"""Seeds."""

import random

from ..backend import global_state


def set_random_seed(seed):
    """Of Python, NumPy and the models made from now on."""
    if not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(seed)
    try:
        import numpy

        numpy.random.seed(seed)
    except ImportError:
        pass
    global_state.set_seed(seed)
