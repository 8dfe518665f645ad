"""Functions of TensorFlow where calls are traced: the same numbers as on arrays, or a refusal by name."""

import unittest

import numpy as np

import dl4 as tf
from dl4 import keras

X = np.random.default_rng(1).normal(size=(6, 4)).astype("float32")
FUNCTIONS = {
    "global_norm": lambda x: tf.linalg.global_norm([x, None, 2 * x]),
    "clip_by_global_norm": lambda x: tf.clip_by_global_norm([x, 2 * x], 1.5)[0][1],
    "clip_by_global_norm, below": lambda x: tf.clip_by_global_norm([x, None], 100.0)[0][0],
    "clip_by_global_norm, the norm": lambda x: tf.clip_by_global_norm([x], 1.0)[1],
    "clip_by_global_norm, use_norm": lambda x: tf.clip_by_global_norm([x], 1.0, use_norm=4.0)[0][0],
    "top_k values": lambda x: tf.math.top_k(x, 2).values,
    "top_k indices": lambda x: tf.cast(tf.nn.top_k(x, 2).indices, "float32"),
    "boolean_mask": lambda x: tf.boolean_mask(x, [True, False, True, True], axis=1),
    "boolean_mask of two axes": lambda x: tf.boolean_mask(tf.reshape(x, (2, 3, 4)), [[1, 0, 1], [0, 0, 1]]),
    "scatter_nd": lambda x: tf.scatter_nd([[0], [3], [0]], x[:3], (5, 4)),
    "ensure_shape": lambda x: tf.ensure_shape(x, (None, 4)),
    "ensure_shape of any": lambda x: tf.ensure_shape(x, None),
    "ensure_shape of a size": lambda x: tf.ensure_shape(x, (6, 4)),
}


def traced(function, batch=None):
    class Called(keras.layers.Layer):
        def call(self, x):
            return function(x)

    x = keras.Input((4,), batch_size=batch)
    return keras.Model(x, Called()(x))


class Traced(unittest.TestCase):
    def test_the_numbers_of_arrays(self):
        for name, function in FUNCTIONS.items():
            with self.subTest(name):
                got = traced(function, 6)(X)
                np.testing.assert_allclose(got, np.asarray(function(X)), rtol=1e-6, atol=1e-7)

    def test_a_size_that_only_a_run_has(self):
        x = keras.Input((4,))
        model = keras.Model(x, tf.ensure_shape(x, (6, 4)))
        np.testing.assert_array_equal(model.predict(X, verbose=0), X)
        with self.assertRaisesRegex(ValueError, "6.*5"):
            model.predict(X[:5], verbose=0)

    def test_gradients_go_through(self):
        layer = keras.layers.Dense(4, kernel_initializer="ones")
        x = keras.Input((4,))

        class Stepped(keras.Model):
            def train_step(self, data):
                with tf.GradientTape() as tape:
                    best = tf.math.top_k(self(data[0], training=True), 1).values
                    loss = tf.reduce_mean(tf.boolean_mask(best, [True] * 3 + [False] * 3))
                gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, self.trainable_variables), 0.5)
                self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
                return {"norm": norm, "clipped": tf.linalg.global_norm(gradients)}

        model = Stepped(x, layer(x))
        model.compile(keras.optimizers.SGD(0.1))
        logs = model.fit(X, X, batch_size=6, shuffle=False, verbose=0).history
        wanted = np.linalg.norm([*X[:3].mean(0), 1.0])  # of one column of the kernel, and of its bias
        np.testing.assert_allclose(logs["norm"][0], wanted, rtol=1e-5)
        np.testing.assert_allclose(logs["clipped"][0], min(0.5, wanted), rtol=1e-5)

    def test_what_is_not_here_says_its_name(self):
        refused = {
            r"tf.debugging.check_numerics: .*run_eagerly=True": lambda x: tf.debugging.check_numerics(x, "x"),
            r"tf.boolean_mask: a symbolic mask": lambda x: tf.boolean_mask(x, x[:, 0] > 0),
            r"tf.bincount: symbolic tensors": lambda x: tf.math.bincount(tf.cast(x, "int32")),
            r"tf.in_top_k: symbolic tensors": lambda x: tf.math.in_top_k([0] * 6, x, 1),
            r"tf.tensor_scatter_nd_add: symbolic tensors": lambda x: tf.tensor_scatter_nd_add(x, [[0]], x[:1]),
        }
        for said, function in refused.items():
            with self.subTest(said), self.assertRaisesRegex(NotImplementedError, said):
                traced(function)
        with self.assertRaisesRegex(ValueError, r"tf.ensure_shape: expected shape \(None, 3\), got \(None, 4\)"):
            traced(lambda x: tf.ensure_shape(x, (None, 3)))
        with self.assertRaisesRegex(ValueError, r"tf.ensure_shape: expected shape \(5, 4\), got \(6, 4\)"):
            tf.ensure_shape(X, (5, 4))


if __name__ == "__main__":
    unittest.main()
