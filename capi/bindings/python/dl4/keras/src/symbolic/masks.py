"""Masks of symbolic tensors."""

import inspect

from ..backend import global_state
from ..backend.eager_tensor import is_array
from ..registry import create
from ..tree import flatten, map_nest
from ..utils.naming import unique_name
from . import tensor
from .tensor import Call, is_tensor, operation


def carries_mask(t):
    if t.dtype == "string":
        return False
    graph = global_state.scratch()
    if graph not in t.call.nodes:
        for call in t.call.needed():
            call.put(graph)
    return graph.carries_mask(t.call.nodes[graph][t.index])


def unmasked(t):
    """A tensor without the mask that it carries, as operations of keras.ops take it: none of them sets one."""
    if not t.shape or not carries_mask(t):
        return t
    same = create("layer", "Transpose", perm=list(range(len(t.shape))), name=unique_name("unmasked"))
    same._is_operation = True
    return Call(same, [t]).infer_outputs()[0]


def mask_of(t):
    """The mask that a symbolic tensor, or what a layer gave for arrays, carries, or None."""
    if not is_tensor(t):
        return getattr(t, "_keras_mask", None)
    if not carries_mask(t):
        return None

    return operation("GetMask", name=unique_name("carried_mask"))(t)


tensor.carried_mask = mask_of


def for_call(call, args, kwargs):
    """The masks that a call() of its user's takes and was not given: `mask` of its only tensor, `x_mask` of one of
    several."""
    parameters = inspect.signature(call).parameters
    names = [n for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    given = {**dict(zip(names, args)), **kwargs}
    tensors = {n: x for n, x in given.items() if flatten(x) and all(is_tensor(t) or is_array(t) for t in flatten(x))}
    found = {"mask": x for x in tensors.values()} if len(tensors) == 1 else {f"{n}_mask": x for n, x in tensors.items()}
    found = {n: map_nest(mask_of, x) for n, x in found.items() if n in names and given.get(n) is None}
    return {n: masks for n, masks in found.items() if any(m is not None for m in flatten(masks))}


def set_mask(t, mask):
    return operation("SetMask")([t, mask])


def masked(outputs, masks):
    """Outputs with these masks, in their order, where they carry none themselves."""
    if masks is None:
        return outputs
    masks = flatten(masks)
    masks += [None] * len(flatten(outputs))
    rest = iter(masks)
    return map_nest(
        lambda t: t if (m := next(rest)) is None or not is_tensor(t) or mask_of(t) is not None else set_mask(t, m),
        outputs,
    )


def masked_as(before, now):
    """What a function made of a tensor, with the mask of that."""
    mask = mask_of(before)
    return now if mask is None or mask_of(now) is not None else set_mask(now, mask)
