"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class Initializer:
    """The first values of a weight. One of your own has __call__(shape, dtype=None)."""

    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def __call__(self, shape: _Any, dtype: _Any = None) -> _Any: ...
    def clone(self) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class Zeros(Initializer):
    """all 0."""

    def __init__(self, *, name: str | None = None, **kwargs: _Any) -> None: ...

class Ones(Initializer):
    """all 1."""

    def __init__(self, *, name: str | None = None, **kwargs: _Any) -> None: ...

class Constant(Initializer):
    """all the same value."""

    def __init__(self, value: float = 0.0, *, name: str | None = None, **kwargs: _Any) -> None: ...
    value: _Any

class Identity(Initializer):
    """gain on the diagonal of a matrix, 0 elsewhere."""

    def __init__(self, gain: float = 1.0, *, name: str | None = None, **kwargs: _Any) -> None: ...
    gain: _Any

class RandomNormal(Initializer):
    """normal random numbers."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 0.05,
        seed: int | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    mean: _Any
    stddev: _Any
    seed: _Any

class RandomUniform(Initializer):
    """uniform random numbers."""

    def __init__(
        self,
        minval: float = -0.05,
        maxval: float = 0.05,
        seed: int | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    minval: _Any
    maxval: _Any
    seed: _Any

class TruncatedNormal(Initializer):
    """normal random numbers, drawn again where more than two deviations from the mean."""

    def __init__(
        self,
        mean: float = 0.0,
        stddev: float = 0.05,
        seed: int | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    mean: _Any
    stddev: _Any
    seed: _Any

class VarianceScaling(Initializer):
    """random numbers of variance scale / fan."""

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    scale: _Any
    mode: _Any
    distribution: _Any
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class GlorotNormal(Initializer):
    """truncated normal of variance 2 / (fan_in + fan_out)."""

    def __init__(
        self,
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class GlorotUniform(Initializer):
    """uniform within sqrt(6 / (fan_in + fan_out)) of 0."""

    def __init__(
        self,
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class HeNormal(Initializer):
    """truncated normal of variance 2 / fan_in."""

    def __init__(
        self,
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class HeUniform(Initializer):
    """uniform within sqrt(6 / fan_in) of 0."""

    def __init__(
        self,
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class LecunNormal(Initializer):
    """truncated normal of variance 1 / fan_in."""

    def __init__(
        self,
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class LecunUniform(Initializer):
    """uniform within sqrt(3 / fan_in) of 0."""

    def __init__(
        self,
        seed: int | None = None,
        input_axes: int | Sequence[int] | None = None,
        output_axes: int | Sequence[int] | None = None,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    seed: _Any
    input_axes: _Any
    output_axes: _Any

class Orthogonal(Initializer):
    """orthonormal rows or columns, whichever are fewer, of the weight seen as (all axes but the last, last axis)."""

    def __init__(
        self, gain: float = 1.0, seed: int | None = None, *, name: str | None = None, **kwargs: _Any
    ) -> None: ...
    gain: _Any
    seed: _Any

class STFT(Initializer):
    """kernel (frame, 1, fft / 2 + 1) of a convolution that is one side of a short-time Fourier transform."""

    def __init__(
        self,
        side: str = "real",
        window: str = "hann",
        scaling: str = "density",
        periodic: bool = False,
        *,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    side: _Any
    window: _Any
    scaling: _Any
    periodic: _Any

def get(identifier: _Any) -> _Any: ...
def serialize(thing: _Any) -> _Any: ...
def deserialize(config: _Any, custom_objects: _Any = None) -> _Any: ...
