"""Learning rates that change with the steps."""

from .src.kinds import Category, Kind, unsupported


class LearningRateSchedule(Kind):
    """A learning rate that follows from the number of the step."""

    def __call__(self, step):
        raise unsupported(type(self).__name__, "a schedule is called by the library alone")


category = Category("schedule", "schedules", LearningRateSchedule)
deserialize = category.get
__getattr__, __dir__ = category.serve(globals())
