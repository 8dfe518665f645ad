"""Inputs for which None may be given."""

import os
import tempfile
import unittest

import dl4.keras as keras
import numpy as np
from dl4.keras import layers, ops

X, O = np.ones((6, 2), "float32"), np.full((6, 2), 2.0, "float32")
Y = np.arange(6.0, dtype="float32")[:, None]


@keras.saving.register_keras_serializable("optional")
class Mixed(layers.Layer):
    """The sum of what it is given, through a layer that is trained."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(1, kernel_initializer="ones")

    def call(self, x, o=None):
        return self.dense(x if o is None else x + o)


class Stepping(keras.Model):
    """A model that is trained by train_step()."""

    def train_step(self, data):
        return super().train_step(data)


def model(kind=keras.Model, **compiled):
    x, o = keras.Input((2,), name="x"), keras.Input((2,), name="o", optional=True)
    made = kind({"x": x, "o": o}, Mixed()(x, o))
    made.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse", **compiled)
    return made


def without():
    """What model() is where the input is not given."""
    made = keras.Sequential([keras.Input((2,)), layers.Dense(1, kernel_initializer="ones")])
    made.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
    return made


class OptionalInputs(unittest.TestCase):
    def test_calls(self):
        m = model()
        np.testing.assert_array_equal(m({"x": X, "o": None}), np.full((6, 1), 2.0))
        np.testing.assert_array_equal(m({"x": X, "o": O}), np.full((6, 1), 6.0))
        np.testing.assert_array_equal(m({"o": O, "x": X}), np.full((6, 1), 6.0))
        np.testing.assert_array_equal(m.predict({"x": X, "o": None}, verbose=0), np.full((6, 1), 2.0))
        np.testing.assert_array_equal(m.predict({"x": X, "o": O}, verbose=0), np.full((6, 1), 6.0))
        np.testing.assert_array_equal(m.predict_on_batch({"x": X, "o": None}), np.full((6, 1), 2.0))

    def test_fit(self):
        given = {"x": X, "o": None}
        for verbatim in (given, (({**given}, Y) for _ in range(3))):
            m, other = model(), without()
            whole = isinstance(verbatim, dict)
            y = {"y": Y} if whole else {}
            h = m.fit(verbatim, **y, epochs=3 if whole else 1, shuffle=False, verbose=0)
            g = other.fit(X, Y, epochs=3, shuffle=False, verbose=0)
            if whole:
                np.testing.assert_allclose(h.history["loss"], g.history["loss"], 1e-6)
            for a, b in zip(m.get_weights(), other.get_weights()):
                np.testing.assert_allclose(a, b, 1e-6)
            self.assertAlmostEqual(m.evaluate(given, Y, verbose=0), other.evaluate(X, Y, verbose=0), 6)

    def test_training_goes_on_where_it_is_given_next(self):
        """Momentum and weights are those of the steps before, whichever inputs those had."""
        m, other = model(), without()
        for o in (None, O, None):
            m.train_on_batch({"x": X, "o": o}, Y)
            other.train_on_batch(X if o is None else X + O, Y)
        for a, b in zip(m.get_weights(), other.get_weights()):
            np.testing.assert_allclose(a, b, 1e-6)
        self.assertEqual(int(m.optimizer.iterations), 3)

    def test_steps_in_python(self):
        class Squared(keras.metrics.Mean):
            def update_state(self, y_true, y_pred, sample_weight=None):
                super().update_state(ops.square(y_true - y_pred))

        m, other = model(metrics=[Squared(name="s")]), without()
        h = m.fit({"x": X, "o": None}, Y, batch_size=3, epochs=2, shuffle=False, verbose=0)
        g = other.fit(X, Y, batch_size=3, epochs=2, shuffle=False, verbose=0)
        np.testing.assert_allclose(h.history["loss"], g.history["loss"], 1e-6)
        np.testing.assert_allclose(h.history["s"], g.history["loss"], 1e-6)
        for eagerly in (False, True):
            m, other = model(Stepping, run_eagerly=eagerly), without()
            for o in (None, O, None):
                m.fit({"x": X, "o": o}, Y, batch_size=3, shuffle=False, verbose=0)
                other.fit(X if o is None else X + O, Y, batch_size=3, shuffle=False, verbose=0)
            np.testing.assert_allclose(m.get_weights()[0], other.get_weights()[0], 1e-6)

    def test_layers_of_the_library(self):
        """The mask of an attention may be None; what a Dense is called on may not."""
        x, seen = keras.Input((3, 4)), keras.Input((3, 3), dtype="bool", optional=True)
        layer = layers.MultiHeadAttention(1, 4)
        m = keras.Model([x, seen], layer(x, x, attention_mask=seen))
        a = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
        np.testing.assert_allclose(m([a, None]), layer(a, a), 1e-5, 1e-6)
        own = np.broadcast_to(np.eye(3, dtype=bool), (2, 3, 3))
        np.testing.assert_allclose(m([a, own]), layer(a, a, attention_mask=own), 1e-5, 1e-6)
        x, o = keras.Input((2,)), keras.Input((2,), optional=True, name="o")
        m = keras.Model([x, o], layers.Add()([x, layers.Dense(2)(o)]))
        with self.assertRaisesRegex(ValueError, 'takes no None.*optional input "o"'):
            m([X, None])

    def test_in_another_model(self):
        inner, x = model(), keras.Input((2,))
        outer = keras.Model(x, inner({"x": x, "o": None}))
        np.testing.assert_array_equal(outer(X), np.full((6, 1), 2.0))
        x, o = keras.Input((2,)), keras.Input((2,), optional=True)
        outer = keras.Model([x, o], inner({"x": x, "o": o}))
        np.testing.assert_array_equal(outer([X, None]), np.full((6, 1), 2.0))
        np.testing.assert_array_equal(outer.predict([X, O], verbose=0), np.full((6, 1), 6.0))

    def test_what_is_seen_of_it_is_whole(self):
        m = model()
        before, given = m.output, {"x": X, "o": None}
        m.fit(given, Y, verbose=0)
        self.assertIs(m.output, before)
        wanted = m.predict({"x": X, "o": O}, verbose=0), m.predict(given, verbose=0)
        copy = keras.models.clone_model(m)
        copy.set_weights(m.get_weights())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            m.save(path)
            for other in (copy, keras.models.load_model(path), type(m).from_config(m.get_config())):
                other.set_weights(m.get_weights())
                np.testing.assert_allclose(other.predict({"x": X, "o": O}, verbose=0), wanted[0], 1e-6)
                np.testing.assert_allclose(other.predict(given, verbose=0), wanted[1], 1e-6)
            path = os.path.join(folder, "m.safetensors")
            m.save(path)
            other = keras.models.load_model(path)
            np.testing.assert_allclose(other.predict({"x": X, "o": O}, verbose=0), wanted[0], 1e-6)
            with self.assertRaisesRegex(ValueError, "not optional"):
                other.predict(given, verbose=0)

    def test_what_can_not_be(self):
        m = model()
        with self.assertRaisesRegex(ValueError, "'x' is not optional"):
            m({"x": None, "o": O})
        with self.assertRaisesRegex(ValueError, "'x' is not optional"):
            m({"x": None, "o": keras.Input((2,))})
        for first, second in (None, O), (O, None):
            batches = (({"x": X, "o": o}, Y) for o in (first, second))
            with self.assertRaisesRegex(ValueError, "'o'.*with all batches, or with none"):
                m.fit(batches, verbose=0)


if __name__ == "__main__":
    unittest.main()
