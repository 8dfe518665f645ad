"""Optimizers around others, and those that are Python."""

import unittest

import numpy as np

import dl4.keras as keras

optimizers, layers = keras.optimizers, keras.layers
X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X.sum(-1, keepdims=True)


def model(**how):
    m = keras.Sequential(
        [
            keras.Input((3,)),
            layers.Dense(2, kernel_initializer="ones", name="first"),
            layers.Dense(1, kernel_initializer="ones", name="second"),
        ]
    )
    m.compile(loss="mse", **how)
    return m


def fitted(m):
    m.fit(X, Y, batch_size=4, epochs=3, shuffle=False, verbose=0)
    return m


class Optimizers(unittest.TestCase):
    def close(self, a, b):
        for x, y in zip(a.get_weights(), b.get_weights()):
            np.testing.assert_allclose(x, y, 1e-5, 1e-6)

    def test_one_optimizer_in_a_map_is_that_optimizer(self):
        for eager in (False, True):
            several = optimizers.MultiOptimizer(optimizers.OptimizerMap(optimizers.Adam(0.1)))
            self.close(
                fitted(model(optimizer=several, run_eagerly=eager)), fitted(model(optimizer=optimizers.Adam(0.1)))
            )
            self.assertEqual(int(several.iterations), 6)

    def test_several(self):
        by_path = optimizers.OptimizerMap(optimizers.SGD(0.0), {"first/.*": optimizers.SGD(0.1)})
        m = model(optimizer=optimizers.MultiOptimizer(by_path))
        before = m.get_weights()
        fitted(m)
        self.assertFalse(np.allclose(before[0], m.get_weights()[0]))
        np.testing.assert_array_equal(before[2], m.get_weights()[2])
        config = m.optimizer.get_config()
        self.assertEqual(optimizers.MultiOptimizer.from_config(config).get_config().keys(), config.keys())
        with self.assertRaisesRegex(AttributeError, "MultiOptimizer"):
            m.optimizer.learning_rate
        with self.assertRaisesRegex(ValueError, "Multiple optimizers"):
            optimizers.OptimizerMap(optimizers.SGD(), {"a.*": optimizers.SGD(), ".*b": optimizers.SGD()})["ab"]
        with self.assertRaisesRegex(ValueError, "MultiOptimizer"):
            optimizers.MultiOptimizer(lambda v: m.optimizer).build(m.trainable_weights)

    def test_a_batch_builds_the_model_first(self):
        model = keras.Sequential([keras.layers.Dense(2, name="first"), keras.layers.Dense(1)])
        parts = {".*first/.*": keras.optimizers.SGD(0.1, use_ema=True)}
        several = keras.optimizers.OptimizerMap(keras.optimizers.SGD(0.1), parts)
        model.compile(keras.optimizers.MultiOptimizer(several), "mse")
        model.train_on_batch(np.ones((1, 1), "float32"), np.ones((1, 1), "float32"))
        self.assertEqual(len(parts[".*first/.*"]._built_for), 2)

    def test_rates_of_several_follow_callbacks(self):
        by_path = optimizers.OptimizerMap(optimizers.SGD(0.2), {"first/.*": optimizers.SGD(0.1)})
        m = model(optimizer=optimizers.MultiOptimizer(by_path))
        m.fit(X, Y, verbose=0, callbacks=[keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)])
        self.assertEqual([round(float(o.learning_rate), 6) for o in m.optimizer.optimizers], [0.05, 0.1])

    def test_loss_scale(self):
        scaled = optimizers.LossScaleOptimizer(optimizers.Adam(0.1), initial_scale=8.0, dynamic_growth_steps=4)
        self.close(fitted(model(optimizer=scaled, run_eagerly=True)), fitted(model(optimizer=optimizers.Adam(0.1))))
        self.assertEqual(float(scaled.dynamic_scale.numpy()), 16.0)
        v = keras.Variable([1.0, 2.0])
        scaled = optimizers.LossScaleOptimizer(optimizers.SGD(0.5), initial_scale=4.0)
        scaled.apply([np.array([np.inf, 0.0], "float32")], [v])
        np.testing.assert_array_equal(v.numpy(), [1.0, 2.0])
        self.assertEqual(float(scaled.dynamic_scale.numpy()), 2.0)
        with self.assertRaisesRegex(NotImplementedError, "run_eagerly=True"):
            fitted(model(optimizer=optimizers.LossScaleOptimizer(optimizers.SGD(0.1))))
        with self.assertRaisesRegex(ValueError, "clipnorm"):
            optimizers.LossScaleOptimizer(optimizers.SGD(), clipnorm=1.0)

    def test_schedule_free(self):
        """By the formula, in NumPy."""
        rate, b1, b2, epsilon = 0.1, 0.9, 0.99, 1e-8
        v = keras.Variable([1.0, -2.0])
        optimizer = optimizers.ScheduleFreeAdamW(rate, beta_1=b1, beta_2=b2, warmup_steps=2)
        y = np.array([1.0, -2.0])
        x, z, s = y.copy(), y.copy(), np.zeros(2)
        for t in (1, 2, 3):
            g = 2 * y
            s = b2 * s + (1 - b2) * g**2
            z = z - rate * min(t / 2, 1) * g / (np.sqrt(s / (1 - b2**t)) + epsilon)
            x = (1 - 1 / t) * x + z / t
            y = (1 - b1) * z + b1 * x
            optimizer.apply([g.astype("float32")], [v])
            np.testing.assert_allclose(v.numpy(), y, 1e-5)
        m = fitted(model(optimizer=optimizers.ScheduleFreeAdamW(0.01)))
        self.close(m, fitted(model(optimizer=optimizers.ScheduleFreeAdamW(0.01), run_eagerly=True)))

    def test_gradients_that_are_none(self):
        a, b = keras.Variable([1.0]), keras.Variable([2.0])
        with self.assertWarnsRegex(UserWarning, "do not exist"):
            optimizers.SGD(0.5).apply([None, np.ones(1, "float32")], [a, b])
        self.assertEqual([float(a.numpy()[0]), float(b.numpy()[0])], [1.0, 1.5])
        with self.assertRaisesRegex(ValueError, "No gradients"):
            optimizers.SGD(0.5).apply([None, None], [a, b])

    def test_paths_in_scopes(self):
        with keras.name_scope("outer"), keras.name_scope("inner"):
            self.assertEqual(keras.Variable([1.0], name="w").path, "outer/inner/w")
        self.assertEqual(keras.Variable([1.0], name="w").path, "w")


if __name__ == "__main__":
    unittest.main()
