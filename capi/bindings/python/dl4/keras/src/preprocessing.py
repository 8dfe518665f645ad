"""Layers of texts and tables that learn from data: adapt()."""

import numpy as np

from ... import core
from ...abi import InvalidArgument
from . import state
from .data import PyDataset
from .kinds import as_json, facts, only_default
from .layer import Layer, category

_SPECIAL = "[UNK]"


class Adapted(Layer):
    """A layer that learns from data: a vocabulary, limits of bins, or mean and variance."""

    def adapt(self, data, batch_size=None, steps=None):
        """Learns from an array, or from what gives batches; before the layer is part of a model."""
        if self._home is not None:
            raise InvalidArgument(f'layer "{self.name}": expected adapt() before the layer is called: make it again')
        known = {a["name"] for a in facts("layer")[self._class_name]["attributes"]}
        config = {k: v for k, v in as_json(self._config).items() if k in known}
        learned = core.adapt(self._class_name, _batches(data, batch_size or 1024, steps), config, state.context())
        self._change({key: value for key, value in learned.items() if key in known and value != config.get(key)})

    def reset_state(self):
        """Refused: a layer adapts once."""
        raise InvalidArgument(f'layer "{self.name}": a layer that forgets what it learned is a new one')


def _batches(data, size, steps):
    """The library's data set of the arrays that a layer learns from."""
    if hasattr(data, "__array__") or isinstance(data, (list, tuple, str)):
        array = np.asarray(data)
        tensor = core.Tensor.of(array[None] if array.ndim == 0 else array)
        whole = core.Dataset([tensor], context=state.context(), batch_size=size, shuffle=False)
        if steps is None:
            return whole
        array = array[: size * steps]
        return core.Dataset([core.Tensor.of(array)], context=state.context(), batch_size=size, shuffle=False)
    if isinstance(data, PyDataset):
        data = (data[i] for i in range(len(data)))
    left = iter(data)

    def batch(index):
        found = None if steps is not None and index >= steps else next(left, None)
        if found is None:
            return None
        x = found[0] if isinstance(found, tuple) else found
        return [core.Tensor.of(np.asarray(x))], [], []

    return core.Dataset(batches=batch, context=state.context())


@category.base_of("StringLookup", "IntegerLookup", "TextVectorization")
class Lookup(Adapted):
    """A layer with a vocabulary."""

    def get_vocabulary(self, include_special_tokens=True):
        """The tokens by their indices: those of the mask and of unknown tokens first."""
        words = list(self._config.get("vocabulary") or [])
        return [*self._special(), *words] if include_special_tokens else words

    def _special(self):
        text = self._class_name == "TextVectorization"
        tokens, mode = [], self.output_mode
        unknown = _SPECIAL if text else self.oov_token
        if mode == "int" and (text or self.mask_token is not None):
            tokens.append("" if text else self.mask_token)
        return tokens + [unknown] * (1 if text else self.num_oov_indices)

    def vocabulary_size(self):
        """The number of tokens, the special ones too."""
        return len(self.get_vocabulary())

    def set_vocabulary(self, vocabulary, idf_weights=None):
        """Sets the tokens instead of adapt(), without those of the mask and of unknown tokens."""
        words, special = as_json(list(np.asarray(vocabulary).tolist())), self._special()
        if special and words[: len(special)] == special:
            words = words[len(special) :]
        given = {} if idf_weights is None else {"idf_weights": as_json(np.asarray(idf_weights))}
        self._change({"vocabulary": words, **given})

    def load_assets(self, path):
        """Refused: a vocabulary is part of the config."""
        only_default("load_assets", path=(path, None))


category.base_of("Discretization")(Adapted)


@category.base_of("Normalization")
class Normalized(Adapted):
    """A layer with a mean and a variance."""

    @property
    def mean(self):
        """The mean of each number."""
        return np.asarray(self._config.get("mean"), "float32")

    @property
    def variance(self):
        """The variance of each number."""
        return np.asarray(self._config.get("variance"), "float32")


@category.base_of("RNN")
class OfCells(Layer):
    """A layer of a cell, or of a list of cells one behind the other."""

    def _bound(self, args, kwargs):
        config = super()._bound(args, kwargs)
        if isinstance(config.get("cell"), (list, tuple)):
            config["cell"] = category.class_of("StackedRNNCells")(list(config["cell"]))
        return config
