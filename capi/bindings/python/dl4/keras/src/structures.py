"""keras.tree: nests of lists, tuples, dicts, deques and named tuples, of exactly these types; all else is a leaf."""

import collections

_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_REGISTERED = {}  # other classes with tree_flatten() and tree_unflatten()


class MAP_TO_NONE:
    """What the function of traverse() gives for a None in the result."""


def register_tree_node_class(cls):
    _REGISTERED[cls] = True
    return cls


def is_nested(structure):
    cls = type(structure)
    return cls in (list, tuple, collections.deque, *_DICTS) or cls in _REGISTERED or _is_named(structure)


def _is_named(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def _children(x):
    """Pairs of a key and a child: a dict's in the order of its keys, of an ordered one in its own."""
    if type(x) is collections.OrderedDict:
        return list(x.items())
    if type(x) in _DICTS:
        try:
            return [(key, x[key]) for key in sorted(x)]
        except TypeError:  # keys of several types
            return [(key, x[key]) for key in sorted(x, key=lambda k: (type(k).__qualname__, k))]
    if type(x) in _REGISTERED:
        children, _, *keys = x.tree_flatten()
        children = list(children)
        return list(zip(keys[0] if keys and keys[0] is not None else range(len(children)), children))
    return list(enumerate(x))


def _like(x, children):
    """A node of the type of another, with these children in the order of _children()."""
    cls = type(x)
    if cls in _DICTS:
        values = dict(zip((key for key, _ in _children(x)), children))
        items = [(key, values[key]) for key in x]
        return cls(x.default_factory, items) if cls is collections.defaultdict else cls(items)
    if cls in _REGISTERED:
        _, aux, *_ = x.tree_flatten()
        return cls.tree_unflatten(aux, children)
    if cls is collections.deque:
        return cls(children, maxlen=x.maxlen)
    return cls(*children) if _is_named(x) else cls(children)


def flatten(structure):
    if not is_nested(structure):
        return [structure]
    return [leaf for _, child in _children(structure) for leaf in flatten(child)]


def flatten_with_path(structure):
    if not is_nested(structure):
        return [((), structure)]
    return [((key, *path), leaf) for key, child in _children(structure) for path, leaf in flatten_with_path(child)]


def pack_sequence_as(structure, flat_sequence):
    leaves = list(flat_sequence)
    count = len(flatten(structure))
    if len(leaves) != count:
        raise ValueError(
            f"Could not pack sequence: the structure has {count} leaves, the sequence {len(leaves)}: {structure}"
        )
    return _packed(structure, iter(leaves))


def _packed(x, leaves):
    return _like(x, [_packed(child, leaves) for _, child in _children(x)]) if is_nested(x) else next(leaves)


def _same_kind(a, b):
    """Are two nodes of one kind, so that their children go together? All dicts are."""
    if type(a) in _DICTS and type(b) in _DICTS:
        return set(a) == set(b)
    return type(a) is type(b) and len(_children(a)) == len(_children(b))


def _mapped(func, first, others, whole):
    """func() of the leaves of the first nest and what stands there in the others: leaves too, if `whole`."""
    if not is_nested(first):
        if whole and any(is_nested(other) for other in others):
            raise ValueError("Structures don't have the same nested structure.")
        return func(first, *others)
    for other in others:
        if not is_nested(other) or not _same_kind(first, other):
            raise ValueError(
                f"Expected an instance of {type(first).__name__}, got {other!r}: Structures don't have the same nested "
                f"structure: {first!r} has other keys or another type"
            )
    columns = [dict(_children(other)) for other in others]
    return _like(first, [_mapped(func, c, [column[key] for column in columns], whole) for key, c in _children(first)])


def map_structure(func, *structures, none_is_leaf=True):
    if not callable(func):
        raise TypeError(f"`func` must be callable, got {func!r}")
    if not structures:
        raise ValueError("Must provide at least one structure")
    if none_is_leaf:
        return _mapped(func, structures[0], structures[1:], True)
    return _mapped(lambda *xs: None if xs[0] is None else func(*xs), structures[0], structures[1:], True)


def map_structure_up_to(shallow_structure, func, *structures):
    if not structures:
        raise ValueError("Must provide at least one structure")
    return _mapped(lambda _, *xs: func(*xs), shallow_structure, structures, False)


def assert_same_structure(a, b):
    _mapped(lambda *_: None, a, [b], True)


def assert_same_paths(a, b):
    a, b = ({path for path, _ in flatten_with_path(x)} for x in (a, b))
    if a != b:
        message = "`a` and `b` don't have the same paths."
        for here, there, more in (("a", "b", a - b), ("b", "a", b - a)):
            message += f"\nPaths in `{here}` missing in `{there}`:\n{more}" if more else ""
        raise ValueError(message)


def traverse(func, structure, top_down=True):
    """Calls func() on each node and leaf, from above or from below; what it gives stands in place, None leaves it."""

    def inside():
        if not is_nested(structure):
            return structure
        return _like(structure, [traverse(func, child, top_down) for _, child in _children(structure)])

    below = structure if top_down else inside()
    found = func(below)
    if found is None:
        return inside() if top_down else below
    return None if found is MAP_TO_NONE else found


def lists_to_tuples(structure):
    return traverse(lambda x: tuple(x) if isinstance(x, list) else None, structure, top_down=False)


def map_shape_structure(func, structure):
    """Like map_structure() where tuples and lists of sizes are leaves."""
    if isinstance(structure, (list, tuple)) and all(isinstance(n, (int, type(None))) for n in structure):
        return func(structure)
    if not is_nested(structure):
        return func(structure)
    return _like(structure, [map_shape_structure(func, child) for _, child in _children(structure)])
