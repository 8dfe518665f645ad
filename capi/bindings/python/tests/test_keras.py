"""dl4.keras: what it has of Keras, and what it refuses."""

import copy
import inspect
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import dl4
import dl4 as tf
import dl4.keras as keras
from dl4.keras import layers

X, Y = np.linspace(-1, 1, 80, dtype="float32").reshape(20, 4), np.ones((20, 3), "float32")
MORE = "install keras and import dl4.keras_backend"


def small(units=3):
    x = keras.Input((4,))
    return keras.Model(x, keras.layers.Dense(units)(x))


class Keras(unittest.TestCase):
    def test_every_kind_has_a_class_with_its_arguments_and_docs(self):
        modules = {
            "layer": keras.layers,
            "loss": keras.losses,
            "metric": keras.metrics,
            "optimizer": keras.optimizers,
            "initializer": keras.initializers,
            "regularizer": keras.regularizers,
            "constraint": keras.constraints,
            "schedule": keras.optimizers.schedules,
            "callback": keras.callbacks,
        }
        for category, module in modules.items():
            for name, known in dl4.registry(category)[category].items():
                with self.subTest(category=category, name=name):
                    kind = getattr(module, name)
                    self.assertIn(name, dir(module))
                    names = list(inspect.signature(kind).parameters)
                    self.assertEqual(names[: len(known["positional"])], known["positional"])
                    for attribute in known["attributes"] if name != "LearningRateScheduler" else ():
                        self.assertIn(attribute["name"], kind.__doc__)

    def test_attributes_and_configs(self):
        d = keras.layers.Dense(3, activation="relu", name="d")
        self.assertEqual((d.units, d.use_bias, d.get_config()["activation"]), (3, True, "relu"))
        again = keras.layers.Dense.from_config(d.get_config())
        self.assertEqual((again.name, again.units), ("d", 3))
        with self.assertRaises(AttributeError):
            d.unit

    def test_saved_and_loaded(self):
        m = small()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.safetensors")
            m.save(path)
            again = keras.models.load_model(path)
            np.testing.assert_array_equal(again.predict(X, verbose=0), m.predict(X, verbose=0))
            again.compile("sgd", "mse")
            again.fit(X, Y, verbose=0)
            with self.assertRaisesRegex(NotImplementedError, 'did you mean ".keras"'):
                m.save(os.path.join(folder, "m.kreas"))
            with self.assertRaisesRegex(ValueError, "weights.h5"):
                m.save_weights(os.path.join(folder, "m.keras"))
            m.save(os.path.join(folder, "m.keras"))
            with self.assertRaises(FileExistsError):
                m.save(os.path.join(folder, "m.keras"), overwrite=False)
            m.save_weights(os.path.join(folder, "m.weights.h5"))
            other = small()
            other.load_weights(os.path.join(folder, "m.weights.h5"))
            np.testing.assert_array_equal(other(X), m(X))
        with self.assertRaises(dl4.NotFound):
            keras.models.load_model("/nowhere/m.safetensors")

    def test_a_seed_repeats(self):
        def weights():
            keras.utils.set_random_seed(7)
            keras.backend.clear_session()
            return small().get_weights()[0]

        np.testing.assert_array_equal(weights(), weights())

    def test_options_of_the_context(self):
        with tempfile.TemporaryDirectory() as folder:
            log = pathlib.Path(folder) / "log.txt"
            keras.config.set_context(log_level="info", log_to=str(log))
            try:
                small().predict(X, verbose=0)
                self.assertIn("[info] plan for (20, 4): ", log.read_text())
            finally:
                keras.config.set_context(log_level=None, log_to=None)
            size = log.stat().st_size
            small().predict(X, verbose=0)
            self.assertEqual(log.stat().st_size, size)
        with self.assertRaisesRegex(ValueError, '"log_level": expected one of'):
            keras.config.set_context(log_level="verbose")

    def test_data_of_any_kind(self):
        m = small()
        m.compile("sgd", "mse")
        expected = m.predict(X)
        for x in (X.astype("float64"), X.tolist(), np.asfortranarray(X), X[::1], np.repeat(X, 2, 0)[::2]):
            np.testing.assert_allclose(m.predict(np.asarray(x)), expected, 1e-6)
        with self.assertRaises(ValueError):
            m.predict(np.ones((2, 5)))
        with self.assertRaises(ValueError):
            m.fit(X, Y[:3], verbose=0)

    def test_losses_of_nested_models_have_their_names(self):
        x = keras.Input((3,))
        one = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(2)], name="one")
        inner = keras.Input((3,))
        two = keras.Model(inner, [keras.layers.Dense(2)(inner), keras.layers.Dense(2)(inner)], name="two")
        model = keras.Model(x, [one(x), *two(x)])
        self.assertEqual(model.output_names, ["one", "two", "two"])
        model.compile("sgd", "mse", metrics=[["mae"]] * 3)
        data = np.ones((4, 3), "f4"), [np.ones((4, 2), "f4")] * 3
        stop = keras.callbacks.EarlyStopping(monitor="val_one_loss", patience=9)
        history = model.fit(*data, verbose=0, validation_data=data, callbacks=[stop]).history
        # Keras calls the numbers of two outputs of one model alike; the second one has a number of its own here.
        names = {f"{n}_{what}" for n in ("one", "two", "two_2") for what in ("loss", "mae")} | {"loss"}
        self.assertEqual(set(history), names | {f"val_{n}" for n in names})


