"""What a binding must hold: lifetimes, errors, callbacks, threads; and the programs of keras_suite."""

import gc
import inspect
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import dl4
import dl4.keras as keras
import run_programs

HERE = pathlib.Path(__file__).resolve().parent


def small(units=3):
    x = keras.Input((4,))
    return keras.Model(x, keras.layers.Dense(units)(x))


X, Y = np.linspace(-1, 1, 80, dtype="float32").reshape(20, 4), np.ones((20, 3), "float32")


class Streams(unittest.TestCase):
    def test_a_stream_goes_on_where_it_stood(self):
        x = keras.Input((None, 2))
        m = keras.Model(x, keras.layers.GRU(3, return_sequences=True)(x))
        session = m.core.session(states=True)
        one, other = dl4.Stream(session), dl4.Stream(session)
        steps = np.arange(8, dtype="float32").reshape(1, 4, 2)
        whole = one.run([dl4.Tensor.of(steps)])[0].numpy()
        other.run([dl4.Tensor.of(steps[:, :3])])
        state = other.save()
        last = other.run([dl4.Tensor.of(steps[:, 3:])])[0].numpy()
        self.assertTrue((last == whole[:, 3:]).all())
        one.load(state)
        self.assertTrue((one.run([dl4.Tensor.of(steps[:, 3:])])[0].numpy() == last).all())
        one.reset()
        self.assertTrue((one.run([dl4.Tensor.of(steps)])[0].numpy() == whole).all())


    def test_a_keras_model_streams(self):
        x = keras.Input((None, 2))
        m = keras.Model(x, keras.layers.LSTM(3, return_sequences=True)(x))
        steps = np.arange(8, dtype="float32").reshape(1, 4, 2)
        one = m.stream()
        whole = one(steps)
        np.testing.assert_allclose(whole, m.predict(steps, verbose=0), atol=1e-6)
        one.reset()
        self.assertTrue((np.concatenate([one(steps[:, :1]), one(steps[:, 1:])], 1) == whole).all())
        two = m.stream(batch=2)
        two(np.concatenate([steps, steps]))
        two.reset(1)
        y = two(np.concatenate([steps, steps]))
        np.testing.assert_allclose(y[1:], whole, atol=1e-6)
        self.assertTrue((y[0] != y[1]).any())

    def test_many_streams_in_one_call(self):
        m = keras.Sequential([keras.layers.Input((None, 2)), keras.layers.GRU(3, return_sequences=True)])
        session = m.core.session(states=True)
        streams = [dl4.Stream(session) for _ in range(5)]
        fork = streams[2].fork()
        x = np.random.default_rng(0).normal(size=(5, 3, 2)).astype("float32")
        y = dl4.Stream.run_many(streams, x, [3, 0, 2, 1, 3])[0].numpy()
        np.testing.assert_allclose(y[2, :2], fork(x[2:3, :2])[0], atol=1e-6)
        self.assertTrue((y[1] == 0).all() and (y[2, 2] == 0).all())
        with self.assertRaisesRegex(ValueError, "expected 5 numbers of steps"):
            dl4.Stream.run_many(streams, x, [1, 2])
        with self.assertRaisesRegex(ValueError, r"streams\[1\] is streams\[0\] again"):
            dl4.Stream.run_many([streams[0]] * 2, x[:2])
        with self.assertRaisesRegex(ValueError, "at least 1 stream"):
            dl4.Stream.run_many([], x)


