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


if __name__ == "__main__":
    unittest.main()
