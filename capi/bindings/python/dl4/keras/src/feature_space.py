"""FeatureSpace: columns of a table, encoded by layers that learn from it."""

import numpy as np

from ...abi import InvalidArgument
from . import state
from .kinds import Closed, create
from .model import Model
from .tensor import Input, is_tensor

_LEARNED = {"vocabulary", "mean", "bin_boundaries"}  # of a layer that was told what others learn


class Cross:
    """Two or more features as one: all pairs of their values, hashed."""

    def __init__(self, feature_names, crossing_dim, output_mode="one_hot"):
        _one_of("output_mode", output_mode, ("int", "one_hot"))
        self.feature_names, self.crossing_dim, self.output_mode = tuple(feature_names), crossing_dim, output_mode

    @property
    def name(self):
        """The names of its features with _X_ between them."""
        return "_X_".join(self.feature_names)


class Feature:
    """A column: its type, the layer that encodes it, and what becomes of that layer's integers."""

    def __init__(self, dtype, preprocessor, output_mode):
        _one_of("output_mode", output_mode, ("int", "one_hot", "float"))
        self.dtype, self.preprocessor, self.output_mode = dtype, preprocessor, output_mode


def _one_of(what, word, words):
    if word not in words:
        raise InvalidArgument(f"FeatureSpace: expected one of {', '.join(words)} as {what}, got {word!r}")


def _made(feature, name, dtype, output_mode, kind, **config):
    name = name or state.unique_name(feature)
    return Feature(dtype, create("layer", kind, name=f"{name}_preprocessor", **config), output_mode)


