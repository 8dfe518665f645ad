"""A model to export, and the inputs it is exported and run with."""

import dataclasses
import typing


@dataclasses.dataclass
class Case:
    name: str
    make: typing.Callable  # -> a module of PyTorch
    # (batch, length) -> tensors in their order; an axis whose size differs between two calls is exported as a free one
    inputs: typing.Callable
    exporters: tuple = ("script", "dynamo")
    sizes: tuple = ((2, 7), (3, 10))


def floats(*shape):
    """Inputs of one tensor; "b" and "t" are the batch and the length."""
    import torch

    def make(batch, length):
        size = {"b": batch, "t": length}
        return (torch.randn(*[size.get(d, d) for d in shape]),)

    return make
