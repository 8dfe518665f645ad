"""Lookups, texts and numbers."""

import numpy as np

from programs import raised

from .noted import TEXTS, WORDS, program


# ---- lookups


@program
def string_lookup_adapt(tf, keras):
    layer = keras.layers.StringLookup()
    layer.adapt(WORDS)
    return layer.get_vocabulary(), layer(WORDS), layer(["cat", "none"]), layer.vocabulary_size()


@program
def string_lookup_given(tf, keras):
    out = []
    for more in (
        {},
        {"num_oov_indices": 3},
        {"mask_token": "", "num_oov_indices": 1},
        {"mask_token": "cat", "num_oov_indices": 2},
        {"num_oov_indices": 5, "salt": 7},
        {"output_mode": "one_hot"},
        {"output_mode": "multi_hot"},
        {"output_mode": "count"},
        {"output_mode": "multi_hot", "pad_to_max_tokens": True, "max_tokens": 9},
        {"output_mode": "count", "mask_token": "xxxx"},
    ):
        layer = keras.layers.StringLookup(vocabulary=["fish", "bird", "dog"], **more)
        out += [layer.get_vocabulary(), layer(WORDS), layer.get_vocabulary(include_special_tokens=False)]
        out.append(str(np.asarray(layer(WORDS)).dtype))
    return out


@program
def string_lookup_invert(tf, keras):
    layer = keras.layers.StringLookup(vocabulary=["fish", "bird"], invert=True)
    masked = keras.layers.StringLookup(vocabulary=["fish", "bird"], invert=True, mask_token="")
    return layer(np.array([[0, 1], [2, 7]])), masked(np.array([0, 1, 2, 3])), masked.get_vocabulary()


@program
def string_lookup_tf_idf(tf, keras):
    layer = keras.layers.StringLookup(output_mode="tf_idf")
    layer.adapt(np.array([["a", "b", "a"], ["b", "c", "d"], ["a", "d", "e"]]))
    given = keras.layers.StringLookup(vocabulary=["a", "b"], idf_weights=[0.5, 2.0], output_mode="tf_idf")
    return layer.get_vocabulary(), layer([["a", "b", "a"], ["z", "c", "c"]]), given([["a", "b", "q"]])


@program
def string_lookup_from_datasets(tf, keras):
    layer = keras.layers.StringLookup(max_tokens=4)
    layer.adapt(tf.data.Dataset.from_tensor_slices(WORDS).batch(2))
    steps = keras.layers.StringLookup()
    steps.adapt(tf.data.Dataset.from_tensor_slices(WORDS).batch(1), steps=1)
    return layer.get_vocabulary(), steps.get_vocabulary()


@program
def integer_lookup(tf, keras):
    data = np.array([[12, 1138, 42], [42, 1000, 36]])
    adapted = keras.layers.IntegerLookup()
    adapted.adapt(data)
    out = [adapted.get_vocabulary(), adapted(data), adapted(np.array([7, 42]))]
    for more in (
        {"num_oov_indices": 2},
        {"num_oov_indices": 3, "oov_method": "farmhash"},
        {"num_oov_indices": 3, "oov_method": "farmhash", "salt": [3, 4]},
        {"mask_token": 0},
        {"output_mode": "multi_hot"},
        {"output_mode": "one_hot"},
        {"output_mode": "count"},
    ):
        out.append(keras.layers.IntegerLookup(vocabulary=[36, 42, 12], **more)(data))
    inverse = keras.layers.IntegerLookup(vocabulary=[36, 42, 12], invert=True)
    return out, inverse(np.array([[0, 1, 2], [3, 9, 1]]))


@program
def lookup_refusals(tf, keras):
    s, i = keras.layers.StringLookup, keras.layers.IntegerLookup
    return [
        raised(f).split(":")[0]
        for f in (
            lambda: s(max_tokens=1),
            lambda: s(num_oov_indices=-1),
            lambda: s(output_mode="what"),
            lambda: s(invert=True, output_mode="count"),
            lambda: s(vocabulary=["a", "a"]),
            lambda: s(vocabulary=["a", "b"], max_tokens=2),
            lambda: s(vocabulary=["a"]).adapt(["b"]),
            lambda: s(output_mode="count")(WORDS),
            lambda: s(salt="x"),
            lambda: s(idf_weights=[1.0]),
            lambda: s(pad_to_max_tokens=True),
            lambda: i(vocabulary_dtype="int32"),
            lambda: i(salt=3),
            lambda: s(other=3),
        )
    ]


