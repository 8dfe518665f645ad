"""Seeds, labels, sequences, drawings."""

import os
import random
import re
import shutil
import subprocess

import numpy as np

from .src import state
from .src.data import PyDataset
from .src.feature_space import FeatureSpace  # noqa: F401 Keras has it here
from .src.kinds import absent, only_default
from .src.tensor import is_tensor as is_keras_tensor  # noqa: F401 Keras has it here

Sequence = PyDataset
clear_session = state.clear_session


def set_random_seed(seed):
    """Seeds the random numbers of Python, of NumPy, and of models made from now on."""
    if not isinstance(seed, (int, np.integer)):
        raise ValueError(f"set_random_seed: expected an integer, got {seed!r}")
    random.seed(int(seed))
    np.random.seed(int(seed) % 2**32)
    state.set_seed(seed)


def to_categorical(x, num_classes=None):
    """One-hot rows of class numbers."""
    x = np.asarray(x, "int64")
    shape = x.shape[:-1] if x.ndim > 1 and x.shape[-1] == 1 else x.shape
    flat = x.reshape(-1)
    count = num_classes or (int(flat.max()) + 1 if flat.size else 0)
    if flat.size and not (0 <= flat.min() and flat.max() < count):
        raise ValueError(f"to_categorical: expected classes from 0 to {count - 1}, got {flat.min()} to {flat.max()}")
    rows = np.zeros((flat.size, count))
    rows[np.arange(flat.size), flat] = 1
    return rows.reshape(*shape, count)


def normalize(x, axis=-1, order=2):
    """An array divided by its norms along an axis."""
    x = np.asarray(x)
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    return x / np.expand_dims(norms, axis)


def pad_sequences(sequences, maxlen=None, dtype="int32", padding="pre", truncating="pre", value=0.0):
    """Sequences of several lengths as one array."""
    for name, word in (("padding", padding), ("truncating", truncating)):
        if word not in ("pre", "post"):
            raise ValueError(f'pad_sequences: expected "pre" or "post" as {name}, got {word!r}')
    rows = [np.asarray(s) for s in sequences]
    maxlen = max((len(r) for r in rows), default=0) if maxlen is None else maxlen
    shape = next((r.shape[1:] for r in rows if len(r)), ())
    out = np.full((len(rows), maxlen, *shape), value, dtype)
    for i, row in enumerate(rows):
        row = (row[-maxlen:] if truncating == "pre" else row[:maxlen]) if maxlen else row[:0]
        if len(row):
            out[i, -len(row) :] = row if padding == "pre" else out[i, -len(row) :]
            if padding == "post":
                out[i, : len(row)] = row
    return out


def model_to_dot(model, show_shapes=False, show_layer_names=True, **options):
    """A drawing of a model in Graphviz's language."""
    only_default("plot_model", show_layer_names=(show_layer_names, True))
    only_default("plot_model", **{name: (value, False) for name, value in options.items()})
    drawing = model.core.describe(2)
    return drawing if show_shapes else re.sub(r'(label="[^"\\]*)\\n[^"]*"', r'\1"', drawing)


def plot_model(model, to_file="model.png", show_shapes=False, show_layer_names=True, dpi=200, **options):
    """Draws a model into a file: .dot or .gv as text; .png, .svg or .pdf by Graphviz's program `dot`. Gives the
    path."""
    drawing, path = model_to_dot(model, show_shapes, show_layer_names, **options), os.fspath(to_file)
    suffix = os.path.splitext(path)[1][1:]
    if suffix in ("dot", "gv"):
        with open(path, "w", encoding="utf-8") as file:
            file.write(drawing)
        return path
    if shutil.which("dot") is None:
        raise ImportError(f"plot_model: {path} needs Graphviz's program dot; a path that ends in .dot needs nothing")
    subprocess.run(["dot", f"-T{suffix}", f"-Gdpi={dpi}", "-o", path], input=drawing, text=True, check=True)
    return path


def __getattr__(name):
    raise absent("module 'dl4.keras.utils'", name, () if name[:2] == "__" else globals())
