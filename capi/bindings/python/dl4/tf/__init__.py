"""The names of TensorFlow that Keras programs use, on NumPy and the library: `import dl4 as tf`.

What is not here raises AttributeError with its name."""

import builtins
import contextlib
import functools
import sys
from types import SimpleNamespace

import numpy as np

from .. import keras
from ..keras import initializers, losses, metrics, optimizers
from ..keras.src.backend import call_context
from ..keras.src.backend.global_state import set_context
from ..keras.src.data.ragged import Ragged as RaggedTensor
from ..keras.src.data.structure import map_structure as _map_structure, TensorSpec
from ..keras.src.layers.variable import Variable as _KerasVariable
from ..keras.src.symbolic import function_of_arrays
from ..keras.src.symbolic.function_of_arrays import function
from ..keras.src.symbolic.gradient_tape import GradientTape
from ..keras.src.symbolic.tensor import KerasTensor
from ..keras.src.tree import flatten as _flatten
from . import (
    audio,
    data,
    distribute,
    elementwise as math,
    errors,
    experimental,
    image,
    io,
    linalg,
    lookup,
    nn,
    random,
    records,
    signal,
    sparse,
    summary,
    texts as strings,
)
from .arrays import *  # noqa: F403
from .dispatch import array as _array, is_symbolic as _is_symbolic, name_of as _name_of, refuse as _refuse, string, tensor as _tensor
from .elementwise import *  # noqa: F403
from .sparse import edit_distance, SparseTensor
from .variables import IndexedSlices, TensorArray, Variable

float16, float32, float64 = np.dtype("float16"), np.dtype("float32"), np.dtype("float64")
int8, int16, int32, int64 = np.dtype("int8"), np.dtype("int16"), np.dtype("int32"), np.dtype("int64")
uint8, uint16, uint32, uint64 = np.dtype("uint8"), np.dtype("uint16"), np.dtype("uint32"), np.dtype("uint64")
bool = np.dtype("bool")  # noqa: A001
complex64, complex128 = np.dtype("complex64"), np.dtype("complex128")
double, half = float64, float16
newaxis, DType = None, np.dtype
AUTOTUNE = data.AUTOTUNE


def as_dtype(type_value):
    return string if _name_of(type_value) == "string" else np.dtype(_name_of(type_value))


class _Tensors(type):
    def __instancecheck__(cls, x):
        return is_tensor(x) or isinstance(x, KerasTensor)  # noqa: F405


class Tensor(metaclass=_Tensors):
    """What isinstance() says of arrays that layers and these functions give, and of symbolic tensors."""


class TensorShape(tuple):
    """Sizes of axes."""

    def __new__(cls, dims=()):
        return super().__new__(cls, dims)

    rank = ndims = property(len)

    def as_list(self):
        return list(self)


def py_function(func=None, inp=None, Tout=None, name=None):  # noqa: N803
    """What a function of Python's gives for tensors, in the types that are said."""
    got = func(*inp)
    types = list(Tout) if isinstance(Tout, (list, tuple)) else Tout
    if isinstance(types, list):
        return [_tensor(_array(v, t)) for v, t in zip(got, types)]
    return _tensor(_array(got, types))


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):  # noqa: N803
    return py_function(lambda *a: func(*(np.asarray(v)[()] for v in a)), inp, Tout)


def cond(pred, true_fn=None, false_fn=None, name=None):
    """One of two functions, by a value."""
    return keras.ops.cond(pred if isinstance(pred, KerasTensor) else np.asarray(pred).item(), true_fn, false_fn)


def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    maximum_iterations=None,
    name=None,
):
    """A loop on arrays."""
    _refuse("tf.while_loop", back_prop=(back_prop, True))
    if any(isinstance(v, KerasTensor) for v in loop_vars):
        raise NotImplementedError("tf.while_loop: symbolic tensors are not in this version of the library")
    left = None if maximum_iterations is None else int(maximum_iterations)
    while (left is None or left > 0) and cond(*loop_vars):
        left = None if left is None else left - 1
        got = body(*loop_vars)
        loop_vars = list(got) if isinstance(got, (tuple, list)) else [got]
    return loop_vars


custom_gradient = keras.ops.custom_gradient


def grad_pass_through(f):
    """A function whose gradient is that of the identity."""
    return custom_gradient(lambda x: (f(x), lambda upstream: upstream))


def print(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):  # noqa: A001
    shown = [np.asarray(x) if hasattr(x, "shape") and not isinstance(x, KerasTensor) else x for x in inputs]
    builtins.print(*shown, sep=sep, end=end, file=sys.stderr if output_stream is None else output_stream)


def executing_eagerly():
    step = call_context.step()
    return step is None or step.binds


def gradients(*args, **kwargs):
    raise NotImplementedError("tf.gradients: expected tf.GradientTape")


class UnconnectedGradients:
    NONE, ZERO = "none", "zero"


@contextlib.contextmanager
def name_scope(name):
    yield name


@contextlib.contextmanager
def device(name):
    """The CPU, whatever is said."""
    yield name


def Assert(condition, data, summarize=None, name=None):  # noqa: N802
    if not np.all(condition):
        raise errors.InvalidArgumentError(f"assertion failed: {data}")


def group(*inputs, name=None):
    return None


