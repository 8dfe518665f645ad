"""Layers: what they compute, weights, configs, wrappers, normalization, attention."""

import numpy as np

import functools

from . import DATA, fill, numbers, program, through

IMAGES = numbers(2, 8, 8, 3)


through = functools.partial(through, data=IMAGES)


@program
def convolutions(keras):
    k = keras.layers
    return [
        through(keras, layer)
        for layer in (
            k.Conv2D(4, 3, padding="same", activation="relu"),
            k.Conv2D(4, (3, 2), strides=2),
            k.Conv2D(2, 3, dilation_rate=2),
            k.DepthwiseConv2D(3, depth_multiplier=2),
            k.SeparableConv2D(4, 3),
            k.Conv2DTranspose(2, 3, strides=2),
            k.Conv2D(6, 1, groups=3),
        )
    ]


@program
def convolutions_1d_and_3d(keras):
    k, s, v = keras.layers, numbers(2, 9, 3), numbers(1, 5, 5, 5, 2)
    return (
        through(keras, k.Conv1D(4, 3, padding="causal"), data=s),
        through(keras, k.Conv1DTranspose(2, 3, 2), data=s),
        through(keras, k.Conv3D(2, 2), data=v),
        through(keras, k.SeparableConv1D(2, 3), data=s),
    )


@program
def poolings(keras):
    k = keras.layers
    return [
        through(keras, layer)
        for layer in (
            k.MaxPooling2D(),
            k.AveragePooling2D(3, 2, "same"),
            k.GlobalAveragePooling2D(),
            k.GlobalMaxPooling2D(keepdims=True),
        )
    ]


@program
def shapes_of_layers(keras):
    k = keras.layers
    return [
        through(keras, layer)
        for layer in (
            k.Flatten(),
            k.Reshape((4, 48)),
            k.Permute((3, 1, 2)),
            k.ZeroPadding2D(1),
            k.Cropping2D(((1, 0), (0, 2))),
            k.UpSampling2D(2, interpolation="bilinear"),
            k.UpSampling2D((1, 2)),
        )
    ] + [through(keras, k.RepeatVector(3), data=DATA[:2])]


@program
def normalizations(keras):
    k = keras.layers
    return [
        through(keras, layer)
        for layer in (
            k.BatchNormalization(),
            k.LayerNormalization(axis=-1),
            k.GroupNormalization(3),
            k.UnitNormalization(),
            k.RMSNormalization(),
            k.LayerNormalization(axis=[1, 2], center=False),
        )
    ]


@program
def batch_normalization_trains(keras):
    x = keras.Input((4,))
    y = keras.layers.BatchNormalization(momentum=0.8)(keras.layers.Dense(5)(x))
    m = keras.Model(x, keras.layers.Dense(2)(y))
    fill(m)
    m.set_weights([np.abs(w) for w in m.get_weights()])
    m.compile("sgd", "mse")
    h = m.fit(DATA, numbers(40, 2), epochs=2, verbose=0, shuffle=False)
    return h.history["loss"], m.get_weights(), len(m.trainable_weights), len(m.non_trainable_weights)


@program
def frozen_batch_normalization(keras):
    x = keras.Input((4,))
    norm = keras.layers.BatchNormalization()
    m = keras.Model(x, keras.layers.Dense(2)(norm(x)))
    m.set_weights([np.abs(numbers(*w.shape)) for w in m.get_weights()])
    norm.trainable = False
    m.compile("sgd", "mse")
    m.fit(DATA, numbers(40, 2), epochs=2, verbose=0, shuffle=False)
    return m.get_weights()


@program
def adapted_normalization(keras):
    n = keras.layers.Normalization()
    n.adapt(DATA)
    x = keras.Input((4,))
    m = keras.Model(x, n(x))
    return m.predict(DATA[:5], verbose=0), np.asarray(n.mean).reshape(-1), np.asarray(n.variance).reshape(-1)


