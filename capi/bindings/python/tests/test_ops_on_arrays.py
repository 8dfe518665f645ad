"""keras.ops on arrays, and in graphs where NumPy computes them."""

import unittest

import dl4.keras as keras
import numpy as np
from dl4.keras import ops

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(3, 4, 4).astype("float32") + 2 * np.eye(4, dtype="float32")
SYMMETRIC = (X + np.swapaxes(X, -1, -2)) / 2 + 3 * np.eye(4, dtype="float32")


def several(value):
    return value if isinstance(value, (list, tuple)) else [value]


class Types(unittest.TestCase):
    def test_what_types_become(self):
        def kind(f, *dtypes):
            return str(f(*(np.ones(2, d) for d in dtypes)).dtype)

        for expected, f, *dtypes in (
            ("int16", ops.add, "uint8", "int8"),
            ("float16", ops.add, "float16", "int32"),
            ("float32", ops.divide, "int32", "int32"),
            ("float16", ops.exp, "float16"),
            ("float32", ops.mean, "int8"),
            ("int32", ops.sum, "bool"),
            ("uint32", ops.sum, "uint8"),
            ("int32", ops.argmax, "float16"),
            ("bool", ops.less, "int8", "float32"),
            ("float32", ops.add, "float64", "float32"),
        ):
            self.assertEqual(kind(f, *dtypes), expected, f.__name__)
        x = np.ones(2, "int8")
        self.assertEqual((ops.add(x, 1).dtype, ops.add(x, 1.0).dtype), (np.int8, np.float32))

    def test_graphs_have_the_same_types(self):
        for name, dtype in (("sum", "int32"), ("max", "int32"), ("mean", "int32"), ("abs", "uint8"), ("sum", "bool")):
            f, x = getattr(ops, name), np.array([[1, 0, 1]], dtype)
            i = keras.Input((3,), dtype=dtype)
            got = keras.Model(i, f(i, axis=-1) if name != "abs" else f(i))(x)
            expected = f(x, axis=-1) if name != "abs" else f(x)
            self.assertEqual(got.dtype, expected.dtype, name)
            np.testing.assert_array_equal(got, expected)

    def test_a_type_that_graphs_lack_has_shapes_and_no_model(self):
        x = keras.KerasTensor((2, 3), dtype="float16")
        y = ops.sum(ops.add(x, x), axis=1)
        self.assertEqual((y.shape, y.dtype), ((2,), "float16"))
        with self.assertRaisesRegex(Exception, "float16"):
            keras.Model(x, y)

    def test_complex_numbers_are_refused(self):
        for f in (
            lambda: ops.add(np.ones(2, "complex64"), 1),
            lambda: ops.cast([1.0], "complex64"),
            lambda: ops.eig(X),
        ):
            with self.assertRaisesRegex(NotImplementedError, "complex numbers"):
                f()


class Memory(unittest.TestCase):
    def test_results_are_not_what_was_given(self):
        x = np.zeros((2, 2), "float32")
        for f in (
            lambda: ops.reshape(x, (4,)),
            lambda: ops.transpose(x),
            lambda: ops.conj(x),
            lambda: ops.split(x, 2)[0],
            lambda: ops.broadcast_to(x, (3, 2, 2)),
            lambda: ops.real(x),
        ):
            y = f()
            x[...] = 1
            np.testing.assert_array_equal(y, 0)
            x[...] = 0


class Rearranged(unittest.TestCase):
    def test_names_of_axes(self):
        x = np.arange(24, dtype="float32").reshape(2, 12)
        expected = x.reshape(2, 3, 4).transpose(2, 0, 1).reshape(4, 6)
        np.testing.assert_array_equal(ops.rearrange(x, "b (h w) -> w (b h)", h=3), expected)
        i = keras.Input((12,))
        y = keras.Model(i, ops.rearrange(i, "b (h w) -> b w h", w=4))(x)
        np.testing.assert_array_equal(y, x.reshape(2, 3, 4).swapaxes(1, 2))
        for pattern in ("b h -> b", "b -> b", "a (b c) -> a b c", "a (b c) -> a b b"):
            with self.assertRaisesRegex(ValueError, "rearrange"):
                ops.rearrange(x, pattern)


