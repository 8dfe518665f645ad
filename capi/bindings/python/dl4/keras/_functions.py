"""What makes a function of tensors one that computes when it is given arrays."""

from . import _state
from ._tensors import as_tensor, flatten, is_tensor


def symbolic(*values):
    """Is one of these symbolic, or is a call() being traced?"""
    return any(is_tensor(leaf) for leaf in flatten(list(values))) or (
        _state.owner() is not None and any(hasattr(leaf, "symbolic") for leaf in flatten(list(values)))
    )


def function(f):
    """A function of tensors that computes when it is given arrays."""
    import functools

    f._eager = {}

    @functools.wraps(f)
    def either(*args, **kwargs):
        if symbolic(args, kwargs):
            return f(*args, **kwargs)
        import numpy
        from ._eager import computed

        args = [
            numpy.asarray(a, _dtype_of(a))
            if isinstance(a, (int, float)) and i == 0
            else _array(a)
            for i, a in enumerate(args)
        ]
        if not any(hasattr(leaf, "__array__") for leaf in flatten([args, kwargs])):
            with _state.traced(None):
                t = as_tensor(f(*args, **kwargs))
            from ._functional import Functional
            from ._eager import run

            return run(Functional([], t, alone=True).core.session(), [], t)
        return computed(f, args, kwargs)

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
