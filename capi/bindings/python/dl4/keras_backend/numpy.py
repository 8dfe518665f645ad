"""Keras's contract of `backend.numpy`: every function by its name."""

from .core import cast  # noqa: F401
from .creation import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .fallback import (  # noqa: F401
    bincount,
    gcd,
    histogram,
    i0,
    lcm,
    nextafter,
    nonzero,
    slogdet,
    unique,
    vectorize,
)
from .products import *  # noqa: F403
from .reductions import *  # noqa: F403

from .shapes import *  # noqa: F403

from .creation import array_ as array  # noqa: E402, F401 isort: skip
