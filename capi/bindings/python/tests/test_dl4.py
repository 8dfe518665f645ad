"""What a binding must hold: lifetimes, errors, callbacks, threads."""

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
                m._graph,
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
