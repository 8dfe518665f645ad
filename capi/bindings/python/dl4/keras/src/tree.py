"""Nested lists, tuples and dicts of tensors, in Keras's order: keys of dicts are sorted."""


def flatten(nest):
    """The leaves."""
    if isinstance(nest, dict):
        return [leaf for key in sorted(nest) for leaf in flatten(nest[key])]
    if isinstance(nest, (list, tuple)):
        return [leaf for item in nest for leaf in flatten(item)]
    return [nest]


def pack_like(nest, leaves):
    """The same nest with other leaves."""
    return _packed(nest, iter(leaves))


def _packed(item, left):
    if isinstance(item, dict):
        packed = {key: _packed(item[key], left) for key in sorted(item)}
        return {key: packed[key] for key in item}
    if isinstance(item, (list, tuple)):
        packed = [_packed(v, left) for v in item]
        return tuple(packed) if type(item) is tuple else packed
    return next(left)
