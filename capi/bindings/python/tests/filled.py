"""Weights that follow from their shapes, and numbers that tell them."""

import numpy as np


def fill(*models, seed=5):
    """Weights of models and layers, trained ones alone, from a generator of NumPy's: the first model."""
    for m in models:
        r = np.random.RandomState(seed)
        for w in m.trainable_variables:
            x = r.normal(size=tuple(w.shape))
            if x.ndim < 2:
                x = 0.1 * x + (w.path.split("/")[-1] in ("gamma", "scale"))
            else:
                x /= np.sqrt(np.prod(x.shape[:-1]))
            w.assign(x.astype("float32"))
    return models[0]


def sums(*models):
    return [float(np.abs(np.asarray(w)).sum()) for m in models for w in m.trainable_variables]


def curves(history):
    return [history.history[k] for k in sorted(history.history)]
