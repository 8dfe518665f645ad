"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class Constraint:
    """What a weight is brought to after each update."""

    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def __call__(self, w: _Any) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class MaxNorm(Constraint):
    """weights along the axis are scaled down to a norm of at most max_value."""

    def __init__(
        self, max_value: float = 2.0, axis: int | Sequence[int] = 0, *, name: str | None = None, **kwargs: _Any
    ) -> None: ...
    max_value: _Any
    axis: _Any

class MinMaxNorm(Constraint):
    """weights along the axis are scaled towards a norm within [min_value, max_value]."""

    def __init__(
        self,
        min_value: float = 0.0,
        max_value: float = 1.0,
        rate: float = 1.0,
        axis: int | Sequence[int] = 0,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    min_value: _Any
    max_value: _Any
    rate: _Any
    axis: _Any

class NonNeg(Constraint):
    """negative weights become 0."""

    def __init__(self, *, name: str | None = None, **kwargs: _Any) -> None: ...

class UnitNorm(Constraint):
    """weights along the axis are scaled to a norm of 1."""

    def __init__(self, axis: int | Sequence[int] = 0, *, name: str | None = None, **kwargs: _Any) -> None: ...
    axis: _Any

def get(identifier: _Any) -> _Any: ...
def serialize(thing: _Any) -> _Any: ...
def deserialize(config: _Any, custom_objects: _Any = None) -> _Any: ...
