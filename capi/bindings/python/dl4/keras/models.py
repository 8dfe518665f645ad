"""Models."""

from .src.kinds import absent as _absent
from .src.model import Functional, Model
from .src.saving import clone_model, load_model, model_from_json, save_model
from .src.sequential import Sequential


def __getattr__(name):
    raise _absent("module 'dl4.keras.models'", name, () if name[:2] == "__" else globals())