# ---- texts


@program
def text_vectorization_adapt(tf, keras):
    layer = keras.layers.TextVectorization()
    layer.adapt(TEXTS)
    return layer.get_vocabulary(), layer(TEXTS), layer(np.array(TEXTS)[:, None]), layer("cat dog cat"), layer(["dog"])


@program
def text_vectorization_kinds(tf, keras):
    out = []
    for more in (
        {"max_tokens": 6, "output_sequence_length": 4},
        {"standardize": "lower"},
        {"standardize": None},
        {"standardize": "strip_punctuation", "output_sequence_length": 8},
        {"split": "character"},
        {"ngrams": 2, "output_mode": "multi_hot"},
        {"ngrams": (2, 3)},
        {"output_mode": "count", "max_tokens": 5},
        {"output_mode": "tf_idf"},
        {"output_mode": "tf-idf", "max_tokens": 30, "pad_to_max_tokens": True},
        {"output_mode": "binary"},
    ):
        layer = keras.layers.TextVectorization(**more)
        layer.adapt(tf.data.Dataset.from_tensor_slices(TEXTS).batch(3))
        out += [layer.get_vocabulary(), layer(TEXTS)]
    return out


@program
def text_vectorization_functions(tf, keras):
    def standardize(x):
        return tf.strings.regex_replace(tf.strings.lower(x), "[^a-z ]", "")

    layer = keras.layers.TextVectorization(standardize=standardize, split=lambda x: tf.strings.split(x, sep=" "))
    layer.adapt(TEXTS)
    return layer.get_vocabulary(), layer(TEXTS)


@program
def text_vectorization_vocabulary(tf, keras):
    layer = keras.layers.TextVectorization(vocabulary=["cat", "dog"], output_mode="one_hot", split=None)
    given = keras.layers.TextVectorization(vocabulary=["cat", "dog"])
    set_later = keras.layers.TextVectorization()
    set_later.set_vocabulary(["dog", "bird"])
    mapped = list(tf.data.Dataset.from_tensor_slices(TEXTS).batch(2).map(given))
    return layer(np.array(["cat", "bird"])), given(TEXTS), set_later(TEXTS), given.vocabulary_size(), mapped


@program
def text_vectorization_configs(tf, keras):
    layer = keras.layers.TextVectorization(5, ngrams=2, output_mode="int", output_sequence_length=6, name="v")
    layer.adapt(TEXTS)
    config = layer.get_config()
    again = keras.layers.TextVectorization.from_config(config)
    again.set_vocabulary(layer.get_vocabulary())
    keep = (
        "max_tokens standardize split ngrams output_mode output_sequence_length "
        "pad_to_max_tokens sparse ragged encoding"
    )
    return [str(config[k]) for k in keep.split()], again(TEXTS)


# ---- numbers


@program
def category_encoding(tf, keras):
    c, out = keras.layers.CategoryEncoding, []
    for mode in ("one_hot", "multi_hot", "count"):
        layer = c(num_tokens=4, output_mode=mode)
        for x in ([3, 2, 0, 1], [[0, 1], [0, 0], [1, 2], [3, 1]], [[3], [1]]):
            out.append(layer(np.array(x)))
    weighted = c(num_tokens=4, output_mode="count")
    out.append(
        weighted(np.array([[0, 1], [0, 0], [1, 2]]), count_weights=np.array([[0.1, 0.2], [0.1, 0.1], [0.2, 0.3]]))
    )
    return out, raised(lambda: c()).split(":")[0], raised(lambda: c(0)).split(":")[0]


