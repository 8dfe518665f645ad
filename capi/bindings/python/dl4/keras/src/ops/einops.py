"""rearrange: axes by names."""

import re

from ..symbolic.tensor import as_tensor, is_tensor
from .core import convert_to_tensor, shape
from .dispatch import is_symbolic
from .shapes import reshape, transpose


def _groups(side):
    """The names of each axis of one side of a pattern; several stand in brackets."""
    found = []
    for group, single in re.findall(r"\(([^)]*)\)|(\S+)", side):
        found.append(group.split() if not single else [single])
    return found


def rearrange(tensor, pattern, **axes_lengths):
    """A tensor whose axes are split, moved and joined as a pattern such as "b (h w) c -> b h w c" says."""
    x = as_tensor(tensor) if is_symbolic(tensor) else convert_to_tensor(tensor)
    if pattern.count("->") != 1:
        raise ValueError(f"rearrange: expected two sides with -> between them, got {pattern!r}")
    before, after = (_groups(side) for side in pattern.split("->"))
    if len(before) != len(x.shape):
        raise ValueError(f"rearrange: {pattern!r} names {len(before)} axes, got a tensor of {len(x.shape)}")
    names, target = ([n for group in side for n in group] for side in (before, after))
    if sorted(names) != sorted(target) or len(set(names)) < len(names):
        raise ValueError(f"rearrange: expected the same names on both sides, each once, got {pattern!r}")
    sizes, whole = {}, shape(x)
    for group, size in zip(before, whole):
        unknown = [n for n in group if n not in axes_lengths]
        known = 1
        for n in group:
            known *= axes_lengths.get(n, 1)
        if len(unknown) > 1:
            raise ValueError(f"rearrange: expected the lengths of all but one of {group}, got {sorted(axes_lengths)}")
        sizes.update((n, axes_lengths[n]) for n in group if n in axes_lengths)
        if unknown:
            sizes[unknown[0]] = size if known == 1 else -1 if is_tensor(size) else size // known
        if not is_tensor(size) and (size % known if unknown else size != known):
            raise ValueError(f"rearrange: {size} is not a product of the lengths of {group}")
    if any(len(group) > 1 for group in before):
        x = reshape(x, [sizes[n] for n in names])
    if target != names:
        x = transpose(x, [names.index(n) for n in target])
    if any(len(group) != 1 for group in after):
        joined = []
        for group in after:
            n = 1
            for name in group:
                size = sizes[name]
                n = size if len(group) == 1 else -1 if is_tensor(size) or size == -1 or n == -1 else n * size
            joined.append(n)
        x = reshape(x, joined)
    return x
