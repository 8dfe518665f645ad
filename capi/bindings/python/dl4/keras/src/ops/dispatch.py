"""What functions of keras.ops share: on symbolic tensors they add layers, on arrays they compute."""

import functools

from ....abi import Error
from ..backend import call_context
from ..backend.dtypes import floating, FLOATS
from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from ..on_arrays import arguments, FUNCTIONS
from ..on_arrays.texts import is_text, MOVING, on_texts
from ..registry import create
from ..symbolic import numpy_call
from ..symbolic.execution import run, run_again, run_on_arrays
from ..symbolic.function import Function
from ..symbolic.tensor import as_tensor, cast_tensor, Input, is_tensor, KerasTensor, operation
from ..tree import flatten, map_nest, pack_like
from ..utils.naming import unique_name


def _holds_tensors(values):
    for x in values:
        if isinstance(x, KerasTensor):
            return True
        kind = type(x)
        if (kind is list or kind is tuple) and _holds_tensors(x) or kind is dict and _holds_tensors(x.values()):
            return True
    return False


def is_symbolic(*values):
    """Is one of these symbolic, or is a call() being traced, or does a tape record arrays?"""
    if _holds_tensors(values):
        return True
    if not call_context.records() or call_context.owner() is None:
        return False
    step = call_context.step()
    words = ("_as_tensor", "__array__") if step is not None and step.binds else ("_as_tensor",)
    return any(hasattr(leaf, word) for leaf in flatten(list(values)) for word in words)


def dispatched(f):
    """A function of tensors that computes when it is given arrays: by NumPy where `on_arrays` has its name, else by the
    library."""
    f._traces, on_arrays = {}, FUNCTIONS.get(f.__name__)

    @functools.wraps(f)
    def either(*args, **kwargs):
        if is_symbolic(args, kwargs):
            with call_context.one_operation():
                return _in_graph(f, on_arrays, args, kwargs)
        if on_arrays is not None:
            return _of_arrays(on_arrays, f.__name__, args, kwargs)
        if len(args) == 1 and not kwargs and hasattr(args[0], "ndim"):
            again = run_again(f, args[0])
            if again is not None:
                return again
        return _by_library(f, args, kwargs)

    either.__name__ = f.__name__.rpartition(".")[2]
    return either


def _of_arrays(function, name, args, kwargs):
    """A function of NumPy's, which gives texts for texts."""
    try:
        return given(function(*args, **kwargs), args)
    except arguments.Texts:
        if not any(is_text(x) for x in flatten([list(args), kwargs])):
            raise
        return on_texts(name, args, kwargs)


def _by_library(f, args, kwargs):
    """On arrays. Types that the library has not are computed in float32 or int32, and come back as such."""
    dtypes = [str(x.dtype) for x in flatten([list(args), kwargs]) if hasattr(x, "__array__") and hasattr(x, "dtype")]
    if set(dtypes) <= _KNOWN:
        return _run(f, args, kwargs)
    dtype = floating(*dtypes)

    def native(x):
        if not hasattr(x, "__array__") or str(x.dtype) in _KNOWN:
            return x
        return given(arguments.cast(x, "float32" if str(x.dtype) in FLOATS else "int32"), [x])

    args, kwargs = map_nest(native, [list(args), kwargs])
    got = _run(f, args, kwargs)
    return map_nest(lambda y: given(arguments.cast(y, dtype)) if y.dtype == np.float32 else y, got)


_KNOWN = {*numpy_call.NATIVE, "float64"}


def _run(f, args, kwargs):
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


def computed(name):
    """A function that NumPy computes, in graphs too."""
    on_arrays = FUNCTIONS[name]

    @functools.wraps(on_arrays)
    def either(*args, **kwargs):
        if is_symbolic(args, kwargs):
            return numpy_call.symbolic(name, args, kwargs)
        return _of_arrays(on_arrays, name, args, kwargs)

    either.__name__ = name.rpartition(".")[2]
    return either


def given(y, args=()):
    """What a function of arrays gave, as tensors that share no memory with what it was given."""
    if isinstance(y, np.ndarray):
        return eager_tensor(y if y.base is None and (not args or y is not args[0]) else y.copy())
    if isinstance(y, (tuple, list)):
        return type(y)(given(v, args) for v in y)
    return eager_tensor(np.asarray(y))


def _in_graph(f, on_arrays, args, kwargs):
    """On symbolic tensors the library computes what it can; the rest NumPy does, through which nothing is trained."""
    dtypes = {x.dtype for x in flatten([args, kwargs]) if isinstance(x, KerasTensor)}
    if "string" in dtypes and f.__name__ in MOVING:
        return create("layer", "TextOperation", function=f.__name__, name=unique_name(f.__name__))(*args, **kwargs)
    dtypes -= {"string"}
    if on_arrays is None:
        return f(*args, **kwargs) if dtypes <= _NATIVE else _specified(f, args, kwargs)
    if not dtypes <= _NATIVE:
        return numpy_call.symbolic(f.__name__, args, kwargs)
    try:
        got = f(*args, **kwargs)
    except (Error, NotImplementedError) as refused:
        try:
            return numpy_call.symbolic(f.__name__, args, kwargs)
        except (NotImplementedError, TypeError, ValueError, IndexError):
            raise refused from None
    if dtypes <= _FLOAT32:
        return got
    try:
        wanted = numpy_call.types(f.__name__, args, kwargs)
    except (NotImplementedError, TypeError, ValueError, IndexError):  # not with the sizes of a sample
        return got
    leaves = flatten(got)
    if len(leaves) != len(wanted):
        return got
    return pack_like(got, [cast_tensor(t, d) if d in _NATIVE else t for t, d in zip(leaves, wanted)])


_NATIVE, _FLOAT32 = set(numpy_call.NATIVE), {"float32"}


def _specified(f, args, kwargs):
    """What a function of the library's gives for types that are computed on arrays alone."""
    tensors = [t for t in flatten([list(args), kwargs]) if is_tensor(t)]

    def native(t):
        if not is_tensor(t):
            return t
        return Input(batch_shape=t.shape, dtype="float32" if "float" in t.dtype else "int32")

    args, kwargs = map_nest(native, [list(args), kwargs])
    dtype = floating(*(t.dtype for t in tensors))

    def one(t):
        return numpy_call.specified(f.__name__, tensors, t.shape, dtype if t.dtype == "float32" else t.dtype)

    return map_nest(one, f(*args, **kwargs))


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


def axis_of(axis, x):
    """A number of an axis from the first one."""
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def axes(axis):
    return None if axis is None else int(axis) if hasattr(axis, "__index__") else [int(a) for a in axis]


def sizes_in(shape):
    """A shape, or what repeats one, as a list: of one that is computed, what it was put together of."""
    if not is_tensor(shape):
        return [shape] if isinstance(shape, int) else list(shape)
    found = _put_together(shape) if len(shape.shape) == 1 else []
    if len(found) != (shape.shape or (0,))[0]:
        raise NotImplementedError(f"a shape that is calculated: expected numbers and sizes of shape(x), got {shape!r}")
    return found


def _put_together(t):
    call = t.call
    if hasattr(t, "one"):  # a Size
        return [t]
    if call.value is not None:
        return [int(n) for n in call.value.numpy().ravel()]
    if getattr(call.layer, "_class_name", None) not in ("Cast", "Concatenate", "ExpandDims", "Reshape", "Stack"):
        return []
    parts = [_put_together(source) for source in call.inputs]
    return [n for part in parts for n in part] if all(parts) else []


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
