"""tf.data."""

import numpy as np

from programs import plain, raised

from .noted import program


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
