"""Rules of TensorFlow's that Keras programs rest on."""

import importlib
import unittest

import numpy as np

import dl4.keras as keras
import dl4.tf as tf
from dl4.keras import backend as K

layers = keras.layers
ONES = np.ones((8, 3), "float32")


class Names(unittest.TestCase):
    def test_modules_of_keras_by_tensorflows_name(self):
        for name in ("", ".layers", ".preprocessing.image", ".applications.vgg16"):
            ours = importlib.import_module("dl4.keras" + name)
            self.assertIs(importlib.import_module("dl4.tf.keras" + name), ours)
            self.assertEqual(ours.__spec__.name, "dl4.keras" + name)
        with self.assertRaisesRegex(ImportError, "nothing"):
            importlib.import_module("dl4.tf.keras.nothing")

    def test_version(self):
        self.assertGreaterEqual(tuple(int(n) for n in tf.__version__.split(".")), (2, 8, 0))

    def test_dtype_of_an_input(self):
        self.assertEqual(keras.Input((3,), dtype="int").dtype, "int32")
        with self.assertRaisesRegex(ValueError, "Invalid dtype: floaty"):
            keras.Input((3,), dtype="floaty")


class Variables(unittest.TestCase):
    def test_parts_are_assigned(self):
        v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        v[0, 1].assign(42)
        v[:, 2].assign([0.0, 1.0])
        np.testing.assert_array_equal(v.numpy(), [[1, 42, 0], [4, 5, 1]])
        with self.assertRaises(TypeError):
            v[1] = [7.0, 8.0, 9.0]

    def test_scattered_updates(self):
        v = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        v.scatter_nd_update(indices=[[0, 0], [1, 2]], updates=[100.0, 200.0])
        np.testing.assert_array_equal(v.numpy(), [[100, 2, 3], [4, 5, 200]])
        v.scatter_nd_add(indices=[[0, 0], [0, 0]], updates=[1.0, 2.0])
        np.testing.assert_array_equal(v.numpy(), [[103, 2, 3], [4, 5, 200]])
        v.scatter_update(tf.IndexedSlices(values=[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], indices=[1, 0]))
        v.scatter_sub(tf.IndexedSlices(values=[[1.0, 2.0, 3.0]], indices=[1]))
        np.testing.assert_array_equal(v.numpy(), [[4, 5, 6], [0, 0, 0]])
        with self.assertRaisesRegex(TypeError, "IndexedSlices"):
            v.scatter_add([1.0])

    def test_no_parts_in_a_traced_call(self):
        v = tf.Variable([1.0, 2.0, 3.0])

        class Mine(layers.Layer):
            def call(self, x):
                v.scatter_nd_update([[0]], [2.0])
                return x

        with self.assertRaisesRegex(NotImplementedError, "traced call"):
            Mine()(keras.Input((3,)))

    def test_shown(self):
        self.assertEqual(repr(tf.Variable(3)), "<tf.Variable 'Variable:0' shape=() dtype=int32, numpy=3>")


class Arrays(unittest.TestCase):
    def test_what_is_read_is_forgotten(self):
        a = tf.TensorArray(dtype=tf.float32, size=3).write(0, tf.constant([1.0, 2.0])).write(1, [3.0, 10.0])
        np.testing.assert_array_equal(a.read(1), [3, 10])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "twice"):
            a.read(1)
        np.testing.assert_array_equal(a.stack(), [[1, 2], [0, 0], [0, 0]])
        kept = tf.TensorArray(tf.float32, size=1, clear_after_read=False).write(0, [1.0])
        kept.read(0)
        np.testing.assert_array_equal(kept.stack(), [[1]])

    def test_size(self):
        with self.assertRaisesRegex(tf.errors.OutOfRangeError, "not resizeable and size is: 1"):
            tf.TensorArray(tf.float32, size=1).write(1, 2.0)
        grown = tf.TensorArray(tf.float32, size=0, dynamic_size=True).write(2, [3.0])
        np.testing.assert_array_equal(grown.concat(), [0, 0, 3])
        np.testing.assert_array_equal(grown.gather([2, 0]), [[3], [0]])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "expected a tensor of float32, got one of int32"):
            grown.write(0, tf.constant([1]))

    def test_on_a_tape_and_in_a_function(self):
        w = tf.Variable(2.0)

        def powers(x):
            kept, y = tf.TensorArray(tf.float32, size=3), x
            for i in range(3):
                y = y * x
                kept = kept.write(i, y)
            return kept.stack()

        with tf.GradientTape() as tape:
            total = tf.reduce_sum(powers(w))
        self.assertAlmostEqual(float(tape.gradient(total, w)), 4 + 12 + 32)
        np.testing.assert_allclose(tf.function(powers)(tf.constant(2.0)), [4, 8, 16])


