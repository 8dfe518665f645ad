"""The arguments of datasets: seeds, sizes, shapes in nests; and how many elements there are."""

from ..backend import global_state
from ..backend.lazy import np
from .structure import map_structure, TensorSpec

INFINITE, UNKNOWN = -1, -2


def times(a, b):
    """Cardinality of b times a."""
    return 0 if 0 in (a, b) else INFINITE if INFINITE in (a, b) else UNKNOWN if UNKNOWN in (a, b) else a * b


def window_count(count, size, shift, stride, drop_remainder):
    """How many windows there are of so many elements."""
    reach = (size - 1) * stride + 1
    return -(-count // shift) if not drop_remainder else max((count - reach) // shift + 1, 0)


def seeds(seed, again):
    """A function that gives the generator of an iteration: another one each time, or the same."""
    source = None

    def begin():
        nonlocal source
        if source is None:
            source = np.random.SeedSequence(global_state.next_seed() if seed is None else abs(int(seed)))
        return np.random.default_rng(source.spawn(1)[0] if again else source)

    return begin


def positive(value, who, name):
    if int(value) < 1:
        raise ValueError(f"Dataset.{who}: `{name}` must be greater than 0, got {value}")
    return int(value)


def tuples(nest):
    return tuple(map(tuples, nest)) if isinstance(nest, (list, tuple)) else nest


def signature(types, shapes):
    """Specs of types and of shapes in the same structure."""
    if isinstance(types, dict):
        return {key: signature(types[key], shapes[key]) for key in types}
    if isinstance(types, tuple):
        return tuple(signature(t, s) for t, s in zip(types, shapes))
    return TensorSpec(shapes, types)


def holds_shapes(shape):
    """Is it a nest of shapes, and not one?"""
    return isinstance(shape, dict) or (
        isinstance(shape, (tuple, list))
        and any(isinstance(d, (tuple, list, dict)) or hasattr(d, "as_list") for d in shape)
    )


def spread(given, element, is_leaf):
    """A value for each leaf of an element: one for all, or a nest of its structure."""
    if is_leaf(given):
        one = list(given) if isinstance(given, tuple) else given
        return map_structure(lambda _: one, element)
    if isinstance(element, dict):
        return {key: spread(given[key], element[key], is_leaf) for key in element}
    if isinstance(element, tuple):
        if len(given) != len(element):
            raise ValueError(f"Dataset.padded_batch: expected {len(element)} values, got {given}")
        return tuple(spread(g, e, is_leaf) for g, e in zip(given, element))
    return list(given) if isinstance(given, tuple) else given
