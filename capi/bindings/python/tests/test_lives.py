"""What a program may do to a library: finalizers in any order, threads, processes, others' memory, the end."""

import gc
import importlib.util
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import dl4
import dl4.keras as keras

X, Y = np.linspace(-1, 1, 80, dtype="float32").reshape(20, 4), np.ones((20, 3), "float32")


def small(units=3):
    x = keras.Input((4,))
    return keras.Model(x, keras.layers.Dense(units)(x))


def pages():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1])


class Lives(unittest.TestCase):
    def test_what_calls_made_ends_with_them(self):
        model = small()
        model.compile("adam", "mse", metrics=["mae"])

        def batches():
            yield X[:5], Y[:5]
            yield X[5:9], Y[5:9]

        class Watches(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                pass

        for call in (
            lambda: model.predict(X, batch_size=5, verbose=0),
            lambda: model.predict(batches(), verbose=0),
            lambda: model(X),
            lambda: model.fit(X, Y, batch_size=5, verbose=0, validation_data=(X, Y), callbacks=[Watches()]),
            lambda: model.fit(X, Y, batch_size=5, steps_per_epoch=3, verbose=0),
            lambda: model.fit(batches(), verbose=0),
            lambda: model.evaluate(X, Y, verbose=0),
            lambda: model.train_on_batch(X, Y),
        ):
            call()
            gc.collect()
            gc.disable()
            gc.set_debug(gc.DEBUG_SAVEALL)
            try:
                call()
                gc.collect()
                left = [o for o in gc.garbage if isinstance(o, (dl4.abi.Object, np.ndarray))]
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()
            self.assertEqual(left, [])

    def test_ten_thousand_objects_end_in_random_order(self):
        r, made, graph = random.Random(3), [], dl4.Graph()
        node = graph.input("x", "float32", (None, 4))
        model = graph.build([node], graph.call(graph.layer("Dense", "d", {"units": 2}), [node]))
        data = [dl4.Tensor.of(X)]
        makers = [
            lambda: dl4.Tensor.of(X),
            lambda: dl4.Dataset(data, [dl4.Tensor.of(Y[:, :2])]),
            dl4.Context,
            dl4.Graph,
            lambda: model.session(),
            lambda: model.clone(),
            lambda: model.session().run(data)[0],
            lambda: dl4.abi.refs(nodes={"mask": [0]}),
        ]
        for i in range(10000):
            made.append(makers[i % len(makers)]())
            if len(made) > 200:
                made[r.randrange(len(made))] = None
                made = [m for m in made if m is not None] if i % 50 == 0 else made
        r.shuffle(made)
        while made:
            made.pop()
        self.assertEqual(model.session().run(data)[0].shape, (20, 2))

    def test_models_leave_nothing(self):
        def life(n):
            for _ in range(n):
                m = small()
                m.compile("adam", "mse")
                m.fit(X, Y, verbose=0)
                m(X), m.predict(X, verbose=0), keras.ops.exp(X)
            gc.collect()

        life(60)
        before = pages()
        life(120)
        self.assertLess(pages() - before, 2500)  # of 4 KiB; a model that stayed would take 20 and more

    def test_garbage_in_cycles(self):
        for _ in range(20):
            m = small()
            m.compile("sgd", "mse")
            m.train_on_batch(X, Y)
            m._cycle = [m, m.layers[1], m._trainer]
        del m
        gc.collect()

    def test_cancelled_by_another_thread(self):
        m = small()
        m.compile("sgd", "mse")
        begun = threading.Event()

        class Tell(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                begun.set()
                time.sleep(0.001)

        def stop():
            begun.wait(20)
            m.stop_training = True

        thread = threading.Thread(target=stop)
        thread.start()
        h = m.fit(X, Y, epochs=100000, batch_size=1, verbose=0, callbacks=[Tell()])
        thread.join()
        self.assertLess(len(h.epoch), 100000)

    def test_interrupted_from_the_keyboard(self):
        m = small()
        m.compile("sgd", "mse")

        class Interrupt(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            m.fit(X, Y, epochs=9, verbose=0, callbacks=[Interrupt()])
        m.fit(X, Y, verbose=0)

    def test_models_are_built_in_many_threads(self):
        """Each with layers of its own and one that all share, called, trained and drawn from."""
        shared, wrong, together = keras.layers.Dense(4), [], threading.Barrier(6)

        def work():
            try:
                together.wait(60)
                for _ in range(8):
                    x = keras.Input((4,))
                    h = shared(x)
                    for _ in range(6):
                        h = keras.layers.Dense(4, activation="relu")(h) + h
                    self.assertEqual(keras.Model(x, h)(X).shape, (20, 4))
                    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
                    m.compile("adam", "mse")
                    m.fit(X, Y, verbose=0)
                    self.assertEqual(m.predict(X, verbose=0).shape, (20, 3))
            except BaseException as e:
                wrong.append(e)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_worker_processes(self):
        m = small()
        expected = m.predict(X, verbose=0)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for got in pool.map(m.predict, [X, X, X]):
                np.testing.assert_array_equal(got, expected)
        with multiprocessing.get_context("spawn").Pool(1) as pool:  # pickled with its weights
            np.testing.assert_array_equal(pool.apply(run, (m,)), expected)

    def test_the_interpreter_ends_amid_everything(self):
        program = (
            "import numpy as np, threading, dl4, dl4.keras as k\n"
            "x = k.Input((4,))\nm = k.Model(x, k.layers.Dense(2)(x))\nm.compile('sgd', 'mse')\n"
            "def batches():\n    while True: yield np.ones((8, 4)), np.ones((8, 2))\n"
            "m.fit(batches(), steps_per_epoch=2, verbose=0)\n"
            "def work(): [m.predict(np.ones((9, 4)), verbose=0) for _ in range(50)]\n"
            "t = threading.Thread(target=work, daemon=True)\n"
            "t.start()\nview = m(np.ones((3, 4)))\nm._me = m\n"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_the_interpreter_ends_while_a_daemon_thread_trains(self):
        """It ends the thread in the next function of ours that takes the lock: that is no end of the program."""
        program = (
            "import numpy as np, threading, time, dl4.keras as k\n"
            "m = k.Sequential([k.Input((4,)), k.layers.Dense(2)])\nm.compile('sgd', 'mse')\n"
            "begun = threading.Event()\n"
            "class Begun(k.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None): begun.set()\n"
            "def batches():\n    while True: yield np.ones((8, 4)), np.ones((8, 2))\n"
            "def work(data): m.fit(data, steps_per_epoch=10**6, epochs=10**6, callbacks=[Begun()], verbose=0)\n"
            "threading.Thread(target=work, args=(batches(),), daemon=True).start()\n"
            "begun.wait()\ntime.sleep(0.05)\n"
        )
        for _ in range(2):
            ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
            self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_a_program_leaves_while_a_thread_trains(self):
        """A daemon thread in the callbacks of fit() ends with the interpreter, whose code stays."""
        program = (
            "import threading, sys, numpy as np, dl4.keras as k\n"
            "m = k.Sequential([k.Input((64,)), k.layers.Dense(64)])\nm.compile('sgd', 'mse')\n"
            "x, begun = np.zeros((256, 64), 'float32'), threading.Event()\n"
            "def batches():\n    while True: begun.set(); yield x[:4], x[:4]\n"
            "class Tell(k.callbacks.Callback):\n    def on_train_batch_end(self, batch, logs=None): begun.set()\n"
            "def given(): m.fit(x, x, batch_size=1, epochs=10**6, verbose=0, callbacks=[Tell()])\n"
            "def asked(): m.fit(batches(), steps_per_epoch=10**6, verbose=0)\n"
            "threading.Thread(target=globals()[sys.argv[1]], daemon=True).start()\nbegun.wait(60)\nsys.exit(7)\n"
        )
        for way in ("given", "asked"):
            for i in range(3):
                ended = subprocess.run([sys.executable, "-c", program, way], capture_output=True, text=True, timeout=120)
                self.assertEqual((ended.returncode, ended.stderr), (7, ""), f"{way} {i}")

    def test_beside_other_frameworks(self):
        """In one process, each loaded first and last, and computing in between."""
        products = {
            "torch": "import torch; torch.ones(300, 300) @ torch.ones(300, 300)",
            "tensorflow": "import tensorflow as tf; tf.matmul(tf.ones((300, 300)), tf.ones((300, 300))).numpy()",
            "jax": "import jax.numpy as jnp; (jnp.ones((300, 300)) @ jnp.ones((300, 300))).block_until_ready()",
        }
        trained = (
            "import numpy as np, dl4.keras as k\nk.utils.set_random_seed(1)\n"
            "m = k.Sequential([k.Input((9, 9, 2)), k.layers.Conv2D(40, 3), k.layers.Flatten(), k.layers.Dense(64)])\n"
            "m.compile('adam', 'mse')\n"
            "m.fit(np.ones((64, 9, 9, 2)), np.ones((64, 64)), epochs=2, verbose=0)\n"
            "print('sum', m.predict(np.ones((64, 9, 9, 2)), verbose=0).tobytes().hex()[:4096])\n"
        )

        def sums(*parts):
            ended = subprocess.run([sys.executable, "-c", "\n".join(parts)], capture_output=True, text=True, timeout=300)
            self.assertEqual(ended.returncode, 0, ended.stderr)
            return [line for line in ended.stdout.splitlines() if line.startswith("sum")]

        there = [name for name in products if importlib.util.find_spec(name)]
        if not there:
            self.skipTest("neither PyTorch nor TensorFlow nor JAX")
        (alone,) = sums(trained)
        for name in there:
            self.assertEqual(sums(products[name], trained, products[name]), [alone], name)
            self.assertEqual(sums(trained, products[name], trained), [alone, alone], name)


def run(model):
    return model.predict(X, verbose=0)


class Memory(unittest.TestCase):
    def test_dlpack_with_numpy(self):
        t = dl4.Tensor.of(X)
        seen = np.from_dlpack(t)
        self.assertTrue(np.shares_memory(seen, X))
        back = dl4.Tensor.from_dlpack(seen)
        self.assertTrue(np.shares_memory(back.numpy(), X))
        y = small().core.session().run([t])[0]
        kept = np.from_dlpack(y)
        values = kept.copy()
        del y
        gc.collect()
        np.testing.assert_array_equal(kept, values)
        with self.assertRaises(TypeError):
            dl4.Tensor.from_dlpack([1, 2])
        with self.assertRaises(TypeError):
            dl4.Tensor.of(np.array([1j]))

    def test_a_mapped_file_outlives_the_name_of_its_model(self):
        graph = dl4.Graph()
        node = graph.input("x", "float32", (None, 4))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            graph.build([node], graph.call(graph.layer("Dense", "d", {"units": 300}), [node])).save(path)
            usual = dl4.Session(dl4.Model.load(path)).run([dl4.Tensor.of(X)])[0].numpy().copy()
            session = dl4.Session(dl4.Model.mapped(path))
            os.remove(path)
            gc.collect()
            np.testing.assert_array_equal(session.run([dl4.Tensor.of(X)])[0].numpy(), usual)

    def test_dlpack_with_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("no torch")
        a = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        t = dl4.Tensor.from_dlpack(a)
        self.assertEqual(t.numpy().ctypes.data, a.data_ptr())
        b = torch.from_dlpack(t)
        self.assertEqual(b.data_ptr(), a.data_ptr())
        m = small()
        np.testing.assert_array_equal(m(a), m(a.numpy()))
        loader = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(torch.from_numpy(X), torch.from_numpy(Y)), batch_size=5
        )
        m.compile("sgd", "mse")
        n = keras.models.clone_model(m)
        n.set_weights(m.get_weights())
        n.compile("sgd", "mse")
        got = m.fit(loader, epochs=2, verbose=0).history["loss"]
        np.testing.assert_allclose(
            got, n.fit(X, Y, batch_size=5, epochs=2, shuffle=False, verbose=0).history["loss"], 1e-6
        )

    def test_dlpack_with_jax(self):
        try:
            import jax
        except ImportError:
            self.skipTest("no jax")
        a = jax.numpy.arange(12, dtype="float32").reshape(3, 4)
        t = dl4.Tensor.from_dlpack(a)
        self.assertEqual(t.numpy().ctypes.data, a.unsafe_buffer_pointer())
        b = jax.dlpack.from_dlpack(dl4.Tensor.of(X))
        np.testing.assert_array_equal(b, X)
        np.testing.assert_array_equal(small()(a).shape, (3, 3))

    def test_an_iterable_as_of_tf_data(self):
        class Tensor:  # as TensorFlow's
            def __init__(self, a):
                self.a = a

            def __array__(self, dtype=None, copy=None):
                return np.asarray(self.a, dtype)

        class Batches:
            def __iter__(self):
                return ((Tensor(X[i : i + 5]), Tensor(Y[i : i + 5])) for i in range(0, 20, 5))

        m = small()
        m.compile("sgd", "mse")
        h = m.fit(Batches(), epochs=3, verbose=0)
        self.assertEqual(len(h.history["loss"]), 3)
        self.assertEqual(m.predict(Batches(), verbose=0).shape, (20, 3))

    def test_strided_and_read_only_arrays(self):
        m = small()
        wide = np.zeros((20, 8), "float32")
        wide[:, ::2] = X
        fixed = X.copy()
        fixed.setflags(write=False)
        for x in (wide[:, ::2], np.asfortranarray(X), fixed, X[::-1][::-1], X.astype(">f4"), X.astype("float16")):
            np.testing.assert_allclose(m(x), m(X), 1e-2 if x.dtype == "float16" else 1e-6, 1e-3)


if __name__ == "__main__":
    assert os.name == "posix"
    unittest.main()
