"""Keras on libdl4: `import dl4.keras_backend` before `import keras`.

Keras is the real one, 3.13 to 3.15.1; its backend is "dl4". `value_and_grad` differentiates a function of tensors, for
training loops that are written by hand."""

from . import attach as _attach

_attach.attach()

from .gradients import grad, value_and_grad  # noqa: E402

__all__ = ["grad", "value_and_grad"]