class Draws(unittest.TestCase):
    def test_of_sizes_that_the_run_knows(self):
        class Noise(layers.Layer):
            def call(self, x):
                batch, size = tf.shape(x)[0], tf.shape(x)[1]
                return x + tf.random.normal((batch, size)) + tf.random.uniform(tf.shape(x), 1.0, 2.0)

        x = keras.Input((3,))
        m = keras.Model(x, Noise()(x))
        a, b = (m.predict(ONES, verbose=0) for _ in range(2))
        self.assertGreater(np.abs(a - b).min(), 0)
        self.assertEqual(a.shape, ONES.shape)

    def test_a_traced_call_draws_anew_in_each_run(self):
        class Mine(keras.Model):
            def __init__(self, draw):
                super().__init__()
                self.draw = draw

            def call(self, x):
                return x + self.draw()

        seed = keras.random.SeedGenerator(1)
        for draw in (
            lambda: keras.random.normal((8, 3), seed=seed),
            lambda: keras.random.uniform((8, 3)),
            lambda: tf.random.normal((8, 3), stddev=2.0),
        ):
            m = Mine(draw)
            a, b = (m.predict(ONES, verbose=0) for _ in range(2))
            self.assertGreater(np.abs(a - b).min(), 0)
        with self.assertRaisesRegex(NotImplementedError, "normal, uniform"):
            Mine(lambda: keras.random.gamma((8, 3), 1.0)).predict(ONES, verbose=0)

    def test_initial_weights_of_a_traced_call_are_drawn_once(self):
        class Mine(layers.Layer):
            def build(self, shape):
                self.w = self.add_weight((3,), initializer=lambda s, dtype=None: keras.random.normal(s))

            def call(self, x):
                return x * self.w

        m = keras.Sequential([Mine()])
        a, b = (m.predict(ONES, verbose=0) for _ in range(2))
        np.testing.assert_array_equal(a, b)


