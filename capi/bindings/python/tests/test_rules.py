"""Rules of Keras's that whole programs rest on."""

import io
import contextlib
import importlib
import pathlib
import tempfile
import unittest
import warnings

import numpy as np

import dl4
import dl4 as tf
import dl4.keras as keras
from dl4.keras.src.backend import config as settings

layers, ops = keras.layers, keras.ops
DATA = pathlib.Path(__file__).resolve().parents[4] / "tests/io/data"
X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X.sum(-1, keepdims=True)


def model(**how):
    m = keras.Sequential([keras.Input((3,)), layers.Dense(1, kernel_initializer="ones")])
    m.compile(**how)
    return m


class Rules(unittest.TestCase):
    def test_gradients_of_more_weights_than_a_page(self):
        """All of them, whatever their number."""
        x = h = keras.Input((3,))
        for _ in range(40):
            h = h + layers.Dense(3, kernel_initializer="zeros", bias_initializer="ones")(h)
        m = keras.Model(x, h)
        with tf.GradientTape() as tape:
            loss = ops.mean(m(X))
        gradients = tape.gradient(loss, m.trainable_variables)
        self.assertEqual(len(gradients), 80)
        for g in gradients[1::2]:
            np.testing.assert_allclose(np.asarray(g), np.full(3, 1 / 3), 1e-5)

    def test_what_compile_is_not_told_again_stays(self):
        m = model(optimizer="sgd", loss="mse", metrics=["mae"])
        m.compile("adam")
        self.assertEqual(sorted(m.fit(X, Y, verbose=0).history), ["loss", "mae"])
        m.compile("sgd", "mae", metrics=["mse"])
        self.assertEqual(sorted(m.fit(X, Y, verbose=0).history), ["loss", "mse"])

    def test_a_loss_of_a_class_sees_targets_as_they_are(self):
        seen = []

        class Mine(keras.losses.Loss):
            def call(self, y_true, y_pred):
                seen.append((len(y_true.shape), len(y_pred.shape)))
                return ops.square(y_true - ops.squeeze(y_pred, -1))

        m = model(optimizer="sgd", loss=Mine())
        other = model(optimizer="sgd", loss="mse")
        a, b = (n.fit(X, Y[:, 0], verbose=0, shuffle=False).history["loss"] for n in (m, other))
        np.testing.assert_allclose(a, b, 1e-5)
        self.assertEqual(set(seen), {(1, 2)})

    def test_a_rate_can_be_assigned(self):
        m = model(optimizer=keras.optimizers.SGD(0.5), loss="mse")
        m.optimizer.learning_rate.assign(0.25)
        m.fit(X, Y, verbose=0)
        m.optimizer.learning_rate.assign(0.125)
        self.assertEqual(float(m.optimizer.learning_rate), 0.125)

    def test_layers_stand_in_keras_order_behind_operations_of_several_steps(self):
        image, by = keras.Input((4, 4, 2), name="image"), keras.Input((3,), name="by")
        a, b = layers.Conv2D(2, 1, name="a")(image), layers.Dense(2, name="b")(by)
        x = layers.Conv2D(2, 1, name="c")(a) + layers.Dense(2, name="d")(b)[:, None, None, :]
        names = [layer.name for layer in keras.Model([image, by], x).layers]
        self.assertEqual(names, ["by", "image", "b", "a", "d", "c"])

    def test_operations_in_a_call_are_not_counted(self):
        class Twice(layers.Layer):
            def call(self, x):
                return ops.concatenate([x, x], -1)

        keras.backend.clear_session()
        x = keras.Input((3,))
        self.assertEqual(layers.Concatenate()([Twice()(x), x]).call.layer.name, "concatenate")

    def test_places_along_an_axis(self):
        r = np.random.RandomState(0)
        for shape, wanted, axis in (
            ((3, 5, 2), (3, 2, 2), 1),
            ((3, 5, 2), (3, 2, 1), 1),
            ((3, 5), (3, 1), -1),
            ((4, 5), (2, 5), 0),
            ((6,), (3,), 0),
        ):
            x, i = r.randn(*shape).astype("float32"), r.randint(-shape[axis], shape[axis], wanted)
            x.ravel()[0] = np.inf
            free = (lambda s: (None, *s[1:])) if axis else (lambda s: s)
            a, b = keras.Input(batch_shape=free(shape)), keras.Input(batch_shape=free(wanted), dtype="int32")
            got = keras.Model([a, b], ops.take_along_axis(a, b, axis))([x, i])
            np.testing.assert_array_equal(np.asarray(got), np.asarray(ops.take_along_axis(x, i, axis)))
        v, i = tf.Variable(r.randn(3, 5).astype("float32")), np.array([[0, 0], [1, 4], [2, 2]])
        with tf.GradientTape() as tape:
            loss = ops.sum(ops.take_along_axis(v, i, 1))
        np.testing.assert_array_equal(
            np.asarray(tape.gradient(loss, v)), [[2, 0, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 2, 0, 0]]
        )

    def test_other_floats_are_said_once(self):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for _ in range(2):
                keras.mixed_precision.set_global_policy("mixed_float16")
            layer = layers.Dense(2, dtype="mixed_float16")
        self.assertEqual(len([w for w in found if "float32" in str(w.message)]), 1)
        self.assertEqual((layer.dtype, layer.compute_dtype, layer.dtype_policy.name), ("float32",) * 3)
        self.assertEqual(keras.mixed_precision.global_policy().name, "mixed_float16")
        keras.config.set_dtype_policy("float32")
        with self.assertRaisesRegex(ValueError, "Valid policies"):
            keras.mixed_precision.Policy("float31")
        for name in ("float8_from_float32", keras.DTypePolicy("int32")):
            with self.assertRaisesRegex(NotImplementedError, "set_dtype_policy"):
                keras.config.set_dtype_policy(name)
        with self.assertRaisesRegex(NotImplementedError, "set_epsilon"):
            keras.config.set_epsilon(1e-3)

    def test_other_floats_are_said_once_however_they_come(self):
        config = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "bfloat16"}}

        class Mine(layers.Layer):
            def call(self, x):
                return x

        def policy():
            self.addCleanup(keras.config.set_dtype_policy, "float32")
            keras.config.set_dtype_policy("bfloat16")

        for ask in (
            policy,
            lambda: layers.Dense(2, dtype="bfloat16"),
            lambda: layers.Dense(2, dtype=config),
            lambda: Mine(dtype="bfloat16"),
            lambda: keras.config.set_floatx("bfloat16"),
            lambda: keras.models.load_model(str(DATA / "bfloat16.keras")),
        ):
            settings._told.discard("bfloat16")
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                ask()
                ask()
            self.assertEqual(["'bfloat16': layers have float32" in str(w.message) for w in found], [True])
        for ask in (lambda: layers.Dense(2, dtype="float8_from_float32"), lambda: Mine(dtype="float8_from_float32")):
            self.assertRaisesRegex(NotImplementedError, "float8 is not in this version", ask)
        self.assertRaisesRegex(NotImplementedError, "ReLU.*`_int8_call`", layers.ReLU, dtype="int8_from_float32")

    def test_weights_of_two_bytes_are_widened(self):
        """As the library reads the same files."""
        for name in ("bfloat16", "float16"):
            path = str(DATA / f"{name}.keras")
            model, wanted = keras.models.load_model(path), dl4.Model.load(path)
            for weight, _, _ in wanted.weights():
                value = wanted.get_weight(weight)
                np.testing.assert_array_equal(model.core.get_weight(weight), value)
                self.assertTrue(np.any(value) or weight.endswith("bias"))

    def test_auto_shows_lines_where_logging_is_not_interactive(self):
        keras.config.disable_interactive_logging()
        self.addCleanup(keras.config.enable_interactive_logging)
        self.assertFalse(keras.config.is_interactive_logging_enabled())
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            model(optimizer="sgd", loss="mse").fit(X, Y)
        self.assertIn("Epoch 1/1", out.getvalue())

# Of Keras 3.15.1 on TensorFlow.
RISES = [1.0972793102264404, -0.9695393443107605]
POLY = [1.1136454343795776, -0.3555191457271576]
EXP = [1.0414927005767822, -0.318333238363266]
CTC = [
    ([4, 3], [3, 3], [708.826111, 710.194031],
     [[-0.269756, -0.184311, 0.309406, 0.10363, 0.041047],
      [-0.30903, -0.312113, -0.087144, 0.245989, 0.46228]]),
    ([3, 2], [3, 3], [4.282146, 6.798376],
     [[0.202373, -0.843621, 0.338596, 0.198202, 0.104451],
      [0.078366, -0.905425, 0.11879, 0.245989, 0.46228]]),
    ([4, 3], [3, 2], [708.826111, 709.299255],
     [[-0.269756, -0.184311, 0.309406, 0.10363, 0.041047],
      [-0.283655, -0.24106, -0.183579, 0.245989, 0.46228]]),
]


