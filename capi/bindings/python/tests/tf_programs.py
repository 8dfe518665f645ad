"""Small programs of data and its preparation: each runs on TensorFlow with Keras and on dl4, unchanged, with equal
results.

A program takes `tf` and `keras` and gives numbers, shapes or texts.   tf_programs.py RESULTS.npz   records those of
TensorFlow and Keras."""

import os
import sys
import tempfile

import numpy as np

PROGRAMS = {}
R = np.random.RandomState(3)
TEXTS = ["The cat sat on the mat.", "The dog ate my homework!", "a cat, a dog & a bird", ""]
WORDS = np.array([["cat", "dog"], ["bird", "cat"], ["fish", "xxxx"]])
IMAGES = R.uniform(0, 255, (4, 6, 8, 3)).astype("float32")


def program(f):
    assert f.__name__ not in PROGRAMS, f.__name__
    PROGRAMS[f.__name__] = f
    return f


def plain(x):
    """Texts and arrays of a nest, in order."""
    if isinstance(x, dict):
        return [leaf for key in sorted(x, key=str) for leaf in plain(x[key])]
    if isinstance(x, (list, tuple)) and not all(isinstance(v, (int, float, np.number)) for v in x):
        return [leaf for item in x for leaf in plain(item)]
    a = np.asarray(x.numpy() if hasattr(x, "numpy") else x)
    if a.dtype == object:
        a = np.array([v.decode() if isinstance(v, bytes) else str(v) for v in a.ravel()]).reshape(a.shape)
    return [np.char.decode(a) if a.dtype.kind == "S" else a]


def raised(f):
    try:
        f()
    except Exception as e:  # noqa: BLE001
        for kind in (ValueError, TypeError, RuntimeError, NotImplementedError):
            if isinstance(e, kind):
                return f"{kind.__name__}: {e}"
        return type(e).__name__
    return "nothing"


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


# ---- images


def transformed(keras, layer, transformation):
    return np.asarray(layer.transform_images(IMAGES, transformation, training=True))


@program
def geometric_layers(tf, keras):
    k, out = keras.layers, []
    for fill in ("reflect", "wrap", "constant", "nearest"):
        for interpolation in ("bilinear", "nearest"):
            more = {"fill_mode": fill, "interpolation": interpolation, "fill_value": 7.0}
            translation = {"translations": np.array([[2.5, -1.25], [0, 3], [-4, 0.5], [12, 0]], "float32")}
            zoom = {
                "height_zoom": np.array([[0.7], [1.3], [1], [2]], "float32"),
                "width_zoom": np.array([[1.2], [0.6], [1], [0.4]], "float32"),
            }
            shear = {"shear_factor": np.array([[0.3, 0.1], [-0.2, 0], [0, 0.5], [0.9, 0.9]], "float32")}
            out.append(
                transformed(keras, k.RandomTranslation(0.5, 0.5, **more), {**translation, "input_shape": IMAGES.shape})
            )
            out.append(transformed(keras, k.RandomZoom(0.5, 0.5, **more), {**zoom, "input_shape": IMAGES.shape}))
            out.append(transformed(keras, k.RandomShear(0.5, 0.5, **more), {**shear, "input_shape": IMAGES.shape}))
    return out


@program
def flips_and_perspectives(tf, keras):
    k, out = keras.layers, []
    flips = np.array([True, False, True, False]).reshape(4, 1, 1, 1)
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        out.append(transformed(keras, k.RandomFlip(mode), {"flips": flips, "input_shape": IMAGES.shape}))
    start = np.repeat(np.array([[[0, 0], [7, 0], [0, 5], [7, 5]]], "float32"), 4, 0)
    end = start + start * np.random.RandomState(2).uniform(-0.3, 0.3, (4, 4, 2)).astype("float32")
    t = {"apply_perspective": np.array([True, True, False, True]), "start_points": start, "end_points": end}
    out.append(transformed(keras, k.RandomPerspective(1.0, 0.5), {**t, "input_shape": IMAGES.shape}))
    return out


@program
def color_layers(tf, keras):
    k, four = keras.layers, lambda *v: np.array(v, "float32")  # noqa: E731
    each = lambda *v: four(*v).reshape(4, 1, 1, 1)  # noqa: E731
    return [
        transformed(keras, layer, t)
        for layer, t in (
            (k.RandomBrightness(0.5), {"rgb_delta": each(30, -20, 100, 0)}),
            (k.RandomContrast(0.5), {"contrast_factor": each(0.5, 1.5, 1, 0)}),
            (k.RandomColorDegeneration(0.5), {"factor": each(0.2, 0.9, 0, 1)}),
            (k.RandomHue(0.5), {"factor": four(0.2, -0.3, 0, 0.5)}),
            (k.RandomSaturation((0.0, 1.0), value_range=(0, 1)), {"factor": four(0.2, 0.5, 1, 0.9)}),
            (k.RandomGrayscale(0.5), np.array([True, False, True, False]).reshape(4, 1, 1, 1)),
            (k.RandomInvert(0.5), {"apply_inversion": np.array([True, False, False, True])}),
            (k.RandomPosterization(4), {"shift_factor": np.array([1, 2, 3, 7], "uint8")}),
            (k.RandomSharpness(0.5), {"factor": four(0.1, 0.5, 1, 0)}),
            (
                k.RandomGaussianBlur(1.0, (3, 5), 0.9),
                {"should_apply_blur": np.array([True, False, True, True]), "blur_factor": four(0.5, 0.9)},
            ),
            (k.Solarization(0.5, 0.5), {"additions": each(0, 20, 50, 9), "thresholds": each(10, 100, 128, 200)}),
            (k.AutoContrast(), None),
            (k.Equalization(), None),
        )
    ]


