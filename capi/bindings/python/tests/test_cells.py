"""Recurrent cells that are Python."""

import pickle
import tempfile
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

    def test_any_number_of_steps(self):
        i = keras.Input((None, 3))
        for how in ({}, {"return_sequences": True}, {"return_sequences": True, "go_backwards": True}):
            model = keras.Model(i, layers.RNN(Cell(5), **how)(i))
            for n in (4, 2):
                x = X[:, n - 1 :: -1] if "go_backwards" in how else X[:, :n]
                expected = steps(x) if how else steps(x)[:, -1]
                np.testing.assert_allclose(model.predict(X[:, :n], verbose=0), expected, 1e-5)

    def test_they_learn_as_those_of_known_number(self):
        x, models = X.copy(), []
        x[0, 2:] = 0
        for n in (None, 4):
            i = keras.Input((n, 3))
            model = keras.Model(i, layers.RNN(Cell(5))(layers.Masking()(i)))
            np.testing.assert_allclose(model.predict(x, verbose=0)[0], steps(X)[0, 1], 1e-5)
            model.compile(keras.optimizers.SGD(0.5), "mse")
            model.fit(x, np.ones((2, 5)), epochs=3, shuffle=False, verbose=0)
            models.append(model)
        self.assertGreater(models[0].get_weights()[0].min(), 1.01)
        for a, b in zip(*(model.get_weights() for model in models)):
            np.testing.assert_allclose(a, b, 1e-5)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("m.keras", "m.safetensors"):
                models[0].save(f"{folder}/{name}")
                again = keras.saving.load_model(f"{folder}/{name}")
                np.testing.assert_allclose(again.predict(x, verbose=0), models[0].predict(x, verbose=0), 1e-6)

    def test_loops_over_the_rows_of_a_batch(self):
        rows, i = X[:, 0], keras.Input((3,))
        pairs = rows + [rows[1], 0 * rows[1]]
        for loop, expected in (
            (lambda x: ops.map(lambda r: r * 2 + ops.sum(r), x), rows * 2 + rows.sum(-1, keepdims=True)),
            (lambda x: ops.vectorized_map(ops.sum, x), rows.sum(-1)),
            (lambda x: ops.scan(lambda c, r: (c + r, c * 2), ops.zeros(3), x)[1], 2 * (np.cumsum(rows, 0) - rows)),
            (lambda x: ops.scan(lambda c, r: (r, c + r), ops.zeros(3), x, reverse=True)[1], pairs),
            (lambda x: x * ops.scan(lambda c, r: (c + r, None), ops.zeros(3), x)[0], rows * rows.sum(0)),
        ):
            np.testing.assert_allclose(loop(rows), expected, 1e-5)
            model = keras.Model(i, loop(i))
            np.testing.assert_allclose(model.predict(rows, verbose=0), expected, 1e-5)
            again = keras.Model.from_config(model.get_config())
            np.testing.assert_allclose(again.predict(rows, verbose=0), expected, 1e-5)

    def test_states_from_batch_to_batch(self):
        i = keras.Input((4, 3), batch_size=2)
        alone, inside = layers.RNN(Cell(5), stateful=True), layers.RNN(Cell(5), stateful=True)
        model = keras.Model(i, inside(i))
        twice = steps(np.concatenate([X, X], 1))
        for call, layer in ((alone, alone), (model, inside), (lambda x: model.predict(x, 2, 0), inside)):
            for _ in range(2):
                np.testing.assert_allclose(call(X), twice[:, 3], 1e-5)
                np.testing.assert_allclose(call(X), twice[:, -1], 1e-5)
                np.testing.assert_allclose(layer.states[0], twice[:, -1], 1e-5)
                layer.reset_state()
        self.assertEqual(len(alone.weights), 2)
        model.compile("sgd", "mse")
        model.fit(X, np.ones((2, 5)), batch_size=2, shuffle=False, verbose=0)
        np.testing.assert_allclose(inside.states[0], twice[:, 3], 1e-5)

    def test_states_of_several(self):
        class Two(Cell):
            def __init__(self, units, **kwargs):
                super().__init__(units, **kwargs)
                self.state_size, self.output_size = [units, units], units

            def call(self, x, states):
                h, _ = super().call(x, states)
                return h, [h, states[0]]

        y, a, (b, before) = layers.RNN([Cell(5), Two(2)], return_state=True)(X)
        np.testing.assert_allclose(a, steps(X)[:, -1], 1e-5)
        np.testing.assert_allclose(b, y)
        np.testing.assert_allclose(before, steps(steps(X), 2)[:, -2], 1e-5)

    def test_a_class_of_ones_own(self):
        class Own(layers.RNN):
            def __init__(self, units, **kwargs):
                super().__init__(Cell(units), **kwargs)

        got = Own(5, return_sequences=True)
        self.assertIsInstance(got, layers.RNN)
        np.testing.assert_allclose(got(X), steps(X), 1e-5)

    def test_both_ways(self):
        for seq in (False, True):
            there, back = steps(X), steps(X[:, ::-1])
            there, back = (there, back[:, ::-1]) if seq else (there[:, -1], back[:, -1])
            for merge, expected in (
                ("concat", np.concatenate([there, back], -1)),
                ("sum", there + back),
                ("ave", (there + back) / 2),
                ("mul", there * back),
                (None, (there, back)),
            ):
                layer = layers.Bidirectional(layers.RNN(Cell(5), return_sequences=seq), merge_mode=merge)
                np.testing.assert_allclose(layer(X), expected, 1e-5)
        self.assertIsInstance(layer, layers.Bidirectional)
        i = keras.Input((4, 3))
        model = keras.Model(i, layers.Bidirectional(layers.RNN(Cell(5)))(i))
        again = keras.Model.from_config(model.get_config())
        self.assertEqual(len(again.weights), 4)
        again.set_weights([w + 0.1 * n for n, w in enumerate(model.get_weights())])
        self.assertGreater(np.abs(np.diff(np.asarray(again(X)).reshape(2, 2, 5), axis=1)).max(), 0.01)

    def test_each_step(self):
        @keras.saving.register_keras_serializable("test_cells")
        class Own(layers.Layer):
            def build(self, shape):
                self.dense, self.w = layers.Dense(2), self.add_weight((shape[-1], 2), "ones")

            def call(self, x, mask=None):
                y = self.dense(x) + ops.matmul(x, self.w)
                return y if mask is None else y * ops.expand_dims(ops.cast(mask, "float32"), -1)

        own = Own()
        layer, seen = layers.TimeDistributed(own), np.array([[1, 1, 0, 1], [1, 0, 0, 1]], bool)
        self.assertIsInstance(layer, layers.TimeDistributed)
        each = np.stack([own(X[:, t]) for t in range(4)], 1)
        np.testing.assert_allclose(layer(X), each, 1e-6)
        np.testing.assert_allclose(layer(X, mask=seen), each * seen[..., None], 1e-6)
        for n in (4, None):
            i = keras.Input((n, 3))
            model = keras.Model(i, layer(i))
            np.testing.assert_allclose(model.predict(X, verbose=0), each, 1e-6)
            self.assertEqual(len(model.weights), 3)
            again = keras.Model.from_config(model.get_config())
            again.set_weights(model.get_weights())
            np.testing.assert_allclose(again(X), each, 1e-6)
        with self.assertRaisesRegex(ValueError, "The `mask` passed to the `TimeDistributed` layer has a shape"):
            layer(X, mask=seen[:, :3])
        own.dense = keras.Sequential([layers.Dense(2), layers.BatchNormalization()])
        with self.assertRaisesRegex(NotImplementedError, "batch_normalization.* sees the whole batch"):
            layer(keras.Input((None, 3)))

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
        with self.assertRaisesRegex(ValueError, "batch size must be static"):
            layers.RNN(Cell(2), stateful=True)(keras.Input((4, 3)))
        kept = layers.RNN(Cell(2), stateful=True)
        kept(X)
        with self.assertRaisesRegex(ValueError, "Expected batch size: 2\n- Received batch size: 1"):
            kept(X[:1])
        class Inside(Cell):
            def build(self, shape):
                self.dense = layers.Dense(self.units)

            def call(self, x, states):
                h = self.dense(x) + states[0]
                return h, [h]

        self.assertEqual(layers.RNN(Inside(2))(X).shape, (2, 2))
        with self.assertRaisesRegex(NotImplementedError, "number of steps is free: expected operators and variables"):
            layers.RNN(Inside(2))(keras.Input((None, 3)))


