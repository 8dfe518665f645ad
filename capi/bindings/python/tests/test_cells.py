"""Recurrent cells that are Python."""

import unittest

import dl4.keras as keras
import numpy as np
from dl4.keras import layers, ops

X = np.random.RandomState(0).rand(2, 4, 3).astype("float32")


@keras.saving.register_keras_serializable("test_cells")
class Cell(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), initializer="ones")
        self.recurrent = self.add_weight(shape=(self.units, self.units), initializer="ones")

    def call(self, x, states):
        h = ops.tanh(0.1 * (ops.matmul(x, self.kernel) + ops.matmul(states[0], self.recurrent)))
        return h, [h]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def steps(x, units=5):
    h, found = np.zeros((len(x), units), "float32"), []
    for t in range(x.shape[1]):
        h = np.tanh(0.1 * (x[:, t].sum(-1, keepdims=True) + h.sum(-1, keepdims=True))) * np.ones(units, "float32")
        found.append(h)
    return np.stack(found, 1)


class Cells(unittest.TestCase):
    def same(self, expected, **how):
        i = keras.Input((4, 3))
        model = keras.Model(i, layers.RNN(Cell(5), **how)(i))
        for got in (layers.RNN(Cell(5), **how)(X), model(X)):
            for a, b in zip(got if how.get("return_state") else [got], expected):
                np.testing.assert_allclose(a, b, 1e-5)

    def test_outputs_and_states(self):
        self.same([steps(X)[:, -1]])
        self.same([steps(X)], return_sequences=True)
        self.same([steps(X[:, ::-1])[:, -1]] * 2, go_backwards=True, return_state=True)

    def test_several(self):
        got = layers.RNN([Cell(5), Cell(2)])(X)
        np.testing.assert_allclose(got, steps(steps(X), 2)[:, -1], 1e-5)

    def test_a_mask_keeps_the_state(self):
        x = X.copy()
        x[:, 2:] = 0
        got = keras.Sequential([keras.Input((4, 3)), layers.Masking(), layers.RNN(Cell(5))])(x)
        np.testing.assert_allclose(got, steps(X)[:, 1], 1e-5)

    def test_it_learns_and_its_config_holds(self):
        model = keras.Sequential([keras.Input((4, 3)), layers.RNN(Cell(5)), layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(X, np.ones((2, 1)), verbose=0)
        again = keras.Sequential.from_config(model.get_config())
        again.set_weights(model.get_weights())
        self.assertLess(np.abs(model.get_weights()[0] - 1).min(), 1)
        self.assertGreater(np.abs(model.get_weights()[0] - 1).max(), 0)
        np.testing.assert_array_equal(again(X), model(X))

    def test_a_cell_that_overrides_the_librarys(self):
        class Twice(layers.SimpleRNNCell):
            def call(self, x, states, training=False):
                y, states = super().call(x, states, training=training)
                return 2 * y, states

        how = {"kernel_initializer": "ones", "recurrent_initializer": "ones"}
        got, plain = layers.RNN(Twice(3, **how))(X), layers.RNN(layers.SimpleRNNCell(3, **how))(X)
        np.testing.assert_allclose(got, 2 * np.asarray(plain), 1e-6)

    def test_what_is_refused(self):
        with self.assertRaisesRegex(ValueError, "`cell` should have a `call` method"):
            layers.RNN(object())
        with self.assertRaisesRegex(ValueError, "should have a `state_size`"):
            layers.RNN(layers.Lambda(abs))
        with self.assertRaisesRegex(NotImplementedError, "stateful"):
            layers.RNN(Cell(2), stateful=True)
        with self.assertRaisesRegex(NotImplementedError, "expected a known number of steps"):
            layers.RNN(Cell(2))(keras.Input((None, 3)))


class Losses(unittest.TestCase):
    def test_a_type_and_a_mask(self):
        y, p = np.zeros((2, 2), "float32"), ops.convert_to_tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))
        self.assertEqual(keras.losses.MeanSquaredError(dtype="float16")(y, p).dtype, np.float16)
        p._keras_mask = np.array([True, False])
        self.assertAlmostEqual(float(keras.losses.MeanSquaredError()(y, p)), 2.5, places=5)

    def test_a_metric_of_integers(self):
        metric = keras.metrics.MeanAbsoluteError(dtype="int32")
        metric.update_state(np.array([[1.9]]), np.array([[3.2]]))
        self.assertEqual((float(metric.result()), metric.dtype, metric.get_config()["dtype"]), (2.0, "int32", "int32"))


if __name__ == "__main__":
    unittest.main()