@program
def mixing_layers(tf, keras):
    t = {"mix_weight": np.array([0.1, 0.5, 0.9, 0.3], "float32"), "permutation_order": np.array([2, 0, 3, 1])}
    labels = np.eye(4, dtype="float32")
    layer = keras.layers.MixUp()
    masks = np.zeros((4, 6, 8, 3), bool)
    masks[:, 2:5, 1:6] = True
    cut = {"permutation_order": t["permutation_order"], "batch_masks": masks, "mix_weight": t["mix_weight"]}
    erased = {"apply_erasing": np.array([True, False, True, True]), "batch_masks": masks, "fill_value": IMAGES * 0 + 9}
    return (
        transformed(keras, layer, t),
        np.asarray(layer.transform_labels(labels, t)),
        transformed(keras, keras.layers.CutMix(), cut),
        np.asarray(keras.layers.CutMix().transform_labels(labels, cut)),
        transformed(keras, keras.layers.RandomErasing(), erased),
    )


@program
def image_layers_in_inference(tf, keras):
    k = keras.layers
    layers = (k.RandomFlip(), k.RandomRotation(0.3), k.RandomZoom(0.3), k.RandomContrast(0.3), k.RandomBrightness(0.3))
    return [np.asarray(layer(IMAGES, training=False)) for layer in layers], np.asarray(k.RandomFlip()(IMAGES[0])).shape


@program
def image_layer_refusals(tf, keras):
    k = keras.layers
    return [
        raised(f).split(":")[0]
        for f in (
            lambda: k.RandomRotation(0.2, fill_mode="x"),
            lambda: k.RandomRotation(2.0),
            lambda: k.RandomZoom(1.5),
            lambda: k.RandomZoom((0.1, 0.2, 0.3)),
            lambda: k.RandomTranslation(3, 0.1),
            lambda: k.RandomContrast(-1),
            lambda: k.RandomBrightness(0.1, value_range=3),
            lambda: k.RandomGrayscale(3),
            lambda: k.RandomGaussianBlur(kernel_size=2),
        )
    ]


@program
def resizing_of_one(tf, keras):
    return (
        np.asarray(keras.layers.Resizing(4, 5)(IMAGES[0])),
        np.asarray(keras.layers.CenterCrop(4, 5)(IMAGES[0])),
        np.asarray(keras.layers.Rescaling(1 / 255)(IMAGES[0])),
        list(tf.data.Dataset.from_tensor_slices(IMAGES).map(keras.layers.Resizing(3, 3)).batch(2)),
    )


# ---- datasets


def listed(dataset):
    return [plain(e) for e in dataset]


@program
def dataset_sources(tf, keras):
    D = tf.data.Dataset
    gen = D.from_generator(
        lambda: (([i], i * 0.5) for i in range(3)),
        output_signature=(tf.TensorSpec((1,), tf.int32), tf.TensorSpec((), tf.float32)),
    )
    old = D.from_generator(lambda: iter([1, 2]), output_types=tf.int64)
    return (
        listed(D.range(5)),
        listed(D.range(2, 9, 3)),
        listed(D.from_tensor_slices([[1, 2], [3, 4]])),
        listed(D.from_tensor_slices(([1, 2], {"a": ["x", "y"]}))),
        listed(D.from_tensors([1.5, 2])),
        listed(gen),
        listed(old),
        [str(np.asarray(e).dtype) for e in D.from_tensor_slices([1.5, 2])],
    )


@program
def dataset_steps(tf, keras):
    D = tf.data.Dataset
    d = D.range(10)
    return [
        listed(x)
        for x in (
            d.batch(4),
            d.batch(4, drop_remainder=True),
            d.batch(3).unbatch().batch(5),
            d.map(lambda x: x * 2, num_parallel_calls=tf.data.AUTOTUNE),
            d.map(lambda x: (x, x + 1)).map(lambda a, b: a * b),
            d.map(lambda x: {"a": x, "b": x * x}).batch(4),
            d.filter(lambda x: x % 3 == 0),
            d.take(3),
            d.skip(7),
            d.skip(20),
            d.take(-1),
            d.repeat(2).take(15),
            d.repeat().take(23),
            d.cache().repeat(2),
            d.concatenate(D.range(3)),
            d.enumerate(start=5).take(2),
            d.prefetch(2),
            d.prefetch(tf.data.AUTOTUNE),
            d.shard(3, 1),
            d.take_while(lambda x: x < 4),
            D.zip((d, D.range(10, 14))),
            D.zip(d, d.skip(8)),
            D.zip({"a": d, "b": d.skip(8)}),
            d.flat_map(lambda x: D.range(x)).take(9),
            d.interleave(lambda x: D.from_tensors(x).repeat(3), cycle_length=2, block_length=2),
            d.interleave(lambda x: D.range(x), cycle_length=4),
            d.scan(np.int64(0), lambda s, x: (s + x, s + x)),
            d.apply(lambda x: x.batch(5)),
            d.map(lambda x: [x, tf.fill([2], x)]).batch(3),
            D.from_tensor_slices([tf.constant([1, 2]), tf.constant([3, 4])]),
            D.from_tensor_slices(["a,1", "b,2"]).map(lambda r: tf.io.decode_csv(r, ["", 0])),
        )
    ]


@program
def dataset_windows(tf, keras):
    d, out = tf.data.Dataset.range(7), []
    for more in ({}, {"shift": 1}, {"shift": 2, "drop_remainder": True}, {"stride": 2}, {"shift": 1, "stride": 2}):
        out.append([[int(x) for x in w] for w in d.window(3, **more)])
    batched = d.window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))
    pairs = tf.data.Dataset.zip((d, d)).window(2)
    return [str(x) for x in out], listed(batched), [[plain(list(p)) for p in w] for w in pairs]


