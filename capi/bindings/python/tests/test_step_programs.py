"""Runs the programs of step_programs.py on dl4 and compares with what Keras gave; and the stateless functions, which
Keras has on JAX alone or not at all on TensorFlow."""

import copy
import pathlib
import pickle
import unittest

import dl4.keras as keras
import numpy as np

from recorded_programs import tests_of
from step_programs import made, PROGRAMS, stepping, X, Y

Programs = tests_of(PROGRAMS, pathlib.Path(__file__).parent / "step_expected.npz")
G = np.array([1.0, -1.0, 2.0], "float32")


class Stateless(unittest.TestCase):
    def test_apply_is_apply_on_other_values(self):
        for make in (lambda: keras.optimizers.Adam(0.1), lambda: keras.optimizers.SGD(0.1, momentum=0.9)):
            v, w, by_hand, o = *(keras.Variable(np.ones(3, "float32")) for _ in range(2)), make(), make()
            o.build([w])
            state, values = [np.array(x) for x in o.variables], [w.numpy()]
            for g in (G, 2 * G, -G):
                by_hand.apply([g], [v])
                values, state = o.stateless_apply(state, [g], values)
                np.testing.assert_allclose(values[0], v.numpy(), 1e-6)
            self.assertEqual((int(state[0]), int(o.iterations)), (3, 0))
            np.testing.assert_array_equal(w.numpy(), np.ones(3))
        with self.assertRaisesRegex(ValueError, "Received 0 values, expected 1"):
            o.stateless_apply(state, [G], [])
        with self.assertRaisesRegex(ValueError, "must be built"):
            keras.optimizers.SGD().stateless_apply([], [], [])

    def test_call_takes_values_and_gives_those_that_changed(self):
        x = keras.Input((3,))
        m = keras.Model(x, keras.layers.BatchNormalization(momentum=0.5)(keras.layers.Dense(2)(x)))
        trained, other = [w.numpy() for w in m.trainable_variables], [w.numpy() for w in m.non_trainable_variables]
        before, kept = m(X), m.get_weights()
        y, same = m.stateless_call([2 * w for w in trained], other, X)
        m.set_weights([2 * w if i < 4 else w for i, w in enumerate(kept)])
        np.testing.assert_allclose(y, m(X), 1e-5, 1e-5)
        m.set_weights(kept)
        for a, b in zip(same, other):
            np.testing.assert_array_equal(a, b)
        _, moved = m.stateless_call(trained, other, X, training=True)
        np.testing.assert_allclose(moved[0], 0.5 * (X @ trained[0] + trained[1]).mean(0), 1e-4, 1e-5)
        np.testing.assert_array_equal(m(X), before)
        with self.assertRaisesRegex(ValueError, "Received list with length 1, but expected 4 variables"):
            m.stateless_call(trained[:1], other, X)

    def test_compute_loss(self):
        m = made(keras, "sgd")
        weights = [w.numpy() for w in m.trainable_variables]
        y = m.predict(X, verbose=0)
        loss, (trained, other, metrics) = m.stateless_compute_loss(weights, [], [], X, Y, y)
        self.assertAlmostEqual(float(loss), float(np.mean((y - Y) ** 2)), 5)
        self.assertEqual((len(trained), other, metrics), (2, [], []))

    def test_symbols_are_refused(self):
        o = keras.optimizers.SGD(0.1)
        o.build([keras.Variable(np.ones(3, "float32"))])
        with self.assertRaisesRegex(NotImplementedError, "stateless function of symbolic values"):
            o.stateless_apply([0, 0.1], [G], [keras.Input((3,))])


class Mine(keras.layers.Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


class Copies(unittest.TestCase):
    """Pickled and copied models go on where the model would."""

    def models(self):
        x = keras.Input((3,))
        schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 3, 0.5)
        for optimizer, loss in (
            (keras.optimizers.Adam(0.1), "mse"),
            (keras.optimizers.SGD(schedule, momentum=0.9), keras.losses.Huber()),
        ):
            m = keras.Model(x, [keras.layers.Dense(2)(Mine(3)(x))])
            m.compile(optimizer, loss, metrics=["mae"])
            yield m
            m = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
            m.compile(type(optimizer).from_config(optimizer.get_config()), loss)
            yield m

    def fit(self, m):
        return m.fit(X, Y, batch_size=8, epochs=2, shuffle=False, verbose=0).history["loss"]

    def test_they_train_alike(self):
        for m in self.models():
            self.fit(m)
            pickled, copied = pickle.loads(pickle.dumps(m)), copy.deepcopy(m)
            losses = self.fit(m)
            for other in (pickled, copied):
                self.assertIs(type(other), type(m))
                np.testing.assert_allclose(self.fit(other), losses, 1e-5)
                self.assertEqual(int(other.optimizer.iterations), 20)

    def test_what_was_not_compiled_or_built(self):
        m = pickle.loads(pickle.dumps(keras.Sequential([keras.layers.Dense(2, name="d")], name="s")))
        self.assertEqual((m.name, [layer.name for layer in m.layers], m.built), ("s", ["d"], False))
        x = keras.Input((3,))
        m = keras.Model(x, [keras.layers.Dense(2)(x)])
        got = pickle.loads(pickle.dumps(m)).predict(X, verbose=0)
        self.assertIsInstance(got, list)
        np.testing.assert_array_equal(got[0], m.predict(X, verbose=0)[0])


class Uncompiled(unittest.TestCase):
    def test_a_loss_of_a_layer_alone_takes_no_targets(self):
        class Adds(keras.layers.Layer):
            def call(self, x):
                self.add_loss(keras.ops.sum(x))
                return x

        m = keras.Sequential([keras.layers.Dense(2), Adds(), keras.layers.Dense(1)])
        m.compile("adam")
        m.fit(X, Y, verbose=0)
        x = keras.Input((3,))
        m = stepping(keras)(x, keras.layers.Dense(2)(x))
        m.compile("sgd")
        with self.assertRaisesRegex(ValueError, "No loss to compute"):
            m.fit(X, Y, verbose=0)


class Refused(unittest.TestCase):
    def test_accumulated_gradients_where_python_applies(self):
        m = made(keras, keras.optimizers.SGD(0.1, gradient_accumulation_steps=2), stepping(keras))
        with self.assertRaisesRegex(NotImplementedError, "gradient_accumulation_steps"):
            m.fit(X, Y, verbose=0)

    def test_arguments_of_an_optimizer(self):
        class Own(keras.optimizers.Optimizer):
            pass

        with self.assertRaisesRegex(ValueError, "not recognized: {'clip': 1}"):
            Own(0.1, clip=1)
        with self.assertRaisesRegex(ValueError, "`learning_rate` should be float"):
            Own(learning_rate="fast")
        with self.assertRaisesRegex(ValueError, "Only one of `clipnorm`"):
            Own(0.1, clipnorm=1.0, clipvalue=1.0)
        with self.assertRaisesRegex(NotImplementedError, "Own.update_step: expected the class to have it"):
            Own(0.1).apply([G], [keras.Variable(np.ones(3, "float32"))])


if __name__ == "__main__":
    unittest.main()