class Again(unittest.TestCase):
    """A layer that is called on arrays like those before computes with the weights of now."""

    def test_weights_that_change(self):
        layer, x = keras.layers.Dense(2, kernel_initializer="ones"), np.ones((3, 4), "float32")
        for factor in (1, 1, 3, 3):
            layer.set_weights([np.full((4, 2), factor, "float32"), np.zeros(2, "float32")]) if layer.built else None
            got = layer(x)
            np.testing.assert_array_equal(got, 4.0 * factor)
        layer.kernel.assign(np.zeros((4, 2)))
        np.testing.assert_array_equal(layer(x), 0)
        np.testing.assert_array_equal(got, 12)  # what it gave before stays

    def test_other_types_shapes_and_modes(self):
        layer, x = keras.layers.Dropout(0.5), np.ones((2, 50), "float32")
        for _ in range(3):
            np.testing.assert_array_equal(layer(x), x)
            self.assertGreater((np.asarray(layer(x, training=True)) == 0).sum(), 0)
            self.assertEqual(layer(x[:1]).shape, (1, 50))
            self.assertEqual(layer(x.astype("float64")).dtype, np.float32)
        masked = ops.convert_to_tensor(x[..., None])
        masked._keras_mask = np.ones((2, 50), bool)
        relu = keras.layers.ReLU()
        self.assertIsNone(getattr(relu(relu(x[..., None])), "_keras_mask", None))
        self.assertIsNotNone(relu(masked)._keras_mask)


class Losses(unittest.TestCase):
    """By their formulas."""

    def test_crossentropies_and_softmax(self):
        t, p = np.array([[0.0, 1], [1, 0]], "float32"), np.array([[0.2, 0.6], [0.7, 0.9]], "float32")
        i, j = keras.Input((2,)), keras.Input((2,))

        def same(f, expected):
            for got in (f(t, p), keras.Model([i, j], f(i, j))([t, p])):
                np.testing.assert_allclose(got, expected, 1e-5)

        same(ops.binary_crossentropy, -np.log([[0.8, 0.6], [0.7, 0.1]]))
        logits = -np.log(1 / (1 + np.exp([[0.2, -0.6], [-0.7, 0.9]])))
        same(lambda t, p: ops.binary_crossentropy(t, p, from_logits=True), logits)
        same(ops.categorical_crossentropy, -np.log([0.75, 0.4375]))
        columns = -np.log([0.7 / 0.9, 0.6 / 1.5])
        np.testing.assert_allclose(ops.categorical_crossentropy(t, p, axis=0), columns, 1e-5)
        whole = np.exp(p) / np.exp(p).sum()
        np.testing.assert_allclose(ops.softmax(p, axis=None), whole, 1e-5)

    def test_ctc(self):
        x = np.log(np.array([[[0.4, 0.6], [0.4, 0.6]]], "float32"))
        one = np.array([[1]]), x, np.array([1]), np.array([2])
        np.testing.assert_allclose(ops.ctc_loss(*one), [-np.log(0.6 * 0.4 * 2 + 0.36)], 1e-5)
        decoded, scores = ops.ctc_decode(x, [2], strategy="beam_search", top_paths=2)
        np.testing.assert_array_equal(decoded, [[[1, -1]], [[-1, -1]]])
        np.testing.assert_allclose(scores, np.log([[0.84, 0.16]]), 1e-5)
        decoded, scores = ops.ctc_decode(x, [2], merge_repeated=False)
        np.testing.assert_array_equal(decoded, [[[1, 1]]])
        with self.assertRaisesRegex(ValueError, "Invalid strategy"):
            ops.ctc_decode(x, [2], strategy="best")


class Images(unittest.TestCase):
    def test_resizing_in_a_graph_is_the_librarys(self):
        x = np.random.RandomState(1).rand(2, 5, 7, 3).astype("float32")
        for how in ("nearest", "bilinear", "bicubic", "lanczos3"):
            for antialias in (False, True):
                i = keras.Input((5, 7, 3))
                model = keras.Model(i, ops.image.resize(i, (3, 9), how, antialias=antialias))
                expected = ops.image.resize(x, (3, 9), how, antialias=antialias)
                np.testing.assert_allclose(model(x), expected, 1e-4, 1e-5, err_msg=f"{how} {antialias}")

    def test_a_layer_with_margins(self):
        x = np.ones((2, 2, 4, 1), "float32")
        layer = keras.layers.Resizing(4, 4, "nearest", pad_to_aspect_ratio=True, fill_value=3.0)
        layer = keras.layers.Resizing.from_config(layer.get_config())
        expected = np.array([3, 1, 1, 3], "float32")[:, None] * np.ones(4, "float32")
        i = keras.Input((2, 4, 1))
        for got in (layer(x), keras.Model(i, layer(i))(x)):
            np.testing.assert_array_equal(got[1, ..., 0], expected)
        with self.assertRaisesRegex(ValueError, "Only one of"):
            keras.layers.Resizing(4, 4, pad_to_aspect_ratio=True, crop_to_aspect_ratio=True)
        self.assertEqual(keras.layers.Resizing(4, 4)(x).shape, (2, 4, 4, 1))

    def test_margins(self):
        x = np.ones((4, 4, 1), "float32")
        self.assertEqual(ops.image.pad_images(x, 1, 2, target_height=8, target_width=8).shape, (8, 8, 1))
        self.assertEqual(ops.image.crop_images(x, 1, 1, target_height=2, target_width=3).shape, (2, 3, 1))
        with self.assertRaisesRegex(ValueError, "Must specify exactly two"):
            ops.image.pad_images(x, 1, 2)