@program
def dataset_padded(tf, keras):
    d = tf.data.Dataset.range(1, 6).map(lambda n: tf.fill([n], n))
    both = d.map(lambda x: (x, tf.cast(x, tf.float32)))
    texts = tf.data.Dataset.from_tensor_slices(["a b", "c", "d e f"]).map(lambda t: tf.strings.split(t))
    buckets = d.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 2])
    return (
        listed(d.padded_batch(2)),
        listed(d.padded_batch(3, padded_shapes=[7])),
        listed(d.padded_batch(2, padded_shapes=(None,), padding_values=np.int64(-1))),
        listed(
            both.padded_batch(4, padded_shapes=([None], [6]), padding_values=(np.int64(9), 0.5), drop_remainder=True)
        ),
        listed(texts.padded_batch(3)),
        listed(buckets),
    )


@program
def dataset_sizes(tf, keras):
    D = tf.data.Dataset
    d = D.range(10)
    every = (
        *(
            d,
            d.batch(3),
            d.batch(3, drop_remainder=True),
            d.repeat(3),
            d.repeat(),
            d.take(4),
            d.skip(4),
            d.filter(lambda x: x > 3),
        ),
        *(d.map(lambda x: x), d.concatenate(d), D.zip((d, d.take(3))), d.shuffle(4), d.cache(), d.unbatch, d.window(3)),
        *(d.repeat().take(5), d.shard(3, 0), d.prefetch(1), d.enumerate(), D.from_tensors(1)),
    )
    sizes = [int(x.cardinality()) for x in every if not callable(x)]
    return (
        sizes,
        len(d),
        raised(lambda: len(d.repeat())),
        raised(lambda: len(d.filter(lambda x: x > 3))),
        tf.data.AUTOTUNE,
    )


@program
def dataset_shuffles(tf, keras):
    d = tf.data.Dataset.range(20)
    once = d.shuffle(20, seed=1, reshuffle_each_iteration=False)
    again = [sorted(int(x) for x in d.shuffle(5, seed=3)), sorted(int(x) for x in d.shuffle(100))]
    small = [int(x) for x in d.shuffle(3, seed=1)]
    return again, listed(once) == listed(once), all(x <= i + 2 for i, x in enumerate(small)), small == sorted(small)


@program
def dataset_numpy(tf, keras):
    d = tf.data.Dataset.from_tensor_slices({"x": [1, 2], "t": ["a", "b"]})
    found = list(d.as_numpy_iterator())
    it = iter(d)
    return found, [type(found[0]["t"]).__name__], next(it), it.get_next(), d.reduce(0, lambda s, e: s + e["x"])


@program
def dataset_refusals(tf, keras):
    D = tf.data.Dataset

    def bad():
        raise KeyError("x")

    return [
        raised(f).split(":")[0] if i < 3 else raised(f) != "nothing"
        for i, f in enumerate(
            (
                lambda: D.from_tensor_slices(3),
                lambda: D.from_tensor_slices(([1, 2], [1])),
                lambda: D.from_generator(3, output_types=tf.int32),
                lambda: list(D.range(3).map(lambda x: bad())),
                lambda: list(D.from_tensor_slices([[1], [2]]).map(lambda x: tf.fill([x[0]], 1)).batch(2)),
                lambda: D.range(3).batch(0),
            )
        )
    ]


@program
def fit_on_datasets(tf, keras):
    x = np.random.RandomState(0).standard_normal((40, 4)).astype("float32")
    y = (x.sum(1) > 0).astype("float32")
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1, "sigmoid")])
    m.set_weights([np.full((4, 1), 0.1, "float32"), np.zeros(1, "float32")])
    m.compile(keras.optimizers.SGD(0.1), "binary_crossentropy", metrics=["accuracy"])
    d = tf.data.Dataset.from_tensor_slices((x, y)).batch(8).prefetch(tf.data.AUTOTUNE)
    h = m.fit(d, epochs=3, validation_data=d.take(2), verbose=0).history
    endless = m.fit(d.repeat(), steps_per_epoch=3, epochs=3, verbose=0).history
    weighted = d.map(lambda a, b: (a, b, tf.ones_like(b) * 2))
    m.fit(weighted, verbose=0)
    return (
        [h[k] for k in sorted(h)],
        endless["loss"],
        m.evaluate(d, verbose=0),
        m.predict(d.map(lambda a, b: a), verbose=0),
    )


@program
def predict_with_labels_beside(tf, keras):
    x = np.arange(12, dtype="float32").reshape(6, 2)
    m = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    m.set_weights([np.ones((2, 1), "float32"), np.zeros(1, "float32")])
    return m.predict(tf.data.Dataset.from_tensor_slices((x, x[:, 0])).batch(4), verbose=0)


# ---- in models


def weighted(model):
    r = np.random.RandomState(1)
    model.set_weights([(r.standard_normal(w.shape) * 0.5).astype("float32") for w in model.get_weights()])
    return model


@program
def texts_in_sequential_models(tf, keras):
    layers = keras.layers
    vectorize = layers.TextVectorization(output_sequence_length=6)
    vectorize.adapt(TEXTS)
    m = keras.Sequential(
        [vectorize, layers.Embedding(20, 4), layers.GlobalAveragePooling1D(), layers.Dense(1, "sigmoid")]
    )
    m.compile(keras.optimizers.SGD(0.5), "binary_crossentropy")
    x, y = tf.constant(TEXTS), np.array([1.0, 0, 1, 0], "float32")
    weighted(m) if m(x) is not None else None
    data = tf.data.Dataset.from_tensor_slices((TEXTS, y)).batch(2)
    h = m.fit(data, epochs=3, verbose=0).history
    return (
        h["loss"],
        m.predict(x, verbose=0),
        m.evaluate(data, verbose=0),
        np.asarray(m(x)),
        [w.shape for w in m.get_weights()],
    )


