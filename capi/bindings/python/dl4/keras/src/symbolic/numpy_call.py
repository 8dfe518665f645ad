"""Functions that NumPy computes, in graphs: calls of a kind of the library's whose numbers come from Python.

What such a call gives has the shapes and types that the function gives for samples of two sizes of the free axes."""

import ctypes as C
import inspect
import json

from ....abi import call as checked_call
from ....abi import callbacks, library
from ....core import Tensor
from ..backend import call_context
from ..on_arrays import FUNCTIONS, GRADIENTS, gradients
from ..saving.object_registration import register_keras_serializable
from ..tree import flatten, map_nest, pack_like
from ..utils.naming import unique_name
from . import tensor
from .tensor import as_tensor, Call, cast_tensor, is_tensor, KerasTensor

NATIVE = ("float32", "int32", "int64", "bool", "uint8")  # what graphs compute with
_SIZES = (83, 89)  # in place of free axes
_EXACT = 2**24  # float32, in which a call gives what it gives, holds whole numbers up to this
_PLACE = "tensor "  # of a tensor among the arguments that are written down
_own = []  # functions of programs that give (values, their gradient), by the numbers in calls
_kinds = {}  # by the function's name and how many outputs it has
_specs = {}


def _sample(shape, dtype):
    import numpy

    if len(shape) > 1 and shape[-1] == shape[-2] and "float" in dtype:
        return numpy.broadcast_to(numpy.eye(shape[-1], dtype="float32"), shape).astype(dtype)
    return (numpy.ones if "float" in dtype else numpy.zeros)(shape, dtype)


def output_spec(function, leaves):
    """The nest that a function gives, with (shape, dtype) at each leaf. `leaves`: (shape, dtype) of the tensors."""
    import numpy

    shapes = [shape for shape, _ in leaves]
    seen = []
    for size in _SIZES:
        with numpy.errstate(all="ignore"):
            seen.append(function([_sample([size if d is None else d for d in s], t) for s, t in leaves]))
        if not any(d is None for shape in shapes for d in shape):
            seen *= 2
            break
    pairs = zip(flatten(seen[0]), flatten(seen[1]))
    specs = [
        (tuple(a if a == b else None for a, b in zip(numpy.shape(x), numpy.shape(y))), str(numpy.asarray(x).dtype))
        for x, y in pairs
    ]
    return pack_like(seen[0], specs)


def _written(x):
    import numpy

    if isinstance(x, numpy.dtype) or isinstance(x, type):
        return str(numpy.dtype(x))
    raise NotImplementedError(f"in a graph: expected numbers, texts and tensors, got {x!r}")


def _noted(args, kwargs):
    """The tensors among arguments, and the arguments with the tensors' places in them."""
    found = []

    def noted(x):
        if is_tensor(x) or hasattr(x, "__array__"):
            found.append(as_tensor(x))
            return f"{_PLACE}{len(found) - 1}"
        return x

    return found, pack_like([list(args), kwargs], [noted(x) for x in flatten([list(args), kwargs])])


_OF_SHAPES = {"tile": (1, "repeats"), "reshape": (1, "newshape"), "broadcast_to": (1, "shape")}


def _need_known_sizes(name, args, kwargs):
    """Refuses calls whose outputs have other sizes for other numbers."""
    words = {**dict(enumerate(args)), **kwargs}
    if (
        name in ("nonzero", "eye", "identity", "tri", "arange", "full")
        or name == "unique"
        and kwargs.get("size") is None
        or name == "bincount"
        or name == "where"
        and len(words) == 1
        or name == "repeat"
        and any(hasattr(words.get(k), "dtype") for k in (1, "repeats"))
        or any(is_tensor(leaf) for k in _OF_SHAPES.get(name, ()) for leaf in flatten(words.get(k)))
        or name.startswith("segment_")
        and words.get(2, words.get("num_segments")) is None
    ):
        raise NotImplementedError(
            f"keras.ops.{name}: the size of what it gives depends on the numbers, which a graph does not know: "
            "expected arrays"
        )


def _spec_of(name, tensors, given):
    shapes = [(tuple(t.shape), t.dtype) for t in tensors]
    return output_spec(lambda arrays: _on(name, given, arrays), shapes)


def types(name, args, kwargs):
    """The types of data of what a function gives for symbolic tensors."""
    return [dtype for _, dtype in _leaves(_spec_of(name, *_noted(args, kwargs)))]


