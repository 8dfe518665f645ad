"""Learning rates that change from step to step, as `optimizers.schedules`."""
import sys

from . import _kinds


class LearningRateSchedule(_kinds.Kind):
    category = "schedule"


_kinds.serve(globals(), "schedule", LearningRateSchedule)
globals().update(_kinds.got("schedule", LearningRateSchedule, sys.modules[__name__]))