@program
def given_normalization(keras):
    n = keras.layers.Normalization(mean=[1.0, 2.0, 3.0, 4.0], variance=[1.0, 4.0, 9.0, 16.0])
    return np.asarray(n(DATA[:3])), np.asarray(
        keras.layers.Normalization(mean=0.5, variance=2.0, invert=True)(DATA[:2])
    )


@program
def embeddings(keras):
    ids = np.array([[1, 2, 0], [3, 3, 1]])
    x = keras.Input((None,), dtype="int32")
    e = keras.layers.Embedding(5, 4)
    m = fill(keras.Model(x, e(x)))
    return m.predict(ids, verbose=0), np.asarray(e.embeddings).shape, e.count_params()


@program
def masks_through_layers(keras):
    x = keras.Input((4, 2))
    y = keras.layers.Masking(0.0)(x)
    y = keras.layers.Dense(3)(y)
    y = keras.layers.GlobalAveragePooling1D()(y)
    m = fill(keras.Model(x, y))
    data = numbers(2, 4, 2)
    data[0, 2:] = 0
    return m.predict(data, verbose=0)


@program
def time_distributed(keras):
    x = keras.Input((3, 6, 6, 2))
    y = keras.layers.TimeDistributed(keras.layers.Conv2D(2, 3))(x)
    y = keras.layers.TimeDistributed(keras.layers.Flatten())(y)
    m = fill(keras.Model(x, y))
    return m.predict(numbers(2, 3, 6, 6, 2), verbose=0)


@program
def time_distributed_model(keras):
    inside = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="relu"), keras.layers.Dense(2)])
    x = keras.Input((5, 4))
    m = fill(keras.Model(x, keras.layers.TimeDistributed(inside)(x)))
    return m.predict(numbers(2, 5, 4), verbose=0), len(m.weights)


@program
def attention_layers(keras):
    q, v = numbers(2, 3, 4), numbers(2, 5, 4, seed=1)
    a, b = keras.Input((3, 4)), keras.Input((5, 4))
    k = keras.layers
    m = keras.Model(
        [a, b],
        [
            k.Attention()([a, b]),
            k.AdditiveAttention()([a, b]),
            k.Attention(score_mode="concat")([a, b]),
            k.MultiHeadAttention(2, 3)(a, b),
            k.GroupQueryAttention(2, 4, 2)(a, b),
        ],
    )
    fill(m)
    return m.predict([q, v], verbose=0)


@program
def attention_masks(keras):
    x, mask = keras.Input((4, 6)), keras.Input((4, 4), dtype="bool")
    y, scores = keras.layers.MultiHeadAttention(2, 3)(x, x, attention_mask=mask, return_attention_scores=True)
    m = fill(keras.Model([x, mask], [y, scores]))
    return m.predict([numbers(2, 4, 6), np.tril(np.ones((2, 4, 4), bool))], verbose=0)


@program
def transformer_block(keras):
    k = keras.layers
    x = keras.Input((6, 8))
    h = k.LayerNormalization(epsilon=1e-6)(x + k.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True))
    h = k.LayerNormalization(epsilon=1e-6)(h + k.Dense(8)(k.Dense(16, activation="gelu")(h)))
    m = fill(keras.Model(x, k.Dense(2)(k.GlobalAveragePooling1D()(h))), scale=0.3)
    m.compile("adam", "mse")
    hist = m.fit(numbers(8, 6, 8), numbers(8, 2), epochs=2, verbose=0, shuffle=False)
    return hist.history["loss"], m.predict(numbers(2, 6, 8), verbose=0)


@program
def merges(keras):
    k = keras.layers
    a, b = keras.Input((3,)), keras.Input((3,))
    m = keras.Model(
        [a, b],
        [
            k.Add()([a, b]),
            k.Subtract()([a, b]),
            k.Multiply()([a, b]),
            k.Average()([a, b]),
            k.Maximum()([a, b]),
            k.Minimum()([a, b]),
            k.Concatenate()([a, b]),
            k.Dot(axes=1)([a, b]),
            k.Dot(1, normalize=True)([a, b]),
        ],
    )
    return m.predict([numbers(2, 3), numbers(2, 3, seed=3)], verbose=0)