class Losses(unittest.TestCase):
    def test_a_type_and_a_mask(self):
        y, p = np.zeros((2, 2), "float32"), ops.convert_to_tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))
        self.assertEqual(keras.losses.MeanSquaredError(dtype="float16")(y, p).dtype, np.float16)
        p._keras_mask = np.array([True, False])
        self.assertAlmostEqual(float(keras.losses.MeanSquaredError()(y, p)), 2.5, places=5)

    def test_weights_of_more_axes(self):
        class Own(keras.losses.Loss):
            def call(self, y, p):
                return ops.mean((y - p) ** 2, -1)

        y, p, w = (np.array(v, "float32")[:, None] for v in ([1, 0, 1, 0], [0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]))
        expected = float((w * (y - p) ** 2).sum() / 4)
        self.assertAlmostEqual(float(Own()(y, p, sample_weight=w)), expected, places=6)
        i = keras.Input((1,))
        model = keras.Model(i, layers.Dense(1, kernel_initializer="ones")(i))
        model.compile("sgd", Own())
        self.assertAlmostEqual(model.evaluate(p, y, sample_weight=w, verbose=0), expected, places=6)

    def test_a_function_is_pickled_by_its_name(self):
        function = keras.losses.get("mse")
        self.assertIs(pickle.loads(pickle.dumps(function)), function)

    def test_a_metric_of_integers(self):
        metric = keras.metrics.MeanAbsoluteError(dtype="int32")
        metric.update_state(np.array([[1.9]]), np.array([[3.2]]))
        self.assertEqual((float(metric.result()), metric.dtype, metric.get_config()["dtype"]), (2.0, "int32", "int32"))


if __name__ == "__main__":
    unittest.main()
