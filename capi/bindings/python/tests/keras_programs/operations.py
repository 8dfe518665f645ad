"""keras.ops and operators, on symbolic tensors and on arrays; utilities."""

import numpy as np

from . import DATA, numbers, program, raised

A, B = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)


def both(keras, f, *arrays):
    """On symbolic tensors and on arrays."""
    inputs = [keras.Input(a.shape[1:], dtype=str(a.dtype)) for a in arrays]
    m = keras.Model(inputs, f(*inputs))
    return m.predict(list(arrays), verbose=0), np.asarray(f(*arrays))


@program
def elementwise(keras):
    o = keras.ops
    x = np.abs(A) + 0.1
    return [
        both(keras, f, x)
        for f in (o.exp, o.log, o.sqrt, o.square, o.abs, o.tanh, o.negative, o.sign, o.rsqrt, o.log1p, o.reciprocal)
    ]


@program
def binary(keras):
    o = keras.ops
    return [
        both(keras, f, A, np.abs(B) + 0.1) for f in (o.add, o.subtract, o.multiply, o.divide, o.maximum, o.minimum)
    ] + [both(keras, lambda a, b: o.power(o.abs(a) + 1.0, b), A, B)]


@program
def with_numbers(keras):
    return [
        both(keras, f, A)
        for f in (
            lambda x: x + 1,
            lambda x: 2 - x,
            lambda x: x * 0.5,
            lambda x: x / 4.0,
            lambda x: x**2,
            lambda x: keras.ops.maximum(x, 0.0),
            lambda x: keras.ops.minimum(x, 0.3),
            lambda x: -x,
            lambda x: abs(x) if hasattr(x, "call") or isinstance(x, np.ndarray) else keras.ops.abs(x),
        )
    ]


@program
def comparisons(keras):
    o = keras.ops
    return [
        both(keras, f, A, B)
        for f in (
            lambda a, b: o.where(a > b, a, b),
            lambda a, b: o.cast(a < b, "float32"),
            lambda a, b: o.where(a >= 0.0, 1.0, b),
            lambda a, b: o.cast(o.logical_and(a > 0.0, b > 0.0), "int32"),
            lambda a, b: o.cast(o.equal(a, a), "float32"),
        )
    ]


@program
def indexing(keras):
    return [
        both(keras, f, A)
        for f in (
            lambda x: x[:, 0],
            lambda x: x[:, -1],
            lambda x: x[:, 1:],
            lambda x: x[..., 0],
            lambda x: x[:, :, 1:3],
            lambda x: x[:, ::-1],
            lambda x: x[:, None],
            lambda x: x[:, :-1, 2],
            lambda x: x[:, 0:3:2],
            lambda x: x[..., None],
        )
    ]


@program
def activations_as_functions(keras):
    o = keras.ops
    return [
        both(keras, f, A)
        for f in (
            o.relu,
            o.sigmoid,
            o.softmax,
            o.gelu,
            o.silu,
            o.softplus,
            o.elu,
            o.leaky_relu,
            o.hard_sigmoid,
            o.log_softmax,
        )
    ]


@program
def activations_module(keras):
    a = keras.activations
    return [
        np.asarray(f(A))
        for f in (a.relu, a.sigmoid, a.tanh, a.softmax, a.selu, a.mish, a.linear, a.exponential, a.softsign)
    ] + [np.asarray(a.get("swish")(A)), np.asarray(a.relu(A, negative_slope=0.1, max_value=1.0))]


@program
def shape_of_a_tensor(keras):
    x = keras.Input((3, 4))
    return keras.ops.shape(A), str(tuple(x.shape)), len(x.shape), str(x.dtype), str(keras.ops.shape(x)[1:])


@program
def constants_in_models(keras):
    x = keras.Input((4,))
    table = numbers(4, 3, seed=5)
    m = keras.Model(x, [keras.ops.matmul(x, table), x + np.float32(2.0), x * np.arange(4, dtype="float32")])
    return m.predict(DATA[:3], verbose=0)


@program
def gradients_through_operations(keras):
    o = keras.ops
    x = keras.Input((4,))
    h = keras.layers.Dense(6)(x)
    y = o.sum(o.where(h > 0.0, h, 0.2 * o.exp(h)), axis=-1, keepdims=True) / 2.0
    m = keras.Model(x, o.concatenate([y, o.max(h, axis=-1, keepdims=True), h[:, :1]], axis=-1))
    m.set_weights([numbers(4, 6), numbers(6)])
    m.compile("sgd", "mse")
    return m.fit(DATA, numbers(40, 3), epochs=2, verbose=0, shuffle=False).history["loss"], m.get_weights()


@program
def stopped_gradients(keras):
    x = keras.Input((4,))
    h = keras.layers.Dense(3)(x)
    m = keras.Model(x, h * keras.ops.stop_gradient(h))
    m.set_weights([numbers(4, 3), numbers(3)])
    m.compile("sgd", "mse")
    m.fit(DATA, numbers(40, 3), epochs=1, verbose=0, shuffle=False)
    return m.get_weights()


@program
def padded_sequences(keras):
    s = [[1, 2, 3], [4], [5, 6, 7, 8, 9]]
    p = keras.utils.pad_sequences
    return [
        p(s),
        p(s, padding="post"),
        p(s, maxlen=3),
        p(s, maxlen=3, truncating="post"),
        p(s, value=-1.0, dtype="float32"),
        raised(lambda: p(s, padding="no such")),
    ]


@program
def utilities(keras):
    u = keras.utils
    return [
        u.to_categorical([0, 2, 1]),
        u.to_categorical(np.array([[1], [0]]), 3),
        u.normalize(A[0], axis=-1),
        raised(lambda: u.set_random_seed("a")),
    ]


@program
def same_seed_same_weights(keras):
    def weights():
        keras.utils.set_random_seed(5)
        return keras.Sequential([keras.Input((4,)), keras.layers.Dense(3), keras.layers.Dense(3)]).get_weights()

    a, b = weights(), weights()
    return bool((a[0] == b[0]).all()), bool((a[2] == b[2]).all()), bool((a[0][:3] == a[2]).all())


@program
def backend_facts(keras):
    return keras.backend.floatx(), float(keras.backend.epsilon()), keras.backend.image_data_format()


@program
def automatic_names(keras):
    keras.backend.clear_session()
    k = keras.layers
    return [
        k.Dense(1).name,
        k.Dense(1).name,
        k.Conv2D(1, 1).name,
        k.LSTM(1).name,
        k.BatchNormalization().name,
        k.Bidirectional(k.LSTM(1)).name,
        keras.Sequential().name,
        k.MultiHeadAttention(1, 1).name,
        k.ReLU().name,
    ]


@program
def to_categorical(keras):
    return keras.utils.to_categorical([0, 2, 1], 4)


@program
def clear_session(keras):
    keras.backend.clear_session()
    return keras.layers.Dense(2).name, keras.layers.Dense(2).name, keras.layers.MaxPooling2D().name