class FeatureSpace(Closed):
    """Encodes the columns of a table: one vector ("concat"), or each by its name ("dict").

    FeatureSpace({"age": "float_normalized", "job": "string_categorical"}, crosses=[("job", "city")]) has adapt(table),
    and then get_inputs() and get_encoded_features() for a model of raw columns. Called on a dict of arrays it encodes
    them. Its layers are part of the model, so its file has what they learned."""

    def __init__(
        self,
        features,
        output_mode="concat",
        crosses=None,
        crossing_dim=32,
        hashing_dim=32,
        num_discretization_bins=32,
        name=None,
    ):
        if not features:
            raise InvalidArgument("FeatureSpace: expected features, got none")
        _one_of("output_mode", output_mode, ("concat", "dict"))
        self.name, self.output_mode = name or state.unique_name("feature_space"), output_mode
        self.crossing_dim, self.hashing_dim = crossing_dim, hashing_dim
        self.num_discretization_bins = num_discretization_bins
        self.features = {key: self._feature(key, value) for key, value in features.items()}
        self.crosses = [c if isinstance(c, Cross) else Cross(c, crossing_dim) for c in crosses or ()]
        for unknown in (key for cross in self.crosses for key in cross.feature_names if key not in self.features):
            raise InvalidArgument(f"FeatureSpace: expected crosses of {', '.join(self.features)}, got {unknown!r}")
        self.crosses_by_name = {cross.name: cross for cross in self.crosses}
        self.preprocessors = {key: feature.preprocessor for key, feature in self.features.items()}
        self.crossers = {
            key: create("layer", "HashedCrossing", num_bins=cross.crossing_dim, name=key)
            for key, cross in self.crosses_by_name.items()
        }
        self.inputs = {key: Input((1,), dtype=feature.dtype, name=key) for key, feature in self.features.items()}
        self.one_hot_encoders, self.encoded_features, self._model, self._adapted = {}, None, None, False

    # ---- features

    @classmethod
    def feature(cls, dtype, preprocessor, output_mode):
        """A column encoded by a layer of your own choice."""
        return Feature(dtype, preprocessor, output_mode)

    @classmethod
    def cross(cls, feature_names, crossing_dim, output_mode="one_hot"):
        """Features as one."""
        return Cross(feature_names, crossing_dim, output_mode)

    @classmethod
    def float(cls, name=None):
        """Numbers as they are."""
        return _made("float", name, "float32", "float", "Identity")

    @classmethod
    def float_rescaled(cls, scale=1.0, offset=0.0, name=None):
        """Numbers times a scale, plus an offset."""
        return _made("float_rescaled", name, "float32", "float", "Rescaling", scale=scale, offset=offset)

    @classmethod
    def float_normalized(cls, name=None):
        """Numbers of mean 0 and variance 1."""
        return _made("float_normalized", name, "float32", "float", "Normalization", axis=-1)

    @classmethod
    def float_discretized(cls, num_bins, bin_boundaries=None, output_mode="one_hot", name=None):
        """The ranges that numbers are in."""
        said = {"num_bins": num_bins, "bin_boundaries": bin_boundaries}
        return _made("float_discretized", name, "float32", output_mode, "Discretization", **said)

    @classmethod
    def integer_categorical(cls, max_tokens=None, num_oov_indices=1, output_mode="one_hot", name=None):
        """Integers by a vocabulary."""
        said = {"max_tokens": max_tokens, "num_oov_indices": num_oov_indices}
        return _made("integer_categorical", name, "int32", output_mode, "IntegerLookup", **said)

    @classmethod
    def string_categorical(cls, max_tokens=None, num_oov_indices=1, output_mode="one_hot", name=None):
        """Strings by a vocabulary."""
        said = {"max_tokens": max_tokens, "num_oov_indices": num_oov_indices}
        return _made("string_categorical", name, "string", output_mode, "StringLookup", **said)

    @classmethod
    def string_hashed(cls, num_bins, output_mode="one_hot", name=None):
        """Strings by their hash."""
        return _made("string_hashed", name, "string", output_mode, "Hashing", num_bins=num_bins)

    @classmethod
    def integer_hashed(cls, num_bins, output_mode="one_hot", name=None):
        """Integers by their hash."""
        return _made("integer_hashed", name, "int32", output_mode, "Hashing", num_bins=num_bins)

    def _feature(self, name, value):
        if isinstance(value, Feature):
            return value
        sizes = {
            **dict.fromkeys(("float", "float_normalized", "float_rescaled"), ()),
            **dict.fromkeys(("integer_categorical", "string_categorical"), ()),
            **dict.fromkeys(("integer_hashed", "string_hashed"), (self.hashing_dim,)),
            "float_discretized": (self.num_discretization_bins,),
        }
        _one_of(f"feature {name!r}", value, tuple(sizes))
        return getattr(self, value)(*sizes[value], name=name)

    # ---- what they learn

    def adapt(self, dataset):
        """Learns from a dict of columns, or from a list of such dicts or what else gives them again for each layer."""
        if not isinstance(dataset, dict) and (not hasattr(dataset, "__iter__") or iter(dataset) is dataset):
            got = type(dataset).__name__
            raise InvalidArgument(f"FeatureSpace: expected a dict of columns, or a list of such dicts, got {got}")
        for name in self._learners():
            batches = [dataset] if isinstance(dataset, dict) else dataset
            self.preprocessors[name].adapt(_column(batch[name]) for batch in batches)
        self._adapted = True
        self.get_encoded_features()

    def _learners(self):
        learn = (name for name, layer in self.preprocessors.items() if hasattr(layer, "adapt"))
        return [n for n in learn if all(self.preprocessors[n]._config.get(key) is None for key in _LEARNED)]

    # ---- what they give

    def get_inputs(self):
        """The symbolic columns, by name."""
        self.get_encoded_features()
        return self.inputs

    def get_encoded_features(self):
        """The symbolic vector, or vectors by name."""
        if self.encoded_features is None:
            if not self._adapted and self._learners():
                raise InvalidArgument(
                    f"FeatureSpace: expected adapt() first: {', '.join(self._learners())} learn from data"
                )
            ids = {name: layer(self.inputs[name]) for name, layer in self.preprocessors.items()}
            crossed = {c.name: self.crossers[c.name]([ids[n] for n in c.feature_names]) for c in self.crosses}
            ordered = [(n, ids[n], self.features[n]) for n in sorted(ids)]
            ordered += [(n, crossed[n], self.crosses_by_name[n]) for n in sorted(crossed)]
            self.encoded_features = self._merged({n: self._encoded(n, x, spec) for n, x, spec in ordered})
        return self.encoded_features

    def _encoded(self, name, x, spec):
        if spec.output_mode != "one_hot":
            return x
        layer = self.preprocessors.get(name) or self.crossers[name]
        if hasattr(layer, "vocabulary_size"):
            size = layer.vocabulary_size()
        elif layer._config.get("bin_boundaries") is not None:
            size = len(layer.bin_boundaries) + 1
        else:
            size = layer._config.get("num_bins") or layer._config.get("num_tokens")
        if not size or not x.dtype.startswith("int"):
            raise InvalidArgument(f"FeatureSpace: feature {name!r}: expected integers of a known range, got {x.dtype}")
        self.one_hot_encoders[name] = create("layer", "CategoryEncoding", num_tokens=size, output_mode="multi_hot")
        return self.one_hot_encoders[name](x)

    def _merged(self, encoded):
        if self.output_mode == "dict":
            return encoded
        for name, x in encoded.items():
            if x.dtype != "float32":
                raise InvalidArgument(
                    f'FeatureSpace: feature {name!r}: expected float32 for "concat", got {x.dtype}; "dict" takes it'
                )
        return create("layer", "Concatenate", axis=-1)(list(encoded.values()))

    def _as_model(self):
        if self._model is None:
            self._model = Model(self.get_inputs(), self.get_encoded_features(), name=self.name)
        return self._model

    def __call__(self, data):
        """What a dict of columns becomes; a dict of single values is one row."""
        if not isinstance(data, dict):
            raise InvalidArgument(f"FeatureSpace: expected a dict of columns, got {type(data).__name__}")
        for name in (n for n in data if n not in self.features):
            raise InvalidArgument(f"FeatureSpace: expected {', '.join(self.features)}, got {name!r}")
        if any(map(is_tensor, data.values())):
            return self._as_model()(data)
        single = any(np.ndim(value) == 0 for value in data.values())
        found = self._as_model()({name: _column(value) for name, value in data.items()})
        if not single:
            return found
        return {n: x[0] for n, x in found.items()} if self.output_mode == "dict" else found[0]

    def save(self, filepath):
        """Writes what encodes the columns, with all that was learned, as a model that takes them by name."""
        self._as_model().save(filepath)


def _column(values):
    """A column as an array of one value a row."""
    array = np.asarray(values)
    return array.reshape(-1, 1) if array.ndim < 2 else array