def symbolic(name, args, kwargs):
    """A function of keras.ops on symbolic tensors, as a call of NumPy's."""
    _need_known_sizes(name, args, kwargs)
    if name in GRADIENTS:  # which are of arguments by position
        known = inspect.signature(FUNCTIONS[name]).bind(*args, **kwargs)
        known.apply_defaults()
        args, kwargs = known.args, known.kwargs
    found, given = _noted(args, kwargs)
    spec = _spec_of(name, found, given)
    dtypes = [t.dtype for t in found]
    if any(t not in NATIVE for t in (*dtypes, *(leaf[1] for leaf in _leaves(spec)))):
        return map_spec(lambda s: specified(name, found, *s), spec)
    config = json.dumps({"name": name, "given": given, "dtypes": dtypes}, default=_written)
    outputs = iter(Call(NumPyLayer(name, len(_leaves(spec)), config), found).infer_outputs())
    return map_spec(lambda s: cast_tensor(next(outputs), s[1]), spec)


def custom_gradient(f, args):
    """A program's function on symbolic tensors, with the gradient that it gives. Both run in Python."""
    if f not in _own:
        _own.append(f)
    return symbolic("custom_gradient", (_own.index(f), *args), {})


def _own_function(number, *args):
    with call_context.apart():
        return map_nest(_numbers, _own[number](*args)[0])


def _own_gradient(args, given):
    number, *args = args
    with call_context.apart():
        found = _own[number](*args)[1](*given)
    return [None if g is None else _numbers(g) for g in (found if isinstance(found, (list, tuple)) else [found])]


def _numbers(x):
    import numpy

    return numpy.asarray(x)


FUNCTIONS["custom_gradient"], GRADIENTS["custom_gradient"] = _own_function, _own_gradient


def _is_spec(x):
    return isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], tuple) and isinstance(x[1], str)


def _leaves(spec):
    return [spec] if _is_spec(spec) else [leaf for s in spec for leaf in _leaves(s)]


def map_spec(f, spec):
    return f(spec) if _is_spec(spec) else type(spec)(map_spec(f, s) for s in spec)


def _with(given, arrays):
    """The arguments, as they are written down, with arrays in their places."""

    def value(x):
        return arrays[int(x[len(_PLACE) :])] if isinstance(x, str) and x.startswith(_PLACE) else x

    return map_nest(value, given)


def _on(name, given, arrays):
    """The function on arrays."""
    args, kwargs = _with(given, arrays)
    return FUNCTIONS[name](*args, **kwargs)


class _Specified(Call):
    """A call whose outputs have shapes and types and no numbers: of types that graphs don't compute with."""

    __slots__ = ("what",)

    def put(self, graph):
        self.need_numbers()

    def need_numbers(self):
        raise NotImplementedError(
            f"{self.what}: expected one of {', '.join(NATIVE)} in a graph, and loops of a known length; got "
            f"{', '.join(sorted({t.dtype for t in (*self.inputs, *self.outputs)}))}: it is computed on arrays alone"
        )


def specified(name, inputs, shape, dtype):
    """A tensor of a shape and a type; a model of it is refused."""
    call = _Specified(None, inputs, name=unique_name(name))
    call.what = f"keras.ops.{name}"
    call.outputs = [KerasTensor(call, 0, shape, dtype)]
    return call.outputs[0]


@register_keras_serializable("dl4")
class NumPyOperation:
    """Such a call in a file: the function's name, and its arguments with the tensors' places in them."""

    _is_operation = True

    def __init__(self, function, given, name=None):
        if function not in FUNCTIONS:
            raise ValueError(f"keras.ops has no function {function!r} on arrays")
        if function == "custom_gradient":
            raise NotImplementedError("keras.ops.custom_gradient: a file does not hold functions of a program")
        self.function, self.given, self.name = function, given, name

    def __call__(self, *tensors):
        args, kwargs = _with(self.given, flatten(tensors))
        return symbolic(self.function, args, kwargs)

    def get_config(self):
        return {"function": self.function, "given": self.given, "name": self.name}

    @classmethod
    def from_config(cls, config):
        return cls(**config)


