"""Drawings of models."""

import os
import shutil


def model_to_dot(model, **_):
    """The model as DOT text."""
    return model.core.describe(2)


def plot_model(model, to_file="model.svg", **_):
    """Draws a model with Graphviz's `dot` and returns the name of the file. Without Graphviz, or if the name ends in
    .dot, the file is the DOT text."""
    path = os.fspath(to_file)
    stem, suffix = os.path.splitext(path)
    dot = None if suffix == ".dot" else shutil.which("dot")
    source = f"{stem}.dot" if dot is None else f"{path}.dot"
    with open(source, "w", encoding="utf-8") as file:
        file.write(model_to_dot(model))
    if dot is None:
        return source
    status = os.spawnv(os.P_WAIT, dot, [dot, f"-T{suffix[1:] or 'svg'}", "-o", path, source])
    os.remove(source)
    if status != 0:
        raise OSError(f"{path}: expected Graphviz's dot to succeed, got exit status {status}")
    return path
