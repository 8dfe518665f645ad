"""Made by stubs.py."""

from collections.abc import Sequence
from typing import Any as _Any  # a layer has that name

class Optimizer:
    """How weights follow their gradients; learning_rate may be read and set while a model trains."""

    category: _Any
    class_name: _Any
    def __init__(self, *args: _Any, **kwargs: _Any) -> None: ...
    def get_config(self) -> dict[str, _Any]: ...
    @classmethod
    def from_config(cls, config: _Any, **_: _Any) -> _Any: ...
    def to_json_value(self) -> _Any: ...
    def bind(self, trainer: _Any) -> _Any: ...
    def own_schedule(self) -> _Any: ...
    @property
    def name(self) -> _Any: ...
    @property
    def learning_rate(self) -> _Any: ...
    @learning_rate.setter
    def learning_rate(self, value: _Any) -> None: ...
    @property
    def lr(self) -> _Any: ...
    @lr.setter
    def lr(self, value: _Any) -> None: ...
    @property
    def iterations(self) -> _Any: ...
    def apply_gradients(self, *_: _Any, **__: _Any) -> _Any: ...
    def apply(self, *_: _Any, **__: _Any) -> _Any: ...
    def __getattr__(self, name: str) -> _Any: ...

class SGD(Optimizer):
    """w -= learning_rate * g, with momentum m = momentum * m - learning_rate * g; w += m."""

    def __init__(
        self,
        learning_rate: _Any = 0.01,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    momentum: _Any
    nesterov: _Any

class Adam(Optimizer):
    """running means m of g and v of g^2: w -= learning_rate * sqrt(1 - beta_2^t) / (1 - beta_1^t) * m / (sqrt(v) + epsilon). Gradients of an embedding's repeated ids are summed before they are squared, as in Keras on JAX and PyTorch."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-07,
        amsgrad: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_1: _Any
    beta_2: _Any
    epsilon: _Any
    amsgrad: _Any

class AdamW(Optimizer):
    """Adam with a weight decay; what is not to decay is said to the trainer."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        weight_decay: float = 0.004,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-07,
        amsgrad: bool = False,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_1: _Any
    beta_2: _Any
    epsilon: _Any
    amsgrad: _Any

class RMSprop(Optimizer):
    """running mean v of g^2: w -= learning_rate * g / sqrt(v + epsilon). Gradients of an embedding's repeated ids are summed before they are squared."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        rho: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-07,
        centered: bool = False,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    rho: _Any
    momentum: _Any
    epsilon: _Any
    centered: _Any

class Adagrad(Optimizer):
    """sum of squares s: w -= learning_rate * g / sqrt(s + epsilon)."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        initial_accumulator_value: float = 0.1,
        epsilon: float = 1e-07,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    initial_accumulator_value: _Any
    epsilon: _Any

class Adadelta(Optimizer):
    """running means a of g^2 and d of step^2: step = g * sqrt(d + epsilon) / sqrt(a + epsilon), w -= learning_rate * step."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        rho: float = 0.95,
        epsilon: float = 1e-07,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    rho: _Any
    epsilon: _Any

class Adamax(Optimizer):
    """running mean m of g, u = max(beta_2 * u, |g|): w -= learning_rate / (1 - beta_1^t) * m / (u + epsilon)."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-07,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_1: _Any
    beta_2: _Any
    epsilon: _Any

class Nadam(Optimizer):
    """Adam with Nesterov's momentum: mu = beta_1 * (1 - 0.96^t / 2), whose running product corrects m."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-07,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_1: _Any
    beta_2: _Any
    epsilon: _Any

class Lion(Optimizer):
    """w -= learning_rate * sign(beta_1 * m + (1 - beta_1) * g), then m = beta_2 * m + (1 - beta_2) * g."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.99,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_1: _Any
    beta_2: _Any

class Ftrl(Optimizer):
    """follow the regularized leader: sum of squares n and linear z, w = (clip(z, -l1, l1) - z) / (n^-power / learning_rate + 2 * l2)."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float = 0.0,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    learning_rate_power: _Any
    initial_accumulator_value: _Any
    l1_regularization_strength: _Any
    l2_regularization_strength: _Any
    l2_shrinkage_regularization_strength: _Any
    beta: _Any

class Lamb(Optimizer):
    """Adam's step s, scaled for each weight: w -= learning_rate * |w| / |s| * s."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-07,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_1: _Any
    beta_2: _Any
    epsilon: _Any

class Adafactor(Optimizer):
    """of a weight with two axes or more the mean of g^2 is kept for rows and columns only; steps are as large as the weight asks for."""

    def __init__(
        self,
        learning_rate: _Any = 0.001,
        beta_2_decay: float = -0.8,
        epsilon_1: float = 1e-30,
        epsilon_2: float = 0.001,
        clip_threshold: float = 1.0,
        relative_step: bool = True,
        weight_decay: float | None = None,
        clipnorm: float | None = None,
        clipvalue: float | None = None,
        global_clipnorm: float | None = None,
        use_ema: bool = False,
        ema_momentum: float = 0.99,
        ema_overwrite_frequency: int | None = None,
        loss_scale_factor: float | None = None,
        gradient_accumulation_steps: int | None = None,
        name: str | None = None,
        **kwargs: _Any,
    ) -> None: ...
    weight_decay: _Any
    clipnorm: _Any
    clipvalue: _Any
    global_clipnorm: _Any
    use_ema: _Any
    ema_momentum: _Any
    ema_overwrite_frequency: _Any
    loss_scale_factor: _Any
    gradient_accumulation_steps: _Any
    beta_2_decay: _Any
    epsilon_1: _Any
    epsilon_2: _Any
    clip_threshold: _Any
    relative_step: _Any

def get(identifier: _Any) -> _Any: ...
def serialize(thing: _Any) -> _Any: ...
def deserialize(config: _Any, custom_objects: _Any = None) -> _Any: ...
