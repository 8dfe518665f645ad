"""keras.ops where numbers are large, not finite, or of free axes: NumPy's values, on arrays and in models."""

import json
import tempfile
import unittest
import zipfile

import numpy as np

import dl4.keras as keras

ops = keras.ops
INF = np.inf


def in_model(f, *arrays, free=()):
    """f of inputs, of which these axes are free beside the batch."""
    inputs = [
        keras.Input([None if i in free else d for i, d in enumerate(x.shape)][1:], dtype=str(x.dtype)) for x in arrays
    ]
    return keras.Model(inputs, f(*inputs))(list(arrays) if len(arrays) > 1 else arrays[0])


def floats(*values):
    return np.array(values, "float32")


class Operations(unittest.TestCase):
    def same(self, f, expected, *arrays, free=()):
        for got in (f(*arrays), in_model(f, *arrays, free=free)):
            self.assertEqual(got.dtype, expected.dtype)
            np.testing.assert_array_equal(got, expected)


class Cumsum(Operations):
    def test_what_is_not_finite_stays_behind_its_place(self):
        x = floats([1, INF, 1, -INF, 2], [1, 2, np.nan, 4, 5])
        for free in ((), (1,)):
            self.same(lambda x: ops.cumsum(x, axis=1), floats([1, INF, INF, np.nan, np.nan], [1, 3] + [np.nan] * 3), x)
        self.same(lambda x: ops.cumsum(x, axis=0), floats([1, INF, 1, -INF, 2], [2, INF, np.nan, -INF, 7]), x)
        self.same(ops.cumsum, floats(1, INF), floats(1, INF))

    def test_integers_are_exact(self):
        for dtype, top in (("int32", 2**24 + 1), ("int64", 2**53 + 1)):
            x = np.array([[top, 2, -1], [3, top, 5]], dtype)
            for axis in (0, 1, None):
                self.same(lambda x: ops.cumsum(x, axis=axis), np.cumsum(x, axis, dtype), x)
        self.same(
            lambda x: ops.cumsum(x, axis=1, dtype="int64"),
            np.array([[2**31 - 1, 2**31]]),
            np.array([[2**31 - 1, 1]], "int32"),
        )
        x = np.ones((1, 5), bool)
        self.same(lambda x: ops.cumsum(x, axis=1), np.array([[1, 2, 3, 4, 5]], "int32"), x, free=(1,))

    def test_any_axis_of_any_size(self):
        for shape in ((2, 7, 3), (1, 65), (0, 3), (2, 0)):
            x = np.arange(np.prod(shape), dtype="float32").reshape(shape)
            for axis in range(len(shape)):
                for free in ((), (axis,)):
                    self.same(lambda x: ops.cumsum(x, axis=axis), np.cumsum(x, axis), x, free=free)

    def test_long_axes_take_no_square_of_memory(self):
        x = np.ones((1, 200_000), "float32")  # whose square is 160 GB
        for free in ((), (1,)):
            got = in_model(lambda x: ops.cumsum(x, axis=1), x, free=free)
            np.testing.assert_array_equal(got[0], np.arange(1, 200_001, dtype="float32"))

    def test_it_learns(self):
        x = keras.Input((3,))
        model = keras.Model(x, ops.cumsum(keras.layers.Dense(3, use_bias=False, kernel_initializer="zeros")(x), axis=1))
        model.compile(keras.optimizers.SGD(1.0), lambda y, p: ops.sum(p, axis=-1))
        model.train_on_batch(np.ones((1, 3), "float32"), np.zeros((1, 3), "float32"))
        np.testing.assert_array_equal(model.get_weights()[0], -np.tile(floats(3, 2, 1), (3, 1)))

    def test_a_type_is_kept_unless_another_is_asked_for(self):
        x = np.array([200, 100], "uint8")
        self.same(ops.cumsum, np.array([200, 44], "uint8"), x)
        self.same(lambda x: ops.cumsum(x, dtype="int32"), np.array([200, 300], "int32"), x)