class Told(unittest.TestCase):
    """Layers that are told whether they are training where the model is made. Numbers are Keras's 3.15.1: what the
    model is told replaces that, and fit(), evaluate() and predict() tell it."""

    class Doubles(layers.Layer):
        def call(self, x, training=False):
            return x * (2.0 if training else 1.0)

    def made(self, layer, said, nested):
        x = keras.Input((2,))
        m = keras.Model(x, layer(x, training=said))
        return keras.Sequential([keras.Input((2,)), m]) if nested else m

    def test_a_layer_of_ones_own(self):
        x = np.ones((2, 2), "float32")
        for said, nested in ((s, n) for s in (True, False) for n in (True, False)):
            with self.subTest(said=said, nested=nested):
                m = self.made(self.Doubles(), said, nested)
                self.assertEqual(m.predict(x, verbose=0)[0, 0], 1)
                self.assertEqual(np.asarray(m(x))[0, 0], 2 if said else 1)
                self.assertEqual(np.asarray(m(x, training=False))[0, 0], 1)
                self.assertEqual(np.asarray(m(x, training=True))[0, 0], 2)
                m.compile("sgd", "mse")
                self.assertEqual(m.evaluate(x, x, verbose=0), 0)

    def test_batch_normalization(self):
        x = np.array([[1, 2], [3, 6]], "float32")
        for said, nested in ((s, n) for s in (True, False) for n in (True, False)):
            with self.subTest(said=said, nested=nested):
                layer = layers.BatchNormalization()
                m = self.made(layer, said, nested)
                np.testing.assert_allclose(m.predict(x, verbose=0), x * 0.9995004, 1e-6)
                m.compile(keras.optimizers.SGD(0.0), "mse")
                np.testing.assert_allclose(m.evaluate(x, x, verbose=0), 3.1196318559523206e-06, 1e-5)
                np.testing.assert_array_equal(np.asarray(layer.moving_mean), [0, 0])
                np.testing.assert_allclose(m.fit(x, x, verbose=0).history["loss"], [10.50012493133545], 1e-6)
                np.testing.assert_allclose(np.asarray(layer.moving_mean), [0.02, 0.04], 1e-6)

    def test_dropout(self):
        x = np.ones((2, 2), "float32")
        m = self.made(layers.Dropout(0.5), True, False)
        np.testing.assert_array_equal(m.predict(x, verbose=0), x)
        self.assertLess(set(np.asarray(m(np.ones((50, 2), "float32"))).ravel()), {0.0, 1.0, 2.0})

    def test_an_operation_is_not_told(self):
        x = keras.Input((32,))
        m = keras.Model(x, keras.random.dropout(x, 0.5, seed=1))
        outer = keras.Sequential([keras.Input((32,)), m])
        data = np.ones((4, 32), "float32")
        for got in (m.predict(data, verbose=0), m(data, training=False), outer.predict(data, verbose=0)):
            self.assertEqual(set(np.asarray(got).ravel()), {0.0, 2.0})


class Attributes(unittest.TestCase):
    """What a call() reads of attributes is what they are when the model is trained or run."""

    def models(self):
        class Scaled(layers.Layer):
            shift = 0.0

            def __init__(self):
                super().__init__()
                self.rate, self.by_column, self.steps = 1.0, np.ones(3, "float32"), [1.0, {"last": 1.0}]
                self.traced = self.in_training = 0

            def call(self, x, training=False):
                self.traced += 1
                self.seen = x
                x = x * self.rate * self.by_column + self.shift + 0.0 * self.seen
                return x * self.in_training if training else x * self.steps[0] * self.steps[1]["last"]

        def dense():
            return layers.Dense(1, use_bias=False, kernel_initializer="ones")

        class Subclassed(keras.Model):
            def __init__(self):
                super().__init__()
                self.scaled, self.dense = Scaled(), dense()

            def call(self, x, training=False):
                return self.dense(self.scaled(x, training=training))

        x, scaled, inner = keras.Input((3,)), Scaled(), Scaled()
        functional = keras.Model(x, dense()(scaled(x)))
        functional.scaled = scaled
        nested = keras.Sequential([keras.Input((3,)), keras.Model(x, inner(x)), dense()])
        nested.scaled = inner
        return Subclassed(), functional, nested

    def test_changes_are_seen(self):
        for m in self.models():
            m.compile("sgd", "mse")
            m.evaluate(X, Y, verbose=0)
            self.assertAlmostEqual(float(m.predict(X, verbose=0).sum()), float(X.sum()), 5)
            traced = m.scaled.traced
            m.predict(X, verbose=0)
            self.assertEqual(m.scaled.traced, traced)
            factor = 1.0
            for change, by in (
                (lambda: setattr(m.scaled, "rate", 3.0), 3.0),
                (lambda: setattr(m.scaled, "by_column", np.full(3, 2.0, "float32")), 2.0),
                (lambda: m.scaled.by_column.__imul__(2.0), 2.0),
                (lambda: m.scaled.steps.__setitem__(0, 5.0), 5.0),
                (lambda: m.scaled.steps[1].update(last=0.5), 0.5),
            ):
                change()
                factor *= by
                np.testing.assert_allclose(m.predict(X, verbose=0), factor * Y, 1e-5)
                error = float(np.mean(((factor - 1) * Y) ** 2))
                self.assertAlmostEqual(m.evaluate(X, Y, verbose=0) / max(error, 1.0), error / max(error, 1.0), 4)
            type(m.scaled).shift = 1.0
            np.testing.assert_allclose(m.predict_on_batch(X), (factor * Y / 2.5 + 3) * 2.5, 1e-5)
            type(m.scaled).shift = 0.0

    def test_what_is_read_in_training_alone(self):
        for m in self.models():
            m.compile(keras.optimizers.SGD(1e-3, momentum=0.9), "mse")
            first = m.fit(X, Y, batch_size=8, verbose=0).history["loss"][0]
            self.assertAlmostEqual(first, float(np.mean(Y**2)), 5)
            m.scaled.in_training = 1.0
            self.assertAlmostEqual(m.fit(X, Y, batch_size=8, verbose=0).history["loss"][0], 0.0, 5)

    def test_of_losses(self):
        class Weighted(keras.losses.Loss):
            def __init__(self):
                super().__init__()
                self.weight = 1.0

            def call(self, y_true, y_pred):
                return self.weight * ops.abs(y_true - y_pred)

        loss = Weighted()
        m = model(optimizer="sgd", loss=loss)
        before = m.evaluate(X, Y + 1, verbose=0)
        loss.weight = 2.0
        self.assertAlmostEqual(m.evaluate(X, Y + 1, verbose=0), 2 * before, 5)

    def test_files_have_them(self):
        _, functional, _ = self.models()
        functional.predict(X, verbose=0)
        functional.scaled.rate = 4.0
        with tempfile.TemporaryDirectory() as folder:
            functional.save(f"{folder}/m.safetensors")
            again = keras.models.load_model(f"{folder}/m.safetensors")
        np.testing.assert_allclose(again.predict(X, verbose=0), 4 * Y, 1e-5)


class Operators(unittest.TestCase):
    """Of symbolic tensors and variables: in a call() those of TensorFlow's tensors, which are of each number."""

    whole = np.array([[0, 1, 6], [3, 4, 7]], "int32")

    def assert_in_calls(self, function, dtype):
        class Operated(layers.Layer):
            def call(self, a, b):
                return function(a, b)

        a, b = keras.Input((3,), dtype="int32"), keras.Input((3,), dtype="int32")
        given = self.whole, self.whole[:, ::-1].copy()
        wanted = function(*given)
        for got in (
            keras.Model([a, b], Operated()(a, b)).predict(list(given), verbose=0),
            tf.function(function)(*map(tf.constant, given)),
            function(*map(tf.constant, given)),
        ):
            self.assertEqual(np.asarray(got).dtype.name, dtype)
            np.testing.assert_array_equal(got, wanted)

    def test_comparisons(self):
        self.assert_in_calls(lambda a, b: a == 3, "bool")
        self.assert_in_calls(lambda a, b: a == b, "bool")
        self.assert_in_calls(lambda a, b: (a == b) | (a != 4), "bool")
        a, b = keras.Input((2,)), keras.Input((2,))
        self.assertIs(a == b, False)  # as Keras between layers
        self.assertIs(a == a, True)
        self.assertEqual((a != b).dtype, "bool")
        self.assertIs(a == None, False)  # noqa: E711
        self.assertIs(tf.constant([1, 2]) == None, False)  # noqa: E711

    def test_in_losses_and_on_tapes(self):
        m = model(optimizer="sgd", loss=lambda y_true, y_pred: ops.cast(y_true == y_pred, "float32"))
        m.set_weights([np.ones((3, 1)), np.zeros(1)])
        rows = np.array([[1, 1, 1], [1, 0, 0]], "float32")
        self.assertEqual(m.evaluate(rows, np.array([[3.0], [2.0]]), verbose=0), 0.5)
        w = tf.Variable([1.0, 2.0])
        with tf.GradientTape() as tape:
            y = w * 3.0
            z = tf.reduce_sum(tf.where(y == 6.0, y, 0.0 * y))
        np.testing.assert_array_equal(tape.gradient(z, w), [0.0, 3.0])

    def test_of_whole_numbers(self):
        self.assert_in_calls(lambda a, b: (a & 3) + (b | 1) - (a ^ b) + ~a, "int32")
        self.assert_in_calls(lambda a, b: abs(a - b), "int32")
        self.assert_in_calls(lambda a, b: (a - b) ** 2, "int32")

    def test_of_variables(self):
        v = keras.Variable([1.0, -2.0])
        np.testing.assert_array_equal(v == 1.0, [True, False])
        np.testing.assert_array_equal(v != 1.0, [False, True])
        np.testing.assert_array_equal(abs(v), [1.0, 2.0])
        np.testing.assert_array_equal(round(v / 4.0), [0.0, -0.0])
        counts = keras.Variable([4, 0], dtype="int32")
        np.testing.assert_array_equal(counts & 3, [True, False])  # as Keras
        with self.assertRaisesRegex(TypeError, "cannot be used as a boolean"):
            bool(v)
        self.assertIn(v, {v: 1})


