"""Keras itself on the library: how it is attached, what it computes and refuses. Skipped where Keras is missing."""

import subprocess
import sys
import unittest

import numpy as np

try:
    import dl4.keras_backend as keras_backend
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

import keras
from keras import layers, ops

from dl4.keras_backend import attach


def said(code):
    """What a program writes."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


class Attached(unittest.TestCase):
    def test_name(self):
        self.assertEqual(keras.backend.backend(), "dl4")
        self.assertEqual(keras.config.backend(), "dl4")

    def test_versions(self):
        with self.assertRaisesRegex(ImportError, "expected Keras 3.13 to 3.15, found 3.12.1"):
            attach.check_version("3.12.1")
        with self.assertWarnsRegex(UserWarning, "found 3.16.0, with which it has not been tested"):
            attach.check_version("3.16.0")
        attach.check_version("3.13.0")
        attach.check_version("3.15.1")

    def test_another_backend_was_first(self):
        first = "import sys, types; config = types.ModuleType('config'); config.backend = lambda: 'jax'; "
        first += "sys.modules.update({'keras': config, 'keras.src.backend.config': config}); "
        words = "keras was imported before, with the backend 'jax': import dl4.keras_backend first"
        self.assertIn(words, said(first + "import dl4.keras_backend"))

    def test_runs_a_script(self):
        done = subprocess.run([sys.executable, "-m", "dl4.keras_backend"], capture_output=True, text=True)
        self.assertIn("usage: python -m dl4.keras_backend script.py", done.stderr)
        self.assertNotEqual(done.returncode, 0)


class Functions(unittest.TestCase):
    def test_types(self):
        for a, b, wanted in (
            ("int8", "int8", "int8"),
            ("uint8", "int8", "int16"),
            ("bfloat16", "float32", "float32"),
            ("float16", "int32", "float16"),
            ("bool", "bool", "bool"),
            ("uint32", "uint32", "uint32"),
        ):
            y = ops.add(ops.ones((2,), a), ops.ones((2,), b))
            self.assertEqual(keras.backend.standardize_dtype(y.dtype), wanted)
        self.assertEqual((ops.ones((2,), "float16") * 2.5).dtype, "float16")

    def test_integers_wrap(self):
        y = ops.add(ops.convert_to_tensor([100], "int8"), ops.convert_to_tensor([100], "int8"))
        self.assertEqual(y.tolist(), [-56])
        self.assertEqual(ops.cast(ops.convert_to_tensor([300], "int32"), "uint8").tolist(), [44])

    def test_floats_beyond_a_range_give_the_nearest(self):
        x = np.array([-3.7, 127.9, 300.0, -1e5, 5e9, np.inf, -np.inf, np.nan], "f4")

        class Cast(keras.Model):
            def __init__(self, type_name):
                super().__init__()
                self.wanted = type_name

            def call(self, x):
                return ops.cast(x, self.wanted)

        for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
            limits = np.iinfo(name)
            wanted = [0 if np.isnan(v) else int(np.trunc(np.clip(v, limits.min, limits.max))) for v in x.astype("f8")]
            self.assertEqual(ops.cast(x, name).tolist(), wanted)
            self.assertEqual(Cast(name).predict(x, verbose=0).tolist(), wanted)

    def test_an_unknown_type_is_refused(self):
        for dtype in ("complex64", "float8_e4m3fn"):
            with self.assertRaisesRegex(NotImplementedError, f"no type '{dtype}'"):
                ops.zeros((1,), dtype)
        with self.assertRaisesRegex(NotImplementedError, "no complex numbers"):
            ops.convert_to_tensor(np.array([1j]))

    def test_what_it_has_not_is_refused(self):
        class Tape(keras.Model):
            def call(self, x):
                return x

            def train_step(self, data):
                return {}

        def step():
            model = Tape()
            model.compile("sgd", "mse")
            model.fit(np.ones((2, 1)), np.ones((2, 1)), verbose=0)

        x = np.ones((2,), "f4")
        for f, said in (
            (lambda: ops.convert_to_tensor(x, sparse=True), "sparse=True"),
            (lambda: keras.Input((3,), sparse=True), "sparse=True"),
            (lambda: ops.convert_to_tensor(x, ragged=True), "ragged=True"),
            (lambda: ops.convert_to_tensor(["a"]), "no tensors of texts"),
            (lambda: ops.jvp(ops.sin, (x,), (x,)), "keras.ops.jvp"),
            (lambda: ops.eig(np.eye(2)), "keras.ops.eig"),
            (lambda: ops.dot_product_attention(*[np.ones((1, 2, 1, 2))] * 3, flash_attention=True), "Flash attention"),
            (lambda: keras.device("gpu:0").__enter__(), "expected 'cpu'"),
            (lambda: layers.Dense(2)(layers.Flatten()(keras.Input((None, 4)))), "fully-defined"),
            (step, r"Tape.train_step: expected a step of \(self, state, data\).*got one of \(self, data\)"),
        ):
            with self.assertRaisesRegex((NotImplementedError, ValueError, TypeError), said):
                f()

    def test_a_loop_without_end_has_no_gradient(self):
        def f(x):
            return ops.sum(ops.while_loop(lambda v: ops.sum(v) < 10, lambda v: v * 2.0, [x])[0])

        with self.assertRaisesRegex(NotImplementedError, "while has no gradient"):
            keras_backend.grad(f)(ops.ones((2,)))

    def test_double_is_warned_of_once(self):
        code = "import dl4.keras_backend; from keras import ops; [ops.ones((2,), 'float64') + 1 for _ in range(3)]"
        self.assertEqual(said(code).count("computes float64 in float32"), 1)

    def test_a_convolution_by_a_kernel(self):
        r = np.random.RandomState(0)
        x, k = r.randn(2, 5, 6, 3).astype("f4"), r.randn(2, 3, 3, 4).astype("f4")
        y = np.zeros((2, 4, 4, 4))
        for i in range(4):
            for j in range(4):
                y[:, i, j] = np.einsum("bhwc,hwcf->bf", x[:, i : i + 2, j : j + 3].astype("f8"), k)
        np.testing.assert_allclose(np.asarray(ops.conv(x, k)), y, rtol=1e-5, atol=1e-5)

    def test_a_row_is_added_as_a_vector(self):
        r = np.random.RandomState(0)
        for a, b in (((2, 3, 4), (1, 1, 4)), ((1, 4), (1, 4)), ((1, 1), (2, 1)), ((3, 4), (1, 1, 4)), ((2, 1), (1, 1))):
            x, y = r.randn(*a).astype("f4"), r.randn(*b).astype("f4")
            for first, last in ((x, y), (y, x)):
                self.assertEqual(ops.add(first, last).shape, (x + y).shape)
                np.testing.assert_allclose(ops.add(first, last), x + y)

    def test_attention_with_a_mask_of_all_is_that_without(self):
        r = np.random.RandomState(0)
        for queries, keys, heads, causal in ((5, 5, 4, True), (5, 7, 4, False), (6, 6, 2, True)):
            shapes = (queries, 4), (keys, heads), (keys, heads)
            parts = [ops.convert_to_tensor(r.randn(3, n, h, 8).astype("f4")) for n, h in shapes]

            def loss(parts, mask):
                return ops.sum(ops.sin(ops.dot_product_attention(*parts, mask=mask, is_causal=causal)))

            masks = None, np.ones((3, 1, queries, keys), bool)
            (x, dx), (y, dy) = (keras_backend.value_and_grad(loss)(parts, mask) for mask in masks)
            np.testing.assert_allclose(x, y, rtol=1e-5)
            for one, other in zip(dx, dy):
                np.testing.assert_allclose(one, other, atol=1e-5)

    def test_draws_follow_their_seed(self):
        draw = keras.random.uniform((1000,), seed=7)
        np.testing.assert_array_equal(draw, keras.random.uniform((1000,), seed=7))
        self.assertGreater(np.abs(np.asarray(draw) - np.asarray(keras.random.uniform((1000,), seed=8))).max(), 0.5)
        x = np.asarray(keras.random.normal((100000,), seed=1))
        self.assertLess(abs(x.mean()), 0.02)
        self.assertLess(abs(x.std() - 1), 0.02)


class Gradients(unittest.TestCase):
    def test_by_a_nest(self):
        both = keras_backend.value_and_grad(lambda w: ops.sum(w["a"] ** 2) + ops.sum(ops.sin(w["b"])))
        value, grad = both({"a": np.array([1.0, 2.0], "f4"), "b": np.array([0.5], "f4")})
        self.assertAlmostEqual(float(value), 5 + np.sin(0.5), places=5)
        np.testing.assert_allclose(grad["a"], [2, 4], rtol=1e-6)
        np.testing.assert_allclose(grad["b"], np.cos([0.5]), rtol=1e-6)

    def test_custom_gradients(self):
        @ops.custom_gradient
        def f(x):
            return ops.exp(x), lambda *_, upstream: upstream * 10.0

        x = np.array([1.0, 2.0], "f4")
        np.testing.assert_allclose(keras_backend.grad(lambda v: ops.sum(f(f(v) * 3.0)))(x), [300, 300], rtol=1e-6)

    def test_both_sides_of_a_branch(self):
        f = keras_backend.grad(lambda v: ops.cond(v > 0, lambda: v * 2.0, lambda: v * 3.0))
        self.assertEqual([float(f(np.float32(x))) for x in (1, -1)], [2, 3])


class Branches(keras.Model):
    def __init__(self):
        super().__init__()
        self.dense = layers.Dense(2)

    def call(self, x):
        return self.dense(x) if ops.sum(x) > 0 else x


class Training(unittest.TestCase):
    def setUp(self):
        r = np.random.RandomState(1)
        self.x, self.y, self.w = r.randn(8, 3).astype("f4"), r.randn(8, 2).astype("f4"), r.randn(3, 2).astype("f4")

    def model(self, **options):
        model = keras.Sequential([keras.Input((3,)), layers.Dense(2, use_bias=False)])
        model.set_weights([self.w])
        model.compile(keras.optimizers.SGD(0.1), "mse", **options)
        return model

    def test_a_step_is_that_of_the_formula(self):
        for eagerly in (False, True):
            model = self.model(run_eagerly=eagerly)
            loss = model.train_on_batch(self.x, self.y)
            error = self.x.astype("f8") @ self.w - self.y
            self.assertAlmostEqual(float(loss), np.mean(error**2), places=5)
            after = self.w - 0.1 * 2 * self.x.T.astype("f8") @ error / error.size
            np.testing.assert_allclose(model.get_weights()[0], after, rtol=1e-5)

    def test_fit_evaluate_predict(self):
        model = self.model(metrics=["mae"])
        history = model.fit(self.x, self.y, epochs=30, batch_size=3, verbose=0, validation_split=0.25).history
        self.assertEqual({"loss", "mae", "val_loss", "val_mae"}, set(history))
        self.assertLess(history["loss"][-1], 0.5 * history["loss"][0])
        predicted = model.predict(self.x, verbose=0)
        loss, _ = model.evaluate(self.x, self.y, verbose=0)
        self.assertAlmostEqual(loss, np.mean((predicted - self.y) ** 2), places=5)

    def test_accumulated_gradients_wait(self):
        model = self.model()
        model.compile(keras.optimizers.SGD(0.1, gradient_accumulation_steps=2), "mse")
        model.train_on_batch(self.x[:4], self.y[:4])
        np.testing.assert_array_equal(model.get_weights()[0], self.w)
        model.train_on_batch(self.x[4:], self.y[4:])
        error = self.x.astype("f8") @ self.w - self.y
        after = self.w - 0.1 * 2 * self.x.T.astype("f8") @ error / error.size
        np.testing.assert_allclose(model.get_weights()[0], after, rtol=1e-5)

    def test_a_branch_on_numbers_is_refused(self):
        model = Branches()
        with self.assertRaisesRegex(Exception, "run_eagerly=True"):
            model.compile("sgd", "mse")
            model.fit(self.x, self.y, verbose=0)
        model.compile("sgd", "mse", run_eagerly=True)
        model.fit(np.abs(self.x), self.y, verbose=0)
        before = model.get_weights()
        model.fit(-np.abs(self.x), self.y @ np.ones((2, 3), "f4"), verbose=0)
        np.testing.assert_array_equal(model.get_weights()[0], before[0])


if __name__ == "__main__":
    unittest.main()
