"""Functions that NumPy computes, in traces of the Keras backend: numbers, gradients, refusals."""

import sys
import unittest

import numpy as np

try:
    import dl4.keras_backend as backend
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

import keras
from keras import layers, ops

from dl4.keras_backend import fallback


def draw(*shape):
    return np.random.RandomState(sum(shape)).randn(*shape)


def definite(*shape):
    a = draw(*shape)
    return a @ np.swapaxes(a, -1, -2) + 4 * np.eye(shape[-1])


class Traced(keras.Model):
    """A model that calls a function of its input, in a step that is traced."""

    def __init__(self, f):
        super().__init__()
        self.f, self.built = f, True

    def call(self, x):
        return self.f(x)


def traced(f, x, **words):
    model = Traced(f)
    model.compile(**words)
    return model.predict(x, batch_size=len(x), verbose=0)


def flat(y):
    return [leaf for part in y for leaf in flat(part)] if isinstance(y, (list, tuple)) else [y]


# A function of the backend, its argument, and one of NumPy's in double that differences are taken of.
GRADIENTS = {
    "cholesky": (ops.cholesky, definite(2, 4, 4), lambda a: fallback.cholesky.__wrapped__((a + a.swapaxes(1, 2)) / 2)),
    "upper": (
        lambda a: ops.cholesky(a, upper=True),
        definite(2, 3, 3),
        lambda a: np.linalg.cholesky((a + a.swapaxes(1, 2)) / 2).swapaxes(1, 2),
    ),
    "inv": (ops.inv, definite(2, 3, 3), np.linalg.inv),
    "det": (ops.det, definite(2, 3, 3) / 4, np.linalg.det),
    "slogdet": (lambda a: ops.slogdet(a)[1], definite(2, 3, 3), lambda a: np.linalg.slogdet(a)[1]),
    "logdet": (ops.logdet, definite(2, 3, 3), lambda a: np.linalg.slogdet(a)[1]),
    "eigh": (
        lambda a: [ops.eigh(a)[0], ops.square(ops.eigh(a)[1])],
        definite(2, 3, 3),
        lambda a: [v if i == 0 else v**2 for i, v in enumerate(np.linalg.eigh((a + a.swapaxes(1, 2)) / 2))],
    ),
    "solve": (
        lambda a: ops.solve(a, ops.ones((2, 3, 2))),
        definite(2, 3, 3),
        lambda a: np.linalg.solve(a, np.ones((2, 3, 2))),
    ),
    "solve of a vector": (
        lambda b: ops.solve(definite(3, 3).astype("f4"), b),
        draw(3),
        lambda b: np.linalg.solve(definite(3, 3), b),
    ),
    "solve_triangular": (
        lambda a: ops.solve_triangular(a, ops.ones((3, 2)), lower=True),
        definite(3, 3),
        lambda a: np.linalg.solve(np.tril(a), np.ones((3, 2))),
    ),
    "qr": (
        lambda a: [ops.absolute(v) for v in ops.qr(a)],
        draw(5, 3),
        lambda a: [np.abs(v) for v in np.linalg.qr(a)],
    ),
    "svd": (
        lambda a: [ops.square(v) for v in ops.svd(a, full_matrices=False)],
        draw(5, 3),
        lambda a: [v**2 for v in np.linalg.svd(a, False)],
    ),
    "singular values": (
        lambda a: ops.svd(a, compute_uv=False),
        draw(3, 5),
        lambda a: np.linalg.svd(a, compute_uv=False),
    ),
    "pinv": (ops.pinv, draw(5, 3), np.linalg.pinv),
    "lstsq": (
        lambda a: ops.lstsq(a, ops.ones((5, 2))),
        draw(5, 3),
        lambda a: np.linalg.lstsq(a, np.ones((5, 2)), None)[0],
    ),
    "nuclear norm": (lambda a: ops.norm(a, "nuc", axis=(0, 1)), draw(4, 3), lambda a: np.linalg.norm(a, "nuc")),
    "norm 2": (lambda a: ops.norm(a, 2, axis=(0, 1)), draw(4, 3), lambda a: np.linalg.norm(a, 2)),
    "norm -2": (lambda a: ops.norm(a, -2, axis=(0, 1)), draw(4, 3), lambda a: np.linalg.norm(a, -2)),
    "i0": (fallback.i0, draw(3, 4), np.i0),
    "fft": (lambda x: ops.fft((x, 2 * x)), draw(3, 7), lambda x: parts(np.fft.fft(x + 2j * x))),
    "fft2": (lambda x: ops.fft2((x, 2 * x)), draw(3, 7), lambda x: parts(np.fft.fft2(x + 2j * x))),
    "ifft2": (lambda x: ops.ifft2((x, 2 * x)), draw(3, 7), lambda x: parts(np.fft.ifft2(x + 2j * x))),
    "rfft": (ops.rfft, draw(2, 8), lambda x: parts(np.fft.rfft(x))),
    "rfft, cut": (lambda x: ops.rfft(x, 5), draw(2, 8), lambda x: parts(np.fft.rfft(x, 5))),
    "rfft, padded": (lambda x: ops.rfft(x, 12), draw(2, 8), lambda x: parts(np.fft.rfft(x, 12))),
    "irfft": (lambda x: ops.irfft((x, 2 * x)), draw(2, 5), lambda x: np.fft.irfft(x + 2j * x)),
    "irfft, odd": (lambda x: ops.irfft((x, 2 * x), 7), draw(2, 5), lambda x: np.fft.irfft(x + 2j * x, 7)),
    "irfft, padded": (lambda x: ops.irfft((x, 2 * x), 14), draw(2, 5), lambda x: np.fft.irfft(x + 2j * x, 14)),
    "correlate": (
        lambda x: ops.correlate(x, np.arange(4, dtype="f4"), mode="same"),
        draw(7),
        lambda x: np.correlate(x, np.arange(4.0), "same"),
    ),
    "corrcoef": (ops.corrcoef, draw(3, 6), np.corrcoef),
}