class Seeds(unittest.TestCase):
    def test_a_generator_goes_on_and_begins_again(self):
        one, same = keras.random.SeedGenerator(7), keras.random.SeedGenerator(7)
        a, b = keras.random.normal((3,), seed=one), keras.random.normal((3,), seed=one)
        self.assertTrue((np.asarray(a) != np.asarray(b)).any())
        np.testing.assert_array_equal(a, keras.random.normal((3,), seed=same))
        self.assertEqual(list(np.asarray(one.state)), [7, 2])
        for f in (
            lambda: keras.random.uniform((2,), dtype="int32"),
            lambda: keras.random.randint((2,), 0, 2, "float32"),
        ):
            with self.assertRaises(ValueError):
                f()


class InGraphs(unittest.TestCase):
    """What NumPy computes gives in a model what it gives on arrays."""

    def test_numbers(self):
        for f, x in (
            (lambda x: ops.median(x, axis=-1), X),
            (lambda x: ops.svd(x)[1], X),
            (lambda x: ops.qr(x), X),
            (lambda x: ops.cholesky(x), SYMMETRIC),
            (lambda x: ops.solve(x, x[..., :1]), X),
            (lambda x: ops.det(x), X),
            (lambda x: ops.top_k(x, 2), X),
            (lambda x: ops.argsort(x, axis=1), X),
            (lambda x: ops.rfft(x), X),
            (lambda x: ops.quantile(x, 0.3, axis=1), X),
            (lambda x: ops.take_along_axis(x, ops.argsort(x)), X),
            (lambda x: ops.conv(x, np.ones((2, 4, 3), "float32"), padding="same", strides=2), X),
            (lambda x: ops.conv_transpose(x, np.ones((3, 3, 4), "float32"), strides=2), X),
            (lambda x: ops.max_pool(x, 2), X),
            (lambda x: ops.switch(1, [ops.exp, ops.log], x), X),
            (lambda x: ops.scan(lambda c, row: (c + row, c * 2), x[0, 0], x[0]), X),
        ):
            i = keras.Input(batch_shape=X.shape)
            for a, b in zip(several(keras.Model(i, f(i))(x)), several(f(x))):
                self.assertEqual(a.dtype, b.dtype)
                np.testing.assert_allclose(a, b, 1e-4, 1e-5)

    def test_free_sizes(self):
        i = keras.Input((None, 4))
        y = ops.median(i, axis=1)
        self.assertEqual(y.shape, (None, 4))
        model = keras.Model(i, y)
        for rows in (3, 5):
            x = RANDOM.rand(2, rows, 4).astype("float32")
            np.testing.assert_allclose(model(x), np.median(x, 1), 1e-6)

    def test_convolutions_learn(self):
        class Filter(keras.layers.Layer):
            def build(self, _):
                self.kernel = self.add_weight(shape=(3, 1, 2), initializer="ones")

            def call(self, x):
                return ops.conv(x, self.kernel, padding="same")

        model = keras.Sequential([keras.Input((6, 1)), Filter()])
        model.compile("sgd", "mse")
        x = RANDOM.rand(8, 6, 1).astype("float32")
        model.fit(x, np.zeros((8, 6, 2), "float32"), verbose=0)
        self.assertLess(model.get_weights()[0].max(), 1.0)

    def test_training_through_numpy_is_refused_by_name(self):
        i = keras.Input((4,))
        model = keras.Model(i, ops.median(keras.layers.Dense(3)(i), axis=-1, keepdims=True))
        model.compile("sgd", "mse")
        with self.assertRaisesRegex(NotImplementedError, "keras.ops.median has no backward function"):
            model.fit(np.ones((4, 4)), np.ones((4, 1)), verbose=0)

    def test_loops_of_unknown_length_have_no_model(self):
        i = keras.Input(batch_shape=(3,))
        y = ops.while_loop(lambda x: ops.sum(x) < 10, lambda x: x * 2, i)
        self.assertEqual(y.shape, (3,))
        with self.assertRaisesRegex(Exception, "while_loop"):
            keras.Model(i, y)

    def test_whole_numbers_that_float32_does_not_hold_are_refused(self):
        i = keras.Input(batch_shape=(2,), dtype="int32")
        model = keras.Model(i, ops.nansum(i))
        self.assertEqual(model(np.array([2, 3], "int32")), 5)
        with self.assertRaises(RuntimeError):
            model(np.array([2**24, 1], "int32"))


if __name__ == "__main__":
    unittest.main()