class Division(Operations):
    def divided(self, a, b):
        with np.errstate(all="ignore"):
            self.same(ops.floor_divide, a // b, a, b)
            self.same(ops.mod, a % b, a, b)

    def test_integers_are_exact(self):
        r = np.random.RandomState(0)
        for dtype, bits in (("int32", 31), ("int64", 63)):
            ends = [2**bits - 1, -(2**bits), 2**24 + 1, -(2**24) - 3, 7, -7, 6, 1, -1, 2, 0]
            some = [int(n) >> r.randint(bits) for n in r.randint(-(2**bits), 2**bits - 1, 500, "int64")]
            a, b = np.array(ends + some, dtype), np.array(ends + some[::-1], dtype)
            self.divided(a, b)
            self.divided(np.repeat(a[:11], 11), np.tile(a[:11], 11))
        self.divided(np.array([200, 7, 0], "uint8"), np.array([3, 200, 0], "uint8"))
        self.divided(np.array([200, 7, 0], "uint8"), np.array([-3, 2, 1], "int32"))

    def test_numbers_and_shapes(self):
        x = np.array([[16777217], [-16777219]], "int32")
        self.same(lambda x: ops.floor_divide(x, 1), x, x)
        self.same(lambda x: ops.mod(x, 2), np.array([[1], [1]], "int32"), x)
        self.same(lambda x: ops.floor_divide(-(2**25) - 1, x), np.array([[-2], [1]], "int32"), x)
        self.same(lambda x: ops.mod(x, np.array([7, -7], "int32")), x % np.array([7, -7], "int32"), x)
        self.same(lambda x: ops.mod(x, 2), np.array([[1], [0]], "int32"), np.array([[True], [False]]))
        self.same(lambda x: ops.mod(x, [5, 7]), np.mod(x, [5, 7]).astype("int32"), x)
        for by in (-3, np.int32(-3)):
            self.same(lambda x: ops.floor_divide(x, by), np.array([-67], "int32"), np.array([200], "uint8"))
        self.assertEqual(ops.floor_divide(7, 2), 3)
        self.assertEqual(ops.floor_divide(2**40 + 1, 2**20), 2**20)

    def test_a_fraction_makes_fractions(self):
        x = np.array([7, -7], "int32")
        self.same(lambda x: ops.floor_divide(x, 1.5), floats(4, -5), x)
        self.same(lambda x: ops.mod(x, 1.5), floats(1, 0.5), x)
        self.same(lambda x: ops.floor_divide(x, 2), floats(3, -4), floats(7, -7))


class NotFinite(Operations):
    def test_logaddexp(self):
        a, b = floats(-INF, INF, INF, np.nan, 1, 2), floats(-INF, INF, -INF, 1, -INF, 2)
        self.same(ops.logaddexp, floats(-INF, INF, INF, np.nan, 1, 2 + np.log(2)), a, b)
        x = floats([-INF, INF])
        self.same(lambda x: ops.logaddexp(x, -INF), x, x)

    def test_average(self):
        x, w = floats([1, INF], [2, 3]), floats([1, 3], [0, 1])
        for axis, weights in ((1, floats(1, 3)), (0, floats(1, 3)), (1, w), (0, w), (None, w)):
            expected = np.average(x, axis, weights).astype("float32")
            self.same(lambda x: ops.average(x, axis=axis, weights=weights), expected, x)
        self.same(lambda x, w: ops.average(x, axis=1, weights=w), floats(INF, 3), x, w)

    def test_heaviside(self):
        x = floats([-1, 0, 1, INF, -INF])
        for at in (INF, np.nan, 0.5):
            self.same(lambda x: ops.heaviside(x, np.float32(at)), np.heaviside(x, np.float32(at)), x)
        self.same(lambda x: ops.heaviside(x, floats(INF, 2, INF, INF, 1)), floats([0, 2, 1, 1, 0]), x)


class Seeds(unittest.TestCase):
    ONES = np.ones((4, 32), "float32")

    def test_dropout_of_arrays(self):
        first, again, other = (keras.random.dropout(self.ONES, 0.5, seed=s) for s in (3, 3, 4))
        self.assertEqual(set(np.unique(first)), {0, 2})
        np.testing.assert_array_equal(again, first)
        self.assertTrue((first != other).any())
        rows = keras.random.dropout(self.ONES, 0.5, noise_shape=(4, 1), seed=np.int64(3))
        self.assertTrue((rows == rows[:, :1]).all())

    def test_a_generator_goes_on(self):
        one, same = keras.random.SeedGenerator(5), keras.random.SeedGenerator(5)
        drawn = [keras.random.dropout(self.ONES, 0.5, seed=one) for _ in range(2)]
        self.assertTrue((drawn[0] != drawn[1]).any())
        for mask in drawn:
            np.testing.assert_array_equal(keras.random.dropout(self.ONES, 0.5, seed=same), mask)

    def test_in_models(self):
        def runs(f, seed):
            x = keras.Input((32,))
            model = keras.Model(x, f(x, seed))
            return [np.array(model.predict(self.ONES, verbose=0)) for _ in range(2)]

        def noise(x, seed):
            return keras.random.normal(ops.shape(x), seed=seed)

        for f in (lambda x, seed: keras.random.dropout(x, 0.5, seed=seed), noise):
            for kind in (int, keras.random.SeedGenerator):
                first, again, other = (runs(f, kind(s)) for s in (7, 7, 8))
                np.testing.assert_array_equal(first, again)
                self.assertTrue((first[0] != first[1]).any())
                self.assertTrue((first[0] != other[0]).any())

    def test_calls_of_a_model_in_training_draw_anew(self):
        for seed in (None, 3):
            x = keras.Input((32,))
            model = keras.Model(x, keras.layers.Dropout(0.5, seed=seed)(x))
            first, second = (np.array(model(self.ONES, training=True)) for _ in range(2))
            self.assertTrue((first != second).any())
            np.testing.assert_array_equal(model(self.ONES), self.ONES)

    def test_what_is_no_seed_is_refused(self):
        for seed in ("a", 1.5):
            with self.assertRaisesRegex(ValueError, "either an integer or an instance of `SeedGenerator`"):
                keras.random.dropout(self.ONES, 0.5, seed=seed)
            with self.assertRaisesRegex(ValueError, "either an integer or an instance of `SeedGenerator`"):
                keras.random.normal(ops.shape(keras.Input((32,))), seed=seed)


class Made(Operations):
    """Arrays that functions make, by position and by name."""

    def test_with_sizes_that_are_free(self):
        x = np.ones((4, 5), "float32")
        for f, expected in (
            (lambda n: ops.zeros(shape=(n, 3)), np.zeros((4, 3), "float32")),
            (lambda n: ops.ones(dtype="int32", shape=[2, n]), np.ones((2, 4), "int32")),
            (lambda n: ops.full((n, 2), fill_value=INF), np.full((4, 2), INF, "float32")),
            (lambda n: ops.full(shape=(n,), fill_value=7, dtype="int32"), np.full(4, 7, "int32")),
            (lambda n: ops.full((n,), 2**24 + 1, "int32"), np.full(4, 2**24 + 1, "int32")),
            (lambda n: ops.ones((n, 2), "bool"), np.ones((4, 2), bool)),
            (lambda n: ops.arange(start=n), np.arange(4, dtype="int32")),
            (lambda n: ops.arange(start=0, stop=n, step=1), np.arange(4, dtype="int32")),
            (lambda n: ops.arange(0, stop=n, dtype="float32"), np.arange(4, dtype="float32")),
        ):
            got = in_model(lambda x: ops.concatenate([f(ops.shape(x)[0])]), x)
            self.assertEqual(got.dtype, expected.dtype)
            np.testing.assert_array_equal(got, expected)

    def test_with_numbers(self):
        for got, expected in (
            (ops.zeros(shape=(2, 3)), np.zeros((2, 3), "float32")),
            (ops.zeros((2,), "bool"), np.zeros(2, bool)),
            (ops.full(fill_value=3, shape=2), np.full(2, 3, "float32")),
            (ops.arange(start=3), np.arange(3, dtype="int32")),
            (ops.arange(1, 7, step=2), np.arange(1, 7, 2, dtype="int32")),
            (ops.linspace(0, 1, num=3), floats(0, 0.5, 1)),
            (ops.eye(2, dtype="bool"), np.eye(2, dtype=bool)),
            (ops.tri(N=2, M=3, k=1), np.tri(2, 3, 1, "float32")),
        ):
            self.assertEqual(got.dtype, expected.dtype)
            np.testing.assert_array_equal(got, expected)

    def test_what_is_refused(self):
        n = ops.shape(keras.Input((5,)))[0]
        for f in (
            lambda: ops.full((2,), fill_value=n),
            lambda: ops.arange(1, stop=n),
            lambda: ops.arange(0, n, step=2),
            lambda: ops.eye(N=n),
            lambda: ops.nonzero(keras.Input((5,))),
            lambda: ops.unique(keras.Input((5,))),
            lambda: ops.where(keras.Input((5,))),
            lambda: ops.bincount(keras.Input((5,), dtype="int32")),
            lambda: ops.repeat(keras.Input((5,)), keras.Input((), dtype="int32")),
        ):
            with self.assertRaisesRegex(NotImplementedError, "expected (a number|numbers)|depends on the numbers"):
                f()
        for f in (lambda: ops.zeros(), lambda: ops.full((2,)), lambda: ops.ones((2,), shape=(2,))):
            with self.assertRaises(TypeError):
                f()


class Roll(Operations):
    def test_any_shift_of_any_axis(self):
        x = np.arange(24, dtype="float32").reshape(2, 3, 4)
        for axis in (0, 1, -1, None):
            for shift in (0, 1, -2, 5, -7, 24, 2**32 + 1):
                for free in ((), (1,)) if axis is not None else ((),):
                    self.same(lambda x: ops.roll(x, shift, axis), np.roll(x, shift, axis), x, free=free)
        self.same(lambda x: ops.roll(x, (5, -4), (0, 1)), np.roll(x, (5, -4), (0, 1)), x, free=(1,))
        self.same(lambda x: ops.roll(x, 3, 1), np.zeros((2, 0), "int32"), np.zeros((2, 0), "int32"), free=(1,))
        x = np.array([2, 1, 2**24 + 1], "int32")
        self.same(lambda x: ops.roll(x, 5), np.roll(x, 5), x)

    def test_more_free_axes(self):
        x = np.arange(24, dtype="float32").reshape(2, 4, 3)
        self.same(lambda x: ops.roll(x, 1), np.roll(x, 1), x, free=(1,))


class Masks(unittest.TestCase):
    def test_a_tensor_of_a_file_made_a_tensor_keeps_its_mask(self):
        """Keras's ConvertToTensor gives what it is given; other operations drop masks."""
        x = keras.Input((4,), dtype="int32")
        y = keras.layers.Embedding(5, 3, mask_zero=True)(x)
        mean, ids = keras.layers.GlobalAveragePooling1D(), np.array([[1, 2, 0, 0], [3, 0, 0, 4]], "int32")
        m = keras.Model(x, mean(keras.layers.ReLU(name="same")(y)))
        n = keras.Model(x, mean(ops.relu(y)))
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.keras"
            m.save(path)
            with zipfile.ZipFile(path) as file:
                parts = {name: file.read(name) for name in file.namelist()}
            config = json.loads(parts["config.json"])
            for layer in config["config"]["layers"]:
                if layer["name"] == "same":
                    layer.update(module="keras.src.ops.core", class_name="ConvertToTensor", registered_name=None)
                    layer["config"] = {"name": "same", "dtype": None}
            parts["config.json"] = json.dumps(config)
            with zipfile.ZipFile(path, "w") as file:
                for name, part in parts.items():
                    file.writestr(name, part)
            table = np.abs(m.get_weights()[0])
            m.set_weights([table])
            loaded = keras.models.load_model(path)
        loaded.set_weights([table])
        np.testing.assert_allclose(loaded.predict(ids, verbose=0), m.predict(ids, verbose=0), 1e-6)
        self.assertGreater(np.abs(n.predict(ids, verbose=0) - m.predict(ids, verbose=0)).max(), 1e-3)


class Segments(unittest.TestCase):
    def test_rows_are_folded_by_their_segment(self):
        x, ids = np.arange(12, dtype="float32").reshape(4, 3), np.array([0, 2, 2, -1])
        low = np.finfo("float32").min
        rows = keras.Input(batch_shape=(4, 3)), keras.Input(batch_shape=(4,), dtype="int64")
        for f, expected in (
            (ops.segment_sum, [[0, 1, 2], [0, 0, 0], [9, 11, 13], [0, 0, 0]]),
            (ops.segment_max, [[0, 1, 2], [low] * 3, [6, 7, 8], [low] * 3]),
        ):
            np.testing.assert_array_equal(f(x, ids, num_segments=4, sorted=False), floats(*expected))
            np.testing.assert_array_equal(f(x, ids), floats(*expected)[:3])  # as many as the largest id says
            np.testing.assert_array_equal(keras.Model(rows, f(*rows, 4))([x, ids]), floats(*expected))
            with self.assertRaisesRegex(NotImplementedError, "expected num_segments"):
                f(*rows)
            whole = keras.Input(batch_shape=(4, 3), dtype="int32")
            full = x.astype("int32"), np.array([0, 1, 2, 1])
            got = keras.Model([whole, rows[1]], f(whole, rows[1], 3))(list(full))
            np.testing.assert_array_equal(got, f(*full))
            self.assertEqual(got.dtype, np.int32)

    def test_several_axes_move(self):
        x = np.zeros((2, 3, 4, 5), "float32")
        self.assertEqual(ops.moveaxis(x, (0, 1), (2, -1)).shape, np.moveaxis(x, (0, 1), (2, -1)).shape)
        with self.assertRaises(ValueError):
            ops.moveaxis(x, (0, 1), (2, 2))


class Axes(unittest.TestCase):
    def test_an_axis_that_is_not_there(self):
        x = keras.Input((4,))
        for f in (
            lambda: ops.unstack(x, axis=10),
            lambda: ops.moveaxis(x, 10, 0),
            lambda: ops.swapaxes(x, 10, 0),
            lambda: ops.roll(x, 1, axis=10),
            lambda: ops.split(x, 2, axis=10),
            lambda: ops.cumsum(x, axis=10),
            lambda: ops.diff(x, axis=10),
            lambda: ops.transpose(x, (0, 10)),
            lambda: ops.take_along_axis(x, x, axis=10),
        ):
            with self.assertRaisesRegex(ValueError, "axis 10 is out of bounds for array of dimension 2"):
                f()
        self.assertEqual((ops.moveaxis(x, -1, 0).shape, len(ops.unstack(x, axis=-1))), ((4, None), 4))


if __name__ == "__main__":
    unittest.main()
