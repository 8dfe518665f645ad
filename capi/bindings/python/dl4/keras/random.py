"""Random arrays; of symbolic shapes, layers that draw in each run."""

from .src.absent import absent_from as _absent_from
from .src.random import (
    beta,
    binomial,
    categorical,
    dropout,
    gamma,
    normal,
    randint,
    SeedGenerator,
    shuffle,
    truncated_normal,
    uniform,
)

__getattr__ = _absent_from(__name__)
