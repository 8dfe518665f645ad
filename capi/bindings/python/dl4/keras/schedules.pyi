"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class LearningRateSchedule:
    """Called with a step it gives the rate of that update. One of your own has __call__(step)."""

    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def __call__(self, step: _Any) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class ExponentialDecay(LearningRateSchedule):
    """initial_learning_rate * decay_rate^(step / decay_steps)."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    initial_learning_rate: _Any
    decay_steps: _Any
    decay_rate: _Any
    staircase: _Any

class PiecewiseConstantDecay(LearningRateSchedule):
    """values[0] up to and at step boundaries[0], then values[1], and so on."""

    def __init__(
        self,
        boundaries: float | Sequence[float],
        values: float | Sequence[float],
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    boundaries: _Any
    values: _Any

class PolynomialDecay(LearningRateSchedule):
    """(initial_learning_rate - end_learning_rate) * (1 - step / decay_steps)^power + end_learning_rate."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    initial_learning_rate: _Any
    decay_steps: _Any
    end_learning_rate: _Any
    power: _Any
    cycle: _Any

class InverseTimeDecay(LearningRateSchedule):
    """initial_learning_rate / (1 + decay_rate * step / decay_steps)."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        decay_rate: float,
        staircase: bool = False,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    initial_learning_rate: _Any
    decay_steps: _Any
    decay_rate: _Any
    staircase: _Any

class CosineDecay(LearningRateSchedule):
    """half a cosine from initial_learning_rate to alpha times that; with warmup_target first linearly up to it, then from there."""

    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        name: str | None = None,
        warmup_target: float | None = None,
        warmup_steps: float = 0.0,
        **kwargs: _Any,
    ) -> None: ...
    initial_learning_rate: _Any
    decay_steps: _Any
    alpha: _Any
    warmup_target: _Any
    warmup_steps: _Any

class CosineDecayRestarts(LearningRateSchedule):
    """cosine decay that starts again, each period t_mul times as long, m_mul times as high."""

    def __init__(
        self,
        initial_learning_rate: float,
        first_decay_steps: float,
        t_mul: float = 2.0,
        m_mul: float = 1.0,
        alpha: float = 0.0,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    initial_learning_rate: _Any
    first_decay_steps: _Any
    t_mul: _Any
    m_mul: _Any
    alpha: _Any

def get(identifier: _Any) -> _Any: ...
def serialize(thing: _Any) -> _Any: ...
def deserialize(config: _Any, custom_objects: _Any = None) -> _Any: ...
