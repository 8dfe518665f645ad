"""Initializers: seeds that go on, windows of transforms; the projections of attention."""

import importlib.util
import unittest

import dl4.keras as keras
import numpy as np
from dl4.keras import initializers, layers


class Seeds(unittest.TestCase):
    def test_a_generator_gives_the_next_seed_each_time(self):
        for kind in (initializers.RandomNormal, initializers.GlorotUniform, initializers.Orthogonal):
            one, other = (kind(seed=keras.random.SeedGenerator(7)) for _ in range(2))
            a, b = one((20, 5)), one((20, 5))
            self.assertFalse(np.array_equal(a, b))
            np.testing.assert_array_equal(a, other((20, 5)))
            np.testing.assert_array_equal(b, other((20, 5)))
            fixed = kind(seed=7)
            np.testing.assert_array_equal(fixed((20, 5)), fixed((20, 5)))

    def test_in_layers_and_configs(self):
        seed = keras.random.SeedGenerator(3)
        initializer = initializers.RandomNormal(seed=seed)
        self.assertIs(initializer.seed, seed)
        first, second = (layers.Dense(4, kernel_initializer=initializer) for _ in range(2))
        first.build((None, 3)), second.build((None, 3))
        self.assertFalse(np.array_equal(first.get_weights()[0], second.get_weights()[0]))
        config = initializer.get_config()["seed"]
        self.assertEqual((config["class_name"], config["config"]["seed"]), ("SeedGenerator", 3))
        for copy in (
            initializers.RandomNormal.from_config(initializer.get_config()),
            keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(initializer)),
        ):
            np.testing.assert_array_equal(
                copy((3, 4)), initializers.RandomNormal(seed=keras.random.SeedGenerator(3))((3, 4))
            )


class Spectra(unittest.TestCase):
    SHAPE = 8, 1, 5

    def waves(self, side):
        turns = np.outer(np.arange(8), np.arange(5) / 8)
        return (np.cos if side == "real" else np.sin)(-2 * np.pi * turns)[:, None]

    def test_windows_that_are_numbers(self):
        window = np.arange(1.0, 9)
        for side in ("real", "imag"):
            for scaling, divisor in ((None, 1), ("spectrum", 36.0), ("density", np.sqrt(204.0))):
                made = initializers.STFT(side, window.tolist(), scaling)(self.SHAPE)
                wanted = self.waves(side) * window[:, None, None] / divisor
                np.testing.assert_allclose(made, wanted, 1e-4, 1e-5)
        with self.assertRaisesRegex(ValueError, "shape of `window`"):
            initializers.STFT("real", [1.0, 2.0])(self.SHAPE)
        with self.assertRaisesRegex(NotImplementedError, "window"):
            layers.Conv1D(5, 8, kernel_initializer=initializers.STFT("real", [1.0] * 8)).build((None, 9, 1))

    @unittest.skipUnless(importlib.util.find_spec("scipy"), "SciPy has the windows")
    def test_windows_of_scipy(self):
        import scipy.signal

        for periodic in (False, True):
            window = scipy.signal.windows.get_window("tukey", 8, periodic)[:, None, None]
            made = initializers.STFT("imag", "tukey", None, periodic)(self.SHAPE)
            np.testing.assert_allclose(made, self.waves("imag") * window, 1e-5, 1e-5)
        with self.assertRaises(ValueError):
            initializers.STFT("real", "unknown")

    @unittest.skipIf(importlib.util.find_spec("scipy"), "SciPy is there")
    def test_windows_without_scipy(self):
        with self.assertRaisesRegex(ImportError, "SciPy"):
            initializers.STFT("real", "tukey")


class Projections(unittest.TestCase):
    def test_weights_of_attention_by_the_names_of_its_layers(self):
        layer = layers.MultiHeadAttention(2, 4)
        self.assertFalse(hasattr(layer, "_query_dense"))
        layer.build((None, 3, 6), (None, 3, 6))
        self.assertEqual(layer.query_dense.kernel.shape, (6, 2, 4))
        self.assertEqual(layer._output_dense.bias.shape, (6,))
        self.assertIs(layer._key_dense.kernel, layer.weights[2])
        values = [np.ones((6, 2, 4)), np.zeros((2, 4))]
        layer._value_dense.set_weights(values)
        for a, b in zip(layer.get_weights()[4:6], values):
            np.testing.assert_array_equal(a, b)
        with self.assertRaisesRegex(ValueError, "has 2 weights, got 1"):
            layer._value_dense.set_weights(values[:1])
        layer = layers.GroupQueryAttention(4, 4, 2, use_bias=False)
        layer.build((None, 3, 6), (None, 3, 6))
        self.assertEqual([layer._query_dense.kernel.shape, layer._query_dense.bias], [(6, 4, 4), None])
        self.assertFalse(hasattr(layers.Dense(2), "query_dense"))


if __name__ == "__main__":
    unittest.main()
