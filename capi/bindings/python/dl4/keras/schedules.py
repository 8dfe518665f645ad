"""Learning rates that change from step to step: `keras.optimizers.schedules`."""

from .src.optimizers.learning_rate_schedule import category as _category, LearningRateSchedule
from .src.saving.serialization_lib import serialize

get, deserialize = _category.get, _category.deserialize
__getattr__, __dir__ = _category.serve(globals())
