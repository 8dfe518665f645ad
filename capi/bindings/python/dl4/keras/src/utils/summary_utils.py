"""The table of Model.summary()."""

from ..layers.input_layer import InputLayer


def _size(count):
    n, unit = 4.0 * count, 0
    units = ("B", "KB", "MB", "GB", "TB")
    while n >= 1024 and unit < 4:
        n, unit = n / 1024, unit + 1
    return f"{n:.2f} {units[unit]}"


def _row(cells, widths, edge="│"):
    return edge + edge.join(f" {c[: w - 2]:<{w - 2}} " for c, w in zip(cells, widths)) + edge


def _rule(left, fill, middle, right, widths):
    return left + middle.join(fill * w for w in widths) + right


def _kind(layer):
    return "InputLayer" if type(layer).__name__ == "InputLayer" else type(layer).__name__


def _shape(layer):
    if isinstance(layer, InputLayer):
        return str(layer.output.shape)
    functional = getattr(layer, "_functional", None)
    if functional is not None:
        shapes = [t.shape for t in functional.outputs]
    elif layer._calls:
        shapes = [t.shape for t in layer._calls[0].outputs]
    else:
        return "?"
    return str(shapes[0]) if len(shapes) == 1 else str(shapes)


def summary(model, show_trainable=False):
    layers = model.layers
    titles = ["Layer (type)", "Output Shape", "Param #"] + (["Trainable"] if show_trainable else [])
    rows = []
    for layer in layers:
        count = f"{layer.count_params():,}" if layer.built else "0 (unbuilt)"
        cells = [f"{layer.name} ({_kind(layer)})", _shape(layer), count]
        rows.append(cells + (["Y" if layer.trainable else "N"] if show_trainable else []))
    widths = [max(w, *(len(r[i]) + 2 for r in [titles] + rows)) for i, w in enumerate([33, 24, 15, 11][: len(titles)])]
    lines = [
        f'Model: "{model.name}"',
        _rule("┏", "━", "┳", "┓", widths),
        _row(titles, widths, "┃"),
        _rule("┡", "━", "╇", "┩", widths),
    ]
    for i, row in enumerate(rows):
        lines += [_rule("├", "─", "┼", "┤", widths)] * (i > 0) + [_row(row, widths)]
    lines.append(_rule("└", "─", "┴", "┘", widths))
    trained = sum(w.size for w in model.trainable_weights)
    fixed = sum(w.size for w in model.non_trainable_weights)
    lines += [
        f" Total params: {trained + fixed:,} ({_size(trained + fixed)})",
        f" Trainable params: {trained:,} ({_size(trained)})",
        f" Non-trainable params: {fixed:,} ({_size(fixed)})",
    ]
    return "\n".join(lines)
