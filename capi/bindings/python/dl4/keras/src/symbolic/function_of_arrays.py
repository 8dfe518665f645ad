"""tf.function: a function that is traced once for a signature."""

import functools

from ..backend import call_context
from ..tree import flatten, map_nest
from .step import CompiledStep
from .tensor import is_tensor


_HINTS = {  # of TensorFlow's compiler, which change no number
    "experimental_attributes",
    "experimental_autograph_options",
    "experimental_compile",
    "experimental_follow_type_hints",
    "experimental_implements",
    "experimental_relax_shapes",
}


_eager = False


def run_eagerly(run_eagerly):
    """Do functions of function() run as they are, each time?"""
    global _eager
    _eager = bool(run_eagerly)


def runs_eagerly():
    return _eager


def function(func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False, **hints):
    """A function of arrays that the library runs: traced once for each signature, as a step. Arguments are converted to
    the types of `input_signature`, and refused if their shapes are others.

    One that asks for the numbers of tensors runs as it is, each time."""
    for name in hints.keys() - _HINTS:
        raise TypeError(f"function() got an unexpected keyword argument '{name}'")
    if func is None:
        return functools.partial(function, input_signature=input_signature)
    step, plain = CompiledStep(func), set()

    @functools.wraps(func)
    def either(*args, **kwargs):
        if call_context.owner() is not None or any(is_tensor(leaf) for leaf in flatten([args, kwargs])):
            return func(*args, **kwargs)
        if input_signature is not None:
            args = _as_signed(args, input_signature, func.__name__)
        if plain or _eager:
            return func(*args, **kwargs)
        try:
            trace = step.trace(args, kwargs)
        except (AttributeError, NotImplementedError, TypeError, ValueError):
            plain.add(True)
            return func(*args, **kwargs)
        return map_nest(_told, trace())

    either.python_function = func
    return either


def _told(x):
    """Of a metric its result, which it has once the function has run."""
    return x.result() if getattr(x, "_category", None) == "metric" else x


def _as_signed(args, signature, who):
    """Positional arguments as an `input_signature` says; `self` of a method is before them."""
    own = args[: max(len(args) - len(signature), 0)]
    if len(own) > 1 or len(args) < len(signature):
        raise TypeError(f"{who}(): expected {len(signature)} arguments by `input_signature`, got {len(args)}")
    return (*own, *(_checked(spec, x, who) for spec, x in zip(signature, args[len(own) :])))


def _checked(spec, x, who):
    if isinstance(spec, dict):
        if not isinstance(x, dict) or x.keys() != spec.keys():
            raise TypeError(f"{who}(): expected a dict of {sorted(spec)} by `input_signature`, got {x!r}")
        return {k: _checked(s, x[k], who) for k, s in spec.items()}
    if isinstance(spec, (list, tuple)):
        if not isinstance(x, (list, tuple)) or len(x) != len(spec):
            raise TypeError(f"{who}(): expected {len(spec)} tensors by `input_signature`, got {x!r}")
        return type(spec)(_checked(s, v, who) for s, v in zip(spec, x))
    return spec.checked(x, f"{who}()")