@program
def texts_before_a_model(tf, keras):
    layers = keras.layers
    inner = weighted(
        keras.Sequential([keras.Input((5,), dtype="int64"), layers.Embedding(9, 3), layers.Flatten(), layers.Dense(2)])
    )
    vectorize = layers.TextVectorization(max_tokens=9, output_sequence_length=5)
    vectorize.adapt(TEXTS)
    x = keras.Input((1,), dtype="string")
    m = keras.Model(x, inner(vectorize(x)))
    return m.predict(tf.constant(TEXTS)[:, None], verbose=0), [layer.name.split("_")[0] for layer in m.layers]


@program
def tables_in_models(tf, keras):
    layers = keras.layers
    color = layers.StringLookup(vocabulary=["red", "green"], output_mode="one_hot")
    size = layers.Normalization(mean=2.0, variance=4.0)
    number = layers.IntegerLookup(vocabulary=[5, 7], num_oov_indices=2)
    inputs = {
        "color": keras.Input((1,), dtype="string", name="color"),
        "size": keras.Input((1,), name="size"),
        "number": keras.Input((1,), dtype="int64", name="number"),
    }
    embedded = layers.Flatten()(layers.Embedding(4, 2)(number(inputs["number"])))
    merged = layers.concatenate([color(inputs["color"]), size(inputs["size"]), embedded])
    m = weighted(keras.Model(inputs, layers.Dense(1)(merged)))
    m.compile(keras.optimizers.SGD(0.1), "mse")
    data = {
        "color": tf.constant([["red"], ["blue"], ["green"]]),
        "size": np.array([[1.0], [2.0], [5.0]], "float32"),
        "number": np.array([[5], [7], [9]]),
    }
    y = np.array([[1.0], [2.0], [3.0]], "float32")
    pairs = tf.data.Dataset.from_tensor_slices((data, y)).batch(2)
    return m.predict(data, verbose=0), m.fit(pairs, epochs=2, verbose=0).history["loss"], m.evaluate(pairs, verbose=0)


@program
def feature_space_in_models(tf, keras):
    data = {"kind": np.array([1, 2, 2, 3]), "name": np.array(["ann", "bob", "bob", "eve"])}
    data["size"] = np.array([0.5, 1.5, 2.5, 9.0], "float32")
    sizes = keras.utils.FeatureSpace.float_discretized(num_bins=3)
    kinds = {"kind": "integer_categorical", "name": "string_categorical", "size": sizes}
    space = keras.utils.FeatureSpace(kinds, crosses=[("kind", "size")], crossing_dim=6)
    space.adapt(tf.data.Dataset.from_tensor_slices(data))
    encoded = space.get_encoded_features()
    outputs = keras.layers.Dense(1)(encoded)
    training = weighted(keras.Model(encoded, outputs))
    training.compile(keras.optimizers.SGD(0.1), "mse")
    prepared = tf.data.Dataset.from_tensor_slices((data, np.arange(4.0, dtype="float32"))).batch(2)
    h = training.fit(prepared.map(lambda x, y: (space(x), y)), epochs=2, verbose=0).history
    m = keras.Model(space.get_inputs(), outputs)
    return h["loss"], m.predict({k: tf.constant(v[:, None]) for k, v in data.items()}, verbose=0)


@program
def image_changes_in_fit(tf, keras):
    layers = keras.layers
    changes = keras.Sequential(
        [
            layers.RandomBrightness((0.2, 0.2), value_range=(0, 1)),
            layers.RandomContrast((-0.3, 0.3), value_range=(0, 1)),
        ]
    )
    x = keras.Input((6, 8, 3))
    h = changes(layers.Rescaling(1 / 255)(x))
    h = layers.RandomTranslation((0.5, 0.5), (0.25, 0.25), fill_mode="constant")(h)
    m = weighted(keras.Model(x, layers.Dense(1)(layers.Flatten()(h))))
    m.compile(keras.optimizers.SGD(0.01), "mse")
    y = np.array([[1.0], [2.0], [3.0], [4.0]], "float32")
    history = m.fit(IMAGES, y, batch_size=2, shuffle=False, epochs=2, validation_data=(IMAGES, y), verbose=0).history
    more = m.fit(tf.data.Dataset.from_tensor_slices((IMAGES, y)).batch(3), verbose=0).history
    return (
        [history[k] for k in sorted(history)],
        more["loss"],
        m.evaluate(IMAGES, y, verbose=0),
        m.predict(IMAGES, verbose=0),
        m.train_on_batch(IMAGES, y),
        np.asarray(m(IMAGES, training=True)),
        np.asarray(m(IMAGES, training=False)),
        np.asarray(changes(IMAGES / 255)),
    )