class NumPyLayer:
    """What stands for a layer in such a call."""

    _graph, _is_operation, _calls = None, True, ()
    trainable, built, weights, trainable_weights, non_trainable_weights = True, True, (), (), ()

    def __init__(self, name, count, config):
        self.name, self._class_name, self._config = unique_name(name), _kind(name, count), {"config": config}
        self._placed = {}

    def _is_custom(self):
        return False

    def operation(self):
        known = json.loads(self._config["config"])
        return NumPyOperation(known["name"], known["given"], self.name)

    def _attach(self, core):
        pass

    def _place_in(self, graph):
        if graph not in self._placed:
            self._placed[graph] = graph.layer(self._class_name, graph.free_name(self.name), self._config)
        return self._placed[graph]


# ---- the kind


def _kind(name, count):
    """The kind of a function's calls that give so many tensors."""
    if (name, count) not in _kinds:
        kind = f"keras.ops.{name}" if count == 1 else f"keras.ops.{name} of {count}"
        functions = callbacks["dl4_shape_fn"](_shapes), callbacks["dl4_forward_fn"](_forward)
        options = json.dumps({"doc": "A function of keras.ops that NumPy computes.", "outputs": count}).encode()
        functions = *functions, callbacks["dl4_backward_fn"](*([_backward] if name in GRADIENTS else []))
        functions = *functions, None, callbacks["dl4_release_fn"]()
        checked_call("dl4_registry_add", b"layer", kind.encode(), options, *functions)
        _kinds[name, count] = kind, functions
    return _kinds[name, count][0]


def _shapes(_, config, ranks, dims, count, out_ranks, out_dims, out_count):
    try:
        known = json.loads(config)
        ranks = list((C.c_int32 * count).from_address(ranks)) if count else []
        sizes = iter((C.c_int64 * sum(ranks)).from_address(dims) if sum(ranks) else ())
        shapes = [tuple(None if d < 0 else d for d in (next(sizes) for _ in range(r))) for r in ranks]
        key = config, tuple(shapes)
        if key not in _specs:
            leaves = list(zip(shapes, known["dtypes"]))
            _specs[key] = _leaves(output_spec(lambda arrays: _on(known["name"], known["given"], arrays), leaves))
        to_ranks = (C.c_int32 * out_count).from_address(out_ranks)
        to_dims = (C.c_int64 * (8 * out_count)).from_address(out_dims)
        for i, (shape, _) in enumerate(_specs[key]):
            to_ranks[i] = len(shape)
            to_dims[8 * i : 8 * i + len(shape)] = [-1 if d is None else d for d in shape]
        return 0
    except Exception:  # noqa: BLE001 which must not leave a callback: the library says who failed
        return -1


def _arrays(handles, count):
    import numpy

    found = []
    for handle in (C.c_void_p * count).from_address(handles) if count else ():
        if handle is None:
            found.append(None)
            continue
        library.dl4_retain(handle)
        found.append(numpy.asarray(Tensor(handle)))
    return found


def _forward(_, config, src, n_src, dst, n_dst):
    try:
        import numpy

        known = json.loads(config)
        got = flatten(_on(known["name"], known["given"], _arrays(src, n_src)))
        for to, y in zip(_arrays(dst, n_dst), got):
            y = numpy.asarray(y)
            if to is not None and y.shape != to.shape:
                return -3
            if y.dtype.kind in "iu" and y.size and abs(y.astype("int64")).max() > _EXACT:
                return -2
            if to is not None:
                to[...] = y
        return 0
    except Exception:  # noqa: BLE001
        return -1


def _backward(_, config, src, n_src, dst, diff_dst, n_dst, diff_src):
    try:
        import numpy

        known = json.loads(config)
        args, _ = _with(known["given"], _arrays(src, n_src))
        shapes = [numpy.shape(y) for y in _arrays(dst, n_dst)]
        given = [numpy.zeros(s, "float32") if g is None else g for s, g in zip(shapes, _arrays(diff_dst, n_dst))]
        order = [int(x[len(_PLACE) :]) for x in flatten(known["given"][0]) if str(x).startswith(_PLACE)]
        found = dict(zip(order, gradients(known["name"], args, given)))
        for i, to in enumerate(_arrays(diff_src, n_src)):
            if to is not None:
                to[...] = 0 if found.get(i) is None else found[i]
        return 0
    except Exception:  # noqa: BLE001
        return -1


tensor.of_numpy = symbolic
