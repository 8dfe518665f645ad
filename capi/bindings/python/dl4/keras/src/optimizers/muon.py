"""Muon's parts, which a program may call: which variables it updates, how, and how far."""

import re

from .. import ops
from .optimizer import category, Optimizer


@category.base_of("Muon")
class _Muon(Optimizer):
    __doc__ = None  # that of its kind

    def _should_use_adamw(self, variable):
        if len(variable.shape) != 2 or self.exclude_embeddings and "embedding" in variable.path.lower():
            return True
        return any(re.search(word, variable.path) for word in self.exclude_layers or ())

    def _apply_weight_decay(self, variables):
        for v in variables:
            decay = self.adam_weight_decay if self._should_use_adamw(v) else self.weight_decay
            if decay is not None and self._use_weight_decay(v):
                v.assign(v - v * decay * self.learning_rate)

    def lr_adjust(self, x):
        """An update times the square root of its longer side, where `rms_rate` says so."""
        return x if self.rms_rate is None else x * (max(x.shape[:2]) ** 0.5 * self.rms_rate)

    def transpose_last_axis(self, X):  # noqa: N803 Keras's name
        """A matrix with its last two axes exchanged."""
        return ops.swapaxes(X, -1, -2)

    def zeropower_via_newtonschulz5(self, x, steps):
        """Near the closest matrix whose columns, or rows, are orthogonal to each other and of length 1."""
        if len(x.shape) < 2:
            raise ValueError(f"Expected gradient or momentum to have at least 2 dimensions. Received: shape={x.shape}")
        tall = x.shape[-2] > x.shape[-1]
        x = self.transpose_last_axis(x) if tall else x
        x = x / (ops.norm(x, axis=(-2, -1), keepdims=True) + 1e-7)
        for _ in range(steps):
            square = x @ self.transpose_last_axis(x)
            x = self.muon_a * x + (self.muon_b * square + self.muon_c * square @ square) @ x
        return self.transpose_last_axis(x) if tall else x