@program
def functions_in_layers(tf, keras):
    """Functions of TensorFlow on symbolic tensors: in call() of one's own layer."""
    functions = [
        lambda x: tf.reduce_mean(x, axis=1),
        lambda x: tf.reduce_max(x, axis=[1, 2]),
        lambda x: tf.reduce_sum(x, axis=-1, keepdims=True),
        lambda x: tf.matmul(x, x, transpose_b=True),
        lambda x: tf.nn.softmax(tf.matmul(x, tf.transpose(x, [0, 2, 1])), axis=-1),
        lambda x: tf.concat([x, tf.square(x), tf.exp(-x)], axis=-1),
        lambda x: tf.stack([x, x * 2], axis=1),
        lambda x: tf.split(x, 2, axis=-1)[1],
        lambda x: tf.unstack(x, axis=1)[2],
        lambda x: tf.expand_dims(x, 1) + tf.expand_dims(x, 2),
        lambda x: tf.squeeze(tf.expand_dims(x, -1), -1),
        lambda x: tf.tile(x, [1, 2, 1]),
        lambda x: tf.repeat(x, 2, axis=1),
        lambda x: tf.reshape(x, [-1, 12]),
        lambda x: tf.reshape(x, (tf.shape(x)[0], 6, 2)),
        lambda x: tf.gather(x, [2, 0], axis=1),
        lambda x: tf.cast(x > 0, tf.float32),
        lambda x: tf.where(x > 0.0, x, tf.zeros_like(x)),
        lambda x: tf.clip_by_value(x, -0.5, 0.5),
        lambda x: tf.maximum(x, 0.1) + tf.minimum(x, 0.2),
        lambda x: tf.pad(x, [[0, 0], [1, 1], [0, 2]]),
        lambda x: tf.slice(x, [0, 1, 0], [-1, 2, 3]),
        lambda x: tf.reverse(x, axis=[1]),
        lambda x: tf.cumsum(x, axis=1),
        lambda x: tf.einsum("bij,bkj->bik", x, x),
        lambda x: tf.math.l2_normalize(x, axis=-1),
        lambda x: tf.sqrt(tf.abs(x)) + tf.math.log(tf.abs(x) + 1.0) + tf.tanh(x) + tf.sigmoid(x) + tf.pow(x, 2.0),
        lambda x: tf.nn.relu(x) + tf.nn.leaky_relu(x, 0.1) + tf.nn.gelu(x),
        lambda x: tf.cast(tf.argmax(x, axis=-1), tf.float32),
        lambda x: tf.one_hot(tf.cast(tf.reduce_sum(tf.cast(x > 0, tf.float32), -1), tf.int32), 5),
        lambda x: tf.divide(x, 2.0) - tf.multiply(x, 3.0) + tf.add(x, 1.0) + tf.subtract(x, 1.0),
        lambda x: tf.math.squared_difference(x, 1.0) + tf.math.divide_no_nan(x, x),
        lambda x: tf.stop_gradient(x) + tf.ones_like(x),
        lambda x: tf.tensordot(x, tf.constant([[1.0], [2.0], [3.0], [4.0]]), axes=1),
        lambda x: x + tf.cast(tf.range(0, 4), tf.float32),
        lambda x: tf.math.reduce_std(x, axis=1) + tf.math.reduce_variance(x, axis=1),
        lambda x: tf.roll(x, 1, axis=1),
        lambda x: tf.norm(x, axis=-1),
    ]
    data = np.random.RandomState(4).standard_normal((2, 3, 4)).astype("float32")

    class Mine(keras.layers.Layer):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def call(self, x):
            return self.function(x)

    out = []
    for function in functions:
        x = keras.Input((3, 4))
        out.append(keras.Model(x, Mine(function)(x)).predict(data, verbose=0))
        out.append(np.asarray(function(tf.constant(data))))
    return out


# ---- utils


@program
def timeseries(tf, keras):
    x = np.arange(30)
    f, out = keras.utils.timeseries_dataset_from_array, []
    for more in (
        {"sequence_length": 5},
        {"sequence_length": 4, "sequence_stride": 3, "sampling_rate": 2, "batch_size": 3},
        {"sequence_length": 4, "start_index": 3, "end_index": 17, "batch_size": 4},
        {"sequence_length": 4, "batch_size": None},
    ):
        out += [listed(f(x, x[4:] * 2, **more)), listed(f(x, None, **more))]
    shuffled = f(x, None, 4, shuffle=True, seed=1, batch_size=3)
    rows = sorted(tuple(int(v) for v in row) for b in shuffled for row in np.asarray(b))
    refused = [
        lambda: f(x, None, 3, start_index=40),
        lambda: f(x, None, 3, sampling_rate=0),
        lambda: f(x, None, 3, end_index=50),
    ]
    return out, np.array(rows), [raised(r) for r in refused]


@program
def split_datasets(tf, keras):
    x = np.arange(20).reshape(10, 2)
    f = keras.utils.split_dataset
    a, b = f(x, left_size=0.7)
    c, d = f((x, x[:, 0]), right_size=3)
    e, g = f(tf.data.Dataset.from_tensor_slices(x).batch(3), left_size=4)
    s, t = f(x, left_size=0.5, shuffle=True, seed=4)
    return [listed(v) for v in (a, b, c, d, e, g, s, t)], raised(lambda: f(x)), raised(lambda: f(x, left_size=2.5))


def folder_of_texts(top):
    for i, name in enumerate(("neg", "pos")):
        os.makedirs(os.path.join(top, name, "deep"))
        for j in range(4):
            with open(os.path.join(top, name, "deep" if j == 3 else "", f"{j}.txt"), "w") as f:
                f.write(f"text {i} {j} and more")
    return top


@program
def text_directories(tf, keras):
    f, out = keras.utils.text_dataset_from_directory, []
    with tempfile.TemporaryDirectory() as top:
        folder_of_texts(top)
        for more in (
            {"shuffle": False},
            {"shuffle": False, "label_mode": "binary", "max_length": 6, "batch_size": 3},
            {"shuffle": False, "label_mode": "categorical", "class_names": ["pos", "neg"]},
            {"shuffle": False, "labels": None, "batch_size": None},
            {"shuffle": False, "labels": [3, 1, 4, 1, 5, 9, 2, 6]},
            {"validation_split": 0.25, "subset": "validation", "shuffle": False},
        ):
            d = f(top, verbose=False, **more)
            out += [listed(d), d.class_names or "none"]
        train, val = f(top, verbose=False, validation_split=0.25, subset="both", seed=3)
        out += [sorted(str(t) for b in train for t in plain(b)[0]), sorted(str(t) for b in val for t in plain(b)[0])]
        out += [raised(lambda: f(top, label_mode="x")), raised(lambda: f(top, validation_split=0.2))]
        out += [
            raised(lambda: f(top, validation_split=0.2, subset="training")),
            raised(lambda: f(top, class_names=["q"]))[:60],
        ]
    return out


