"""Models."""

from .src.absent import absent_from as _absent_from
from .src.models.cloning import clone_model, model_from_json
from .src.models.model import Functional, Model
from .src.models.sequential import Sequential
from .src.saving.saving_api import load_model
from .src.saving.saving_lib import save_model

__getattr__ = _absent_from(__name__)
