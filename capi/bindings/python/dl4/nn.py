"""What Keras programs use of tf.nn."""

from .tf.nn import *  # noqa: F403
from .tf.nn import __getattr__  # noqa: F401 the activations
