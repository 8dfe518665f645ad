"""Layers of preparation in models."""

import numpy as np

from .noted import IMAGES, TEXTS, program


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