@program
def category_encoding_in_models(tf, keras):
    out = []
    for mode in ("one_hot", "multi_hot", "count"):
        x = keras.Input((3,), dtype="int32")
        m = keras.Model(x, keras.layers.CategoryEncoding(5, output_mode=mode)(x))
        out.append(m.predict(np.array([[0, 1, 1], [4, 2, 3]], "int32"), verbose=0))
    return out


@program
def discretization(tf, keras):
    data = np.array([[-1.5, 1.0, 3.4, 0.5], [0.0, 3.0, 1.3, 0.0]], "float32")
    d, out = keras.layers.Discretization, []
    for mode in ("int", "one_hot", "multi_hot", "count"):
        out.append(d(bin_boundaries=[0.0, 1.0, 2.0], output_mode=mode)(data))
    adapted = d(num_bins=4, epsilon=0.01)
    adapted.adapt(R2(100))
    batches = d(num_bins=5, epsilon=0.05)
    batches.adapt(tf.data.Dataset.from_tensor_slices(R2(400)).batch(64))
    return out, adapted.bin_boundaries, adapted(data), batches.bin_boundaries


def R2(n):
    return np.random.RandomState(5).standard_normal(n).astype("float32")


@program
def discretization_in_models(tf, keras):
    x = keras.Input((4,))
    out = []
    for mode in ("int", "multi_hot"):
        y = keras.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0], output_mode=mode)(x)
        out.append(keras.Model(x, y).predict(np.array([[-1.5, 1.0, 3.4, 0.5]], "float32"), verbose=0))
    return out


@program
def hashing(tf, keras):
    long = np.array([["x" * n] for n in (0, 1, 3, 4, 7, 8, 12, 16, 17, 31, 33, 63, 64, 65, 100, 128, 129, 300)])
    h = keras.layers.Hashing
    return (
        [h(num_bins=n)(WORDS) for n in (3, 10, 1000003)],
        h(num_bins=1000003)(long),
        h(num_bins=1000003, salt=[133, 137])(long),
        h(num_bins=1000003, salt=5)(WORDS),
        h(num_bins=3, mask_value="cat")(WORDS),
        h(num_bins=7)(np.array([[1, 2], [300, -4]])),
        h(num_bins=5, output_mode="one_hot")(np.array([["a"], ["b"]])),
        h(num_bins=5, output_mode="multi_hot")(WORDS),
        h(num_bins=5, output_mode="count")(WORDS),
    )


@program
def hashed_crossing(tf, keras):
    a, b = np.array(["cat", "dog", "bird"]), np.array([3, 1, 2])
    c = keras.layers.HashedCrossing
    return (
        c(num_bins=1000003)([a, b]),
        c(num_bins=5, output_mode="one_hot")([a, b]),
        c(num_bins=50)([a[:, None], a[:, None], b[:, None]]),
        raised(lambda: c(5)([a])).split(":")[0],
        raised(lambda: c(5)([a, b[:2]])).split(":")[0],
    )


@program
def normalization_by_datasets(tf, keras):
    data = np.random.RandomState(1).standard_normal((20, 3)).astype("float32") * 4 + 2
    layer = keras.layers.Normalization()
    layer.adapt(tf.data.Dataset.from_tensor_slices(data).batch(6))
    return layer(data)


@program
def feature_space(tf, keras):
    data = {
        "age": np.array([20.0, 35.0, 50.0, 41.0], "float32"),
        "kind": np.array([1, 2, 2, 3]),
        "name": np.array(["ann", "bob", "bob", "eve"]),
        "size": np.array([0.5, 1.5, 2.5, 3.5], "float32"),
    }
    space = keras.utils.FeatureSpace(
        {
            "age": "float_normalized",
            "kind": "integer_categorical",
            "name": keras.utils.FeatureSpace.string_categorical(num_oov_indices=1),
            "size": keras.utils.FeatureSpace.float_discretized(num_bins=3),
        },
        crosses=[("kind", "name")],
        crossing_dim=8,
    )
    space.adapt(tf.data.Dataset.from_tensor_slices(data))
    one = {k: v[0] for k, v in data.items()}
    mapped = next(iter(tf.data.Dataset.from_tensor_slices(data).batch(2).map(space)))
    return space(data), space(one), mapped
