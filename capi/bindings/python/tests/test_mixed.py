"""mixed_bfloat16: in training the operands of products are rounded to bfloat16, and nothing else is."""

import os
import tempfile
import unittest
import warnings

import numpy as np

import dl4
import dl4.keras as keras
from dl4.keras import layers, ops

MIXED = "mixed_bfloat16"
EMULATED = {"emulate_bfloat16": True}  # so that a processor without such products trains too


def rounded(x):
    """The bfloat16 next to each number, ties to even."""
    bits = np.ascontiguousarray(x, "float32").view("uint32").astype("uint64")
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype("uint32").view("float32")


def small(dtype, seed=3):
    keras.utils.set_random_seed(seed)
    x = keras.Input((20,))
    y = layers.Dense(16, activation="tanh", dtype=dtype)(x)
    return keras.Model(x, layers.Dense(9, dtype=dtype)(y))


def trained(model, x, y, epochs=1):
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(x, y, batch_size=len(x), epochs=epochs, verbose=0)
    return [np.array(w) for w in model.get_weights()]


class Mixed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.options = os.environ.get("DL4_CONTEXT")
        keras.config.set_context(**EMULATED)

    def setUp(self):
        r = np.random.RandomState(0)
        self.x, self.y = r.randn(32, 20).astype("float32"), r.randn(32, 9).astype("float32")

    def test_a_step_by_hand(self):
        model = small(MIXED)
        w1, b1, w2, b2 = (np.array(w, "float64") for w in model.get_weights())
        got = trained(model, self.x, self.y)
        h = np.tanh(rounded(self.x).astype("float64") @ rounded(w1) + b1)
        out = rounded(h).astype("float64") @ rounded(w2) + b2
        d_out = 2 * (out - self.y) / out.size
        d_h = (rounded(d_out).astype("float64") @ rounded(w2).T) * (1 - h * h)
        want = (
            w1 - 0.1 * rounded(self.x).astype("float64").T @ rounded(d_h), b1 - 0.1 * d_h.sum(0),
            w2 - 0.1 * rounded(h).astype("float64").T @ rounded(d_out), b2 - 0.1 * d_out.sum(0),
        )
        exact = trained(small("float32"), self.x, self.y)
        for a, b, c in zip(got, want, exact):
            np.testing.assert_allclose(a, b, rtol=0, atol=3e-6)  # a number beside a tie may round to the other side
            if a.ndim == 2:
                self.assertFalse(np.array_equal(a, c))

    def test_weights_stay_float32(self):
        model = small(MIXED)
        before = [np.array(w) for w in model.get_weights()]
        model.compile(keras.optimizers.SGD(1e-4), "mse")
        model.fit(self.x, self.y, batch_size=32, verbose=0)
        for a, b in zip(before, model.get_weights()):
            self.assertTrue(np.any(a != b))  # by less than a bfloat16 has places for
            self.assertEqual(np.asarray(b).dtype, np.float32)

    def test_without_training_it_is_float32(self):
        mixed, plain = small(MIXED), small("float32")
        for model in (mixed, plain):
            model.compile("sgd", "mse")
        np.testing.assert_array_equal(mixed.predict(self.x, verbose=0), plain.predict(self.x, verbose=0))
        self.assertEqual(mixed.evaluate(self.x, self.y, verbose=0), plain.evaluate(self.x, self.y, verbose=0))

    def test_what_each_kind_of_layer_does(self):
        r = np.random.RandomState(1)
        image, text = r.randn(8, 12, 12, 8).astype("float32"), r.randn(8, 10, 16).astype("float32")
        cell = lambda d: layers.RNN(layers.LSTMCell(12, dtype=d))
        kinds = {
            "Conv2D": (image, lambda d: layers.Conv2D(16, 3, dtype=d)),
            "groups": (image, lambda d: layers.Conv2D(16, 3, groups=4, dtype=d)),
            "DepthwiseConv2D": (image, lambda d: layers.DepthwiseConv2D(3, dtype=d)),
            "SeparableConv2D": (image, lambda d: layers.SeparableConv2D(8, 3, dtype=d)),
            "Conv2DTranspose": (image, lambda d: layers.Conv2DTranspose(16, 3, 2, dtype=d)),
            "Conv1D": (text, lambda d: layers.Conv1D(16, 3, dtype=d)),
            "EinsumDense": (text, lambda d: layers.EinsumDense("abc,cd->abd", (None, 12), dtype=d)),
            "LSTM": (text, lambda d: layers.LSTM(12, dtype=d)),
            "GRU": (text, lambda d: layers.GRU(12, dtype=d)),
            "SimpleRNN": (text, lambda d: layers.SimpleRNN(12, dtype=d)),
            "a cell": (text, cell),
            "Bidirectional": (text, lambda d: layers.Bidirectional(layers.GRU(6, dtype=d))),
            "TimeDistributed": (text, lambda d: layers.TimeDistributed(layers.Dense(6, dtype=d))),
        }
        for name, (x, make) in kinds.items():
            with self.subTest(name):
                made = []
                for dtype in ("float32", MIXED):
                    keras.utils.set_random_seed(5)
                    given = keras.Input(x.shape[1:])
                    model = keras.Model(given, make(dtype)(given))
                    y = np.random.RandomState(2).randn(*model.predict(x, verbose=0).shape).astype("float32")
                    before = [np.array(w) for w in model.get_weights()]
                    made.append([a - b for a, b in zip(trained(model, x, y), before)])
                for plain, mixed in zip(*made):
                    if plain.ndim < 2:
                        continue
                    off = np.linalg.norm(plain - mixed) / np.linalg.norm(plain)
                    self.assertTrue(1e-5 < off < 2e-2, off)

    def test_attention_and_layers_of_ones_own(self):
        r = np.random.RandomState(1)
        x, y = r.randn(4, 16, 24).astype("float32"), r.randn(4, 16, 24).astype("float32")

        class Mine(layers.Layer):
            def build(self, shape):
                self.w = self.add_weight(shape=(24, 24), initializer="glorot_uniform")

            def call(self, x):
                return ops.matmul(x, self.w)

        for make in (lambda d: layers.MultiHeadAttention(3, 8, dtype=d), lambda d: Mine(dtype=d)):
            made = []
            for dtype in ("float32", MIXED):
                keras.utils.set_random_seed(5)
                given, layer = keras.Input(x.shape[1:]), make(dtype)
                out = layer(given, given) if isinstance(layer, layers.MultiHeadAttention) else layer(given)
                model = keras.Model(given, out)
                before = [np.array(w) for w in model.get_weights()]
                made.append([a - b for a, b in zip(trained(model, x, y), before)])
            off = [np.linalg.norm(a - b) / np.linalg.norm(a) for a, b in zip(*made) if np.linalg.norm(a) > 1e-6]
            self.assertTrue(all(1e-5 < o < 5e-2 for o in off if o), off)
            self.assertTrue(any(off), off)

    def test_policies(self):
        layer = layers.Dense(3, dtype=keras.DTypePolicy(MIXED))
        self.assertEqual((layer.dtype, layer.variable_dtype, layer.dtype_policy.name), ("float32", "float32", MIXED))
        self.assertEqual(layer.get_config()["dtype"]["config"], {"name": MIXED})
        self.assertEqual(layers.Dense.from_config(layer.get_config()).dtype_policy.name, MIXED)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            keras.mixed_precision.set_global_policy(MIXED)
        try:
            self.assertEqual(layers.Dense(3).dtype_policy.name, MIXED)
            self.assertEqual(layers.Dense(3, dtype="float32").dtype_policy.name, "float32")
            again = trained(small(None), self.x, self.y)
        finally:
            keras.mixed_precision.set_global_policy("float32")
        for a, b in zip(again, trained(small(MIXED), self.x, self.y)):
            np.testing.assert_array_equal(a, b)

    def test_policy_that_is_set_later(self):
        layer = layers.Dense(3)
        layer.dtype_policy = MIXED
        self.assertEqual(layer.get_config()["dtype"]["config"], {"name": MIXED})
        layer(keras.Input((4,)))
        with self.assertRaisesRegex(NotImplementedError, "before the layer's first call"):
            layer.dtype_policy = "float32"
        self.assertEqual(layer.dtype_policy.name, MIXED)

    def test_files_keep_it(self):
        model = small(MIXED)
        want = trained(model, self.x, self.y, 2)
        with tempfile.TemporaryDirectory() as folder:
            for suffix in ("keras", "dl4"):
                path = os.path.join(folder, f"model.{suffix}")
                small(MIXED).save(path)
                found = keras.models.load_model(path)
                self.assertEqual([layer.dtype_policy.name for layer in found.layers], ["float32", MIXED, MIXED])
                for a, b in zip(want, trained(found, self.x, self.y, 2)):
                    np.testing.assert_array_equal(a, b)

    def test_refused(self):
        with self.assertRaisesRegex(dl4.Error, '"dtype": expected one of|expected float32'):
            dl4.Graph().layer("Dense", config={"units": 3, "dtype": "mixed_float16"})


if __name__ == "__main__":
    unittest.main()