class Steps(unittest.TestCase):
    def trained(self, rate):
        class Twice(keras.Model):
            def __init__(self):
                super().__init__()
                self.d = layers.Dense(1, kernel_initializer="ones")

            def call(self, x):
                return self.d(x)

            def train_step(self, data):
                x, y = data
                for _ in range(2):
                    with tf.GradientTape() as tape:
                        loss = ops.mean((self(x) - y) ** 2)
                    gradients = tape.gradient(loss, self.trainable_variables)
                    self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
                return {"mse": loss}

        m = Twice()
        m.compile(keras.optimizers.SGD(rate))
        x, y = np.array([[1.0, 2], [0.5, -1]], "float32"), np.array([[1.0], [2]], "float32")
        m.fit(x, y, epochs=3, verbose=0)
        return m.get_weights()[0].ravel()

    def test_each_update_of_a_step_has_its_own_rate(self):
        """Weights of Keras 3.15.1."""

        class Rises(keras.optimizers.schedules.LearningRateSchedule):
            def __call__(self, step):
                return 0.1 * (ops.cast(step, "float32") + 1)

        schedules = keras.optimizers.schedules
        for rate, weights in (
            (Rises(), RISES),
            (schedules.PolynomialDecay(0.2, 4, 0.0), POLY),
            (schedules.ExponentialDecay(0.2, 1, 0.5), EXP),
        ):
            np.testing.assert_allclose(self.trained(rate), weights, 1e-4)

    def test_evaluate_by_a_step_without_a_call(self):
        class Only(keras.Model):
            def __init__(self):
                super().__init__()
                self.tracker = keras.metrics.Mean(name="loss")

            @property
            def metrics(self):
                return [self.tracker]

            def test_step(self, data):
                self.tracker.update_state(ops.mean(data[0]))
                return {"loss": self.tracker.result()}

        m = Only()
        m.compile("sgd")
        self.assertEqual(m.evaluate(np.full((4, 2), 3, "float32"), np.zeros(4), verbose=0), 3)


class Numbers(unittest.TestCase):
    def test_ctc_of_labels_that_need_more_steps(self):
        """Losses and gradients of Keras 3.15.1 on TensorFlow."""
        x = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")
        labels = np.array([[1, 2, 3, 4], [1, 1, 2, 0]], "int32")
        for many, steps, losses, gradient in CTC:
            v = tf.Variable(x)
            with tf.GradientTape() as tape:
                got = ops.ctc_loss(labels, v, np.array(many, "int32"), np.array(steps, "int32"))
                loss = ops.sum(got)
            np.testing.assert_allclose(np.asarray(got), losses, 1e-6)
            np.testing.assert_allclose(np.asarray(tape.gradient(loss, v))[:, 0], gradient, 1e-3, 1e-5)

    def test_a_layer_of_ones_own_is_not_quantized(self):
        class Mine(layers.Layer):
            def call(self, x):
                return x

        for dtype in ("int8_from_float32", "int4_from_mixed_bfloat16"):
            with self.assertRaisesRegex(NotImplementedError, f"Mine: 'dtype'.*{dtype}"):
                Mine(dtype=dtype)