class Module:
    """An object with a name, whose methods are what they are."""

    def __init__(self, name=None):
        self.name = name or type(self).__name__.lower()

    @property
    def variables(self):
        return tuple(v for v in vars(self).values() if isinstance(v, _KerasVariable))

    @property
    def trainable_variables(self):
        return tuple(v for v in self.variables if v.trainable)


def no_op(name=None):
    return None


def get_static_value(tensor):
    return None if isinstance(tensor, KerasTensor) else np.asarray(tensor)


def broadcast_static_shape(shape_x, shape_y):
    return TensorShape(np.broadcast_shapes(tuple(shape_x), tuple(shape_y)))


def _asserting(test, words):
    def check(x, y=None, message=None, summarize=None, name=None):
        if not np.all(test(np.asarray(x), None if y is None else np.asarray(y))):
            raise errors.InvalidArgumentError(message or f"{words}: {x}" + ("" if y is None else f", {y}"))

    return check


def _need_finite(tensor, message=None, name=None):
    if _is_symbolic(tensor):
        raise NotImplementedError(
            "tf.debugging.check_numerics: a graph raises nothing while it runs: expected run_eagerly=True of compile(), or "
            "the callback TerminateOnNaN"
        )
    if not np.isfinite(np.asarray(tensor)).all():
        raise errors.InvalidArgumentError(message or "Tensor had NaN or Inf values")
    return tensor


def _set_threads(num_threads):
    """Of models that are made from now on; 0 is the default again."""
    set_context(threads=num_threads or None)


def _no_check_numerics(*args, **kwargs):
    raise NotImplementedError(
        "debugging.enable_check_numerics() is not supported: use debugging.check_numerics(x, message) in the function"
    )


def _none(*args, **kwargs):
    """Says how TensorFlow's own machinery runs: it has no effect here."""


debugging = SimpleNamespace(
    assert_equal=_asserting(lambda x, y: x == y, "Condition x == y did not hold"),
    assert_greater=_asserting(lambda x, y: x > y, "Condition x > y did not hold"),
    assert_greater_equal=_asserting(lambda x, y: x >= y, "Condition x >= y did not hold"),
    assert_less=_asserting(lambda x, y: x < y, "Condition x < y did not hold"),
    assert_less_equal=_asserting(lambda x, y: x <= y, "Condition x <= y did not hold"),
    assert_non_negative=_asserting(lambda x, y: x >= 0, "Condition x >= 0 did not hold"),
    assert_positive=_asserting(lambda x, y: x > 0, "Condition x > 0 did not hold"),
    assert_rank=_asserting(lambda x, y: x.ndim == y, "Wrong rank"),
    assert_all_finite=_need_finite,
    check_numerics=_need_finite,
    set_log_device_placement=_none,
    enable_check_numerics=_no_check_numerics,
)
config = SimpleNamespace(
    list_physical_devices=lambda device_type=None: [],
    list_logical_devices=lambda device_type=None: [],
    get_visible_devices=lambda device_type=None: [],
    run_functions_eagerly=function_of_arrays.run_eagerly,
    functions_run_eagerly=function_of_arrays.runs_eagerly,
    set_threads=_set_threads,
    set_visible_devices=_none,
    set_soft_device_placement=_none,
    optimizer=SimpleNamespace(set_jit=_none, set_experimental_options=_none),
    threading=SimpleNamespace(set_intra_op_parallelism_threads=_set_threads, set_inter_op_parallelism_threads=_none),
    experimental=SimpleNamespace(
        set_memory_growth=_none,
        list_physical_devices=lambda device_type=None: [],
        enable_op_determinism=_none,
        enable_tensor_float_32_execution=_none,
    ),
)
test = SimpleNamespace(
    is_gpu_available=lambda *a, **k: False, gpu_device_name=lambda: "", is_built_with_cuda=lambda: False
)
nest = SimpleNamespace(map_structure=_map_structure, flatten=_flatten)
ragged = SimpleNamespace(constant=ragged_constant)  # noqa: F405
train = SimpleNamespace(
    **{n: getattr(records, n) for n in ("Example", "Features", "Feature", "BytesList", "FloatList", "Int64List")}
)
autograph = SimpleNamespace(
    experimental=SimpleNamespace(do_not_convert=lambda f=None, **_: f if f else lambda g: g), set_verbosity=_none
)
compat = SimpleNamespace(
    as_str=lambda x, encoding="utf-8": x.decode(encoding) if isinstance(x, bytes) else x,
    as_text=lambda x, encoding="utf-8": x.decode(encoding) if isinstance(x, bytes) else x,
    as_bytes=lambda x, encoding="utf-8": x.encode(encoding) if isinstance(x, str) else x,
)
dtypes = SimpleNamespace(
    DType=DType,
    as_dtype=as_dtype,
    string=string,
    **{
        n: np.dtype(n) for n in "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()
    },
)
zeros_initializer, ones_initializer = initializers.Zeros, initializers.Ones
constant_initializer, random_normal_initializer = initializers.Constant, initializers.RandomNormal
random_uniform_initializer = initializers.RandomUniform
__version__ = "2.21.0"  # whose names these are
version = SimpleNamespace(VERSION=__version__)
get_logger = functools.partial(SimpleNamespace, setLevel=_none)


def __getattr__(name):
    raise AttributeError(
        f"module 'dl4' has no attribute '{name}': it is not among the names of TensorFlow that are here"
    )


__all__ = [
    n
    for n in list(globals())
    if n[0] != "_" and n not in ("builtins", "sys", "contextlib", "functools", "SimpleNamespace", "np")
]
