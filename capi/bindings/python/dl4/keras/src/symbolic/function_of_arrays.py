"""tf.function: a function that is traced once for a signature."""

import functools

from ..backend import call_context
from ..tree import flatten
from .step import CompiledStep
from .tensor import is_tensor


def function(
    func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False, **kwargs
):
    """A function of arrays that the library runs: traced once for each signature, as a step.

    One that asks for the numbers of tensors runs as it is, each time."""
    if func is None:
        return functools.partial(function, input_signature=input_signature)
    step, plain = CompiledStep(func), set()

    @functools.wraps(func)
    def either(*args, **kwargs):
        if plain or call_context.owner() is not None or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
            return func(*args, **kwargs)
        try:
            trace = step.trace(args, kwargs)
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            plain.add(True)
            return func(*args, **kwargs)
        return trace()

    either.python_function = func
    return either
