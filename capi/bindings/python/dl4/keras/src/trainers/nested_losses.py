"""Losses of nested outputs: one for several outputs, several for one, and the targets in the same nest."""

import collections
from math import prod

from .. import ops
from ..symbolic.tensor import operation
from ..tree import flatten, pack_like, paths_in

Entry = collections.namedtuple("Entry", "path loss weight name")


class StructureError(ValueError):
    """Losses or metrics that are not those of the outputs."""


class NoSuchOutput(StructureError, KeyError):
    __str__ = Exception.__str__


def nested(x):
    return isinstance(x, (list, tuple, dict))


def plain(loss, outputs):
    """Is it at most one loss for each output, of outputs in one level? `outputs`: their nest."""
    flat = flatten(outputs)
    one_level = not nested(outputs) or len(outputs) == len(flat)
    if len({id(t) for t in flat}) < len(flat) or not one_level:
        return not nested(loss) and loss is None
    if not nested(loss) or _is_config(loss):
        return True
    items = list(loss.values() if isinstance(loss, dict) else loss)
    return (isinstance(loss, dict) or len(items) == len(flat)) and not any(
        nested(v) and not _is_config(v) and (len(v) != 1 or isinstance(v, dict)) for v in items
    )


def _is_config(x):
    return isinstance(x, dict) and "class_name" in x


def at(path, nest):
    """The entry at that place, or the only one if it is for all."""
    for key in path:
        nest = nest[key] if nested(nest) else nest
    return nest


def entries(loss, weights, outputs, names):
    """As Keras: each loss with the path to its outputs. `names`: of the flat outputs."""
    if isinstance(loss, dict) and not isinstance(outputs, dict) and nested(outputs):
        if set(loss) != set(names):
            raise StructureError(f"Expected keys {names} in loss dict, but found loss.keys()={list(loss)}")
        loss = [loss[name] for name in names]
        weights = [weights[name] for name in names] if isinstance(weights, dict) else weights
    flat = flatten(loss)
    weights = [None] * len(flat) if weights is None else flatten(weights)
    if len(flat) != len(weights):
        raise ValueError(
            f"`loss_weights` must match the number of losses, got {len(flat)} losses and {len(weights)} weights."
        )
    pairs = [None if v is None else _Weighted(v, w) for v, w in zip(flat, weights)]
    loss = pack_like(loss, pairs)
    if not nested(loss):
        loss = pack_like(outputs, [loss] * len(flatten(outputs)))
    return list(_found(loss, outputs, pack_like(outputs, names), ()))


class _Weighted:
    """A loss and its weight, a leaf."""

    def __init__(self, loss, weight):
        self.loss, self.weight = loss, weight


def _found(loss, outputs, names, path):
    if isinstance(loss, (list, tuple)):
        leaves = all(v is None or isinstance(v, _Weighted) for v in loss)
        if leaves and len(loss) == len(flatten(outputs)):
            loss = pack_like(outputs, loss)
        elif not isinstance(outputs, type(loss)):
            for v in loss:
                yield from _found(v, outputs, names, path)
            return
    if loss is None:
        return
    if isinstance(loss, _Weighted):
        yield Entry(path, loss.loss, loss.weight, _name(names, path))
        return
    if not isinstance(loss, type(outputs)):
        raise NoSuchOutput(f"The path: {path} in the `loss` argument, can't be found in the model's output (`y_pred`).")
    for key, v in loss.items() if isinstance(loss, dict) else enumerate(loss):
        if v is None:
            continue
        if key not in outputs if isinstance(outputs, dict) else key >= len(outputs):
            raise NoSuchOutput(
                f"The path: {(*path, key)} in the `loss` argument, can't be found in either the model's output "
                f"(`y_pred`) or in the labels (`y_true`): expected keys {names}"
            )
        yield from _found(v, outputs[key], names[key], (*path, key))


def _name(names, path):
    if not nested(names):
        path = (*path[:-1], names) if path and isinstance(path[-1], int) else path or (names,)
    return "/".join(map(str, path)) or "_".join(map(str, names if isinstance(names, dict) else flatten(names)))


def targets_of(entries, y, outputs, names):
    """The targets of each loss: in the nest of the outputs, or one for each loss."""
    flat = flatten(y)
    if len(flat) == len(entries) != len(flatten(outputs)):
        return flat
    y = like_outputs(y, outputs, names)
    return [at(e.path, y) for e in entries]


def like_outputs(y, outputs, names):
    """Targets in the nest of the outputs."""
    flat = flatten(y)
    if isinstance(y, dict) and isinstance(outputs, (list, tuple)) and set(y) == set(names):
        return pack_like(outputs, [y[name] for name in names])
    same = not isinstance(y, dict) or paths_in(y) == paths_in(outputs)
    if same and len(flat) == len(flatten(outputs)):
        return pack_like(outputs, flat)
    raise ValueError(mismatch(y, outputs))


def mismatch(y, outputs):
    return f"y_true and y_pred have different structures.\ny_true: {_stars(y)}\ny_pred: {_stars(outputs)}"


def _stars(x):
    return pack_like(x, ["*"] * len(flatten(x)))


# ---- a part of the nest as one output, side by side


def output_of(part):
    """One symbolic tensor of its own for a part of the outputs."""
    if not nested(part):
        return operation("Identity")(part)
    return ops.concatenate([ops.reshape(t, (-1, _width(t.shape))) for t in flatten(part)], axis=-1)


def target_of(part, outputs):
    """The targets of a part, as output_of() has its outputs."""
    import numpy

    if not nested(outputs):
        return part
    arrays = [numpy.asarray(t) for t in flatten(part)]
    for array, t in zip(arrays, flatten(outputs)):
        if array.size != len(array) * _width(t.shape):
            raise NotImplementedError(
                f"a loss of several outputs needs targets of their sizes: expected {t.shape}, got {array.shape}"
            )
    return numpy.concatenate([a.reshape(len(a), -1).astype("float32") for a in arrays], axis=-1)


def loss_of(loss, outputs):
    """A function of a part of the nest as one of what is side by side."""
    if not nested(outputs):
        return loss
    call = getattr(loss, "call", loss)
    if not callable(call):
        raise StructureError(f"`loss`: expected a function for several outputs, got {loss!r}")

    def split(joined):
        parts, at = [], 0
        for t in flatten(outputs):
            width = _width(t.shape)
            parts.append(ops.reshape(joined[:, at : at + width], (-1, *t.shape[1:])))
            at += width
        return pack_like(outputs, parts)

    return lambda y_true, y_pred: call(split(y_true), split(y_pred))


def _width(shape):
    if any(d is None for d in shape[1:]):
        raise NotImplementedError(f"a loss of several outputs needs their sizes to be known, got {shape}")
    return prod(shape[1:])
