"""FeatureSpace: the columns of a table as numbers for a model."""

from ... import ops
from ...backend.eager_tensor import eager_tensor
from ...backend.lazy import np
from ...data.dataset import Dataset
from ...data.structure import as_array
from ...export import keras_export
from ...saving.object_registration import register_keras_serializable
from ...saving.saving_lib import write_object
from ...saving.serialization_lib import deserialize_keras_object, serialize_keras_object
from ...symbolic.tensor import Input, is_tensor
from ...utils.naming import unique_name
from ..layer import category
from .data_layer import DataLayer
from .encoding import CategoryEncoding, Discretization
from .hashing import HashedCrossing, Hashing
from .lookups import IntegerLookup, StringLookup


def _need_mode(output_mode, modes):
    if output_mode not in modes:
        raise ValueError(
            f"Invalid value for argument `output_mode`. Expected one of {set(modes)}. Received: "
            f"output_mode={output_mode}"
        )


@register_keras_serializable("keras")
class Cross:
    """Features whose combinations are hashed."""

    def __init__(self, feature_names, crossing_dim, output_mode="one_hot"):
        _need_mode(output_mode, ("int", "one_hot"))
        self.feature_names, self.crossing_dim, self.output_mode = tuple(feature_names), crossing_dim, output_mode

    @property
    def name(self):
        return "_X_".join(self.feature_names)

    def get_config(self):
        return {
            "feature_names": list(self.feature_names),
            "crossing_dim": self.crossing_dim,
            "output_mode": self.output_mode,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)


@register_keras_serializable("keras")
class Feature:
    """A column: its type, the layer that prepares it, and what becomes of that."""

    def __init__(self, dtype, preprocessor, output_mode):
        _need_mode(output_mode, ("int", "one_hot", "float"))
        self.dtype, self.output_mode = dtype, output_mode
        self.preprocessor = deserialize_keras_object(preprocessor) if isinstance(preprocessor, dict) else preprocessor

    def get_config(self):
        return {
            "dtype": self.dtype,
            "preprocessor": serialize_keras_object(self.preprocessor),
            "output_mode": self.output_mode,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)


def _layer(kind, name, **config):
    return category.class_of(kind)(name=f"{name}_preprocessor", **config)


