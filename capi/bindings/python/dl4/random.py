"""tf.random: seeds and draws."""

from .tf.random import *  # noqa: F403
from .tf.random import generator