class Models(unittest.TestCase):
    def test_layers_for_one_image(self):
        m = keras.Sequential([layers.Rescaling(2.0), layers.Resizing(6, 6), layers.Lambda(lambda x: x / 2)])
        for size in (5, 9):
            y = m(np.full((size, 7, 3), 3.0, "float32"))
            np.testing.assert_allclose(y, np.full((6, 6, 3), 3.0), 1e-6)
        self.assertEqual(m(np.zeros((2, 5, 7, 3), "float32")).shape, (2, 6, 6, 3))

    def test_a_layer_twice_in_a_sequential_model(self):
        twice = layers.Dense(3, kernel_initializer="ones")
        m = keras.Sequential([keras.Input((3,)), twice, twice])
        self.assertEqual((len(m.layers), m.count_params()), (2, 12))
        np.testing.assert_allclose(m.predict(ONES, verbose=0), np.full((8, 3), 9.0))
        with self.assertRaisesRegex(ValueError, "unique names"):
            m.add(layers.Dense(3, name=twice.name))

    def test_steps_over_a_dataset_of_unknown_length(self):
        class Mine(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = layers.Dense(1)

            def call(self, x):
                return self.dense(x)

            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                return keras.ops.mean((y - y_pred) ** 2)

        m = Mine()
        m.compile("sgd")
        data = tf.data.Dataset.from_tensor_slices((ONES, ONES[:, :1])).batch(2).rebatch(4)
        self.assertEqual(len(m.fit(data, epochs=2, verbose=0).history["loss"]), 2)


class Stateless(unittest.TestCase):
    Y, P = np.array([[1, 0], [0, 1]], "float32"), np.array([[0.9, 0.2], [0.4, 0.3]], "float32")

    def test_metrics_of_the_library(self):
        for m in (
            keras.metrics.MeanSquaredError(),
            keras.metrics.RootMeanSquaredError(),
            keras.metrics.CategoricalAccuracy(),
            keras.metrics.Precision(),
            keras.metrics.Recall(thresholds=[0.1, 0.5]),
            keras.metrics.TruePositives(),
        ):
            values = m.stateless_reset_state()
            for weights in (None, np.array([1.0, 3.0], "float32")):
                values = m.stateless_update_state(values, self.Y, self.P, weights)
            self.assertEqual(float(np.sum(m.result())), 0.0)
            for weights in (None, np.array([1.0, 3.0], "float32")):
                m.update_state(self.Y, self.P, weights)
            np.testing.assert_allclose(m.stateless_result(values), m.result(), 1e-6)

    def test_one_of_ones_own(self):
        class Total(keras.metrics.Metric):
            def __init__(self, name="total"):
                super().__init__(name=name)
                self.sum = self.add_weight(name="sum", initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.sum.assign_add(keras.ops.sum(y_pred))

            def result(self):
                return self.sum * 2.0

        m = Total()
        values = m.stateless_update_state([np.float32(1.0)], self.Y, self.P)
        self.assertAlmostEqual(float(m.stateless_result(values)), 2 * (1 + self.P.sum()), 5)
        self.assertEqual(float(m.result()), 0.0)
        self.assertEqual([float(v) for v in m.stateless_reset_state()], [0.0])

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "Received list with length 1, but expected 2 variables"):
            keras.metrics.Mean().stateless_result([1.0])
        m = keras.metrics.AUC()
        with self.assertRaisesRegex(NotImplementedError, "AUC.stateless_result"):
            m.stateless_result(m.stateless_reset_state())
        with self.assertRaisesRegex(NotImplementedError, "MeanIoU.stateless_update_state"):
            keras.metrics.MeanIoU(2).stateless_update_state([], self.Y, self.P)

    def test_mean_counts_samples(self):
        m = keras.metrics.Mean()
        m.update_state(np.arange(6.0).reshape(2, 3))
        m.update_state(4.0)
        self.assertAlmostEqual(float(m.result()), 3.0, 6)
        self.assertEqual([float(v.numpy()) for v in m.variables], [9.0, 3.0])
        m.reset_state()
        m.update_state(np.arange(6.0).reshape(2, 3), sample_weight=np.array([[1.0, 3.0, 0], [0, 0, 0]]))
        m.update_state([4.0, 2.0])
        self.assertAlmostEqual(float(m.result()), 7 / (4 / 3 + 2), 6)


class Backend(unittest.TestCase):
    X = tf.constant([[-1.0, 0.25, 2.0], [0.5, -2.0, 1.0]])

    def test_reductions(self):
        self.assertEqual(float(K.max(self.X)), 2.0)
        np.testing.assert_allclose(K.sum(self.X, axis=1, keepdims=True), [[1.25], [-0.5]])
        np.testing.assert_allclose(K.mean(self.X > 0, axis=1), [2 / 3, 2 / 3], 1e-6)
        np.testing.assert_allclose(K.std(self.X, [0, 1]), np.std(np.asarray(self.X)), 1e-6)
        np.testing.assert_array_equal(K.argmax(self.X), [2, 2])

    def test_what_keras_ops_have_otherwise(self):
        np.testing.assert_allclose(K.hard_sigmoid(self.X), np.clip(0.2 * np.asarray(self.X) + 0.5, 0, 1), 1e-6)
        np.testing.assert_allclose(K.relu(self.X, 0.1, 1.5, 0.5), [[-0.15, -0.025, 1.5], [0.5, -0.25, 1]], 1e-5)
        np.testing.assert_allclose(K.l2_normalize(tf.constant([3.0, 4.0])), [0.6, 0.8], 1e-6)
        halves = tf.constant([0.5, 0.5])
        np.testing.assert_allclose(K.binary_crossentropy(tf.constant([1.0, 0.0]), halves), [np.log(2)] * 2, 1e-6)
        self.assertEqual((K.int_shape(self.X), K.ndim(self.X), K.dtype(self.X)), ((2, 3), 2, "float32"))
        self.assertEqual(K.constant(3, shape=(2, 2)).tolist(), [[3.0, 3.0], [3.0, 3.0]])
        np.testing.assert_array_equal(K.repeat(self.X, 2).shape, (2, 2, 3))
        np.testing.assert_array_equal(K.switch(self.X > 0, self.X, 0 * self.X), K.relu(self.X))
        self.assertEqual(float(K.switch(K.sum(self.X) > 10, lambda: tf.constant(1.0), lambda: tf.constant(2.0))), 2.0)

    def test_variables(self):
        v = K.variable([1.0, 2.0])
        K.update_add(v, [1.0, 1.0])
        K.update_sub(v, [0.5, 0.5])
        np.testing.assert_array_equal(K.get_value(v), [1.5, 2.5])
        K.batch_set_value([(v, [7, 8])])
        np.testing.assert_array_equal(K.batch_get_value([v, K.zeros((2,))]), [[7, 8], [0, 0]])

    def test_in_a_model(self):
        def sampled(args):
            mean, spread = args
            return mean + K.exp(0.5 * spread) * K.random_normal(K.shape(mean), stddev=0.0)

        x = keras.Input((3,))
        m = keras.Model(x, layers.Lambda(sampled)([x, x]))
        np.testing.assert_allclose(m.predict(ONES, verbose=0), ONES)


if __name__ == "__main__":
    unittest.main()