@keras_export("utils")
class FeatureSpace(DataLayer):
    """Prepares the columns of a table, a dict of arrays, each by a layer of its own, and joins them.

    Features are names of kinds, such as "float_normalized", or what the methods of these names give. adapt() learns
    from a dataset of dicts what the layers need."""

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
        super().__init__(name=name)
        if not features:
            raise ValueError("The `features` argument cannot be None or empty.")
        _need_mode(output_mode, ("dict", "concat"))
        self.crossing_dim, self.hashing_dim, self.num_discretization_bins = (
            crossing_dim,
            hashing_dim,
            num_discretization_bins,
        )
        self.output_mode = output_mode
        self.features = {key: self._feature_of(key, value) for key, value in features.items()}
        self.crosses = [self._cross_of(cross) for cross in crosses or ()]
        self.preprocessors = {key: f.preprocessor for key, f in self.features.items()}
        self.crossers = {c.name: HashedCrossing(c.crossing_dim, name=c.name) for c in self.crosses}
        self.inputs = {key: Input(shape=(1,), dtype=f.dtype, name=key) for key, f in self.features.items()}
        self.one_hot_encoders, self.encoded_features = {}, None
        self._is_adapted = not self._adaptable()

    # ---- features

    @classmethod
    def cross(cls, feature_names, crossing_dim, output_mode="one_hot"):
        """A feature of the combinations of several."""
        return Cross(feature_names, crossing_dim, output_mode)

    @classmethod
    def feature(cls, dtype, preprocessor, output_mode):
        """A feature with layers of its own."""
        return Feature(dtype, preprocessor, output_mode)

    @classmethod
    def float(cls, name=None):
        """A number as it is."""
        return Feature("float32", _layer("Identity", name or unique_name("float")), "float")

    @classmethod
    def float_rescaled(cls, scale=1.0, offset=0.0, name=None):
        """A number times scale plus offset."""
        name = name or unique_name("float_rescaled")
        return Feature("float32", _layer("Rescaling", name, scale=scale, offset=offset), "float")

    @classmethod
    def float_normalized(cls, name=None):
        """A number less its mean, over its deviation, from the data."""
        return Feature("float32", _layer("Normalization", name or unique_name("float_normalized"), axis=-1), "float")

    @classmethod
    def float_discretized(cls, num_bins, bin_boundaries=None, output_mode="one_hot", name=None):
        """The bin of a number, with limits from the data."""
        name = name or unique_name("float_discretized")
        layer = _layer("Discretization", name, num_bins=num_bins, bin_boundaries=bin_boundaries)
        return Feature("float32", layer, output_mode)

    @classmethod
    def integer_categorical(cls, max_tokens=None, num_oov_indices=1, output_mode="one_hot", name=None):
        """Whole numbers as classes."""
        name = name or unique_name("integer_categorical")
        layer = _layer("IntegerLookup", name, max_tokens=max_tokens, num_oov_indices=num_oov_indices)
        return Feature("int32", layer, output_mode)

    @classmethod
    def string_categorical(cls, max_tokens=None, num_oov_indices=1, output_mode="one_hot", name=None):
        """Texts as classes."""
        name = name or unique_name("string_categorical")
        layer = _layer("StringLookup", name, max_tokens=max_tokens, num_oov_indices=num_oov_indices)
        return Feature("string", layer, output_mode)

    @classmethod
    def string_hashed(cls, num_bins, output_mode="one_hot", name=None):
        """Texts as classes by hashing."""
        return Feature(
            "string", _layer("Hashing", name or unique_name("string_hashed"), num_bins=num_bins), output_mode
        )

    @classmethod
    def integer_hashed(cls, num_bins, output_mode="one_hot", name=None):
        """Whole numbers as classes by hashing."""
        return Feature(
            "int32", _layer("Hashing", name or unique_name("integer_hashed"), num_bins=num_bins), output_mode
        )

    def _feature_of(self, name, given):
        if isinstance(given, Feature):
            return given
        if isinstance(given, dict):
            return deserialize_keras_object(given)
        more = {
            "float_discretized": {"num_bins": self.num_discretization_bins},
            "integer_hashed": {"num_bins": self.hashing_dim},
            "string_hashed": {"num_bins": self.hashing_dim},
        }
        known = "float float_normalized float_rescaled float_discretized integer_categorical string_categorical "
        if given not in known.split() and given not in more:
            raise ValueError(f"Invalid feature type: {given}")
        return getattr(self, given)(name=name, **more.get(given, {}))

    def _cross_of(self, given):
        if isinstance(given, dict):
            given = deserialize_keras_object(given)
        if isinstance(given, Cross):
            return given
        if not self.crossing_dim:
            raise ValueError(
                "When specifying `crosses`, the argument `crossing_dim` (dimensionality of the crossing space) should "
                "be specified as well."
            )
        if any(key not in self.features for key in given):
            raise ValueError(
                "All features referenced in the `crosses` argument should be present in the `features` dict. Received "
                f"unknown features: {given}"
            )
        return Cross(given, self.crossing_dim)

    # ---- learning

    def _adaptable(self):
        def needs(layer):
            given = getattr(layer, "_config", {}).get("mean") is not None or getattr(
                layer, "_has_input_vocabulary", False
            )
            return (
                hasattr(layer, "adapt")
                and not given
                and not (isinstance(layer, Discretization) and layer.num_bins is None)
            )

        return [key for key, layer in self.preprocessors.items() if needs(layer)]

    def adapt(self, dataset):
        """Learns from a dataset of dicts, or from a dict of arrays."""
        if isinstance(dataset, dict):
            dataset = Dataset.from_tensor_slices(dataset)
        if not isinstance(dataset, Dataset):
            raise ValueError(
                "`adapt()` can only be called on a tf.data.Dataset or a dict of arrays/lists. Received instead: "
                f"{dataset} (of type {type(dataset)})"
            )
        for key in self._adaptable():
            column = dataset.map(lambda x, key=key: x[key])
            rank = len(next(iter(column)).shape)
            column = column.batch(32) if rank == 0 else column
            if rank < 2:
                column = column.map(lambda x: x[..., None])
            self.preprocessors[key].adapt(column)
        self._is_adapted, self.encoded_features = True, None

    def _need_adapted(self):
        if not self._is_adapted:
            raise ValueError("You need to call `.adapt(dataset)` on the FeatureSpace before you can start using it.")

    def get_inputs(self):
        """Symbolic inputs, a dict."""
        self._need_adapted()
        return self.inputs

    def get_encoded_features(self):
        """What becomes of the inputs, symbolic."""
        self._need_adapted()
        if self.encoded_features is None:
            self.encoded_features = self._encoded(self.inputs)
        return self.encoded_features

    # ---- calls

    def __call__(self, data):
        self._need_adapted()
        if not isinstance(data, dict):
            raise ValueError(
                f"A FeatureSpace can only be called with a dict. Received: data={data} (of type {type(data)}"
            )
        if any(is_tensor(x) for x in data.values()):
            return self._encoded(data)
        return self.call(data)

    def call(self, data):
        arrays = {key: as_array(data[key]) for key in self.features}
        one = any(x.ndim == 0 for x in arrays.values())
        wide = {key: x.reshape(1, 1) if x.ndim == 0 else x[:, None] if x.ndim == 1 else x for key, x in arrays.items()}
        out = self._encoded({key: eager_tensor(x) for key, x in wide.items()})
        if not one:
            return out
        return {key: x[0] for key, x in out.items()} if self.output_mode == "dict" else out[0]

    def _encoded(self, data):
        prepared = {key: self.preprocessors[key](data[key]) for key in self.features}
        specs = {**self.features, **{c.name: c for c in self.crosses}}
        crossed = {c.name: self.crossers[c.name]([prepared[n] for n in c.feature_names]) for c in self.crosses}
        values = {**dict(sorted(prepared.items())), **dict(sorted(crossed.items()))}
        found = {key: self._encoded_one(key, value, specs[key]) for key, value in values.items()}
        if self.output_mode == "dict":
            return found
        for key, value in found.items():
            if str(value.dtype).startswith("int") or str(value.dtype) in ("string", "object"):
                raise ValueError(
                    f"Cannot concatenate features because feature '{key}' has not been encoded (it has dtype "
                    f"{value.dtype}). Consider using `output_mode='dict'`."
                )
        parts = list(found.values())
        if any(is_tensor(x) for x in parts):
            return ops.concatenate(parts, axis=-1)
        return eager_tensor(np.concatenate([np.asarray(x) for x in parts], -1))

    def _encoded_one(self, key, value, spec):
        if spec.output_mode != "one_hot":
            return value
        layer = self.preprocessors.get(key) or self.crossers.get(key)
        if not str(value.dtype).startswith("int"):
            raise ValueError(
                f"Feature '{key}' has `output_mode='one_hot'`. Thus its preprocessor should return an integer dtype. "
                f"Instead it returns a {value.dtype} dtype."
            )
        if key not in self.one_hot_encoders:
            self.one_hot_encoders[key] = CategoryEncoding(_size_of(key, layer), output_mode="multi_hot")
        return self.one_hot_encoders[key](value)

    # ---- configs

    def get_config(self):
        return {
            "features": serialize_keras_object(self.features),
            "output_mode": self.output_mode,
            "crosses": serialize_keras_object(self.crosses),
            "crossing_dim": self.crossing_dim,
            "hashing_dim": self.hashing_dim,
            "num_discretization_bins": self.num_discretization_bins,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, **_):
        return cls(**config)

    def get_build_config(self):
        return {key: layer.get_build_config() for key, layer in self.preprocessors.items()}

    def build_from_config(self, config):
        for key, built in config.items():
            layer = self.preprocessors[key]
            if built and not layer.built:
                layer.build_from_config(built)
        self._is_adapted = True

    def save_own_variables(self, store):
        """What it learned stands in the layers in it."""

    def load_own_variables(self, store):
        pass

    def save(self, filepath):
        """As .keras, which load_model() reads."""
        write_object(self, filepath)


def _size_of(key, layer):
    """How many indices a layer gives."""
    if isinstance(layer, (IntegerLookup, StringLookup)):
        return layer.vocabulary_size()
    if isinstance(layer, CategoryEncoding):
        return layer.num_tokens
    if isinstance(layer, Discretization):
        return layer.num_bins if layer.num_bins is not None else len(layer.bin_boundaries) + 1
    if isinstance(layer, (HashedCrossing, Hashing)):
        return layer.num_bins
    raise ValueError(
        f"Feature '{key}' has `output_mode='one_hot'`. However it isn't a standard feature and the "
        "dimensionality of its "
        "output space is not known, thus it cannot be one-hot encoded. Try using `output_mode='int'`."
    )
