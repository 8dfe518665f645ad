"""The table of Model.summary()."""

import re
import shutil
from math import prod

from ..layers.input_layer import InputLayer


def _size(weights):
    n, unit = sum(prod(w.shape) * _bytes_of(str(w.dtype)) for w in weights), 0
    units = ("B", "KB", "MB", "GB", "TB")
    while n >= 1024 and unit < 4:
        n, unit = n / 1024, unit + 1
    return f"{n:.2f} {units[unit]}"


def _bytes_of(dtype):
    bits = re.search(r"\d+", dtype)
    return max(1, int(bits[0]) // 8) if bits else 1


def _row(cells, widths, edge="│"):
    return edge + edge.join(f" {c[: w - 2]:<{w - 2}} " for c, w in zip(cells, widths)) + edge


def _rule(left, fill, middle, right, widths):
    return left + middle.join(fill * w for w in widths) + right


def _kind(layer):
    return "InputLayer" if type(layer).__name__ == "InputLayer" else type(layer).__name__


def _shape(layer, rows=None):
    """`rows`: the size of the batch, where it is known of the model."""
    if isinstance(layer, InputLayer):
        return str(layer.output.shape)
    functional = getattr(layer, "_functional", None)
    if functional is not None:
        shapes = [t.shape for t in functional.outputs]
    elif layer._calls:
        shapes = [t.shape for t in layer._calls[0].outputs]
    else:
        return "?"
    if rows is not None:
        shapes = [(rows, *shape[1:]) if shape and shape[0] is None else shape for shape in shapes]
    return str(shapes[0]) if len(shapes) == 1 else str(shapes)


def _between(layers, layer_range):
    """The layers from the first whose name matches one pattern to the last that matches the other."""
    if layer_range is None:
        return layers
    if len(layer_range) != 2 or not all(isinstance(name, str) for name in layer_range):
        raise ValueError(f"layer_range must be a list or tuple of two layer names. Received: {layer_range}")
    ends = [[i for i, layer in enumerate(layers) if re.match(name, layer.name)] for name in layer_range]
    if not all(ends):
        raise ValueError(f"Passed layer_names do not match the layers: {layer_range}")
    first, last = min(ends[0]), max(ends[1])
    if first > last:
        first, last = min(ends[1]), max(ends[0])
    return layers[first : last + 1]


def _rows(layer, show_trainable, expand_nested, rows=None, level=0):
    count = f"{layer.count_params():,}" if layer.built else "0 (unbuilt)"
    before = "   " * level + "└ " if level else ""
    cells = [f"{before}{layer.name} ({_kind(layer)})", _shape(layer, rows), count]
    trained = ("Y" if layer.trainable else "N") if layer.weights else "-"
    found = [cells + ([trained] if show_trainable else [])]
    for inner in getattr(layer, "layers", None) or () if expand_nested else ():
        found += _rows(inner, show_trainable, True, rows, level + 1)
    return found


def _widths(line_length, positions, show_trainable):
    """Of the columns, with the spaces around them, for lines of that length. positions: where each ends, as a share."""
    if len(positions) != 3 or positions[-1] != 1:
        raise ValueError(f"`positions`: expected 3 shares, the last of them 1.0, got {positions}")
    shares = [*(0.9 * p for p in positions), 1.0] if show_trainable else positions
    length = line_length or min(100 if show_trainable else 88, shutil.get_terminal_size().columns - 4)
    ends = [0, *(int(share * length) for share in shares)]
    widths = [end - start for start, end in zip(ends, ends[1:])]
    if min(widths) < 4:
        raise ValueError("Insufficient console width to print summary.")
    over = 3 * len(widths) + 1  # two spaces and a line for each, and one line more
    for i, width in enumerate(widths):
        less = round(over / (len(widths) - i))
        widths[i], over = width + 2 - less, over - less
    return widths


def summary(
    model, line_length=None, positions=None, expand_nested=False, show_trainable=False, layer_range=None
):
    titles = ["Layer (type)", "Output Shape", "Param #"] + (["Trainable"] if show_trainable else [])
    functional = model._base is not None and not model._has_custom_call()
    layers = _between(model.operations if functional else model.layers, layer_range)
    rows = [r for layer in layers for r in _rows(layer, show_trainable, expand_nested, model._rows)]
    if line_length or positions:
        widths = _widths(line_length, positions or (0.45, 0.80, 1.0), show_trainable)
    else:
        least = [33, 24, 15, 11][: len(titles)]
        widths = [max(w, *(len(r[i]) + 2 for r in [titles] + rows)) for i, w in enumerate(least)]
    lines = [
        f'Model: "{model.name}"',
        _rule("┏", "━", "┳", "┓", widths),
        _row(titles, widths, "┃"),
        _rule("┡", "━", "╇", "┩", widths),
    ]
    for i, row in enumerate(rows):
        lines += [_rule("├", "─", "┼", "┤", widths)] * (i > 0) + [_row(row, widths)]
    lines.append(_rule("└", "─", "┴", "┘", widths))
    trained, fixed = model.trainable_weights, model.non_trainable_weights
    kept = model.optimizer.variables if model.compiled and getattr(model.optimizer, "built", False) else []
    parts = [("Total", [*trained, *fixed, *kept]), ("Trainable", trained), ("Non-trainable", fixed)]
    for title, weights in parts + [("Optimizer", kept)] * bool(kept):
        lines.append(f" {title} params: {sum(prod(w.shape) for w in weights):,} ({_size(weights)})")
    return "\n".join(lines)