@program
def tokenizer(tf, keras):
    text = sys.modules[keras.__name__ + "._text"]
    t, out = text.Tokenizer(num_words=8, oov_token="<oov>"), []
    t.fit_on_texts(TEXTS)
    for mode in ("binary", "count", "freq", "tfidf"):
        out.append(t.texts_to_matrix(TEXTS, mode=mode))
    s = t.texts_to_sequences([*TEXTS, "unknown words"])
    again = text.tokenizer_from_json(t.to_json())
    chars = text.Tokenizer(char_level=True)
    chars.fit_on_texts(TEXTS)
    return (
        out,
        [np.array(v) for v in s],
        t.sequences_to_texts(s),
        list(t.word_index),
        [np.array(v) for v in again.texts_to_sequences(TEXTS)],
        [np.array(v) for v in chars.texts_to_sequences(TEXTS[:2])],
        text.text_to_word_sequence("Some, words!  here"),
        text.hashing_trick("some words here some", 50, "md5"),
    )


@program
def affine_transforms(tf, keras):
    image = sys.modules[keras.__name__ + "._image"]
    x, out = IMAGES[0], []
    axes = {"row_axis": 0, "col_axis": 1, "channel_axis": 2}
    for mode in ("nearest", "constant", "reflect", "wrap"):
        for more in (
            {"theta": 30},
            {"tx": 1.5, "ty": -2.25},
            {"shear": 20},
            {"zx": 0.7, "zy": 1.4},
            {"theta": 9, "tx": 2, "zx": 1.5},
        ):
            out.append(image.apply_affine_transform(x, fill_mode=mode, cval=5.0, **axes, **more))
    first = np.moveaxis(x, -1, 0)
    out.append(image.apply_affine_transform(first, theta=20, row_axis=1, col_axis=2, channel_axis=0))
    out.append(image.apply_affine_transform(x, theta=20, order=0, **axes))
    out.append(image.apply_channel_shift(x, 20.0, channel_axis=2))
    generator = image.ImageDataGenerator(
        rotation_range=20, width_shift_range=0.2, height_shift_range=[-1, 1], zoom_range=0.2
    )
    more = image.ImageDataGenerator(
        horizontal_flip=True,
        vertical_flip=True,
        channel_shift_range=30.0,
        shear_range=10,
        samplewise_std_normalization=True,
    )
    np.random.seed(3)
    for g in (generator, more):
        out += [g.standardize(g.random_transform(x, seed=s)) for s in range(4)]
        flow = g.flow(IMAGES, np.arange(4), batch_size=3, seed=1)
        out += [next(flow), next(flow), flow[0]]
    return out


# ---- names of TensorFlow


@program
def tf_arrays(tf, keras):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return [
        *(x, tf.constant("text"), tf.constant([1, 2]), tf.constant(3, tf.float32, shape=(2, 2)), tf.cast(x, tf.int32)),
        *(
            tf.zeros((2, 3)),
            tf.ones([2], tf.int32),
            tf.fill([2, 2], 7),
            tf.eye(2, 3),
            tf.range(5),
            tf.range(1, 2, 0.25),
        ),
        *(tf.linspace(0.0, 1.0, 5), tf.shape(x), tf.rank(x), tf.size(x), tf.reshape(x, [3, -1]), tf.transpose(x)),
        *(
            tf.expand_dims(x, 0),
            tf.squeeze(x[None]),
            tf.concat([x, x], 0),
            tf.stack([x, x], 1),
            tf.unstack(x),
            tf.tile(x, [1, 2]),
        ),
        *(tf.split(x, 3, axis=1), tf.split(x, [1, 2], axis=1), tf.repeat(x, 2, axis=0), tf.pad(x, [[1, 0], [0, 2]])),
        *(
            tf.reverse(x, [1]),
            tf.roll(x, 1, 0),
            tf.gather(x, [1, 0]),
            tf.gather(x, [2], axis=1),
            tf.gather_nd(x, [[0, 1]]),
        ),
        *(
            tf.boolean_mask(x, [True, False]),
            tf.slice(x, [0, 1], [2, 2]),
            tf.one_hot([0, 2], 3),
            tf.one_hot([1], 2, 5.0, -1.0),
        ),
        *(tf.where(x > 3), tf.where(x > 3, x, 0.0), tf.sort([3, 1, 2]), tf.argsort([3, 1, 2], direction="DESCENDING")),
        *(tf.unique([5, 3, 5, 1]), tf.searchsorted([1, 3, 5], [2, 5]), tf.sequence_mask([1, 3], 4), tf.identity(x)),
        *(tf.meshgrid([1, 2], [3, 4]), tf.broadcast_to(tf.constant([1, 2]), [2, 2]), tf.tensordot(x, x, [[1], [1]])),
        *(
            tf.matmul(x, x, transpose_b=True),
            tf.einsum("ij,kj->ik", x, x),
            tf.norm(x),
            tf.zeros_like(x),
            tf.ones_like(x),
        ),
        *(
            tf.map_fn(lambda r: r * 2, x),
            tf.tensor_scatter_nd_update(x, [[0, 1]], [9.0]),
            tf.scatter_nd([[1]], [5], [3]),
        ),
        [str(np.asarray(v).dtype) for v in (tf.constant(1), tf.constant(1.5), tf.range(3), tf.argmax(x), tf.shape(x))],
    ]


