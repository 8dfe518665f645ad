"""Models of files."""

from .src.kinds import absent as _absent
from .src.saving import load_model, save_model


def __getattr__(name):
    raise _absent("module 'dl4.keras.saving'", name, () if name[:2] == "__" else globals())
