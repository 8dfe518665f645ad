"""What functions of keras.ops share: on symbolic tensors they add layers, on arrays they compute."""

import functools

from ..backend import call_context
from ..symbolic.execution import run, run_on_arrays
from ..symbolic.function import Function
from ..symbolic.tensor import as_tensor, cast_tensor, is_tensor, operation
from ..tree import flatten


def is_symbolic(*values):
    """Is one of these symbolic, or is a call() being traced, or does a tape record arrays?"""
    leaves = flatten(list(values))
    if any(is_tensor(leaf) for leaf in leaves):
        return True
    if call_context.owner() is None:
        return False
    step = call_context.step()
    words = ("_as_tensor", "__array__") if step is not None and step.binds else ("_as_tensor",)
    return any(hasattr(leaf, word) for leaf in leaves for word in words)


def dispatched(f):
    """A function of tensors that computes when it is given arrays."""
    f._traces = {}

    @functools.wraps(f)
    def either(*args, **kwargs):
        if is_symbolic(args, kwargs):
            return f(*args, **kwargs)
        import numpy

        args = [
            numpy.asarray(a, _dtype_of(a)) if isinstance(a, (int, float)) and i == 0 else _array(a)
            for i, a in enumerate(args)
        ]
        if not any(hasattr(leaf, "__array__") for leaf in flatten([args, kwargs])):
            with call_context.traced(None):
                t = as_tensor(f(*args, **kwargs))

            return run(Function([], t, alone=True).core.session(), [], t)
        return run_on_arrays(f, args, kwargs)

    return either


def _dtype_of(number):
    if isinstance(number, float):
        return "float32"
    return None if isinstance(number, bool) or not -(2**31) <= number < 2**31 else "int32"


def _array(x):
    """A list of numbers, or of lists of them, as an array."""
    import numpy

    if (
        isinstance(x, (list, tuple))
        and x
        and isinstance(x[0], (list, tuple))
        and all(isinstance(leaf, (int, float)) for leaf in flatten(x))
    ):
        a = numpy.asarray(x)
        return a.astype("float32") if a.dtype.kind == "f" else a
    return x


def axes(axis):
    return None if axis is None else int(axis) if hasattr(axis, "__index__") else [int(a) for a in axis]


def floats(x):
    return cast_tensor(as_tensor(x), "float32")


def of(kind, x, **config):
    return operation(kind, **config)(x)


def alike(x, value):
    """One number as float32 in the shape of a tensor."""
    return of("Where", of("Isnan", floats(x)), x1=value, x2=value)


# ---- over axes


def over(kind, x, axis, keepdims=False):
    return operation(kind, axis=axes(axis), keepdims=bool(keepdims))(x)


def places(x, axis):
    """0, 1, 2 ... along an axis."""
    return operation("Arange", axis=axis)(x)