@program
def tf_math(tf, keras):
    x = tf.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])
    i = tf.constant([[3, 1], [2, 5]])
    return [
        *(
            tf.abs(-x),
            tf.exp(x),
            tf.sqrt(x),
            tf.square(x),
            tf.math.log(x),
            tf.round(x),
            tf.floor(x / 2),
            tf.sign(-x),
            tf.pow(x, 2),
        ),
        *(
            tf.add(x, 1),
            tf.subtract(x, x),
            tf.multiply(x, 2.0),
            tf.divide(x, 2.0),
            tf.maximum(x, 3.0),
            tf.minimum(x, 3.0),
        ),
        *(
            tf.equal(x, 2.0),
            tf.less(x, 3.0),
            tf.greater_equal(x, 3.0),
            tf.logical_not([True, False]),
            tf.clip_by_value(x, 2, 5),
        ),
        *(
            tf.reduce_sum(x),
            tf.reduce_sum(x, 0),
            tf.reduce_mean(x, axis=1, keepdims=True),
            tf.reduce_max(x),
            tf.reduce_min(i, 1),
        ),
        *(
            tf.reduce_sum(i),
            tf.reduce_mean(i),
            tf.reduce_any(x > 6),
            tf.reduce_all(x > 0),
            tf.reduce_prod(i),
            tf.math.reduce_std(x),
        ),
        *(
            tf.argmax(x, 1),
            tf.argmin(x),
            tf.cumsum(x, 1),
            tf.cumsum(x, 1, exclusive=True),
            tf.cumsum(x, 1, reverse=True),
        ),
        *(
            tf.math.top_k(x, 2),
            tf.math.confusion_matrix([0, 1, 1], [0, 1, 0]),
            tf.math.bincount([1, 1, 3]),
            tf.sigmoid(x),
        ),
        *(
            tf.math.divide_no_nan(x, [[0.0, 1.0, 2.0]]),
            tf.math.l2_normalize(x, 1),
            tf.nn.softmax(x),
            tf.tanh(x),
            tf.math.rsqrt(x),
        ),
        *(tf.nn.relu(x - 3), tf.nn.l2_loss(x), tf.nn.sigmoid_cross_entropy_with_logits(labels=x / 7, logits=x)),
        *(
            tf.nn.softmax_cross_entropy_with_logits(labels=x / 7, logits=x),
            tf.math.floormod(i, 2),
            tf.math.count_nonzero(i - 1),
        ),
        *(
            tf.linalg.diag([1.0, 2.0]),
            tf.linalg.band_part(x, 0, -1),
            tf.linalg.trace(x),
            tf.linalg.det([[2.0, 1], [1, 3]]),
        ),
        *(tf.math.squared_difference(x, 1.0), tf.math.reduce_logsumexp(x), tf.add_n([x, x, x]), tf.math.is_nan(x)),
    ]


@program
def tf_strings(tf, keras):
    s, x = tf.strings, tf.constant(["Hello World", " a b ", ""])
    return [
        *(s.lower(x), s.upper(x), s.strip(x), s.length(x), s.substr(x, 0, 3), s.regex_replace(x, "o(.)", r"0\1\1")),
        *(
            s.regex_full_match(x, ".*a.*"),
            s.join([x, x], "-"),
            s.reduce_join(x, separator="+"),
            s.split("a b  c"),
            s.split(x).to_list(),
        ),
        *(
            s.split(x, "l").to_list(),
            s.unicode_split("héé", "UTF-8"),
            s.to_number(["1.5", "2"]),
            s.as_string([1, 2]),
            s.as_string([0.5]),
        ),
        *(
            s.to_hash_bucket_fast(x, 1000003),
            s.ngrams(["a", "b", "c"], 2),
            s.bytes_split("abc"),
            s.regex_replace("aaa", "a", "b", False),
        ),
    ]


@program
def tf_images(tf, keras):
    i, x = tf.image, tf.constant(IMAGES / 255)
    b = tf.constant(IMAGES.astype("uint8"))
    return [
        *(i.resize(x, (4, 5)), i.resize(b, (14, 5), method="nearest"), i.resize(x[0], [5, 5], antialias=True)),
        *(
            i.flip_left_right(x),
            i.flip_up_down(b),
            i.rot90(x),
            i.rgb_to_grayscale(x),
            i.rgb_to_grayscale(b),
            i.rgb_to_hsv(x),
        ),
        *(i.hsv_to_rgb(x), i.central_crop(x, 0.5), i.resize_with_crop_or_pad(x, 5, 12), i.resize_with_pad(x, 8, 8)),
        *(i.convert_image_dtype(b, tf.float32), i.convert_image_dtype(x, tf.uint8), i.adjust_brightness(x, 0.1)),
        *(i.adjust_contrast(x, 2.0), i.per_image_standardization(x), i.pad_to_bounding_box(x, 1, 2, 10, 12)),
        *(
            i.crop_to_bounding_box(x, 1, 2, 3, 4),
            i.adjust_saturation(x, 0.5),
            i.adjust_hue(x, 0.2),
            i.grayscale_to_rgb(x[..., :1]),
        ),
    ]


@program
def tf_more(tf, keras):
    x = tf.constant(np.random.RandomState(6).standard_normal((4, 4)).astype("float32"))
    i, images = tf.image, tf.constant(IMAGES / 255)
    other = images * 0.9
    patches = ([1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1])
    return [
        *(tf.clip_by_norm(x, 1.0), tf.clip_by_norm(x, 1.0, axes=[1]), tf.clip_by_global_norm([x, x * 2], 2.0)),
        *(tf.math.segment_sum(x, [0, 0, 1, 2]), tf.math.unsorted_segment_sum(x, [2, 0, -1, 2], 3)),
        *(tf.math.reduce_euclidean_norm(x, 1), tf.foldl(lambda a, b: a + b, x), tf.scan(lambda a, b: a * b, x)),
        *(tf.scan(lambda a, b: a + b, x, reverse=True), tf.strings.unicode_decode("hé", "UTF-8")),
        *(tf.strings.unicode_encode([[104, 233], [33, 34]], "UTF-8"), tf.linalg.set_diag(x, [1.0, 2.0, 3.0, 4.0])),
        *(
            tf.linalg.lstsq(x, x[:, :1]),
            i.total_variation(images),
            i.image_gradients(images),
            i.psnr(images, other, 1.0),
        ),
        *(i.extract_patches(images, *patches, "VALID"), i.extract_patches(images, *patches, "SAME")),
        *(tf.nn.space_to_depth(images, 2), tf.nn.depth_to_space(tf.concat([images] * 4, -1), 2)),
        *(
            tf.zeros_initializer()(shape=(2,)),
            tf.constant_initializer(3.0)(shape=(2,)),
            str(tf.dtypes.float32 == tf.float32),
        ),
        *(tf.math.segment_mean(x, [0, 0, 1, 2]), tf.linalg.global_norm([x, x])),
    ]


