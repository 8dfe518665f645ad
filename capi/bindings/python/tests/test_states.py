"""What models, layers and optimizers keep, read and set by hand."""

import unittest
import warnings

import dl4.keras as keras
import numpy as np

X, Y = np.ones((4, 3), "float32"), np.zeros((4, 2), "float32")


def compiled(**how):
    keras.backend.clear_session()
    inputs = keras.Input((3,), name="given")
    model = keras.Model(inputs, keras.layers.Dense(2, name="out", kernel_initializer="ones")(inputs))
    model.compile("adam", "mse", **how)
    return model


class StateTree(unittest.TestCase):
    def test_there_and_back(self):
        model = compiled()
        model.fit(X, Y, verbose=0)
        state = model.get_state_tree(value_format="numpy_array")
        self.assertEqual(list(state["trainable_variables"]["out"]), ["kernel", "bias"])
        self.assertEqual(state["non_trainable_variables"], {})
        self.assertEqual(int(state["optimizer_variables"]["adam"]["iteration"]), 1)
        self.assertEqual(list(state["metrics_variables"]["loss"]), ["total", "count"])
        other = compiled()
        self.assertFalse(np.array_equal(other.get_weights()[0], model.get_weights()[0]))
        other.set_state_tree({"trainable_variables": state["trainable_variables"]})
        for mine, theirs in zip(other.get_weights(), model.get_weights()):
            np.testing.assert_array_equal(mine, theirs)
        other.set_state_tree({"optimizer_variables": {"adam": {"learning_rate": 0.25}}})
        self.assertEqual(float(other.optimizer.learning_rate), 0.25)

    def test_refused(self):
        model = compiled()
        with self.assertRaisesRegex(ValueError, "Invalid `value_format`"):
            model.get_state_tree(value_format="list")
        with self.assertRaisesRegex(ValueError, "Unknown variable name: weights"):
            model.set_state_tree({"weights": {}})


class Parts(unittest.TestCase):
    def test_metrics_of_layers(self):
        class Counted(keras.layers.Layer):
            def __init__(self, inner=None):
                super().__init__()
                self.inner, self.seen = inner, keras.metrics.Mean(name="seen")

            def call(self, x):
                return x

        layer = Counted(Counted())
        self.assertEqual([m.name for m in layer.metrics], ["seen", "seen"])
        self.assertEqual(len(layer.metrics_variables), 4)
        self.assertEqual(keras.layers.Dense(2).metrics, [])

    def test_a_constraint_that_is_set_later(self):
        v = keras.Variable(np.float32([-1.0, 2.0]))
        v.constraint = keras.constraints.NonNeg()
        optimizer = keras.optimizers.SGD(0.5)
        optimizer.apply([keras.ops.array([0.0, 1.0])], [v])
        np.testing.assert_allclose(v.numpy(), [0, 1.5])
        self.assertIsInstance(v.constraint, keras.constraints.NonNeg)

    def test_averages_end_a_fit_by_hand(self):
        optimizer = keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.9)
        v = keras.Variable(np.float32([3.0, 4.0]))
        for _ in range(2):
            optimizer.apply([keras.ops.array([1.0, 1.0])], [v])
        np.testing.assert_allclose(v.numpy(), [1, 2])
        optimizer.finalize_variable_values([v])
        np.testing.assert_allclose(v.numpy(), [1.9, 2.9], 1e-6)

    def test_a_step_of_one_variable_does_not_decay(self):
        optimizer, v = keras.optimizers.Muon(), keras.Variable(np.float32([1.0, 2.0]))
        optimizer.build([v])
        optimizer.update_step(keras.ops.array([1.0, 6.0]), v, 0.5)
        np.testing.assert_allclose(v.numpy(), [0.5, 1.5], 1e-4)

    def test_names_of_the_optimizer(self):
        optimizer = keras.optimizers.Adam(name="mine")
        self.assertEqual([v.path for v in optimizer.variables], ["mine/iteration", "mine/learning_rate"])

    def test_models_of_a_subclass_are_functional(self):
        class Mine(keras.Model):
            pass

        class Called(keras.Model):
            def call(self, x):
                return x

        x = keras.Input((3,))
        self.assertIsInstance(Mine(x, x + 1), keras.models.Functional)
        self.assertNotIsInstance(Called(), keras.models.Functional)
        self.assertNotIsInstance(keras.Sequential(), keras.models.Functional)

    def test_arguments(self):
        for wrong in ("yes", 1, None):
            with self.assertRaisesRegex(ValueError, "to be a boolean"):
                keras.layers.Dense(2, trainable=wrong)
        self.assertNotIn("activity_regularizer", keras.layers.Dense(2).get_config())
        self.assertIn("activity_regularizer", keras.layers.Dense(2, activity_regularizer="l2").get_config())
        of_old = keras.layers.GRU.from_config({**keras.layers.GRU(3).get_config(), "implementation": 0})
        self.assertEqual(of_old(np.ones((2, 4, 3), "float32")).shape, (2, 3))
        with self.assertRaisesRegex(ValueError, "'given' is not optional"):
            compiled()([None])

    def test_whole_numbers_are_interpolated(self):
        x = np.arange(12).reshape(2, 2, 1, 3)
        got = keras.layers.UpSampling2D(size=(1, 2), interpolation="bilinear")(x)
        wanted = keras.layers.UpSampling2D(size=(1, 2), interpolation="bilinear")(x.astype("float32"))
        np.testing.assert_array_equal(got, wanted)


if __name__ == "__main__":
    warnings.simplefilter("error", RuntimeWarning)
    unittest.main()
