"""ScheduleFreeAdamW."""

from .. import ops
from ..export import keras_export
from .optimizer import category, Optimizer


@category.add
@keras_export("optimizers")
class ScheduleFreeAdamW(Optimizer):
    """AdamW that needs no schedule: of each weight it keeps the point that steps are taken from, and the weight stands
    between that point and the mean of all such points so far."""

    def __init__(
        self,
        learning_rate=0.0025,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-8,
        warmup_steps=0,
        weight_decay=None,
        clipnorm=None,
        clipvalue=None,
        global_clipnorm=None,
        use_ema=False,
        ema_momentum=0.99,
        ema_overwrite_frequency=None,
        loss_scale_factor=None,
        gradient_accumulation_steps=None,
        name="schedule_free_adamw",
        **kwargs,
    ):
        super().__init__(
            learning_rate,
            name=name,
            weight_decay=weight_decay,
            clipnorm=clipnorm,
            clipvalue=clipvalue,
            global_clipnorm=global_clipnorm,
            use_ema=use_ema,
            ema_momentum=ema_momentum,
            ema_overwrite_frequency=ema_overwrite_frequency,
            loss_scale_factor=loss_scale_factor,
            gradient_accumulation_steps=gradient_accumulation_steps,
            **kwargs,
        )
        self.beta_1, self.beta_2, self.epsilon, self.warmup_steps = beta_1, beta_2, epsilon, warmup_steps

    def build(self, variables):
        if self._built:
            return
        super().build(variables)
        self._momentums, self._velocities = self.add_optimizer_variables(self._built_for, ["momentum", "velocity"])
        for momentum, variable in zip(self._momentums, self._built_for):
            momentum.assign(variable.numpy().copy())

    def update_step(self, gradient, variable, learning_rate):
        place = self._get_variable_index(variable)
        momentum, velocity = self._momentums[place], self._velocities[place]
        step = ops.cast(self.iterations + 1, "float32")
        if self.warmup_steps > 0:
            learning_rate = learning_rate * ops.minimum(step / self.warmup_steps, 1.0)
        before = ops.convert_to_tensor(momentum.value)
        mean = (variable - (1 - self.beta_1) * before) / self.beta_1
        square = velocity + (ops.square(gradient) - velocity) * (1 - self.beta_2)
        corrected = 1 - ops.power(self.beta_2, step)
        after = before - learning_rate * gradient / (ops.sqrt(square / corrected) + self.epsilon)
        mean = mean + (after - mean) / step
        velocity.assign(square)
        momentum.assign(after)
        variable.assign((1 - self.beta_1) * after + self.beta_1 * mean)

    def get_config(self):
        own = {name: getattr(self, name) for name in ("beta_1", "beta_2", "epsilon", "warmup_steps")}
        return {**super().get_config(), **own}