def parts(y):
    return [y.real, y.imag]


def weights(y):
    return [1 + np.arange(np.size(v)).reshape(np.shape(v)) / 7 for v in flat(y)]


class Gradients(unittest.TestCase):
    def test_as_differences(self):
        for name, (f, x, known) in GRADIENTS.items():
            with self.subTest(name):

                def loss(x):
                    found = flat(f(x))
                    return sum(ops.sum(v * w.astype("f4")) for v, w in zip(found, weights(found)))

                def exactly(x):
                    found = flat(known(x))
                    return sum(np.sum(v * w) for v, w in zip(found, weights(found)))

                value, found = backend.value_and_grad(loss)(ops.convert_to_tensor(x.astype("f4")))
                self.assertLess(abs(float(value) - exactly(x)), 1e-4 * max(1, abs(exactly(x))))
                wanted, step = np.empty(x.shape), 1e-6
                for i in np.ndindex(x.shape):
                    there = np.zeros(x.shape)
                    there[i] = step
                    wanted[i] = (exactly(x + there) - exactly(x - there)) / (2 * step)
                np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3 * np.abs(wanted).max())

    def test_what_has_none_is_refused_by_name(self):
        x = ops.convert_to_tensor(np.array([2.0, 3.0], "f4"))
        for name, f in {
            "random.gamma": lambda x: ops.sum(keras.random.gamma((2,), x, seed=1)),
            "nextafter": lambda x: ops.sum(ops.nextafter(x, x + 1)),
        }.items():
            with self.assertRaisesRegex(NotImplementedError, f"keras.ops.{name}"):
                backend.value_and_grad(f)(x)


