"""The functions of keras.backend that programs call."""

from .config import backend, epsilon, floatx, image_data_format  # noqa: F401
from .src.kinds import absent
from .src.state import clear_session  # noqa: F401


def __getattr__(name):
    raise absent("module 'dl4.keras.backend'", name, () if name[:2] == "__" else globals())