@program
def merge_functions(keras):
    k = keras.layers
    a, b = keras.Input((3,)), keras.Input((3,))
    m = keras.Model(
        [a, b],
        [
            k.add([a, b]),
            k.multiply([a, b]),
            k.concatenate([a, b], axis=-1),
            k.maximum([a, b]),
            k.average([a, b]),
            k.subtract([a, b]),
            k.dot([a, b], axes=1),
        ],
    )
    return m.predict([numbers(2, 3), numbers(2, 3, seed=3)], verbose=0)


@program
def einsum_dense(keras):
    x = keras.Input((5, 4))
    m = fill(keras.Model(x, keras.layers.EinsumDense("abc,cd->abd", output_shape=(None, 6), bias_axes="d")(x)))
    return m.predict(numbers(2, 5, 4), verbose=0)


@program
def activation_layers(keras):
    k = keras.layers
    x = keras.Input((4,))
    m = keras.Model(
        x,
        [
            k.ReLU(max_value=1.0)(x),
            k.ELU(0.5)(x),
            k.LeakyReLU()(x),
            k.PReLU()(x),
            k.Softmax()(x),
            k.Activation("swish")(x),
            k.Activation("hard_sigmoid")(x),
        ],
    )
    fill(m)
    return m.predict(DATA[:4], verbose=0)


@program
def layers_on_arrays(keras):
    d = keras.layers.Dense(3, kernel_initializer="ones", bias_initializer=keras.initializers.Constant(0.5))
    y = np.asarray(d(DATA[:2]))
    return y, [tuple(w.shape) for w in d.weights], np.asarray(d.kernel), np.asarray(d.bias), d.built


@program
def built_by_hand(keras):
    d = keras.layers.Dense(3)
    before = d.built
    d.build((None, 4))
    d.set_weights([numbers(4, 3), numbers(3)])
    return before, d.built, np.asarray(d(DATA[:2])), d.count_params(), len(d.trainable_weights)


@program
def dropout_in_inference(keras):
    d = keras.layers.Dropout(0.5)
    y = np.asarray(d(np.ones((2, 3), "float32")))
    z = np.asarray(d(np.ones((50, 40), "float32"), training=True))
    return y, sorted(set(z.reshape(-1).tolist())), keras.layers.Dropout(0.3).rate


@program
def configs_of_layers(keras):
    k = keras.layers
    told = []
    for layer in (
        k.Dense(3, activation="relu", name="d"),
        k.Conv2D(4, 3, padding="same", name="c"),
        k.LSTM(5, name="l"),
        k.Dropout(0.2, name="o"),
        k.BatchNormalization(momentum=0.9, name="b"),
    ):
        config = layer.get_config()
        again = type(layer).from_config(config)
        told += [
            again.name,
            sorted(k for k in config if k in ("name", "trainable", "units", "rate", "filters", "momentum")),
        ]
    return told


@program
def output_shapes(keras):
    k = keras.layers
    return [
        str(tuple(layer.compute_output_shape(shape)))
        for layer, shape in (
            (k.Dense(3), (None, 4)),
            (k.Conv2D(4, 3), (None, 8, 8, 3)),
            (k.LSTM(5, return_sequences=True), (None, 7, 3)),
            (k.Flatten(), (2, 3, 4)),
            (k.Reshape((-1, 2)), (None, 4, 3)),
            (k.Embedding(5, 6), (None, 9)),
        )
    ]


@program
def initializers_by_themselves(keras):
    i = keras.initializers
    values = [np.asarray(f((2, 3))) for f in (i.Zeros(), i.Ones(), i.Constant(0.3), i.Identity(2.0))]
    u = np.asarray(i.RandomUniform(-0.1, 0.1, seed=1)((50, 50)))
    q = np.asarray(i.Orthogonal(seed=2)((4, 4)))
    return values, bool((np.abs(u) <= 0.1).all()), q @ q.T
