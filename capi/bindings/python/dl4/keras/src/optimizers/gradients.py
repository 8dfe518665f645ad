"""Gradients that a program computed itself, applied by the library's optimizers."""

from .... import core
from .. import ops
from ..backend import call_context
from ..kind import as_json, native
from ..registry import create
from ..symbolic.function import Function
from ..symbolic.tensor import Input
from ..utils.naming import temporary_names


class GradientApplier:
    """A model whose loss has the gradients that it is given: the sum of each weight times its gradient."""

    def __init__(self, optimizer, variables):
        self.variables = variables
        with temporary_names(), call_context.traced(None):
            inputs = [Input(shape=tuple(v.shape), name=f"gradient_{i}") for i, v in enumerate(variables)]
            self.weights = [
                create(
                    "layer",
                    "Weight",
                    shape=list(v.shape),
                    initializer="Zeros",
                    constraint=native(v.constraint),
                    name=f"weight_{i}",
                )
                for i, v in enumerate(variables)
            ]
            loss = sum(ops.sum(w._call_symbolic() * g) for w, g in zip(self.weights, inputs))
        self.core = Function(inputs, loss, alone=True).core
        options = {"optimizer": optimizer._native(), "loss": ["output"], "nan_guard": "off"}
        self.trainer = core.Trainer(self.core, as_json(options))
        optimizer._bind(self.trainer)

    def apply(self, gradients, variables):
        variables = self.variables if variables is None else variables
        if len(gradients) != len(self.variables) or any(a is not b for a, b in zip(variables, self.variables)):
            raise NotImplementedError(
                f"expected gradients of the same {len(self.variables)} variables each time, got {len(gradients)} of "
                f"{[v.path for v in variables]}"
            )
        if any(g is None for g in gradients):
            raise NotImplementedError("a gradient that is None: expected one for each variable")
        for v, w in zip(variables, self.weights):
            self.core.set_weight(f"{w._home_name}/value", v.numpy())
        given = [core.Tensor.of(getattr(g, "value", g), "float32").numpy() for g in gradients]
        self.trainer.step([core.Tensor.of(g[None]) for g in given], [])
        for v, w in zip(variables, self.weights):
            v.assign(self.core.get_weight(f"{w._home_name}/value"))
            v._constrain()
