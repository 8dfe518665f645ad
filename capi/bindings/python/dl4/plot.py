"""Pictures with matplotlib, if it is installed.

Each function draws into `ax` (or new axes) and returns the axes. `ax.figure.savefig("picture.svg")` writes a file; a
notebook shows the picture.
"""

from __future__ import annotations

import math


def _axes(ax, **figure):
    if ax is not None:
        return ax
    import matplotlib.pyplot

    return matplotlib.pyplot.subplots(**figure)[1]


def learning_curves(history, names=None, ax=None):
    """Draws each number of a history (the result of fit(), or its dict) over the epochs; validation is dashed, in the
    same colour."""
    lists = getattr(history, "history", history)
    epochs = getattr(history, "epoch", None) or list(range(max(map(len, lists.values()), default=0)))
    shown = [n for n in lists if not n.startswith("val_")] if names is None else list(names)
    missing = [n for n in shown if n not in lists]
    if missing:
        raise ValueError(f"expected names of the history, one of {list(lists)}, got {missing[0]!r}")
    ax = _axes(ax)
    for name in shown:
        (line,) = ax.plot([e + 1 for e in epochs], lists[name], marker=".", label=name)
        if f"val_{name}" in lists:
            values = lists[f"val_{name}"]  # of every n-th epoch with validation_freq
            every = max(1, len(epochs) // max(1, len(values)))
            at = [e + 1 for e in epochs][every - 1 :: every][: len(values)]
            ax.plot(at, values, "--", marker=".", color=line.get_color(), label=f"val_{name}")
    ax.set_xlabel("epoch")
    ax.legend()
    return ax


def attention(scores, source=None, target=None, ax=None):
    """Draws a heat map of weights [targets, sources], labelled with the tokens."""
    import numpy

    scores = numpy.asarray(scores)
    if scores.ndim != 2:
        raise ValueError(f"expected weights of shape (targets, sources), got {scores.shape}; choose an item and a head")
    for words, n in ((target, scores.shape[0]), (source, scores.shape[1])):
        if words is not None and len(words) != n:
            raise ValueError(f"expected {n} tokens for weights of shape {scores.shape}, got {len(words)}")
    ax = _axes(ax)
    picture = ax.imshow(scores, cmap="viridis", vmin=0, aspect="auto")
    for axis, words in ((ax.xaxis, source), (ax.yaxis, target)):
        if words is not None:
            axis.set_ticks(range(len(words)), labels=[str(w) for w in words])
    if source is not None:
        ax.tick_params(axis="x", rotation=60)
    ax.figure.colorbar(picture, ax=ax)
    return ax


def _grid(images, titles, columns, figure):
    import matplotlib.pyplot

    columns = columns or math.ceil(math.sqrt(len(images)))
    rows = math.ceil(len(images) / columns)
    if figure is None:
        figure = matplotlib.pyplot.figure(figsize=(1.2 * columns, 1.2 * rows), layout="constrained")
    for i, image in enumerate(images):
        ax = figure.add_subplot(rows, columns, i + 1)
        ax.imshow(image, cmap="gray")
        ax.set_axis_off()
        if titles:
            ax.set_title(titles[i], fontsize=7)
    return figure


def feature_maps(maps, columns=None, figure=None):
    """Draws the channels of one image's feature maps [H, W, C] (or [1, H, W, C]) side by side; returns the figure."""
    import numpy

    maps = numpy.asarray(maps)
    if maps.ndim == 4 and len(maps) == 1:
        maps = maps[0]
    if maps.ndim != 3:
        raise ValueError(f"expected maps of one image, (H, W, C), got {maps.shape}")
    return _grid([maps[..., c] for c in range(maps.shape[-1])], None, columns, figure)


def filters(layer, columns=None, figure=None):
    """Draws the kernels of a convolution layer (or an array [h, w, in, out]): with 1 or 3 input channels as pictures,
    else their mean; returns the figure."""
    import numpy

    kernel = numpy.asarray(layer.kernel if hasattr(layer, "kernel") else layer)
    if kernel.ndim != 4:
        raise ValueError(f"expected a kernel of shape (h, w, in, out), got {kernel.shape}")
    low, high = float(kernel.min()), float(kernel.max())
    kernel = (kernel - low) / ((high - low) or 1.0)
    pictures = kernel if kernel.shape[2] in (1, 3) else kernel.mean(2, keepdims=True)
    return _grid([pictures[..., i].squeeze() for i in range(kernel.shape[3])], None, columns, figure)


def confusion_matrix(y_true, y_pred, classes=None, ax=None):
    """Draws how often each class was predicted for each true one, from labels or rows of probabilities."""
    import numpy

    y_true, y_pred = ((a.argmax(-1) if a.ndim > 1 else a) for a in (numpy.asarray(y_true), numpy.asarray(y_pred)))
    if y_true.shape != y_pred.shape:
        raise ValueError(f"expected as many predictions as targets, got {y_true.shape} and {y_pred.shape}")
    n = len(classes) if classes is not None else int(max(y_true.max(), y_pred.max())) + 1
    counts = numpy.zeros((n, n), int)
    numpy.add.at(counts, (y_true.astype(int), y_pred.astype(int)), 1)
    ax = _axes(ax)
    ax.imshow(counts, cmap="Blues")
    for i, j in numpy.ndindex(n, n):
        ax.text(
            j,
            i,
            str(counts[i, j]),
            ha="center",
            va="center",
            color="white" if counts[i, j] > counts.max() / 2 else "black",
        )
    names = [str(c) for c in (classes if classes is not None else range(n))]
    ax.set_xticks(range(n), labels=names, rotation=60)
    ax.set_yticks(range(n), labels=names)
    ax.set_xlabel("predicted")
    ax.set_ylabel("true")
    return ax