class Steps(unittest.TestCase):
    def test_short_spectra(self):
        x = draw(3, 64).astype("f4")

        def there_and_back(x):
            return ops.istft(ops.stft(x, 16, 4, 16), 16, 4, 16, length=64)

        for found in (traced(there_and_back, x), np.asarray(there_and_back(x))):  # at the ends are fewer windows
            np.testing.assert_allclose(found[:, 4:-4], x[:, 4:-4], atol=1e-5)

    def test_whole_numbers_keep_all_digits(self):
        x = np.array([[2**31 - 1, -(2**30) - 1, 123456789]], "int32")
        np.testing.assert_array_equal(traced(lambda x: ops.lcm(x, ops.ones_like(x)), x), np.abs(x))
        found = traced(lambda x: ops.unique(x[0], size=3)[None], x)
        np.testing.assert_array_equal(found[0], np.sort(x[0]))

    def test_a_matrix_that_is_not_definite(self):
        x = np.stack([-np.eye(3), np.eye(3)]).astype("f4")
        self.assertTrue(np.isnan(traced(ops.cholesky, x)).all())
        with self.assertRaisesRegex(ValueError, "Cholesky"):
            ops.cholesky(x)

    def test_counts(self):
        x = np.array([0, 2, 2, 1], "int32")
        found = traced(lambda x: ops.bincount(x, minlength=4), x)
        np.testing.assert_array_equal(found, [1, 1, 2, 0])
        with self.assertRaisesRegex(RuntimeError, "keras.ops.bincount"):
            traced(lambda x: ops.bincount(x, minlength=2), x)

    def test_a_histogram(self):
        x = draw(20).astype("f4")
        found = traced(lambda x: ops.histogram(x, 5)[0], x)
        np.testing.assert_array_equal(found, np.histogram(x, 5)[0])

    def test_draws(self):
        def f(x):
            return x + keras.random.beta(ops.shape(x), 2.0, 3.0, seed=3)

        x = np.zeros((2000, 1), "f4")
        found = traced(f, x)
        np.testing.assert_array_equal(found, f(x))
        self.assertLess(abs(found.mean() - 0.4), 0.02)

    def test_sizes_that_depend_on_numbers(self):
        x = np.array([[0.0, 2.0], [3.0, 0.0]], "f4")

        def f(x):
            return ops.reshape(ops.nonzero(x)[0], (-1,))

        with self.assertRaisesRegex(NotImplementedError, "keras.ops.nonzero: the size"):
            traced(f, x)
        for words in ({"jit_compile": False}, {"run_eagerly": True}):
            np.testing.assert_array_equal(traced(f, x, **words), [0, 1])

    def test_a_layer_of_spectra_trains(self):
        model = keras.Sequential(
            [
                keras.Input((8, 4)),
                layers.Dense(4),
                layers.Lambda(lambda x: ops.fft2((x, ops.zeros_like(x)))[0]),
                layers.Flatten(),
                layers.Dense(1),
            ]
        )
        model.compile(keras.optimizers.Adam(0.05), "mse")
        x = draw(32, 8, 4).astype("f4")
        history = model.fit(x, x[:, 0, :1], epochs=20, verbose=0).history["loss"]
        self.assertLess(history[-1], history[0] / 3)


class Sizes(unittest.TestCase):
    def test_a_shape_that_fits_one_size_of_a_batch(self):
        class Rows(layers.Layer):
            def call(self, x):
                return ops.reshape(ops.reshape(x, (24, 2)) * 2.0, (ops.shape(x)[0], 6, 2))

        x = keras.Input((6, 2))
        model = keras.Model(x, Rows()(x))
        self.assertEqual(model.output_shape, (None, 6, 2))
        data = draw(4, 6, 2).astype("f4")
        np.testing.assert_allclose(model.predict(data, verbose=0), 2 * data)
        with self.assertRaisesRegex(ValueError, "reshape"):
            model.predict(data[:3], verbose=0)

    def test_a_loop_to_a_traced_bound(self):
        def f(x):
            n = ops.cast(x[0, 0], "int32")
            return ops.fori_loop(0, n, lambda i, v: v * 2.0, x)

        x = np.array([[3.0, 1.0]], "f4")
        np.testing.assert_array_equal(traced(f, x), 8 * x)


if __name__ == "__main__":
    unittest.main()
