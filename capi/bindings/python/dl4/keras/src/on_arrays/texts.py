"""Functions that move elements, on texts: they move the places of texts, and then these stand there."""

from ..backend.eager_tensor import eager_tensor
from ..backend.lazy import np
from ..data.structure import string_array
from ..tree import flatten, map_nest
from .arguments import FUNCTIONS

MOVING = frozenset(
    "broadcast_to concatenate expand_dims flip hstack moveaxis ravel repeat reshape roll slice split squeeze stack "
    "swapaxes take tile transpose unstack vstack where".split()
)
COMPARING = {"equal": "equal", "not_equal": "not_equal"}


def is_text(x):
    return isinstance(x, (str, bytes)) or getattr(getattr(x, "dtype", None), "kind", None) in ("O", "S", "U")


def on_texts(name, args, kwargs):
    """What a function of keras.ops gives for texts."""
    if name in COMPARING:
        return eager_tensor(getattr(np, name)(*(string_array(x) for x in (*args, *kwargs.values()))).astype(bool))
    if name not in MOVING:
        raise ValueError(f"keras.ops.{name}: expected numbers, got texts")
    texts = []

    def places(x):
        if not is_text(x):
            return x
        array, first = string_array(x), len(texts)
        texts.extend(array.ravel())
        return np.arange(first, len(texts), dtype="int32").reshape(array.shape)

    args, kwargs = map_nest(places, [list(args), kwargs])
    known = np.empty(len(texts), object)
    known[:] = texts
    return map_nest(lambda at: eager_tensor(np.asarray(known[at], object)), FUNCTIONS[name](*args, **kwargs))


def shape_of(name, args, kwargs, spec):
    """Of one output. `spec(function, leaves)` gives the shapes of what a function gives for tensors of shapes."""
    found = [x for x in flatten([list(args), kwargs]) if hasattr(x, "shape")]
    leaves = [(tuple(x.shape), "int32" if str(x.dtype) in ("string", "object") else str(x.dtype)) for x in found]

    def function(arrays):
        now = dict(zip(map(id, found), arrays))
        given, named = map_nest(lambda x: now.get(id(x), x), [list(args), kwargs])
        return FUNCTIONS[name](*given, **named)

    got = spec(function, leaves)
    if not isinstance(got, tuple):
        raise NotImplementedError(f"keras.ops.{name}: symbolic texts: expected a function that gives one tensor")
    return got[0]