class Files(unittest.TestCase):
    def compiled(self):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([keras.Input((4,)), layers.Dense(5, "tanh"), layers.Dense(3)], name="net")
        model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
        model.fit(X, Y, epochs=2, verbose=0)
        return model

    def test_training_goes_on_from_a_file_and_from_a_copy(self):
        model = self.compiled()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            model.save(path)
            others = [keras.models.load_model(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
        wanted = model.fit(X, Y, epochs=2, verbose=0, shuffle=False).history
        for other in others:
            self.assertEqual((type(other), other.name, len(other.layers)), (keras.Sequential, "net", 2))
            got = other.fit(X, Y, epochs=2, verbose=0, shuffle=False).history
            for name, values in wanted.items():
                np.testing.assert_allclose(got[name], values, 1e-6, err_msg=name)
            np.testing.assert_allclose(other.predict(X, verbose=0), model.predict(X, verbose=0), 1e-5, 1e-6)

    def test_a_compile_that_a_file_keeps_may_be_left(self):
        model = self.compiled()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            model.save(path)
            self.assertFalse(keras.models.load_model(path, compile=False).compiled)
            model.save(path, include_optimizer=False)
            self.assertFalse(keras.models.load_model(path).compiled)

    def test_configs(self):
        model = self.compiled()
        config = json.loads(model.to_json())
        self.assertEqual((config["class_name"], config["config"]["name"]), ("Sequential", "net"))
        again = keras.models.model_from_json(model.to_json())
        again.set_weights(model.get_weights())
        np.testing.assert_array_equal(again(X), model(X))
        self.assertEqual(
            [v.name for v in keras.Model.from_config(model.get_config()).layers], [v.name for v in model.layers]
        )

    def test_names_are_those_of_the_layers(self):
        layer = layers.Dense(3, name="first")
        layer(X)
        model = keras.Sequential([layer, layers.Dense(2, name="second")])
        model.predict(np.ones((2, 4), "int32"), verbose=0)
        self.assertEqual([w.path for w in model.weights], [n for n in model.core.names(2)])
        words = layers.TextVectorization(output_sequence_length=2, name="words")
        with self.assertRaises(ValueError):
            words(np.array(["a"]))
        words.adapt(["a b"])
        self.assertEqual(words(np.array(["b"])).shape, (1, 2))

    def test_dicts_are_kept(self):
        x = keras.Input((4,), name="x")
        model = keras.Model({"x": x}, {"b": layers.Dense(1)(x), "a": layers.Dense(2)(x)})
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            model.save(path)
            for other in (keras.models.load_model(path), keras.models.clone_model(model), copy.copy(model)):
                other.set_weights(model.get_weights())
                got, wanted = other.predict({"x": X}, verbose=0), model.predict({"x": X}, verbose=0)
                self.assertEqual(list(got), ["b", "a"])
                np.testing.assert_array_equal(got["a"], wanted["a"])

    def test_a_layer_more_after_training(self):
        model = self.compiled()
        model.add(layers.Dense(3))
        model.fit(X, Y, verbose=0)
        self.assertEqual((len(model.get_weights()), int(model.optimizer.iterations)), (6, 1))

    def test_nested_models_and_masks_are_kept(self):
        ids = keras.Input((None,), dtype="int32", name="ids")
        inner = keras.Model(ids, layers.Embedding(9, 4, mask_zero=True)(ids), name="words")
        x = keras.Input((None,), dtype="int32")
        model = keras.Model(x, layers.Dense(2)(layers.LSTM(3)(inner(x))))
        data = np.array([[1, 2, 0, 0], [3, 4, 5, 0]])
        with tempfile.TemporaryDirectory() as folder:
            for name in ("m.keras", "m.safetensors"):
                model.save(os.path.join(folder, name))
                again = keras.models.load_model(os.path.join(folder, name))
                np.testing.assert_array_equal(again.predict(data, verbose=0), model.predict(data, verbose=0))
                self.assertIsInstance(again.get_layer("words"), keras.Model)
                self.assertEqual([w.path for w in again.weights], [w.path for w in model.weights])

    def test_quantized(self):
        model = keras.Sequential([keras.Input((64,)), layers.Dense(32)])
        data = np.random.RandomState(0).standard_normal((8, 64)).astype("float32")
        before = model.predict(data, verbose=0)
        model.quantize("int8")
        after = model.predict(data, verbose=0)
        self.assertTrue(0 < np.abs(after - before).max() < 0.1)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            model.save(path)
            np.testing.assert_array_equal(keras.models.load_model(path).predict(data, verbose=0), after)
        with self.assertRaisesRegex(NotImplementedError, MORE):
            model.quantize("gptq")


class Adapting(unittest.TestCase):
    WORDS = np.array(["red", "blue", "red", "green"])

    def test_lookups(self):
        lookup = layers.StringLookup()
        lookup.adapt(self.WORDS)
        self.assertEqual(lookup.get_vocabulary(), ["[UNK]", "red", "green", "blue"])
        self.assertEqual(lookup.vocabulary_size(), 4)
        self.assertEqual(lookup([["red", "pink"]]).tolist(), [[1, 0]])
        back = layers.StringLookup(vocabulary=lookup.get_vocabulary()[1:], invert=True)
        self.assertEqual(back([[1, 3]]).tolist(), [["red", "blue"]])
        with self.assertRaisesRegex(ValueError, "before the layer is called"):
            lookup.adapt(self.WORDS)
        given = layers.IntegerLookup(output_mode="multi_hot")
        given.set_vocabulary([7, 9])
        self.assertEqual(given([[7, 9], [1, 7]]).tolist(), [[0, 1, 1], [1, 1, 0]])

    def test_texts_in_a_model(self):
        texts = np.array([["good film"], ["bad film"], ["good good"], ["bad bad"]])
        vectorize = layers.TextVectorization(output_sequence_length=3)
        vectorize.adapt(texts)
        x = keras.Input((1,), dtype="string")
        h = layers.Embedding(vectorize.vocabulary_size(), 4)(vectorize(x))
        model = keras.Model(x, layers.Dense(1, activation="sigmoid")(layers.GlobalAveragePooling1D()(h)))
        model.compile(keras.optimizers.Adam(0.1), "binary_crossentropy", metrics=["accuracy"])
        history = model.fit(texts, np.array([1, 0, 1, 0]), epochs=60, verbose=0).history
        self.assertEqual(history["accuracy"][-1], 1.0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "texts.keras")
            model.save(path)
            np.testing.assert_array_equal(
                keras.models.load_model(path).predict(texts, verbose=0), model.predict(texts, verbose=0)
            )

    def test_tables(self):
        rows = np.random.RandomState(1).standard_normal((100, 3)).astype("float32") * 4 + 2
        normal = layers.Normalization()
        normal.adapt(rows)
        np.testing.assert_allclose(normal.mean.ravel(), rows.mean(0), 1e-5)
        np.testing.assert_allclose(normal(rows), (rows - rows.mean(0)) / rows.std(0), 1e-4, 1e-4)
        parts = layers.Normalization()
        parts.adapt(rows[i : i + 25] for i in range(0, 100, 25))
        np.testing.assert_allclose(parts(rows), normal(rows), 1e-4, 1e-5)
        bins = layers.Discretization(num_bins=4)
        bins.adapt(rows[:, :1])
        self.assertEqual(sorted(set(np.asarray(bins(rows[:, :1])).ravel().tolist())), [0, 1, 2, 3])
        self.assertEqual(layers.CategoryEncoding(3, "one_hot")([2, 0]).tolist(), [[0, 0, 1], [1, 0, 0]])
        self.assertEqual(layers.Hashing(3)(["a", "a"]).tolist()[0], layers.Hashing(3)(["a"]).tolist()[0])


class Watching(unittest.TestCase):
    def test_hooks_and_their_logs(self):
        told = []

        class Tells(keras.callbacks.Callback):
            pass

        names = """train_begin train_end epoch_begin epoch_end train_batch_begin train_batch_end test_begin test_end
        predict_begin predict_end predict_batch_begin predict_batch_end"""
        for name in names.split():
            setattr(Tells, f"on_{name}", lambda self, *a, n=name: told.append((n, *a[:-1], sorted(a[-1]))))
        model = small()
        model.compile("sgd", "mse")
        model.fit(X, Y, batch_size=10, verbose=0, validation_data=(X, Y), callbacks=[Tells()])
        wanted = [("train_begin", []), ("epoch_begin", 0, [])]
        for i in range(2):
            wanted += [("train_batch_begin", i, []), ("train_batch_end", i, ["loss"])]
        wanted += [("test_begin", []), ("test_end", ["loss"]), ("epoch_end", 0, ["loss", "val_loss"])]
        self.assertEqual(told, [*wanted, ("train_end", ["loss", "val_loss"])])
        told.clear()

        def batches():
            yield X[:10], Y[:10]
            yield X[10:], Y[10:]

        model.fit(batches(), verbose=0, callbacks=[Tells()])
        self.assertEqual([t[:2] for t in told if "batch" in t[0]], [(w[0], w[1]) for w in wanted if "batch" in w[0]])
        told.clear()
        model.predict(X, batch_size=10, verbose=0, callbacks=[Tells()])
        self.assertEqual(
            [t[0] for t in told], ["predict_begin"] + ["predict_batch_begin", "predict_batch_end"] * 2 + ["predict_end"]
        )
        told.clear()
        model.evaluate(X, Y, verbose=0, callbacks=[Tells()])
        self.assertEqual(told, [("test_begin", []), ("test_end", ["loss"])])

    def test_a_callback_sees_todays_weights_and_stops(self):
        seen, model = [], small()
        model.compile(keras.optimizers.SGD(0.1), "mse")

        class Sees(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                seen.append(float(np.mean((self.model.predict(X, verbose=0) - Y) ** 2)))
                self.model.optimizer.learning_rate = 0.05
                self.model.stop_training = epoch == 1

        history = model.fit(X, Y, epochs=9, batch_size=20, verbose=0, callbacks=[Sees()])
        self.assertEqual(len(history.epoch), 2)
        self.assertAlmostEqual(seen[0], history.history["loss"][1], 5)
        self.assertAlmostEqual(float(model.optimizer.learning_rate), 0.05)

    def test_rates(self):
        model = small()
        model.compile("sgd", "mse")
        rates = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
        history = model.fit(X, Y, epochs=3, verbose=0, callbacks=[rates]).history
        np.testing.assert_allclose(history["learning_rate"], [0.005, 0.0025, 0.00125])
        plateau = keras.callbacks.ReduceLROnPlateau("loss", patience=0, min_delta=100, factor=0.5)
        model.fit(X, Y, epochs=3, verbose=0, callbacks=[plateau])
        self.assertLess(float(model.optimizer.learning_rate), 0.00125)

    def test_what_is_printed(self):
        program = (
            "import numpy as np, dl4.keras as k\n"
            "m = k.Sequential([k.Input((4,)), k.layers.Dense(1)])\nm.compile('sgd', 'mse')\n"
            "m.fit(np.ones((40, 4)), np.ones(40), epochs=2, verbose=VERBOSE)\n"
        )
        for verbose, wanted in ((0, 0), (1, 4), (2, 4)):
            ended = subprocess.run(
                [sys.executable, "-c", program.replace("VERBOSE", str(verbose))],
                capture_output=True, text=True, env={**os.environ, "PYTHONIOENCODING": "utf-8"},
            )  # fmt: skip
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))
            self.assertEqual(len(ended.stdout.splitlines()), wanted, ended.stdout)


class Training(unittest.TestCase):
    def test_adversaries_train_in_turn(self):
        """Each compiled model trains what was trainable when its training began, and keeps its optimizer's state."""
        judge = keras.Sequential([keras.Input((2,)), layers.Dense(4, "tanh"), layers.Dense(1)], name="judge")
        judge.compile(keras.optimizers.Adam(0.01), "mse")
        judge.train_on_batch(X[:, :2], X[:, :1])
        maker = keras.Sequential([keras.Input((3,)), layers.Dense(2)], name="maker")
        judge.trainable = False
        z = keras.Input((3,))
        both = keras.Model(z, judge(maker(z)))
        both.compile(keras.optimizers.Adam(0.01), "mse")
        for i in range(3):
            before = judge.get_weights(), maker.get_weights()
            both.train_on_batch(X[:, :3], X[:, :1])
            np.testing.assert_array_equal(judge.get_weights()[0], before[0][0])
            self.assertFalse(np.array_equal(maker.get_weights()[0], before[1][0]))
            before = judge.get_weights(), maker.get_weights()
            judge.train_on_batch(X[:, :2], X[:, :1])
            self.assertFalse(np.array_equal(judge.get_weights()[0], before[0][0]))
            np.testing.assert_array_equal(maker.get_weights()[0], before[1][0])
            self.assertEqual((int(judge.optimizer.iterations), int(both.optimizer.iterations)), (i + 2, 0))

    def test_sequences_by_number(self):
        class Batches(keras.utils.PyDataset):
            ended = 0

            def __len__(self):
                return 4

            def __getitem__(self, i):
                return X[5 * i : 5 * i + 5], Y[5 * i : 5 * i + 5]

            def on_epoch_end(self):
                self.ended += 1

        keras.utils.set_random_seed(1)
        a, b, data = small(), small(), Batches()
        b.set_weights(a.get_weights())
        for model in (a, b):
            model.compile("sgd", "mse")
        got = a.fit(data, epochs=2, shuffle=False, verbose=0).history["loss"]
        np.testing.assert_allclose(
            got, b.fit(X, Y, batch_size=5, epochs=2, shuffle=False, verbose=0).history["loss"], 1e-6
        )
        self.assertEqual(data.ended, 2)
        self.assertEqual(a.predict(data, verbose=0).shape, (20, 3))

    def test_weights_of_classes(self):
        labels = np.arange(20) % 3
        a, b = small(), small()
        b.set_weights(a.get_weights())
        for model in (a, b):
            model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        weights = {0: 2.0, 2: 0.5}
        a.fit(X, labels, batch_size=20, verbose=0, shuffle=False, class_weight=weights)
        b.train_on_batch(X, labels, class_weight=weights)
        np.testing.assert_array_equal(a.get_weights()[0], b.get_weights()[0])


class Listings(unittest.TestCase):
    """The numbers of "Layers of Keras, animated", as printed by TensorFlow 2."""

    def setUp(self):
        np.random.seed(42)
        tf.random.set_seed(42)

    def test_dense(self):
        x = np.random.rand(4, 32, 32, 3)
        inp = keras.Input(shape=x.shape[1:])
        out = layers.Dense(2)(layers.Flatten()(layers.Dense(8, activation="relu")(inp)))
        printed = [
            [0.23494382, -0.40392348],
            [0.10658629, -0.31808627],
            [0.42371386, -0.46299127],
            [0.34416917, -0.11493915],
        ]
        np.testing.assert_allclose(keras.Model(inp, out)(x), printed, atol=2e-6)

    def test_convolution_beside_a_layer_that_draws(self):
        x = np.random.rand(4, 32, 32, 3)
        inp = keras.Input(shape=x.shape[1:])
        flat = layers.Flatten()(layers.Conv2D(8, (3, 3), activation="relu")(inp))
        layers.Dense(8, activation="relu")(flat)
        printed = [
            [-0.39803684, -0.08939186],
            [-0.48165476, -0.28876644],
            [-0.32680377, -0.24380796],
            [-0.45394567, -0.28233868],
        ]
        np.testing.assert_allclose(keras.Model(inp, layers.Dense(2)(flat))(x), printed, atol=2e-6)

    def test_recurrent(self):
        x = np.random.rand(4, 3, 32)
        last = [[-0.06428523, 0.3131591], [-0.04120642, 0.3528567], [-0.04273851, 0.37192333], [0.03797218, 0.33612275]]
        inp = keras.Input(shape=x.shape[1:])
        np.testing.assert_allclose(keras.Model(inp, layers.Dense(2)(layers.LSTM(8)(inp)))(x), last, atol=2e-6)
        tf.random.set_seed(42)
        inp = keras.Input(shape=x.shape[1:])
        steps = keras.Model(inp, layers.Dense(2)(layers.LSTM(8, return_sequences=True)(inp)))(x)
        self.assertEqual(steps.shape, (4, 3, 2))
        np.testing.assert_allclose(steps[:, -1], last, atol=2e-6)

    def test_attention_by_products(self):
        q, k = keras.Input((None, 32)), keras.Input((1, 32))
        score = tf.matmul(layers.Dense(4)(q), layers.Dense(4)(k), transpose_b=True)
        attention = tf.nn.softmax(score, axis=-1)
        model = keras.Model([q, k], [score, attention, tf.matmul(attention, layers.Dense(4)(k))])
        for n in (16, 8):
            shapes = [a.shape for a in model([np.ones((4, n, 32), "f4"), np.ones((4, 1, 32), "f4")])]
            self.assertEqual(shapes, [(4, n, 1), (4, n, 1), (4, n, 4)])


class Refusals(unittest.TestCase):
    """What only Keras has is refused by name, with the way to it."""

    def test_each_says_how_to_get_more(self):
        model, x = small(), keras.Input((4,))
        model.compile("sgd", "mse")

        def derived(base):
            return lambda: type("Mine", (base,), {"__module__": "program"})

        class OnBatches(keras.callbacks.Callback):
            def on_test_batch_end(self, batch, logs=None):
                pass

        cases = [
            *(derived(b) for b in (layers.Layer, layers.Dense, keras.Model, keras.Sequential, keras.losses.Loss)),
            *(derived(b) for b in (keras.metrics.Metric, keras.optimizers.Optimizer, keras.optimizers.Adam)),
            *(derived(b) for b in (keras.initializers.Initializer, keras.callbacks.EarlyStopping)),
            lambda: layers.Layer(),
            lambda: layers.Lambda,
            lambda: keras.datasets,
            lambda: keras.applications,
            lambda: keras.ops.scatter,
            lambda: keras.Quux,
            lambda: tf.GradientTape,
            lambda: tf.data,
            lambda: tf.random.uniform,
            lambda: tf.nn.conv2d,
            lambda: keras.utils.get_file,
            lambda: model.train_step,
            lambda: layers.Dense(3).add_weight,
            lambda: layers.Dense(3, activation=lambda v: v),
            lambda: layers.Dense(3, kernel_initializer=lambda shape: np.ones(shape)),
            lambda: model.compile("sgd", lambda y, p: p),
            lambda: model.compile("sgd", "mse", metrics=[lambda y, p: p]),
            lambda: model.compile("sgd", "mse", run_eagerly=True),
            lambda: model.compile("sgd", "mse", steps_per_execution=4),
            lambda: model.evaluate(X, Y, verbose=0, callbacks=[OnBatches()]),
            lambda: keras.Input((3,), sparse=True),
            lambda: keras.Input((3,), dtype="float64"),
            lambda: keras.Input((3,), dtype="complex64"),
            lambda: keras.config.set_dtype_policy("mixed_float16"),
            lambda: keras.models.load_model("m.keras", custom_objects={"Mine": object}),
            lambda: keras.models.clone_model(model, clone_function=lambda v: v),
            lambda: model.export("m"),
            lambda: model.export("m.onnx", format="tf_saved_model"),
            lambda: model.summary(expand_nested=True),
            lambda: iter(x),
            lambda: bool(x > 0),
            lambda: np.exp(x),
            lambda: layers.BatchNormalization()(X, training=True),
            lambda: keras.utils.PyDataset(workers=4),
        ]
        for number, case in enumerate(cases):
            with self.subTest(number), self.assertRaisesRegex((NotImplementedError, AttributeError), MORE):
                case()

    def test_imports_say_how_to_get_more(self):
        for line in (
            "import dl4.keras.datasets",
            "from dl4.keras import applications",
            "from dl4.keras.datasets import mnist",
            "import dl4.tf",
            "from dl4 import data",
        ):
            with self.subTest(line), self.assertRaisesRegex(ImportError, MORE):
                exec(line, {})

    def test_masks_do_not_get_lost_between_arrays(self):
        ids = np.array([[1, 2, 0]])
        embedded = layers.Embedding(5, 3, mask_zero=True)(ids)
        self.assertEqual(embedded.shape, (1, 3, 3))
        with self.assertRaisesRegex(NotImplementedError, "mask"):
            layers.LSTM(2)(embedded)
        self.assertEqual(layers.LSTM(2)(np.array(embedded)).shape, (1, 2))

    def test_a_call_that_says_training(self):
        x = keras.Input((4,))
        model = keras.Model(x, layers.Dropout(0.5)(x, training=True))
        np.testing.assert_array_equal(model.predict(X, verbose=0), X)  # as in Keras
        self.assertTrue((np.asarray(model(X, training=True)) == 0).any())
        for f in (lambda: model(X), lambda: model.save("m.keras"), model.to_json):
            with self.assertRaisesRegex(NotImplementedError, "training=True"):
                f()

    def test_values_that_cannot_be(self):
        model = small()
        for f in (
            lambda: model.fit(X, Y),
            lambda: model.predict(X[:, :3], verbose=0),
            lambda: model.get_layer("no such"),
            lambda: layers.Dense(3, name="a/b"),
            lambda: layers.Dense(3).set_weights([X]),
            lambda: keras.Model(keras.Input((3,)), layers.Dense(2)(keras.Input((3,)))),
            lambda: keras.Sequential([layers.Dense(2)]).weights,
            lambda: keras.Sequential([keras.Input((4,)), layers.Dense(2, name="d"), layers.Dense(2, name="d")]),
            lambda: model.quantize("int3"),
            lambda: keras.utils.to_categorical([3], 2),
            lambda: model.compile(3, "mse"),
            lambda: keras.callbacks.ModelCheckpoint(),
        ):
            with self.assertRaises((ValueError, TypeError)):
                f()

    def test_an_optimizer_is_of_one_model(self):
        optimizer, models = keras.optimizers.Adam(), (small(), small())
        for model in models:
            model.compile(optimizer, "mse")
        models[0].fit(X, Y, verbose=0)
        with self.assertRaisesRegex(ValueError, "alone"):
            models[1].fit(X, Y, verbose=0)


if __name__ == "__main__":
    warnings.simplefilter("error", ResourceWarning)
    unittest.main()
