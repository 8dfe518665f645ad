"""Keras on the library: state of steps, loops, export, and memory over many steps and models."""

import copy
import gc
import os
import pickle
import sys
import tempfile
import threading
import unittest

import numpy as np

try:
    import dl4.keras_backend  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

import keras
from keras import layers, ops

import dl4
from dl4.keras_backend import loops, optimizer


def rows(n, seed=1):
    r = np.random.RandomState(seed)
    return r.randn(n, 3).astype("f4"), r.randn(n, 2).astype("f4")


def small(**options):
    keras.utils.set_random_seed(7)
    model = keras.Sequential([keras.Input((3,)), layers.Dense(4, "tanh"), layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.01), "mse", **options)
    return model


class State(unittest.TestCase):
    """Steps read one buffer of a variable and write the other."""

    def test_as_step_by_step(self):
        x, y = rows(20)  # the last batch has another shape
        found = []
        for eagerly in (False, True):
            model = small(run_eagerly=eagerly, metrics=["mae"])
            history = model.fit(x, y, batch_size=8, epochs=3, verbose=0, shuffle=False, validation_data=(x, y)).history
            found.append([*history.values(), *model.get_weights(), *[v.numpy() for v in model.optimizer.variables]])
        for graph, eager in zip(*found):
            np.testing.assert_allclose(graph, eager, rtol=2e-5, atol=1e-6)

    def test_what_callbacks_read_and_assign(self):
        x, y = rows(16)
        seen = []

        class Watch(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                kernel = self.model.layers[0].kernel
                seen.append(kernel.value)
                if batch == 1:
                    kernel.assign(np.ones((3, 4)))
                    self.model.optimizer.learning_rate = 0.0

        model = small()
        model.fit(x, y, batch_size=4, verbose=0, callbacks=[Watch()])
        first, second, third, last = [np.asarray(v) for v in seen]
        self.assertFalse(np.array_equal(first, second))  # what was read has stayed as it was
        np.testing.assert_array_equal(third, np.ones((3, 4)))
        np.testing.assert_array_equal(last, np.ones((3, 4)))
        np.testing.assert_array_equal(model.get_weights()[0], np.ones((3, 4)))

    def test_copies_have_their_own(self):
        x, y = rows(8)
        model = small()
        model.train_on_batch(x, y)
        kernel = model.layers[0].kernel
        copied, before = copy.deepcopy(kernel), kernel.numpy()
        pickled = pickle.loads(pickle.dumps(model))
        model.train_on_batch(x, y)
        np.testing.assert_array_equal(copied.numpy(), before)
        np.testing.assert_array_equal(pickled.get_weights()[0], before)
        self.assertFalse(np.array_equal(kernel.numpy(), before))

    def test_frozen_layers_stay_after_the_next_compile(self):
        x, y = rows(8)
        model = small()
        model.train_on_batch(x, y)
        model.layers[0].trainable = False
        model.compile("sgd", "mse")
        before = model.get_weights()
        model.fit(x, y, verbose=0)
        np.testing.assert_array_equal(model.get_weights()[0], before[0])
        self.assertFalse(np.array_equal(model.get_weights()[2], before[2]))

    def test_predictions_in_threads(self):
        x, _ = rows(64)
        model = small()
        wanted = model.predict_on_batch(x)
        wrong = []

        def work():
            for _ in range(50):
                if not np.array_equal(model.predict_on_batch(x), wanted):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(wrong, [])

    def test_results_stay(self):
        a = ops.add(np.ones(3, "f4"), 1.0)
        ops.add(np.zeros(3, "f4"), 5.0)
        np.testing.assert_array_equal(a, [2, 2, 2])


class Constants(unittest.TestCase):
    """Predictions with variables that stay the same have them as constants."""

    @staticmethod
    def constants(model):
        return len(model.predict_function.held[1])

    def settled(self, model, x, count=12):
        for _ in range(count):
            found = model.predict_on_batch(x)
        return found

    def test_every_way_to_change_a_variable(self):
        x, y = rows(8)
        model = small()
        other = [w + 1 for w in model.get_weights()]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.weights.h5")
            model.save_weights(path)
            for change in (
                lambda: model.layers[0].kernel.assign(np.ones((3, 4))),
                lambda: model.layers[1].bias.assign_add(np.ones(2)),
                lambda: model.set_weights(other),
                lambda: model.load_weights(path),
                lambda: model.fit(x, y, verbose=0),
                lambda: model.train_on_batch(x, y),
                lambda: model.layers[0].kernel.assign(model.layers[0].kernel * 2),
            ):
                model.predict_function = None  # with its patience
                before = self.settled(model, x)
                self.assertEqual(self.constants(model), 1)
                change()
                now = model.predict_on_batch(x)
                self.assertFalse(np.array_equal(now, before))
                np.testing.assert_allclose(now, model(x), rtol=1e-5, atol=1e-6)
                np.testing.assert_allclose(self.settled(model, x), now, rtol=1e-5, atol=1e-6)

    def test_in_turns_with_training(self):
        x, y = rows(8)
        model, counts = small(), []
        for _ in range(4):
            self.settled(model, x, 10)
            counts.append(self.constants(model))
            model.train_on_batch(x, y)
            self.assertEqual(self.constants(model), 0)  # no memory beside that of training
        self.assertEqual(counts, [1, 1, 0, 0])  # each time it has to be worth it more

    def test_few_shapes(self):
        model = small()
        for n in range(1, 9):
            self.settled(model, rows(n)[0])
        self.assertEqual(self.constants(model), 4)

    def test_what_predictions_change(self):
        class Noise(layers.Layer):
            def __init__(self):
                super().__init__()
                self.seeds = keras.random.SeedGenerator(1)

            def call(self, x):
                return x + keras.random.normal(x.shape, seed=self.seeds)

        class Count(layers.Layer):
            def build(self, shape):
                self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

            def call(self, x):
                self.count.assign_add(1.0)
                return x + self.count

        x = np.ones((2, 3), "f4")
        for layer in (Noise(), Count()):
            model = keras.Sequential([keras.Input(batch_shape=(2, 3)), layer])
            seen = [self.settled(model, x, 1) for _ in range(10)]
            self.assertEqual(self.constants(model), 0)
            for a, b in zip(seen, seen[1:]):
                self.assertFalse(np.array_equal(a, b))


class Optimizers(unittest.TestCase):
    """The library's updates beside those of Keras's code."""

    o = keras.optimizers
    ALIKE = (
        (o.SGD, {}),
        (o.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
        (o.Adam, {}),
        (o.Adam, {"amsgrad": True, "clipnorm": 0.5}),
        (o.Adam, {"use_ema": True, "ema_overwrite_frequency": 3, "gradient_accumulation_steps": 2}),
        (o.Adam, {"global_clipnorm": 0.5, "loss_scale_factor": 4.0}),
        (o.AdamW, {"weight_decay": 0.1}),
        (o.RMSprop, {}),
        (o.RMSprop, {"momentum": 0.9}),
        (o.RMSprop, {"centered": True, "momentum": 0.9}),
        (o.Adagrad, {}),
        (o.Adadelta, {}),
        (o.Adamax, {}),
        (o.Lion, {"clipvalue": 0.1}),
        (o.Ftrl, {"l1_regularization_strength": 0.01, "l2_shrinkage_regularization_strength": 0.03, "beta": 0.1}),
    )

    @staticmethod
    def trained(kind, words, eagerly):
        x, y = rows(40)
        keras.utils.set_random_seed(3)
        stack = [keras.Input((3,)), layers.Dense(5, "tanh", kernel_constraint="max_norm"), layers.Dense(2)]
        model = keras.Sequential(stack)
        rate = keras.optimizers.schedules.ExponentialDecay(0.05, 3, 0.9)
        model.compile(kind(rate, **words), "mse", run_eagerly=eagerly)
        losses = model.fit(x, y, batch_size=8, epochs=3, shuffle=False, verbose=0).history["loss"]
        return [losses, *model.get_weights(), *(v.numpy() for v in model.optimizer.variables)]

    def test_as_keras_code(self):
        for kind, words in self.ALIKE:
            with self.subTest(kind=kind.__name__, **words):
                self.assertIsNotNone(optimizer._rule(kind(**words)))
                own = type(kind.__name__, (kind,), {})  # a subclass goes by Keras's code
                self.assertIsNone(optimizer._rule(own(**words)))
                wanted = self.trained(own, words, False)
                for eagerly in (False, True):
                    for a, b in zip(self.trained(kind, words, eagerly), wanted):
                        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)

    def test_what_goes_by_keras_code(self):
        o = keras.optimizers
        changed = o.SGD()
        changed.update_step = lambda gradient, variable, rate: variable.assign(gradient)
        for one in (o.Nadam(), o.Lamb(), o.Adafactor(), o.Muon(), o.Adam(beta_1=1.0), changed):
            self.assertIsNone(optimizer._rule(one))
        v = keras.Variable([1.0, 2.0])
        changed.build([v])
        changed.apply([ops.array([3.0, 4.0])])
        np.testing.assert_array_equal(v, [3, 4])
        half = keras.Variable([1.0, 2.0], dtype="float16")
        sgd = o.SGD(0.5)
        sgd.build([half])
        sgd.apply([ops.array([1.0, 1.0], "float16")])
        np.testing.assert_array_equal(half, [0.5, 1.5])

    def test_gradients_of_an_update(self):
        v, sgd = keras.Variable([1.0, 2.0]), keras.optimizers.SGD(0.5)
        sgd.build([v])

        def after(w):
            (moved,), _ = sgd.stateless_apply([x.value for x in sgd.variables], [w * w], [w])
            return ops.sum(moved)

        _, found = dl4.keras_backend.value_and_grad(after)(ops.array([1.0, 2.0]))
        np.testing.assert_allclose(found, [0, -1])  # 1 - 0.5 * 2 * w


class Loops(unittest.TestCase):
    @staticmethod
    def trained(call, eagerly):
        class Model(keras.Model):
            def build(self, shape):
                self.w = self.add_weight(shape=(), initializer="ones")

            def call(self, x):
                return call(x, self.w)

        model = Model()
        model.compile(keras.optimizers.SGD(1e-3), "mse", run_eagerly=eagerly)
        x = np.random.RandomState(3).rand(4, 20).astype("f4")
        history = model.fit(x, np.ones(4, "f4"), epochs=3, verbose=0).history["loss"]
        return history, model.predict(x, verbose=0)

    def agree(self, call, count):
        done, scanned = [], loops._scanned
        loops._scanned = lambda *args: done.append(1) or scanned(*args)
        try:
            graph = self.trained(call, False)
        finally:
            loops._scanned = scanned
        self.assertEqual(len(done) > 0, count)
        for a, b in zip(graph, self.trained(call, True)):
            np.testing.assert_allclose(a, b, rtol=1e-5)

    def test_scan(self):
        for reverse in (False, True):

            def call(x, w):
                def step(carry, row):
                    return ops.tanh(carry * w + row), carry * row

                last, rows = ops.scan(step, ops.zeros_like(x[:, 0]), ops.transpose(x), reverse=reverse)
                return last + ops.sum(rows * ops.reshape(ops.arange(20, dtype="float32"), (20, 1)), axis=0)

            self.agree(call, True)

    def test_what_scan_is_given(self):
        xs = ops.ones((4, 2))
        for given, kind, said in (
            (("f", 0.0, xs), TypeError, "scan: `f` should be a callable"),
            ((max, 0.0), ValueError, "to scan over and"),
            ((max, 0.0, xs, 3), ValueError, "expected a `length` of 4, as `xs` has rows. Got 3"),
            ((max, 0.0, xs, None, False, 0), ValueError, "must be an positive integer or boolean"),
            ((max, 0.0, xs, None, False, "all"), ValueError, "must be an positive integer or boolean"),
        ):
            with self.subTest(said), self.assertRaisesRegex(kind, said):
                ops.scan(*given)
        for length, unroll in ((None, True), (4, 2), (None, False)):
            last, rows = ops.scan(lambda c, x: (c + x, c), ops.zeros((2,)), xs, length, unroll=unroll)
            np.testing.assert_array_equal(last, [4, 4])
            self.assertEqual(rows.shape, (4, 2))
        with self.assertRaisesRegex(TypeError, "associative_scan: `f` should be a callable"):
            ops.associative_scan(1, xs)
        with self.assertRaisesRegex(ValueError, "arrays of the same first dimension"):
            ops.associative_scan(max, (xs, xs[:2]))

    def test_a_count(self):
        self.agree(lambda x, w: ops.fori_loop(0, 15, lambda i, v: v * w + ops.cast(i, "float32"), x[:, 0]), True)
        self.agree(lambda x, w: ops.fori_loop(0, 3, lambda i, v: v * w + 1.0, x[:, 0]), False)

    def test_an_end_that_a_run_knows(self):
        class Model(keras.Model):
            def call(self, x):
                i, y = ops.while_loop(
                    lambda i, y: ops.sum(y) < 100.0, lambda i, y: (i + 1, y * 2.0 + 1.0), (ops.zeros((), "int32"), x)
                )
                return y + ops.cast(i, "float32")

        x = np.ones((2, 2), "f4")
        np.testing.assert_array_equal(Model().predict(x, verbose=0), np.full((2, 2), 35.0))
        np.testing.assert_array_equal(Model()(x), np.full((2, 2), 35.0))

    def test_a_cell_of_ones_own(self):
        class Cell(layers.Layer):
            state_size = 4

            def build(self, shape):
                self.kernel = self.add_weight(shape=(shape[-1] + 4, 4))

            def call(self, x, states):
                y = ops.tanh(ops.matmul(ops.concatenate([x, states[0]], axis=-1), self.kernel))
                return y, [y]

        r = np.random.RandomState(0)
        x = r.rand(16, 12, 3).astype("f4")
        x[:, 9:] = x[:4, 2] = 0  # masked steps
        for options in ({}, {"return_sequences": True}, {"go_backwards": True}):
            found = []
            for eagerly in (False, True):
                keras.utils.set_random_seed(5)
                model = keras.Sequential(
                    [layers.Masking(), layers.RNN(Cell(), **options), layers.Flatten(), layers.Dense(1)]
                )
                model.compile("sgd", "mse", run_eagerly=eagerly)
                found.append(model.fit(x, x.sum((1, 2)), epochs=3, verbose=0, shuffle=False).history["loss"])
            np.testing.assert_allclose(*found, rtol=1e-5)


class Export(unittest.TestCase):
    def test_onnx(self):
        x = np.random.RandomState(1).rand(5, 8, 8, 3).astype("f4")
        model = keras.Sequential(
            [keras.Input((8, 8, 3)), layers.Conv2D(4, 3, activation="relu"), layers.Flatten(), layers.Dense(3, "softmax")]
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            model.export(path, format="onnx", verbose=False)
            found = dl4.Model.load(path).session().run(x)[0].numpy()
            np.testing.assert_allclose(found, model.predict(x, verbose=0), atol=1e-6)
            for words, said in (
                ({"opset_version": 11}, "writes 20, got 11"),
                ({"input_signature": [keras.InputSpec(shape=(1, 8, 8, 3))]}, "exports the model's own inputs"),
                ({"strict": True}, "unexpected argument 'strict'"),
            ):
                with self.assertRaisesRegex(Exception, said):
                    model.export(path, format="onnx", **words)

    def test_a_saved_model_is_refused(self):
        with self.assertRaisesRegex((NotImplementedError, RuntimeError), "save as `.keras`|only compatible with"):
            small().export("never", format="tf_saved_model")


class Convolutions(unittest.TestCase):
    def test_strides_and_dilation(self):
        r = np.random.RandomState(2)
        x, kernel = r.rand(2, 11, 3).astype("f4"), r.rand(3, 3, 4).astype("f4")
        for padding, low, high in (("valid", 0, 0), ("same", 2, 2)):
            padded = np.pad(x, ((0, 0), (low, high), (0, 0))).astype("f8")
            places = range(0, padded.shape[1] - 4, 2)
            wanted = np.stack([sum(padded[:, i + 2 * k] @ kernel[k].astype("f8") for k in range(3)) for i in places], 1)
            found = ops.conv(x, kernel, strides=2, padding=padding, dilation_rate=2)
            np.testing.assert_allclose(found, wanted, rtol=1e-5)


def resident():
    """Bytes of memory that the process holds; nothing where Linux's file of them is missing."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@unittest.skipUnless(os.path.exists("/proc/self/statm"), "no /proc here")
class Memory(unittest.TestCase):
    def grown(self, work, warm, count):
        for _ in range(warm):
            work()
        gc.collect()
        before = resident()
        for _ in range(count):
            work()
        gc.collect()
        return (resident() - before) / 2**20

    def test_steps(self):
        x, y = rows(8)
        model = small(metrics=["mae"])
        self.assertLess(self.grown(lambda: model.train_on_batch(x, y), 200, 10000), 4)

    def test_models(self):
        x, y = rows(8)

        def one():
            model = small()
            model.train_on_batch(x, y)
            model.predict_on_batch(x)

        self.assertLess(self.grown(one, 50, 1000), 16)  # a model that stayed would hold some 100 KiB


if __name__ == "__main__":
    unittest.main()
