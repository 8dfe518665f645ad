"""Loops whose number of steps is free: a function of one step becomes the body of the library's Scan."""

import json

from ..registry import create, facts
from ..tree import flatten, map_nest, pack_like
from .function import Function
from .tensor import as_tensor, Call, Input


def scanned(step, states, sequences, backwards=False):
    """The last states, and what step(states, items) gives beside the new ones, stacked, of the items along the first
    axis of each sequence. What it reads from outside is the same at every step."""
    first = [as_tensor(t) for t in (*flatten(states), *flatten(sequences))]
    count = len(flatten(states))
    shapes = [t.shape if i < count else t.shape[1:] for i, t in enumerate(first)]
    symbols = [Input(batch_shape=shape, dtype=t.dtype) for shape, t in zip(shapes, first)]
    new, given = step(pack_like(states, symbols[:count]), pack_like(sequences, symbols[count:]))
    stacked = [as_tensor(t) for t in flatten(given) if t is not None]
    body, outside = _closed(symbols, [as_tensor(t) for t in flatten(new)] + stacked)
    numbers = list(range(len(first) - count)) if backwards else []
    layer = create("layer", "Scan", body=body, states=count, sequences=len(first) - count, backwards=numbers)
    layer._is_operation = True
    found = Call(layer, [*first, *outside]).infer_outputs()
    return pack_like(new, found[:count]), None if given is None else pack_like(given, found[count:])


class _Body(Function):
    def _to_json(self):
        """As the library's layers have it."""
        return {"class_name": "Functional", "config": {"model": json.loads(self.core.describe(0))}}


def _closed(symbols, wanted):
    """A function of these symbols and of what is computed outside of it, and the latter."""
    inside, order, stack = {t.call for t in symbols}, [], [(t.call, False) for t in wanted]
    seen = set(inside)
    while stack:
        call, ready = stack.pop()
        if ready:
            if any(t.call in inside for t in call.sources()):
                inside.add(call)
                order.append(call)
        elif call not in seen:
            seen.add(call)
            stack.append((call, True))
            stack.extend((t.call, False) for t in call.sources())
    now, outside = {t: t for t in symbols}, {}

    def known(t):
        if t is not None and t not in now:
            outside[t] = now[t] = Input(batch_shape=t.shape, dtype=t.dtype)
        return t

    for call in order:
        if call.host is not None or call.layer is None or facts("layer")[call.layer._class_name]["weights"]:
            raise NotImplementedError(
                f"{getattr(call.layer, 'name', call.name)}: in a loop whose number of steps is free: expected "
                "operators and variables, not layers with weights of their own"
            )
        map_nest(known, list(call.sources()))
        now.update(zip(call.outputs, call.again(now)))
    map_nest(known, wanted)
    return _Body([*symbols, *outside.values()], [now[t] for t in wanted], [], alone=True), list(outside)