class Generating(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        layers = keras.layers
        cls.model = keras.Sequential(
            [layers.Input((None,), dtype="int32"), layers.Embedding(6, 4), layers.GRU(8, return_sequences=True)]
            + [layers.Dense(6)]
        )

    def test_the_likeliest_is_that_of_the_whole(self):
        ids = [1, 4]
        drawn = list(self.model.stream().generate(ids, max_new=5, temperature=0))
        for one in drawn:
            self.assertEqual(one, int(self.model.predict(np.array([ids]), verbose=0)[0, -1].argmax()))
            ids.append(one)

    def test_it_goes_on_from_its_generator(self):
        whole = list(self.model.stream(seed=3).generate([1], max_new=20))
        again = self.model.stream(seed=3)
        first = list(again.generate([1], max_new=8))
        saved, forked, other = again.save(), again.fork(), again.fork(seed=5)
        rest = list(again.generate([first[-1]], max_new=12))
        self.assertEqual(first + rest, whole)
        self.assertEqual(list(forked.generate([first[-1]], max_new=12)), rest)
        self.assertNotEqual(list(other.generate([first[-1]], max_new=12)), rest)
        again.load(saved)
        self.assertEqual(list(again.generate([first[-1]], max_new=12)), rest)

    def test_stop_mask_top_k_and_batches(self):
        def odd(logits):
            logits[:, ::2] = -np.inf

        self.assertTrue(all(i % 2 for i in self.model.stream().generate([1], max_new=30, mask=odd)))
        drawn = list(self.model.stream(seed=1).generate([1], stop=[2, 3]))
        self.assertIn(drawn[-1], (2, 3))
        self.assertFalse({2, 3} & set(drawn[:-1]))
        rows = list(self.model.stream(batch=2, seed=1).generate([[1, 2], [3, 4]], max_new=6, top_k=1))
        self.assertEqual(np.array(rows).shape, (6, 2))
        likeliest = list(self.model.stream(batch=2).generate([[1, 2], [3, 4]], max_new=6, temperature=0))
        self.assertTrue((np.array(rows) == np.array(likeliest)).all())

    def test_a_mask_that_raises_leaves_the_stream(self):
        stream, other = self.model.stream(), self.model.stream()

        def bad(logits):
            raise KeyError("grammar")

        with self.assertRaisesRegex(KeyError, "grammar"):
            stream.next([np.array([[1]])], mask=bad)
        self.assertEqual(stream.next([np.array([[1]])]), other.next([np.array([[1]])]))

    def test_refusals(self):
        stream = self.model.stream()
        for ids in ([], [1.5], 3):
            with self.assertRaisesRegex(ValueError, "generate: expected ids"):
                stream.generate(ids)
        with self.assertRaisesRegex(ValueError, "ids of 1 sequences"):
            stream.generate([[1], [2]])
        with self.assertRaisesRegex(ValueError, "top_p"):
            next(stream.generate([1], top_p=2))
        with self.assertRaises(TypeError):
            next(stream.generate([1], topk=2))


class Keras(unittest.TestCase):
    def test_programs_agree_with_keras(self):
        self.assertEqual(run_programs.main("dl4", HERE / "keras_suite" / "expected.npz"), 0)

    def test_every_kind_has_a_class_with_its_arguments_and_docs(self):
        modules = {
            "layer": keras.layers,
            "loss": keras.losses,
            "metric": keras.metrics,
            "optimizer": keras.optimizers,
            "initializer": keras.initializers,
            "regularizer": keras.regularizers,
            "constraint": keras.constraints,
        }
        for category, module in modules.items():
            for name, known in dl4.registry(category)[category].items():
                with self.subTest(category=category, name=name):
                    kind = getattr(module, name)
                    self.assertIn(name, dir(module))
                    names = list(inspect.signature(kind).parameters)
                    self.assertEqual(names[: len(known["positional"])], known["positional"])
                    of_python = "__signature__" not in vars(kind)  # layers of data, with docs of their own
                    for attribute in () if of_python else known["attributes"]:
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
            np.testing.assert_array_equal(again.predict(X), m.predict(X))
            again.compile("sgd", "mse")
            again.fit(X, Y, verbose=0)
            with self.assertRaisesRegex(NotImplementedError, 'did you mean ".keras"'):
                m.save(os.path.join(folder, "m.kreas"))
            with self.assertRaisesRegex(ValueError, "weights.h5"):
                m.save_weights(os.path.join(folder, "m.keras"))
            m.save(os.path.join(folder, "m.keras"))
            with self.assertRaises(FileExistsError):
                m.save(os.path.join(folder, "m.keras"), overwrite=False)
            with self.assertRaisesRegex(ValueError, "include_optimizer"):
                m.save(path, include_optimizer=False)
        with self.assertRaises(dl4.NotFound):
            keras.models.load_model("/nowhere/m.safetensors")

    def test_what_a_file_has_no_words_for_is_said_and_the_model_is_saved(self):
        m = small()
        m.compile("sgd", lambda y, p: keras.ops.mean(p * p, axis=-1))
        m.fit(X, Y, verbose=0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.keras")
            with self.assertWarns(UserWarning):
                m.save(path)
            again = keras.models.load_model(path)
            self.assertFalse(again.compiled)
            np.testing.assert_allclose(again.predict(X), m.predict(X), 1e-6)

    def test_a_layer_draws_anew_in_each_run(self):
        class Sampling(keras.layers.Layer):
            def call(self, x):
                noise = keras.random.normal((keras.ops.shape(x)[0], 50), seed=keras.random.SeedGenerator(1))
                return keras.ops.sum(x, -1, keepdims=True) * 0.0 + noise * 2.0 + 1.0

        x = keras.Input((4,))
        m = keras.Model(x, Sampling()(x))
        a, b = m.predict(X, verbose=0), m.predict(X, verbose=0)
        self.assertEqual(a.shape, (len(X), 50))
        self.assertFalse((a == b).all())
        self.assertAlmostEqual(float(a.mean()), 1.0, delta=0.3)
        self.assertAlmostEqual(float(a.std()), 2.0, delta=0.3)
        r = keras.random
        self.assertEqual(r.randint((100,), 0, 3, seed=1).tolist(), r.randint((100,), 0, 3, seed=1).tolist())
        self.assertEqual(sorted(r.shuffle(np.arange(9), seed=2).tolist()), list(range(9)))
        self.assertLessEqual(float(np.abs(r.truncated_normal((500,), seed=3)).max()), 2)
        self.assertEqual(r.categorical(np.log([[0.0001, 0.9998, 0.0001]]), 5, seed=4).tolist(), [[1] * 5])

    def test_what_is_no_number_stays_where_it_is(self):
        m = small()
        m.compile("sgd", lambda y, p: keras.ops.mean(p * p, axis=-1), metrics=["mse"])
        y = Y.copy()
        y[0] = np.nan
        h = m.fit(X, y, verbose=0, batch_size=20).history
        self.assertTrue(np.isfinite(h["loss"][0]))
        self.assertTrue(np.isnan(h["mse"][0]))
        self.assertTrue(all(np.isfinite(w).all() for w in m.get_weights()))

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


class Refusals(unittest.TestCase):
    """What is not in this version says so, before anything is computed."""

    def refused(self, words, f):
        with self.assertRaises(NotImplementedError) as caught:
            f()
        self.assertIn(words, str(caught.exception))

    def test_parts_in_python(self):
        class Assigns(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

            def call(self, x):
                self.count.assign(keras.ops.sum(x))
                return x

        class Branches(keras.layers.Layer):
            def call(self, x, training=None):
                return x * 2.0 if training else x

        class Reads(keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(4)

            def call(self, x):
                return self.dense(x) @ self.dense.kernel

        x = keras.Input((3,))
        assigns = Assigns()
        assigning = keras.Model(x, keras.layers.Dense(1)(assigns(x)))
        assigning.compile("sgd", "mse")
        for f in (
            lambda: assigning.predict(X[:, :3], verbose=0),
            lambda: assigning.fit(X[:, :3], X[:, :1], verbose=0),
            lambda: assigning.evaluate(X[:, :3], X[:, :1], verbose=0),
        ):
            assigns.count.assign(0.0)
            f()
            self.assertAlmostEqual(float(assigns.count), float(X[:, :3].sum()), 3)
        self.assertEqual(assigning(X[:, :3]).shape, (20, 1))
        reads = Reads()
        x = keras.Input((4,))
        reading = keras.Model(x, reads(x))
        kernel = reads.dense.kernel.numpy()
        np.testing.assert_allclose(reading.predict(X, verbose=0), X @ kernel @ kernel, 1e-4, 1e-4)
        m = keras.Sequential([keras.Input((4,)), Branches(), keras.layers.Dense(3)])
        m.compile("sgd", "mse")
        (validated,) = m.fit(X, Y, validation_split=0.5, verbose=0).history["val_loss"]
        half = len(X) // 2
        self.assertAlmostEqual(validated, m.evaluate(X[half:], Y[half:], verbose=0), 5)
        before = m.evaluate(X, Y, verbose=0)
        self.assertEqual(before, m.evaluate(X, Y, verbose=0))
        self.assertAlmostEqual(before, float(np.mean((m.predict(X, verbose=0) - Y) ** 2)), 5)

    def test_what_a_layer_or_a_model_would_not_see(self):
        """Attributes of a layer that has been called, and variables that are constants in a model."""
        dropout, dense = keras.layers.Dropout(0.5), keras.layers.Dense(2)
        dropout.rate, dense.units = 0.0, 3
        np.testing.assert_array_equal(dropout(X, training=True), X)
        self.assertEqual((dense(X).shape, dense.get_config()["units"], dropout.rate), ((20, 3), 3, 0.0))
        dropout.rate = 0.0  # as it is
        self.refused("'rate' can't be changed", lambda: setattr(dropout, "rate", 0.7))
        self.refused("'units' can't be changed", lambda: setattr(dense, "units", 4))
        x, v = keras.Input((4,)), keras.Variable(np.arange(4), dtype="int32")
        m = keras.Model(x, x + v)
        np.testing.assert_array_equal(m.predict(X, verbose=0), X + np.arange(4, dtype="float32"))
        v.assign([5, 5, 5, 5])
        self.refused("are constants in a model", lambda: m.predict(X, verbose=0))

    def test_kinds_of_data(self):
        x = keras.Input((3,))
        self.refused("sparse", lambda: keras.Input((3,), sparse=True))
        self.refused("einsum", lambda: keras.ops.einsum("bb->b", x))
        self.refused("arange", lambda: keras.ops.arange(keras.ops.shape(x)[0] + 1))
        self.refused("export", lambda: small().export("m"))

    def test_statistics_are_not_frozen_by_loading(self):
        x = keras.Input((4,))
        m = keras.Model(x, keras.layers.Dense(2)(keras.layers.BatchNormalization()(x)))
        with tempfile.TemporaryDirectory() as folder:
            for name in ("first.keras", "second.keras"):
                m.save(f"{folder}/{name}")
                again = keras.models.load_model(f"{folder}/{name}")
                np.testing.assert_array_equal(m.predict(X, verbose=0), again.predict(X, verbose=0))
                m = again
        m.compile("sgd", "mse")
        before = m.get_weights()
        m.train_on_batch(X, m.predict(X, verbose=0) + 1)
        for a, b in zip(before, m.get_weights()):
            self.assertFalse(np.array_equal(a, b))

    def test_statistics_move_where_a_layer_is_called_in_training(self):
        b = keras.layers.BatchNormalization(momentum=0.5)
        b(X, training=True)
        np.testing.assert_allclose(b.moving_mean.numpy(), 0.5 * X.mean(0), 1e-5, 1e-6)
        np.testing.assert_array_equal(b.gamma.numpy(), np.ones(4))
        b.trainable = False
        before = b.get_weights()
        b(X, training=True)
        np.testing.assert_array_equal(b.get_weights()[2], before[2])


class Objects(unittest.TestCase):
    def test_errors_have_facts(self):
        with self.assertRaises(ValueError) as caught:
            keras.layers.Dense(units=0, name="mine")
        e = caught.exception
        self.assertIsInstance(e, dl4.Error)
        self.assertEqual((e.layer, e.attribute, e.got), ("mine", "units", "0"))
        with self.assertRaises(dl4.UnknownKind) as caught:
            dl4.registry("layer", "Densee")
        self.assertEqual(caught.exception.did_you_mean, "Dense")

    def test_a_closed_handle_is_refused(self):
        c = dl4.Context()
        dl4.abi.library.dl4_release(c.handle)
        handle, c.handle = c.handle, None
        with self.assertRaises(ValueError):
            dl4.abi.made("dl4_graph_create", handle)

    def test_arrays_are_seen_without_copies(self):
        a = np.arange(6, dtype="float32").reshape(2, 3)
        t = dl4.Tensor.of(a)
        self.assertTrue(np.shares_memory(t.numpy(), a))
        self.assertEqual((t.shape, t.dtype), ((2, 3), "float32"))
        m = small()
        y = m.core.session().run([dl4.Tensor.of(X)])[0]
        view = y.numpy()
        address = view.ctypes.data
        del y
        gc.collect()
        self.assertEqual(view.ctypes.data, address)
        self.assertEqual(view.shape, (20, 3))

    def test_objects_end_in_any_order(self):
        r = random.Random(1)
        for _ in range(40):
            m = small()
            m.compile("adam", "mse")
            m.train_on_batch(X, Y)
            things = [
                m.core,
                m._trainer,
                m.core.session(),
                m._functional.graph,
                dl4.Context(),
                dl4.Tensor.of(X),
                dl4.Dataset([dl4.Tensor.of(X)], [dl4.Tensor.of(Y)]),
            ]
            del m
            r.shuffle(things)
            while things:
                things.pop()
            keras.backend.clear_session()
        gc.collect()

    def test_many_objects_leave_nothing(self):
        def pages():
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1])

        graph = dl4.Graph()
        x = graph.input("x", "float32", (None, 4))
        for i in range(12000):
            if i == 2000:
                before = pages()
            dl4.Tensor.of(X)
            with self.assertRaises(dl4.Error):
                graph.shape(99999)
        del x
        gc.collect()
        self.assertLess(pages() - before, 1500)

    def test_arguments_are_not_ignored(self):
        x, y = [dl4.Tensor.of(X)], [dl4.Tensor.of(Y)]
        with self.assertRaisesRegex(TypeError, "got both"):
            dl4.Dataset(x, y, batches=lambda index: None)
        m = small().core
        trainer = m.trainer(optimizer="sgd", loss="mse")
        with self.assertRaisesRegex(ValueError, r"expected a batch \(x, y, w\), got 4 parts"):
            trainer.fit(dl4.Dataset(batches=lambda index: (x, y, [], x)))
        with self.assertRaises(TypeError):
            m.session().run([X], None, None, None, None)
        data = dl4.Dataset(x, y)
        for refused in (
            lambda: trainer.fit(data, epoch=1),
            lambda: m.session(profil=True),
            lambda: m.trainer(optimizer="sgd", loss="mse", metric=["mae"]),
            lambda: dl4.Dataset(x, y, batchsize=4),
            lambda: dl4.Context(thread=1),
        ):
            with self.assertRaisesRegex(ValueError, '"(epoch|profil|metric|batchsize|thread)"'):
                refused()

    def test_exceptions_in_callbacks_come_back(self):
        class Mine(Exception):
            pass

        def raising(*_):
            raise Mine("callback")

        m = small()
        m.compile("sgd", "mse")
        for name in ("on_train_begin", "on_epoch_begin", "on_train_batch_end", "on_epoch_end", "on_train_end"):
            c = keras.callbacks.Callback()
            setattr(c, name, raising)
            with self.assertRaises(Mine):
                m.fit(X, Y, epochs=2, verbose=0, callbacks=[c])
            m.fit(X, Y, epochs=1, verbose=0)  # and the next one goes on

        def batches():
            yield X, Y
            raise Mine("generator")

        with self.assertRaises(Mine):
            m.fit(batches(), epochs=2, steps_per_epoch=3, verbose=0)
        m.fit(X, Y, epochs=1, verbose=0)

    def test_one_session_on_many_threads(self):
        session, wanted, wrong = small().core.session(), None, []
        wanted = session.run([dl4.Tensor.of(X)])[0].numpy()

        def work():
            for _ in range(200):
                if not np.array_equal(session.run([dl4.Tensor.of(X)])[0].numpy(), wanted):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_after_a_fork(self):
        m = small()
        expected = m.predict(X)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(m.predict(X), expected) else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_the_interpreter_ends_while_objects_live(self):
        program = (
            "import numpy as np, dl4.keras as k\nx = k.Input((4,))\nm = k.Model(x, k.layers.Dense(2)(x))\n"
            "m.compile('sgd', 'mse')\nm.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)\ncycle = [m]\n"
            "cycle.append(cycle)\n"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_listings_of_tensorflow_run(self):
        tf = dl4
        q = tf.keras.Input(shape=(None, 4))
        weights = tf.nn.softmax(tf.matmul(q, q, transpose_b=True), axis=-1)
        m = tf.keras.Model(q, tf.matmul(weights, q))
        x = np.random.RandomState(0).rand(2, 3, 4).astype("float32")
        s = np.exp(x @ x.transpose(0, 2, 1))
        np.testing.assert_allclose(m(x), s / s.sum(-1, keepdims=True) @ x, 1e-5)
        tf.random.set_seed(42)  # the weights that TensorFlow's seed gives
        x = tf.keras.Input(shape=(3, 32))
        m = tf.keras.Model(x, tf.keras.layers.Dense(2)(tf.keras.layers.LSTM(8)(x)))
        np.random.seed(42)
        np.testing.assert_allclose(m(np.random.rand(4, 3, 32))[0], [-0.06428523, 0.3131591], 1e-5)


if __name__ == "__main__":
    unittest.main()