class Sizes(unittest.TestCase):
    """Sizes that a run learns, in layers of models within models."""

    def test_batches_that_are_split_and_joined(self):
        class Splits(layers.Layer):
            def call(self, x):
                batch, steps, width = ops.shape(x)
                rows = ops.reshape(x, (batch * steps, width))
                halves = ops.reshape(rows, (batch, steps, 2, width // 2))
                places = ops.tile(ops.reshape(ops.arange(steps), (1, steps, 1, 1)), (batch, 1, 1, 1))
                return halves / ops.cast(batch * steps, "float32") + ops.cast(places, "float32") + 2.0

        x = keras.Input((None, 4))
        inner = keras.Model(x, Splits()(x))
        y = keras.Input((None, 4))
        m = keras.Model(y, inner(y * 2.0))
        for shape in ((2, 3, 4), (3, 2, 4), (1, 1, 4)):
            data = np.arange(np.prod(shape), dtype="float32").reshape(shape)
            expected = 2 * data.reshape(*shape[:2], 2, 2) / (shape[0] * shape[1]) + 2
            expected += np.arange(shape[1]).reshape(1, -1, 1, 1)
            np.testing.assert_allclose(m.predict(data, verbose=0), expected, 1e-6)
            np.testing.assert_allclose(m(data), expected, 1e-6)


    def test_shapes_put_together_of_sizes(self):
        """Of sizes of shape(x) and numbers, in ops and in tf."""

        class Together(layers.Layer):
            def call(self, x):
                batch = ops.shape(x)[0]
                lower = ops.arange(3)[:, None] >= ops.arange(3)
                times = ops.concatenate([ops.expand_dims(batch, -1), ops.convert_to_tensor([1, 1])], 0)
                every = ops.tile(ops.reshape(lower, (1, 3, 3)), times)
                wide = tf.reshape(x, tf.concat([[batch], [2, 6]], 0))
                ones = tf.broadcast_to(tf.ones((1, 2)), tf.stack([batch, 2]))
                return ops.cast(every, "float32"), wide, ones + tf.zeros(tf.stack([tf.shape(x)[0], 2]))

        x = keras.Input((3, 4))
        m = keras.Model(x, Together()(x))
        self.assertEqual([t.shape for t in m.outputs], [(None, 3, 3), (None, 2, 6), (None, 2)])
        for batch in (1, 5):
            data = np.arange(batch * 12, dtype="float32").reshape(batch, 3, 4)
            every, wide, ones = m.predict(data, verbose=0)
            np.testing.assert_array_equal(every, np.tile(np.tri(3, dtype="float32")[None], (batch, 1, 1)))
            np.testing.assert_array_equal(wide, data.reshape(batch, 2, 6))
            np.testing.assert_array_equal(ones, np.ones((batch, 2)))

    def test_what_is_repeated_a_calculated_number_of_times_is_refused(self):
        """Where no part of the library learns the size in the run: no shape is made up."""

        class Repeats(layers.Layer):
            def call(self, x):
                return ops.tile(x, self.times(x))

        class Sizes_(Repeats):
            times = staticmethod(lambda x: [ops.shape(x)[0], 1, 1])

        class Numbers_(Repeats):
            times = staticmethod(lambda x: ops.cast(x[0, 0, :3], "int32"))

        for layer in (Sizes_(), Numbers_()):
            with self.assertRaisesRegex(NotImplementedError, "size"):
                layer(keras.Input((3, 4)))

    def test_a_model_takes_the_rank_and_batch_that_keras_takes(self):
        """In a step, too: a last axis of 1 is added or left out, and the batch of an input is not asked for."""

        class Step(keras.Model):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def call(self, x):
                return self.inner(x)

            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    loss = ops.mean(ops.square(y - self.inner(x, training=True)))
                gradients = tape.gradient(loss, self.inner.trainable_weights)
                self.optimizer.apply_gradients(zip(gradients, self.inner.trainable_weights))
                return {"mse": loss}

        images = np.arange(24, dtype="float32").reshape(4, 2, 3) / 24
        for given in (images, images[..., None], images[..., None, None, None]):
            x = keras.Input((2, 3, 1), batch_size=8)
            inner = keras.Model(x, layers.Dense(1, kernel_initializer="ones")(layers.Flatten()(x)))
            m = Step(inner)
            m.compile("sgd")
            if given.ndim == 6:
                with self.assertRaisesRegex(ValueError, "incompatible with the layer"):
                    m.fit(given, np.zeros((4, 1), "float32"), verbose=0)
                continue
            loss = m.fit(given, np.zeros((4, 1), "float32"), verbose=0).history["mse"][0]
            self.assertAlmostEqual(loss, float((images.sum((1, 2)) ** 2).mean()), 4)

    def test_a_model_that_only_its_step_calls_has_losses_and_metrics(self):
        """Its outputs are what the step gives them."""

        class Called(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = layers.Dense(1, kernel_initializer="ones")

            def call(self, pair):
                return self.dense(pair[0]) + pair[1]

            def train_step(self, batch):
                with tf.GradientTape() as tape:
                    y = self([batch["a"], batch["b"]])
                    loss = self.compute_loss(None, batch["y"], y)
                self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
                return {"mse": loss, **self.compute_metrics(None, batch["y"], y)}

        m = Called()
        m.compile("sgd", "mse", metrics=["mae"])
        batch = {"a": X, "b": Y, "y": np.zeros_like(Y)}
        logs = m.fit(tf.data.Dataset.from_tensors(batch), verbose=0).history
        self.assertAlmostEqual(logs["mse"][0], float((4 * Y**2).mean()), 5)
        self.assertAlmostEqual(logs["mae"][0], float(abs(2 * Y).mean()), 5)

    def test_the_middle_of_images_of_any_size(self):
        for form, shape in (("channels_last", (None, None, 2)), ("channels_first", (2, None, None))):
            x = keras.Input(shape)
            m = keras.Model(x, layers.CenterCrop(3, 4, data_format=form)(x))
            self.assertEqual(sorted(d for d in m.output.shape if d), [2, 3, 4])
            for high, wide in ((6, 7), (3, 4), (8, 9)):
                data = np.arange(high * wide * 4, dtype="float32").reshape(2, high, wide, 2)
                top, left = (high - 3) // 2, (wide - 4) // 2
                expected = data[:, top : top + 3, left : left + 4]
                if form == "channels_first":
                    data, expected = data.transpose(0, 3, 1, 2), expected.transpose(0, 3, 1, 2)
                np.testing.assert_array_equal(m.predict(data, verbose=0), expected)
                np.testing.assert_array_equal(m(data), expected)
            small = np.ones([2 if d == 2 or not i else 3 for i, d in enumerate((2, *shape))], "float32")
            with self.assertRaises(ValueError):  # which Keras changes where it knows their size
                m.predict(small, verbose=0)

    def test_layers_in_a_row_follow_the_sizes_of_data(self):
        """Without an Input the sizes of the first call bind nothing."""
        m = keras.Sequential([layers.Dense(2, kernel_initializer="ones"), layers.ReLU()])
        for steps in (5, 1, 7):
            np.testing.assert_array_equal(m(np.ones((2, steps, 3), "float32")), np.full((2, steps, 2), 3.0))


class Tapes(unittest.TestCase):
    def test_a_gradient_through_both_sides_of_an_assignment(self):
        v = keras.Variable(np.ones(2, "float32"), name="v")
        with tf.GradientTape() as tape:
            y = ops.exp(v)
            v.assign_add([1.0, 1.0])
            y = ops.sum(y * v)
        with self.assertRaisesRegex(NotImplementedError, "GradientTape.gradient: v was assigned between two uses"):
            tape.gradient(y, v)


    def test_metrics_that_stay_are_no_matter_of_the_next_compile(self):
        """They may not suit the losses that are told now; what trains says so."""
        x = keras.Input((3,))
        m = keras.Model(x, [layers.Dense(1, name="a")(x), layers.Dense(1, name="b")(x)])
        m.compile("sgd", ["mse", "mse"], metrics=[["mae"], ["mae"]])
        m.compile("sgd", [None, "mse"])
        with self.assertRaisesRegex(ValueError, "metrics"):
            m.compile("sgd", [None, "mse"], metrics=[["mae"], ["mae"]])
        m.compile("sgd", ["mse", "mse"], metrics=[["mae"], ["mae"]])
        self.assertIn("a_mae", m.fit(X, [Y, Y], verbose=0).history)

    def test_weights_are_read_beside_an_optimizer_of_other_variables(self):
        """Which stays as it is, with Keras's warning."""

        class Stepping(keras.Sequential):
            def train_step(self, data):
                return super().train_step(data)

        saved, read = (Stepping([keras.Input((3,)), layers.Dense(1)]) for _ in range(2))
        saved.compile("adam", "mse")
        read.compile("sgd", "mse")
        saved.fit(X, Y, verbose=0)
        read.fit(X, -Y, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            saved.save_weights(f"{folder}/a.weights.h5")
            with self.assertWarnsRegex(UserWarning, "Skipping variable loading for optimizer 'sgd"):
                read.load_weights(f"{folder}/a.weights.h5")
        np.testing.assert_array_equal(read.get_weights()[0], saved.get_weights()[0])
        self.assertEqual(int(read.optimizer.iterations), 1)

    def test_gradients_of_a_tape_in_another_are_applied(self):
        m = model()
        m.compile(keras.optimizers.SGD(0.5))
        kernel = m.trainable_variables[0]
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                loss = ops.mean(ops.square(m(X)) * m(X))
            first = tape.gradient(loss, [kernel])
        second = outer.gradient(first, [kernel])
        gradients = [0.5 * a + 0.5 * b for a, b in zip(first, second)]
        before = kernel.numpy().copy()
        m.optimizer.apply_gradients(zip(gradients, [kernel]))
        s = X.astype("float64").sum(1)
        one = (3 * s[:, None] ** 2 * X).mean(0)
        two = (6 * s[:, None] * X * X.sum(1, keepdims=True)).mean(0)  # by each, of the sum of all
        np.testing.assert_allclose(kernel.numpy()[:, 0], before[:, 0] - 0.25 * (one + two), 1e-5)


class Constants(unittest.TestCase):
    """Arrays among what a functional model computes with: they stand in its config."""

    def test_files_clones_and_configs(self):
        x = keras.Input((4,), dtype="int64")
        places = layers.Embedding(4, 3)(ops.arange(4))  # computed at once: no layer of the model
        y = layers.Embedding(6, 3, name="words")(x) + places
        y = layers.Dense(2)(ops.multiply(np.array([1.0, 2.0, 4.0], "float32"), y) - np.ones(3, "float32"))
        m = keras.Model(x, y)
        self.assertEqual(len(m.trainable_variables), 3)
        data = np.arange(8).reshape(2, 4) % 6
        expected = m.predict(data, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            m.save(folder + "/m.keras")
            again = keras.models.load_model(folder + "/m.keras")
        np.testing.assert_allclose(again.predict(data, verbose=0), expected, 1e-6)
        for copy in (
            keras.models.clone_model(m),
            keras.Model.from_config(m.get_config()),
            keras.models.model_from_json(m.to_json()),
        ):
            copy.set_weights(m.get_weights())
            np.testing.assert_allclose(copy.predict(data, verbose=0), expected, 1e-6)


class Imports(unittest.TestCase):
    """Lines of imports of TensorFlow's modules, with `dl4` or `dl4.tf` in its place."""

    def test_modules_have_tensorflow_names(self):
        for line, expected in (
            ("from dl4.tf.keras import layers as found", keras.layers),
            ("import dl4.tf.keras.backend as found", keras.backend),
            ("from dl4.tf.keras.layers import Dense as found", keras.layers.Dense),
            ("from dl4.tf.keras.applications.vgg16 import preprocess_input as found", None),
            ("import dl4.tf.keras as found", keras),
            ("import dl4.data as found", tf.data),
            ("import dl4.strings as found", tf.strings),
            ("import dl4.tf.strings as found", tf.strings),
            ("from dl4.tf.math import reduce_sum as found", tf.math.reduce_sum),
            ("from dl4.math import reduce_sum as found", tf.math.reduce_sum),
        ):
            names = {}
            exec(line, names)
            if expected is not None:
                self.assertIs(names["found"], expected, line)
        self.assertEqual((keras.layers.__name__, keras.layers.__spec__.name), ("dl4.keras.layers",) * 2)

    def test_what_is_not_there(self):
        for name in ("dl4.tf.keras.no_such", "dl4.tf.no_such", "dl4.no_such", "dl4.Context", "dl4.tf.Variable"):
            with self.assertRaises(ModuleNotFoundError, msg=name):
                importlib.import_module(name)


class Texts(unittest.TestCase):
    """Functions of keras.ops that move elements take texts, as on TensorFlow."""

    T = np.array([b"a", b"b", b"c"], dtype=object)

    def test_of_arrays(self):
        column = ops.expand_dims(self.T, -1)
        for got, expected in (
            (column, [[b"a"], [b"b"], [b"c"]]),
            (ops.concatenate([column, column], -1), [[b"a", b"a"], [b"b", b"b"], [b"c", b"c"]]),
            (ops.stack([self.T, self.T]), [[b"a", b"b", b"c"]] * 2),
            (ops.take(self.T, [2, 0], 0), [b"c", b"a"]),
            (ops.where(np.array([True, False, True]), self.T, self.T[::-1]), [b"a", b"b", b"c"]),
            (ops.reshape([["x", "yy"]], (2,)), [b"x", b"yy"]),
            (ops.cast(self.T, "string"), [b"a", b"b", b"c"]),
            (ops.equal(self.T, self.T[::-1]), [False, True, False]),
        ):
            self.assertEqual(np.asarray(got).tolist(), expected)
        self.assertEqual([np.asarray(v).tolist() for v in ops.split(self.T, 3)], [[b"a"], [b"b"], [b"c"]])

    def test_what_wants_numbers(self):
        for f in (ops.exp, ops.sum, lambda x: ops.add(x, x), lambda x: ops.cast(x, "float32")):
            with self.assertRaisesRegex(ValueError, "expected numbers, got"):
                f(self.T)
        for x in (np.ones(2, "float32"), keras.Input((2,))):
            with self.assertRaisesRegex(NotImplementedError, "cast.*expected texts"):
                ops.cast(x, "string")
        with self.assertRaisesRegex(NotImplementedError, "split: symbolic texts"):
            ops.split(keras.Input((2,), dtype="string"), 2, 1)

    def test_in_a_model(self):
        text, number = keras.Input((), dtype="string", name="text"), keras.Input((1,), name="number")
        pair = ops.stack([text, ops.squeeze(ops.cast(ops.expand_dims(text, -1), "string"), -1)], 1)
        self.assertEqual((pair.shape, pair.dtype), ((None, 2), "string"))
        hot = layers.StringLookup(vocabulary=["a", "b", "c"], output_mode="count")(pair)
        m = keras.Model([text, number], layers.Dense(1, kernel_initializer="ones")(layers.concatenate([hot, number])))
        self.assertEqual([type(v).__name__ for v in m.layers if "Input" not in type(v).__name__][-3:],
                         ["StringLookup", "Concatenate", "Dense"])
        data = [self.T, np.full((3, 1), 0.5, "float32")]
        np.testing.assert_allclose(m.predict(data, verbose=0), np.full((3, 1), 2.5), 1e-6)
        with tempfile.TemporaryDirectory() as folder:
            m.save(folder + "/m.keras")
            again = keras.models.load_model(folder + "/m.keras")
        np.testing.assert_allclose(again.predict(data, verbose=0), np.full((3, 1), 2.5), 1e-6)

    def test_a_vocabulary_of_rows_of_different_lengths(self):
        lookup = layers.StringLookup(output_mode="multi_hot")
        rows = tf.ragged.constant([["a"], ["a", "b"], ["c", "b", "d"]])
        lookup.adapt(rows)
        self.assertEqual(lookup.get_vocabulary(), ["[UNK]", "b", "a", "d", "c"])
        self.assertEqual(lookup(rows).numpy().tolist(), [[0, 0, 1, 0, 0], [0, 1, 1, 0, 0], [0, 1, 0, 1, 1]])

    def test_rows_of_different_lengths_stay_such(self):
        rows = tf.strings.split(["1,2,3", "4", "55,6"], ",")
        self.assertEqual(tf.strings.to_number(rows, tf.float32).to_tensor().numpy().tolist(),
                         [[1, 2, 3], [4, 0, 0], [55, 6, 0]])
        self.assertEqual(tf.strings.length(rows).to_list(), [[1, 1, 1], [1], [2, 1]])
        self.assertEqual(tf.strings.regex_full_match(rows, "[0-9]").to_list(), [[True] * 3, [True], [False, True]])


    def test_texts_meet_texts_of_python(self):
        """As bytes, which tensors hold."""
        parts = tf.strings.split(tf.constant("a/pos/x"), "/")
        np.testing.assert_array_equal(parts[-2] == np.array(["neg", "pos"]), [False, True])
        np.testing.assert_array_equal(np.array(["neg", "pos"]) == parts[-2], [False, True])
        np.testing.assert_array_equal(parts == "pos", [False, True, False])
        np.testing.assert_array_equal(parts != "pos", [True, False, True])
        self.assertEqual(("d/" + parts[-1] + ".wav").numpy(), b"d/x.wav")
        found = tf.data.Dataset.from_tensor_slices(["x1", "x2"]).map(lambda a: (tf.cast(a == "x2", tf.int32), a + "!"))
        self.assertEqual([(int(n), a.numpy()) for n, a in found], [(0, b"x1!"), (1, b"x2!")])


class Evaluating(unittest.TestCase):
    def test_callbacks_see_what_was_measured_so_far(self):
        class Hears(keras.callbacks.Callback):
            def __init__(self):
                super().__init__()
                self.heard = []

            def on_test_batch_begin(self, batch, logs=None):
                self.heard.append(batch)

            def on_test_batch_end(self, batch, logs=None):
                self.heard.append(dict(logs))

        m, hears, alone = model(optimizer="sgd", loss="mse", metrics=["mae"]), Hears(), Hears()
        m.evaluate(X, Y + 1, batch_size=3, callbacks=[hears], verbose=0)
        self.assertEqual(hears.heard[::2], [0, 1, 2])
        for rows, logs in zip((3, 6, 8), hears.heard[1::2]):
            expected = m.evaluate(X[:rows], Y[:rows] + 1, verbose=0, return_dict=True)
            self.assertEqual(sorted(logs), ["loss", "mae"])
            for name, value in expected.items():
                self.assertAlmostEqual(logs[name], value, 5)
        history = m.fit(X, Y, epochs=1, validation_data=(X, Y), validation_batch_size=4, callbacks=[alone], verbose=0)
        self.assertEqual(alone.heard[::2], [0, 1])
        self.assertAlmostEqual(alone.heard[-1]["loss"], history.history["val_loss"][0], 5)

    def test_a_callback_ends_it(self):
        class Ends(keras.callbacks.Callback):
            def on_test_batch_end(self, batch, logs=None):
                self.model.stop_evaluating = batch == 1

        m = model(optimizer="sgd", loss="mae")
        expected = m.evaluate(X[:4], Y[:4] + np.arange(4)[:, None], verbose=0)
        got = m.evaluate(X, Y + np.arange(8)[:, None], batch_size=2, callbacks=[Ends()], verbose=0)
        self.assertAlmostEqual(got, expected, 5)


class States(unittest.TestCase):
    def test_of_a_stateful_layer(self):
        x = np.random.RandomState(0).rand(2, 5, 3).astype("float32")
        for make in (
            lambda **more: layers.LSTM(4, **more),
            lambda **more: layers.GRU(4, **more),
            lambda **more: layers.ConvLSTM1D(2, 2, **more),
            lambda **more: layers.RNN(layers.LSTMCell(4), **more),
        ):
            kept, told = make(stateful=True), make(return_state=True)
            given = x[..., None] if isinstance(kept, layers.ConvLSTM1D) else x
            self.assertIsNone(kept.states)
            told(given)
            kept(given)
            told.set_weights(kept.get_weights())
            _, *expected = told(given)
            self.assertEqual(len(kept.states), len(expected))
            for a, b in zip(kept.states, expected):
                np.testing.assert_allclose(a, b, 1e-5, 1e-6)
            again = make()
            again(given)
            again.set_weights(kept.get_weights())
            np.testing.assert_allclose(again(given, initial_state=kept.states), kept(given), 1e-5, 1e-6)
            kept.reset_state()
            self.assertEqual(float(sum(np.abs(s).sum() for s in kept.states)), 0)
            self.assertIsNone(told.states)

    def test_of_stacked_cells_and_both_directions(self):
        x = np.ones((2, 5, 3), "float32")
        stacked = layers.RNN([layers.LSTMCell(4), layers.GRUCell(2)], stateful=True)
        stacked(x)
        self.assertEqual([[s.shape for s in one] for one in stacked.states], [[(2, 4), (2, 4)], [(2, 2)]])
        both = layers.Bidirectional(layers.LSTM(4, stateful=True))
        both(x)
        self.assertEqual([s.shape for s in both.states], [(2, 4)] * 4)


class OldWords(unittest.TestCase):
    def warned(self, f, text):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = f()
        self.assertEqual([str(w.message) for w in caught], [text])
        return found

    def test_arguments_that_keras_still_takes(self):
        text = "Argument `alpha` is deprecated. Use `negative_slope` instead."
        leaky = self.warned(lambda: layers.LeakyReLU(alpha=0.25), text)
        self.assertEqual(leaky.negative_slope, 0.25)
        np.testing.assert_allclose(leaky(np.array([-4.0, 2.0], "float32")), [-1, 2])
        text = "Argument `input_length` is deprecated. Just remove it."
        embedding = self.warned(lambda: layers.Embedding(5, 2, input_length=3), text)
        self.assertEqual(embedding(np.array([[1, 2, 3]])).shape, (1, 3, 2))
        text = "Argument `decay` is no longer supported and will be ignored."
        optimizer = self.warned(lambda: keras.optimizers.SGD(0.5, decay=0.1), text)
        self.assertNotIn("decay", optimizer.get_config())
        with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'lr'"):
            keras.optimizers.SGD(lr=0.5)

    def test_a_config_names_a_class_as_it_is_registered(self):
        @keras.saving.register_keras_serializable(package="Ours", name="Doubled")
        class Twice(layers.Layer):
            def call(self, x):
                return 2 * x

        config = keras.layers.serialize(Twice())
        self.assertEqual(config["registered_name"], "Ours>Doubled")
        self.assertIsInstance(keras.layers.deserialize(config), Twice)


class Applied(unittest.TestCase):
    def losses(self, optimizer, traced_from):
        """Of steps on arrays, and from one of them on of traced ones."""
        m = keras.Sequential([keras.Input((3,)), layers.Dense(4, "tanh"), layers.Dense(1)])
        m.set_weights([np.sin(np.arange(w.size)).reshape(w.shape) for w in m.get_weights()])

        def step(x, y):
            with tf.GradientTape() as tape:
                loss = ops.mean((m(x) - y) ** 2)
            optimizer.apply(tape.gradient(loss, m.trainable_weights), m.trainable_weights)
            return loss

        traced = tf.function(step)
        return [float((step if i < traced_from else traced)(X, Y)) for i in range(6)]

    def test_steps_on_arrays_and_traced_ones_go_on_from_each_other(self):
        for make in (keras.optimizers.Adam, keras.optimizers.Adagrad, keras.optimizers.RMSprop):
            optimizers = [make(0.1) for _ in range(3)]
            got = [self.losses(optimizer, n) for optimizer, n in zip(optimizers, (6, 3, 0))]
            np.testing.assert_allclose(got[1], got[0], 1e-6)
            np.testing.assert_allclose(got[2], got[0], 1e-6)
            self.assertEqual([int(optimizer.iterations) for optimizer in optimizers], [6, 6, 6])

    def test_averages_and_accumulation_are_on_arrays_alone(self):
        for more in ({"use_ema": True, "ema_momentum": 0.5}, {"gradient_accumulation_steps": 2}):
            wanted = self.losses(keras.optimizers.Adam(0.1, **more), 6)
            np.testing.assert_allclose(self.losses(keras.optimizers.Adam(0.1, **more), 3), wanted, 1e-6)
            m, optimizer = model(optimizer="sgd", loss="mse"), keras.optimizers.Adam(0.1, **more)
            optimizer.apply([np.zeros(v.shape, "float32") for v in m.trainable_weights], m.trainable_weights)

            class Stepping(keras.Model):
                def train_step(self, data):
                    with tf.GradientTape() as tape:
                        loss = ops.mean(self(data[0]) ** 2)
                    self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
                    return {"mse": loss}

            stepping = Stepping(m.inputs[0], m.outputs[0])
            stepping.compile(optimizer, "mse")
            with self.assertRaisesRegex(NotImplementedError, "use_ema or gradient_accumulation_steps.*not in both"):
                stepping.fit(X, Y, verbose=0)

    def test_decay_stands_around_an_update_step(self):
        for optimizer in (
            keras.optimizers.Muon(0.1, weight_decay=0.3, adam_weight_decay=0.2),
            keras.optimizers.AdamW(0.1, weight_decay=0.3),
        ):
            variable = keras.Variable(np.ones(4, "float32"))
            optimizer.build([variable])
            optimizer.update_step(np.float32([-1, -1, 1, 1]), variable, 0.1)
            np.testing.assert_allclose(variable.numpy(), [1.1, 1.1, 0.9, 0.9], 1e-5)

    def test_other_variables_are_refused(self):
        optimizer, (a, b) = keras.optimizers.Adam(0.1), (keras.Variable([1.0, 2.0]) for _ in range(2))
        optimizer.build([a, b])
        optimizer.apply([np.ones(2, "float32")], [a])
        with self.assertRaisesRegex(NotImplementedError, "gradients of the same 1 variables each time, got 2"):
            optimizer.apply([np.ones(2, "float32")] * 2, [a, b])


class Devices(unittest.TestCase):
    def test_strategies_of_the_one_that_is_here(self):
        strategy = tf.distribute.MirroredStrategy()
        self.assertEqual(strategy.num_replicas_in_sync, 1)
        self.assertFalse(tf.distribute.has_strategy())
        with strategy.scope():
            self.assertIs(tf.distribute.get_strategy(), strategy)
            m = model(optimizer="sgd", loss="mse")
        data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
        for batch in strategy.experimental_distribute_dataset(data):
            loss = strategy.run(lambda x, y: ops.mean((m(x) - y) ** 2), args=batch)
            self.assertEqual(float(strategy.reduce(tf.distribute.ReduceOp.SUM, loss, axis=None)), float(loss))
        with self.assertRaisesRegex(ValueError, "MirroredStrategy: expected the one device"):
            tf.distribute.MirroredStrategy(["/gpu:0", "/gpu:1"])
        with self.assertRaisesRegex(ValueError, "TPU Name"):
            tf.distribute.cluster_resolver.TPUClusterResolver.connect()
        with self.assertRaisesRegex(AttributeError, "TPUStrategy.*one device"):
            tf.distribute.TPUStrategy
        with self.assertRaisesRegex(NotImplementedError, "axis=0"):
            strategy.reduce("sum", X, axis=0)
        with self.assertRaisesRegex(ValueError, "ReduceOp.SUM or ReduceOp.MEAN, got 'max'"):
            strategy.reduce("max", X)
        self.assertIs(strategy.gather(X, 0), X)
        with self.assertRaisesRegex(ValueError, "expected an axis"):
            strategy.gather(X, 2)
        with self.assertRaisesRegex(NotImplementedError, "cross_device_ops"):
            tf.distribute.MirroredStrategy(cross_device_ops="nccl")


class Masks(unittest.TestCase):
    def test_a_symbolic_tensor_shows_its_mask(self):
        x = keras.Input((None,), dtype="int32")
        y = layers.Embedding(5, 2, mask_zero=True)(x)
        self.assertEqual((y._keras_mask.shape, y._keras_mask.dtype), ((None, None), "bool"))
        found = keras.Model(x, y._keras_mask).predict(np.array([[1, 0, 2]]), verbose=0)
        np.testing.assert_array_equal(found, [[True, False, True]])
        self.assertFalse(hasattr(x, "_keras_mask"))


class Summaries(unittest.TestCase):
    def setUp(self):
        self.model = keras.Sequential([keras.Input((8,)), layers.Dense(4), layers.Dense(2)])

    def rule(self, **kwargs):
        """The widths of the columns."""
        lines = []
        self.model.summary(print_fn=lines.append, **kwargs)
        return [len(column) for column in lines[0].split("\n")[1][1:-1].split("┳")]

    def test_lines_of_a_length(self):
        """Widths of Keras 3.15.1."""
        self.assertEqual(self.rule(line_length=60), [26, 19, 11])
        self.assertEqual(self.rule(line_length=100), [44, 33, 19])
        self.assertEqual(self.rule(line_length=72, positions=[0.5, 0.75, 1.0]), [35, 16, 17])
        self.assertEqual(self.rule(line_length=80, show_trainable=True), [31, 24, 13, 7])
        self.assertEqual(self.rule(line_length=100, positions=[0.5, 0.8, 1.0], show_trainable=True), [44, 26, 16, 9])

    def test_what_cannot_be(self):
        with self.assertRaisesRegex(ValueError, "Insufficient console width"):
            self.rule(line_length=10)
        for positions in ([0.3, 0.56, 0.74, 1.0], [0.5, 0.7, 0.9]):
            with self.assertRaisesRegex(ValueError, "positions.*expected 3 shares"):
                self.rule(positions=positions)

class Programs(unittest.TestCase):
    """What public programs of images do."""

    def test_variables_of_integers_are_assigned_in_a_step(self):
        class Counting(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense, self.mean = layers.Dense(1, use_bias=False), keras.metrics.Mean(name="loss")
                self.steps, self.late = tf.Variable(0, dtype="int64"), tf.Variable(False)
                self.twice = keras.Variable([1, 2, 3], dtype="int32", trainable=False)

            metrics = property(lambda self: [self.mean])

            def train_step(self, data):
                self.steps.assign_add(1)
                self.twice.assign(self.twice * 2)
                self.late.assign(self.steps > 2)
                with tf.GradientTape() as tape:
                    loss = ops.mean(self.dense(data)) * tf.cast(self.steps, "float32")
                weights = self.dense.trainable_variables
                self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
                self.steps.assign_sub(tf.constant(-9, "int64"))
                self.mean.update_state(loss)
                return {"loss": self.mean.result(), "steps": self.steps}

        m = Counting()
        m.dense.build((None, 3))
        m.compile(keras.optimizers.SGD(1.0))
        before = m.dense.get_weights()[0]
        history = m.fit(np.ones((4, 3), "float32"), batch_size=1, epochs=1, verbose=0).history
        self.assertEqual((int(m.steps), list(m.twice.numpy()), bool(m.late.numpy())), (40, [16, 32, 48], True))
        self.assertEqual((history["steps"], m.steps.dtype, m.twice.dtype), ([40.0], "int64", "int32"))
        np.testing.assert_allclose(before - m.dense.get_weights()[0], np.full((3, 1), 1 + 11 + 21 + 31), 1e-5)

    def test_variables_of_integers_are_assigned_on_a_tape(self):
        v, w = tf.Variable(2), tf.Variable(3.0)
        with tf.GradientTape() as tape:
            v.assign_add(5)
            loss = w * tf.cast(v, "float32")
        self.assertEqual((int(v), float(tape.gradient(loss, w))), (7, 7.0))

        @tf.function
        def step(x):
            v.assign_sub(x)
            return v * 3

        self.assertEqual(([int(step(tf.constant(1))) for _ in range(2)], int(v)), ([18, 15], 5))

    def test_an_activation_changes_after_calls(self):
        x = keras.Input((3,))
        hidden, out = layers.Dense(4, activation="relu", name="hidden"), layers.Dense(2, activation="softmax")
        m = keras.Model(x, out(hidden(x)))
        outer = keras.Sequential([m, layers.Dense(1, use_bias=False)])
        outer.compile(keras.optimizers.SGD(0.01, momentum=0.9), "mse")
        outer.fit(X, Y, verbose=0)
        before, (a, b, c, d, e) = m.predict(X, verbose=0), outer.get_weights()
        m.layers[-1].activation = None
        logits = np.maximum(X @ a + b, 0) @ c + d
        for got in (m.predict(X, verbose=0), m(X), keras.Model(m.inputs, [hidden.output, m.output])(X)[1]):
            np.testing.assert_allclose(got, logits, 1e-4, 1e-5)
        np.testing.assert_allclose(outer.predict(X, verbose=0), logits @ e, 1e-4, 1e-5)
        outer.fit(X, Y, verbose=0)
        self.assertEqual(int(outer.optimizer.iterations), 2)
        outer.set_weights([a, b, c, d, e])
        out.activation = "softmax"
        np.testing.assert_array_equal(m.predict(X, verbose=0), before)
        with self.assertRaisesRegex(NotImplementedError, "'activation' can't be changed"):
            out.activation = lambda x: x + 1

    def test_a_loss_whose_call_operator_is_its_own(self):
        class Mine(keras.losses.Loss):
            def __call__(self, y_true, y_pred, sample_weight=None):
                return ops.mean(ops.square(y_true - y_pred)) * (1 if sample_weight is None else 2)

        def curves(loss):
            m = keras.Sequential([keras.Input((3,)), layers.Dense(1, kernel_initializer="ones")])
            m.compile("sgd", loss, metrics=["mae"])
            history = m.fit(X, Y, batch_size=4, shuffle=False, verbose=0, validation_data=(X, Y)).history
            weighted = m.evaluate(X, Y, sample_weight=np.ones(8), verbose=0)
            return [*history.values(), m.evaluate(X, Y, verbose=0)], weighted

        (mine, weighted), (plain, as_often) = curves(Mine()), curves("mse")
        np.testing.assert_allclose(np.hstack(mine), np.hstack(plain), 1e-5, 1e-7)
        np.testing.assert_allclose(weighted[0], 2 * as_often[0], 1e-5)

    def test_penalties_alone(self):
        m = keras.Sequential([keras.Input((3,)), layers.Dense(1, kernel_regularizer=keras.regularizers.L2(0.1))])
        m.compile(metrics=["mae"])
        expected = 0.1 * np.square(m.get_weights()[0]).sum(), np.abs(m.predict(X, verbose=0) - Y).mean()
        np.testing.assert_allclose(m.evaluate(X, Y, verbose=0), expected, 1e-5)

    def test_words_that_keras_takes_too(self):
        self.assertEqual(layers.Conv2D(2, 2, padding="VALID").padding, "valid")
        self.assertEqual(layers.MaxPooling2D(padding="SAME", data_format="Channels_Last").padding, "same")
        with self.assertWarnsRegex(UserWarning, "`alpha` is deprecated. Use `negative_slope`"):
            self.assertEqual(layers.LeakyReLU(alpha=0.1).negative_slope, 0.1)

    def test_build_of_a_layer_that_is_called_by_name(self):
        class Scaled(layers.Layer):
            def build(self, input_shape):
                self.dense = layers.Dense(input_shape[-1])

            def call(self, patches):
                return self.dense(patches)

        self.assertEqual(Scaled()(patches=X).shape, (8, 3))
        self.assertEqual(Scaled()(patches=keras.Input((5,))).shape, (None, 5))

    def test_what_a_tensor_s_shape_is_told(self):
        t = tf.constant([[1, 2]])
        t.set_shape([None, 2])
        t.set_shape(None)
        with self.assertRaisesRegex(ValueError, r"shape \(1, 2\) is not compatible with supplied shape \(3, 2\)"):
            t.set_shape([3, 2])
        self.assertEqual(tf.fill((tf.shape(keras.Input((2,)))[0], 3), 1.0).shape, (None, 3))

    def test_layers_that_change_images_in_a_step(self):
        class Augmented(keras.Model):
            def __init__(self, *layers_of_images):
                super().__init__()
                self.change = keras.Sequential(list(layers_of_images))

            def train_step(self, data):
                a, b = self.change(data), self.change(data, training=True)
                left = [ops.sum(ops.abs(b - x), axis=(1, 2, 3)) for x in (data[:, :6, :6], data[:, :6, 5::-1])]
                return {"size": a.shape[1], "apart": ops.max(ops.minimum(*left)), "moved": ops.sum(left[0])}

        x = np.random.RandomState(0).rand(8, 6, 6, 3).astype("float32")
        m = Augmented(layers.Rescaling(2.0), layers.RandomFlip("horizontal", seed=1), layers.Rescaling(0.5))
        m.compile()
        logs = m.fit(x, batch_size=8, epochs=2, verbose=0).history
        self.assertEqual((logs["size"], logs["apart"]), ([6, 6], [0.0, 0.0]))
        self.assertTrue(logs["moved"][0] > 1 and logs["moved"][0] != logs["moved"][1])  # drawn anew
        m = Augmented(layers.Resizing(8, 8), layers.RandomCrop(6, 6))
        m.compile()
        self.assertEqual(m.fit(x, batch_size=8, verbose=0).history["size"], [6])

    def test_a_sequential_model_of_one_image(self):
        m = keras.Sequential([layers.Rescaling(2.0), layers.Resizing(3, 3), layers.RandomFlip("horizontal")])
        x = np.arange(4 * 5 * 3, dtype="float32").reshape(4, 5, 3)
        for turned in (x, x[1:]):
            np.testing.assert_allclose(m(turned, training=False), 2 * layers.Resizing(3, 3)(turned), 1e-6)
        data = tf.data.Dataset.from_tensor_slices(np.stack([x, x])).map(m).batch(2)
        self.assertEqual(next(iter(data)).shape, (2, 3, 3, 3))

    def test_old_ctc(self):
        r = np.random.RandomState(0)
        p = r.rand(3, 6, 5).astype("float32") ** 3
        p /= p.sum(-1, keepdims=True)
        lengths, labels = np.array([[6], [6], [4]]), np.array([[0, 1, 2], [3, 3, 99], [1, 99, 99]], "float32")
        got = keras.backend.ctc_batch_cost(labels, p, lengths, np.full((3, 1), 3))
        np.testing.assert_allclose(got, [[7.166947], [10.995946], [8.01987]], 1e-5)
        (path,), scores = keras.backend.ctc_decode(p, lengths[:, 0])
        np.testing.assert_array_equal(path, [[1, 3, 0, 2, -1, -1], [1, 3, 2, 0, 2, 1], [2, 3, 2, 3, -1, -1]])
        np.testing.assert_allclose(scores, [[4.691172], [3.018141], [2.479196]], 1e-5)
        paths, scores = keras.backend.ctc_decode(p, lengths[:, 0], greedy=False, beam_width=10, top_paths=2)
        np.testing.assert_array_equal([q[0] for q in paths], [[2, 3, 0, 2, -1, -1], [1, 3, 0, 2, -1, -1]])
        np.testing.assert_allclose(scores[0], [-3.907979, -4.149595], 1e-5)

    def test_blocks_of_pixels_of_unknown_sizes(self):
        x = keras.Input((None, None, 8))
        m = keras.Model(x, layers.Lambda(lambda v: tf.nn.depth_to_space(v, 2))(x))
        images = np.random.RandomState(0).rand(2, 3, 4, 8).astype("float32")
        np.testing.assert_array_equal(m.predict(images, verbose=0), tf.nn.depth_to_space(images, 2))
        with self.assertRaisesRegex(NotImplementedError, "space_to_depth: expected images of a known size"):
            tf.nn.space_to_depth(keras.Input((None, None, 2)), 2)
        known = keras.Input((4, 6, 2))
        back = keras.Model(known, tf.nn.depth_to_space(tf.nn.space_to_depth(known, 2), 2))
        whole = np.random.RandomState(1).rand(2, 4, 6, 2).astype("float32")
        np.testing.assert_array_equal(back.predict(whole, verbose=0), whole)
        scaled = layers.Dense(8, use_bias=False, kernel_initializer="identity")
        trained = keras.Model(x, layers.Lambda(lambda v: tf.nn.depth_to_space(v, 2))(scaled(x)))
        trained.compile(keras.optimizers.SGD(1.0), lambda y, p: ops.mean(p))
        trained.fit(images, np.zeros((2, 6, 8, 2)), batch_size=2, verbose=0)
        step = np.repeat(images.mean((0, 1, 2))[:, None], 8, 1) / 8
        np.testing.assert_allclose(np.eye(8) - scaled.get_weights()[0], step, 1e-4, 1e-6)

    def test_rows_of_batches(self):
        x, at = np.random.RandomState(0).rand(2, 5, 3).astype("float32"), np.array([[4, 0], [1, 1]])
        expected = np.stack([x[0][at[0]], x[1][at[1]]])

        @tf.function
        def gathered(x, at):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.gather(x, at, axis=1, batch_dims=1)
                loss = ops.sum(y * y)
            return y, tape.gradient(loss, x), tf.gather(x[..., 0], at, batch_dims=1)

        y, gradient, plain = gathered(tf.constant(x), tf.constant(at))
        for got in (y, tf.gather(x, at, axis=1, batch_dims=1)):
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(plain, expected[..., 0])
        np.testing.assert_allclose(gradient[1], x[1] * [[0], [4], [0], [0], [0]], 1e-6)
        np.testing.assert_array_equal(tf.gather(x, [[0], [1]], axis=2, batch_dims=1)[1], x[1][:, [1]])
        with self.assertRaisesRegex(NotImplementedError, "tf.gather: `batch_dims`"):
            tf.gather(keras.Input((5, 3)), at, axis=2, batch_dims=1)

    def test_products_of_a_free_batch_with_itself_have_gradients(self):
        class Orthogonal(keras.regularizers.Regularizer):
            def __call__(self, x):
                x = ops.reshape(x, (-1, 3, 3))
                x = ops.reshape(ops.tensordot(x, x, axes=(2, 2)), (-1, 3, 3))
                return ops.sum(0.1 * ops.square(x - ops.eye(3)))

        def after(penalty):
            m = keras.Sequential([keras.Input((3,)), layers.Dense(9, activity_regularizer=penalty)])
            m.compile(keras.optimizers.SGD(0.1), "mse")
            m.set_weights([np.linspace(-1, 1, 27).reshape(3, 9), np.linspace(0, 1, 9)])
            history = m.fit(X, np.zeros((8, 9)), batch_size=8, shuffle=False, verbose=0).history
            return [history["loss"], *m.get_weights()]

        loss, kernel, bias = after(Orthogonal())
        np.testing.assert_allclose([loss[0], *kernel[0, :2], *bias[:2]], PENALIZED, 1e-4)
        xs = [np.random.RandomState(i).rand(*s) for i, s in enumerate([(2, 1, 3), (2, 4, 3)])]
        a, b = (tf.constant(x, "float32") for x in xs)
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = ops.sum(ops.einsum("...a,...a->...", a, b) ** 2)
        total = (xs[0] * xs[1]).sum(-1, keepdims=True)
        for got, want in zip(tape.gradient(y, [a, b]), [(2 * total * xs[1]).sum(1, keepdims=True), 2 * total * xs[0]]):
            np.testing.assert_allclose(got, want, 1e-4)

    def test_multiples_of_free_sizes(self):
        class Blocks(layers.Layer):
            def call(self, x):
                batch, height, width, depth = ops.shape(x)
                x = ops.reshape(x, [batch, height, width, 2, 2, depth // 4])
                x = ops.transpose(x, [0, 1, 3, 2, 4, 5])
                return ops.reshape(x, [batch, height * 2, 2 * width, depth // 4])

        x = keras.Input((None, None, 8))
        m, images = keras.Model(x, Blocks()(x)), np.random.RandomState(0).rand(2, 3, 4, 8).astype("float32")
        np.testing.assert_array_equal(m.predict(images, verbose=0), tf.nn.depth_to_space(images, 2))
        threes = keras.Model(x, ops.ones((ops.shape(x)[0], ops.shape(x)[1] * 3)))
        np.testing.assert_array_equal(threes.predict(images, verbose=0), np.ones((2, 9)))

    def test_threads_share_a_function(self):
        @tf.function
        def scaled(x):
            for _ in range(6):
                x = tf.matmul(x, x) / 100.0
            return tf.reduce_sum(x)

        x = np.random.RandomState(0).rand(16, 300, 300).astype("float32")
        alone = [float(scaled(v)) for v in x]
        found = tf.data.Dataset.from_tensor_slices(x).map(scaled, num_parallel_calls=4)
        np.testing.assert_array_equal([float(v) for v in found], alone)

    def test_logs_may_be_arrays(self):
        class Rows(keras.Model):
            def train_step(self, data):
                return {"rows": ops.sum(data, axis=-1)}

        m, out = Rows(), io.StringIO()
        m.compile()
        with contextlib.redirect_stdout(out):
            history = m.fit(X + 2, batch_size=8).history
        np.testing.assert_allclose(np.sort(history["rows"][0]), X.sum(-1) + 6, 1e-5)
        self.assertIn(" - rows: 6.0000", out.getvalue())

    def test_images(self):
        x = np.arange(2 * 4 * 6 * 3, dtype="float32").reshape(2, 4, 6, 3)
        small = tf.image.resize(x, (2, 2), method="area")
        np.testing.assert_allclose(small, x.reshape(2, 2, 2, 2, 3, 3).mean((2, 4)), 1e-6)
        np.testing.assert_allclose(
            tf.image.resize(x[:1, :2, :3, :1], (3, 5), method="area").numpy().ravel(), AREAS, 1e-5, 1e-5
        )
        np.testing.assert_allclose(tf.image.rgb_to_yuv([[[1.0, 0.5, 0.25]]]), [[YUV]], 1e-5)
        np.testing.assert_allclose(tf.image.yuv_to_rgb(tf.image.rgb_to_yuv(x / 300)), x / 300, 1e-4, 1e-5)
        boxes = np.array([[0.1, 0.2, 0.7, 0.9], [-0.2, 0, 1.1, 0.5]], "float32")
        y = np.random.RandomState(0).rand(2, 5, 6, 3).astype("float32")
        cropped = tf.function(lambda a, b: tf.image.crop_and_resize(a, b, tf.range(2), (3, 3)))
        for part in (cropped(y, boxes), tf.image.crop_and_resize(y, boxes, [0, 1], (3, 3))):
            np.testing.assert_allclose(np.ravel(part)[::7], CROPPED, 1e-4)
        nearest = tf.image.crop_and_resize(y, boxes, [0, 1], (1, 2), "nearest", 0.5)
        np.testing.assert_allclose(np.ravel(nearest)[::5], NEAREST, 1e-4)
        turns = tf.function(lambda a: tf.eye(3, batch_shape=[tf.shape(a)[0], 1]))
        np.testing.assert_array_equal(turns(x), np.broadcast_to(np.eye(3), (2, 1, 3, 3)))
        for box in ([], [[[0.25, 0.0, 0.5, 1.0]]]):
            begin, size, found = tf.image.sample_distorted_bounding_box(
                (4, 6, 3), tf.reshape(box, (1, -1, 4)), min_object_covered=0.5, use_image_if_no_bounding_boxes=True
            )
            part = tf.slice(x[0], begin, size)
            top, left, bottom, right = found.numpy().ravel() * (4, 6, 4, 6)
            self.assertEqual(part.shape, (round(bottom - top), round(right - left), 3))
        self.assertTrue(top < 1.51 and bottom > 1.49)
        with self.assertRaisesRegex(ValueError, "use_image_if_no_bounding_boxes"):
            tf.image.sample_distorted_bounding_box((4, 6, 3), np.zeros((1, 0, 4)))


# TensorFlow's
AREAS, YUV = [0, 1, 3, 5, 6, 9, 10, 12, 14, 15, 18, 19, 21, 23, 24], [0.621, -0.1825732, 0.3324903]
CROPPED = [0.64659, 0.44235, 0.29677, 0.25018, 0.0, 0.0, 0.43005, 0.0]
PENALIZED = [20.480896, -0.6096377, -0.4825364, -0.228186, -0.1290892]  # Keras's
NEAREST = [0.68182, 0.10204, 0.57433]


if __name__ == "__main__":
    unittest.main()
