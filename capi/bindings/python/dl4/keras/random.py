"""Random arrays; of symbolic shapes, layers that draw in each run."""

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