@program
def tf_signals(tf, keras):
    s, x = tf.signal, tf.constant(np.sin(np.arange(100, dtype="float32") ** 1.2)[None])
    return [
        *(s.frame(x, 10, 4), s.frame(x, 10, 4, pad_end=True), s.hann_window(8), s.hann_window(7), s.hamming_window(8)),
        *(tf.abs(s.stft(x, 16, 5)), tf.abs(s.stft(x, 15, 5, fft_length=32, pad_end=True)), tf.abs(s.rfft(x))),
        *(s.hann_window(8, periodic=False), s.irfft(s.rfft(x))),
    ]


@program
def ragged_rows(tf, keras):
    words = tf.strings.split(tf.constant(["a b c", "b d"]))
    look = keras.layers.StringLookup(vocabulary=["a", "b", "c"], mask_token=None)
    back = keras.layers.StringLookup(vocabulary=look.get_vocabulary(), invert=True, mask_token=None)
    ids = look(words)
    return (
        *(
            words.to_tensor(),
            words.to_list()[1],
            words[0],
            ids.to_tensor(),
            ids.to_tensor(9, shape=(2, 2)),
            words.row_lengths(),
        ),
        *(
            tf.strings.reduce_join(back(ids), axis=-1),
            words.flat_values,
            tf.strings.length(words[1]),
            len(words.to_list()),
        ),
        keras.layers.StringLookup(vocabulary=["a", "b"], output_mode="count")(words),
    )


@program
def tf_records(tf, keras):
    def feature(i):
        t = tf.train
        return t.Example(
            features=t.Features(
                feature={
                    "n": t.Feature(int64_list=t.Int64List(value=[i, -i])),
                    "x": t.Feature(float_list=t.FloatList(value=[i * 0.5])),
                    "s": t.Feature(bytes_list=t.BytesList(value=[f"text {i}".encode()])),
                }
            )
        ).SerializeToString()

    with tempfile.TemporaryDirectory() as top:
        path = os.path.join(top, "a.tfrecord")
        with tf.io.TFRecordWriter(path) as w:
            for i in range(3):
                w.write(feature(i))
        spec = {
            "n": tf.io.FixedLenFeature([2], tf.int64),
            "x": tf.io.FixedLenFeature([], tf.float32),
            "s": tf.io.FixedLenFeature([], tf.string),
            "none": tf.io.FixedLenFeature([], tf.float32, default_value=4.0),
        }
        d = tf.data.TFRecordDataset(path)
        lines = os.path.join(top, "lines.txt")
        with open(lines, "w") as f:
            f.write("one\ntwo\n\nthree")
        read = tf.io.read_file(lines)
        return (
            listed(d.map(lambda r: tf.io.parse_single_example(r, spec))),
            listed(d.batch(3).map(lambda r: tf.io.parse_example(r, spec))),
            listed(tf.data.TextLineDataset(lines)),
            read,
            tf.io.decode_csv(["1,2.5,a", "3,,b"], [0, 1.5, "x"]),
            tf.io.decode_raw(tf.constant(b"\x01\x00\x02\x00"), tf.int16),
        )


def keras_of_tensorflow():
    """TensorFlow, Keras, and what Keras keeps for old programs."""
    import keras
    import tensorflow as tf
    from keras.src.legacy.preprocessing import image, text

    sys.modules.update({"keras._text": text, "keras._image": image})
    return tf, keras


@program
def arguments_that_are_seldom_given(tf, keras):
    image = tf.constant(np.arange(2 * 3 * 3, dtype="float32").reshape(1, 2, 3, 3))
    per_channel = tf.nn.bias_add(tf.transpose(image, (0, 3, 1, 2)), tf.constant([1.0, 2.0, 3.0]), data_format="NCHW")
    raw = tf.io.decode_raw(tf.constant([b"abcdef", b"xy"]), tf.uint8, fixed_length=4)
    turns = tf.while_loop(lambda i: i < 10, lambda i: (i + 1,), (tf.constant(0),), maximum_iterations=3)
    rows = tf.map_fn(lambda x: tf.cast(x, tf.int32) + 1, image[0], fn_output_signature=tf.int32)
    wrong = raised(lambda: tf.map_fn(lambda x: x + 1, image[0], fn_output_signature=tf.int32))
    window = tf.signal.hann_window(8, dtype=tf.float64)
    sides = [tf.strings.unicode_split("aé", "UTF-8"), tf.strings.unicode_decode("aé", "UTF-8")]
    return per_channel, raw, turns, rows, wrong != "nothing", window, sides


def main(path):
    tf, keras = keras_of_tensorflow()
    results = {}
    for name, f in PROGRAMS.items():
        try:
            results.update({f"{name}/{i}": leaf for i, leaf in enumerate(plain(f(tf, keras)))})
        except Exception as e:
            raise RuntimeError(f"{name}: {e}") from e
    np.savez_compressed(path, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
