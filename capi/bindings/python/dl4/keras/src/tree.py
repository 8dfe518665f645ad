"""Nests of lists, tuples and dicts."""


def _named(x):
    return isinstance(x, tuple) and hasattr(x, "_fields")


def flatten(x):
    """The leaves of a nest of lists, tuples and dicts, in order."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x, key=str) for leaf in flatten(x[key])]
    if isinstance(x, (list, tuple)):
        return [leaf for item in x for leaf in flatten(item)]
    return [x]


def pack_like(nest, leaves):
    """The leaves in the structure of a nest."""
    return _packed(nest, iter(leaves))


def _packed(x, leaves):
    if isinstance(x, dict):
        items = {key: _packed(x[key], leaves) for key in sorted(x, key=str)}
        return {key: items[key] for key in x}
    if isinstance(x, (list, tuple)):
        items = [_packed(item, leaves) for item in x]
        return type(x)(*items) if _named(x) else type(x)(items) if type(x) in (list, tuple) else items
    return next(leaves)


def map_nest(f, nest):
    return pack_like(nest, [f(leaf) for leaf in flatten(nest)])


def paths_in(nest, path=()):
    """Of the leaves of a nest, in their order."""
    if isinstance(nest, dict):
        return [p for key in sorted(nest, key=str) for p in paths_in(nest[key], (*path, str(key)))]
    if isinstance(nest, (list, tuple)):
        return [p for i, item in enumerate(nest) for p in paths_in(item, (*path, str(i)))]
    return [path]
