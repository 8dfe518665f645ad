"""Optimizers: rates, decay of some weights, gradients of a scaled loss."""

import unittest

import dl4.keras as keras
import numpy as np

ZERO, ONE = np.zeros((), "float32"), np.ones((), "float32")


class Optimizers(unittest.TestCase):
    def test_weights_without_decay(self):
        for how in ("var_names", "var_list"):
            v, w = keras.Variable(2.0), keras.Variable(2.0, name="exclude")
            optimizer = keras.optimizers.SGD(1.0, weight_decay=0.25)
            optimizer.exclude_from_weight_decay(**{how: ["exclude"] if how == "var_names" else [w]})
            optimizer.apply([ZERO, ZERO], [v, w])
            self.assertEqual((float(v.numpy()), float(w.numpy())), (1.5, 2.0))

    def test_weights_of_a_model_without_decay(self):
        model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
        for excluded, expected in (((), 0.95), (("kernel",), 1.0)):
            model.set_weights([np.ones((2, 1)), np.zeros(1)])
            optimizer = keras.optimizers.SGD(0.1, weight_decay=0.5)
            optimizer.exclude_from_weight_decay(var_names=list(excluded))
            model.compile(optimizer, "mse")
            model.fit(np.zeros((4, 2)), np.zeros((4, 1)), verbose=0)
            np.testing.assert_allclose(model.get_weights()[0], expected, 1e-6)

    def test_a_rate_that_is_asked_for(self):
        v, optimizer = keras.Variable(2.0), keras.optimizers.SGD(lambda: 0.5)
        optimizer.apply([ONE], [v])
        self.assertEqual((float(v.numpy()), float(optimizer.learning_rate)), (1.5, 0.5))

    def test_gradients_of_a_scaled_loss(self):
        v, optimizer = keras.Variable(2.0), keras.optimizers.SGD(1.0, loss_scale_factor=4.0)
        optimizer.apply([ONE], [v])
        self.assertEqual(float(v.numpy()), 1.75)

    def test_counts_compare_with_numbers(self):
        optimizer = keras.optimizers.SGD(1.0)
        optimizer.apply([ONE], [keras.Variable(1.0)])
        self.assertEqual(optimizer.variables[0], 1)
        self.assertEqual(int(optimizer.variables[0]), 1)

    def test_update_step_by_hand_counts_no_updates(self):
        """Numbers of Keras 3.15.1 on TensorFlow."""
        optimizer, v = keras.optimizers.Adam(0.1), keras.Variable(np.ones(2, "float32"))
        optimizer.build([v])
        gradient = np.array([1.0, 2.0])
        for expected in (0.900001, 0.7656183, 0.6090795):
            optimizer.update_step(gradient, v, 0.1)
            self.assertAlmostEqual(float(v.numpy()[0]), expected, places=5)
        optimizer.apply([gradient], [v])
        self.assertEqual(int(optimizer.iterations), 1)
        self.assertAlmostEqual(float(v.numpy()[0]), 0.43700188, places=5)
        optimizer.update_step(gradient, v, 0.1)
        self.assertAlmostEqual(float(v.numpy()[0]), 0.30058703, places=5)

    def test_functions_of_numpy_take_variables(self):
        v, x = keras.Variable(np.array([1.0, -2.0], "float32")), np.array([3.0, 5.0], "float32")
        self.assertEqual((np.min(v), np.sum(v), np.abs(v).tolist()), (-2.0, -1.0, [1.0, 2.0]))
        np.testing.assert_array_equal(x - v, [2.0, 7.0])
        np.testing.assert_array_equal(x > v, [True, True])

        class Own(keras.layers.Layer):
            def build(self, _):
                self.w = self.add_weight((2,), "ones")

            def call(self, y):
                return y * (x - self.w)

        i = keras.Input((2,))
        np.testing.assert_array_equal(keras.Model(i, Own()(i)).predict(np.ones((1, 2)), verbose=0), [[2.0, 4.0]])

    def test_parts_of_muon(self):
        """Numbers of Keras's own test."""
        muon = keras.optimizers.Muon(exclude_layers=["var"], rms_rate=0.2)
        got = muon.zeropower_via_newtonschulz5(np.array([[0.2499, 0.9105], [0.2655, 0.8824]], "float32"), 5)
        np.testing.assert_allclose(got, [[-0.4422, 0.6457], [0.7285, 0.2968]], 1e-3, 1e-3)
        np.testing.assert_allclose(muon.lr_adjust(np.ones((4, 9), "float32")), np.full((4, 9), 0.6), 1e-6)
        v = keras.Variable(np.ones((2, 2), "float32"), name="var")
        self.assertTrue(muon._should_use_adamw(v))
        self.assertFalse(keras.optimizers.Muon()._should_use_adamw(v))
        optimizer = keras.optimizers.Muon(learning_rate=1.0, weight_decay=0.1)
        optimizer._apply_weight_decay([v])
        np.testing.assert_allclose(v.numpy(), np.full((2, 2), 0.9), 1e-6)
        with self.assertRaisesRegex(ValueError, "at least 2 dimensions"):
            muon.zeropower_via_newtonschulz5(np.ones(2, "float32"), 5)

    def test_weights_before_it_is_built(self):
        optimizer, v = keras.optimizers.Adam(), keras.Variable(np.ones(2, "float32"))
        optimizer.apply([np.ones(2, "float32")], [v])
        with self.assertRaisesRegex(ValueError, "an optimizer that has not yet been built"):
            keras.optimizers.Adam().set_weights(optimizer.variables)


if __name__ == "__main__":
    unittest.main()
