"""keras.ops that are made of others; random arrays; what is loaded goes on."""

import os
import tempfile

import numpy as np

from . import numbers, program
from .operations import both

A, B = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
POINTS = np.array([[-2.5, -1.5, -0.5, 0.2], [0.5, 1.5, 2.5, 7.3]], "float32")
ENDS = np.array([[np.inf, -np.inf, np.nan, 0.0, 3.0]], "float32")


@program
def more_elementwise(keras):
    o = keras.ops
    return [
        both(keras, f, POINTS)
        for f in (o.sin, o.cos, o.tan, o.erf, o.expm1, o.floor, o.ceil, o.round, o.trunc, o.sinh, o.cosh, o.exp2)
    ] + [
        both(keras, f, POINTS)
        for f in (
            o.deg2rad,
            o.rad2deg,
            lambda x: o.round(x, 1),
            lambda x: o.logaddexp(x, 0.5 * x),
            lambda x: o.hypot(x, x + 1.0),
            lambda x: o.heaviside(x, np.float32(0.5)),
            lambda x: o.floor_divide(x, 0.7),
            lambda x: o.mod(x, 0.7),
        )
    ]


@program
def ends_of_numbers(keras):
    o = keras.ops
    return [both(keras, f, ENDS) for f in (o.isinf, o.isfinite, o.isnan, o.nan_to_num)]


@program
def more_over_axes(keras):
    o = keras.ops
    w = np.array([0.2, 0.3, 0.5], "float32")
    return [
        both(keras, f, A)
        for f in (
            lambda x: o.cumsum(x, axis=1),
            lambda x: o.cumsum(x, axis=-1),
            lambda x: o.diff(x, axis=1),
            lambda x: o.diff(x, n=2, axis=-1),
            lambda x: o.roll(x, 1, axis=1),
            lambda x: o.roll(x, -3, axis=2),
            lambda x: o.average(x, axis=1),
            lambda x: o.average(x, axis=1, weights=w),
            lambda x: o.moments(x, axes=[1, 2]),
            lambda x: o.count_nonzero(o.relu(x), axis=-1),
            o.fliplr,
            lambda x: o.unstack(x, axis=1),
            lambda x: o.diagonal(x, axis1=1, axis2=2),
            lambda x: o.trace(x, axis1=1, axis2=2),
            lambda x: o.isclose(x, o.round(x, 1), atol=0.02),
        )
    ]


@program
def padded(keras):
    o = keras.ops
    width = [[0, 0], [1, 2], [2, 1]]
    return [
        both(keras, f, A)
        for f in (
            lambda x: o.pad(x, width),
            lambda x: o.pad(x, width, "constant", 1.5),
            lambda x: o.pad(x, width, "reflect"),
            lambda x: o.pad(x, width, "symmetric"),
        )
    ]


@program
def more_products(keras):
    o = keras.ops
    k = numbers(4, 5, seed=2)
    heads = numbers(4, 2, 3, seed=3)
    return [
        both(keras, f, A, B)
        for f in (
            lambda a, b: o.einsum("bij,bkj->bik", a, b),
            lambda a, b: o.einsum("bij,bij->bi", a, b),
            lambda a, b: o.einsum("bij,bkj->bk", a, b),
            lambda a, b: o.einsum("bij,jk->bik", a, k),
            lambda a, b: o.einsum("...j,jk->...k", a, k),
            lambda a, b: o.einsum("btd,dnh->btnh", a, heads),
            lambda a, b: o.einsum("bij->bji", a),
            lambda a, b: o.einsum("bij->b", a),
            lambda a, b: o.einsum("bij,bik,bi->bjk", a, b, o.sum(a, -1)),
            lambda a, b: o.tensordot(a, k, axes=1),
            lambda a, b: o.tensordot(a, k, axes=[[2], [0]]),
            lambda a, b: o.dot(a, k),
        )
    ]


@program
def attention_by_ops(keras):
    o = keras.ops
    q, k = numbers(2, 3, 2, 4, seed=4), numbers(2, 5, 2, 4, seed=5)
    return [
        both(keras, lambda q, k: o.nn.dot_product_attention(q, k, k), q, k),
        both(keras, lambda q: o.nn.dot_product_attention(q, q, q, is_causal=True), q),
    ]


@program
def normalized_by_ops(keras):
    o = keras.ops
    mean, variance = np.array([0.1, 0.2, 0.3, 0.4], "float32"), np.array([1, 2, 3, 4], "float32")
    return [
        both(keras, lambda x: o.batch_normalization(x, mean, variance, -1, epsilon=1e-3), A),
        both(keras, lambda x: o.rms_normalization(x), A),
    ]


@program
def sizes_that_are_free(keras):
    """A layer that makes tensors as large as what it is given."""

    class Places(keras.layers.Layer):
        def call(self, x):
            batch, time = keras.ops.shape(x)[0], keras.ops.shape(x)[1]
            places = keras.ops.cast(keras.ops.arange(time), "float32")
            return x + places[None, :, None] + keras.ops.ones((batch, 1, 4))

        def compute_output_shape(self, shape):
            return shape

    x = keras.Input((None, 4))
    m = keras.Model(x, Places()(x))
    return [m.predict(A, verbose=0), m.predict(numbers(1, 6, 4), verbose=0)]


@program
def names_in_snake_case(keras):
    w = keras.initializers.zeros()((2, 2)), keras.initializers.constant(0.5)((2,))
    return [np.asarray(v) for v in w] + [
        np.asarray(keras.activations.get("swish")(POINTS)),
        keras.constraints.max_norm(2.0).get_config()["max_value"],
    ]


@program
def windows_of_a_series(keras):
    x = np.arange(20.0)
    batches = keras.utils.timeseries_dataset_from_array(x, x[5:] * 2, 4, 2, 3, batch_size=3)
    return [[np.asarray(a), np.asarray(b)] for a, b in batches]


@program
def loaded_models_go_on(keras):
    keras.utils.set_random_seed(0)
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(2)])
    m.set_weights([numbers(*w.shape, seed=i) for i, w in enumerate(m.get_weights())])
    m.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "mse", metrics=["mae"])
    x, y = numbers(16, 4, seed=7), numbers(16, 2, seed=8)
    m.fit(x, y, epochs=2, batch_size=16, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        m.save(os.path.join(folder, "m.keras"))
        again = keras.models.load_model(os.path.join(folder, "m.keras"))
        plain = keras.models.load_model(os.path.join(folder, "m.keras"), compile=False)
    h = again.fit(x, y, epochs=2, batch_size=16, verbose=0).history
    return [h["loss"], h["mae"], again.evaluate(x, y, verbose=0), int(again.optimizer.iterations), str(plain.compiled)]


@program
def cells_give_output_and_states(keras):
    def shape(r):
        return [shape(q) if isinstance(q, (list, tuple)) else tuple(q.shape) for q in r]

    layers, results = keras.layers, []
    for cell in (
        layers.SimpleRNNCell(4),
        layers.GRUCell(4),
        layers.LSTMCell(4),
        layers.StackedRNNCells([layers.LSTMCell(4), layers.GRUCell(5)]),
    ):
        states = cell.get_initial_state(batch_size=2)
        results.append(str([shape(cell(A[:, 0], states)), shape(states), cell.state_size, cell.output_size]))
        results.append(str(shape(layers.RNN(cell, return_state=True)(keras.Input((7, 4))))))
    return results
