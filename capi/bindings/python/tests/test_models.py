"""What models show, how they go over data and what they log, as Keras 3.15.1 does."""

import os
import tempfile
import threading
import unittest
import warnings

import dl4.keras as keras
import numpy as np
from dl4.keras import layers


def loaded(model, suffix=".keras"):
    """What comes back from its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m" + suffix)
        model.save(path)
        return keras.models.load_model(path)


def shapes(nest):
    if isinstance(nest, dict):
        return {k: shapes(v) for k, v in nest.items()}
    return [shapes(v) for v in nest] if isinstance(nest, (list, tuple)) else nest.shape


class Nests(unittest.TestCase):
    def test_files_keep_them(self):
        i, j = keras.Input((1,)), keras.Input((2,))
        p, q = layers.Dense(1)(i), layers.Dense(2)(j)
        x, y = np.ones((2, 1), "float32"), np.ones((2, 2), "float32")
        for inputs, outputs, data in (
            ({"a": i, "b": {"c": j}}, {"d": p, "e": {"f": q}}, {"a": x, "b": {"c": y}}),
            ({"a": i, "b": j}, [p, q], {"a": x, "b": y}),
            ([i, j], {"d": p, "e": q}, [x, y]),
            ([i, j], [p, [q]], [x, y]),
            ([i], [p], [x]),
        ):
            m = keras.Model(inputs, outputs)
            other = loaded(m)
            self.assertEqual(shapes(other.input), shapes(m.input))
            self.assertEqual(shapes(other.output), shapes(m.output))
            for a, b in zip(keras.tree.flatten(m(data)), keras.tree.flatten(other(data))):
                np.testing.assert_allclose(a, b, 1e-6)

    def test_a_list_for_a_dict_whose_order_is_not_that_of_its_keys(self):
        a, b = keras.Input((2,)), keras.Input((2,))
        x, y = np.ones((1, 2), "float32"), np.zeros((1, 2), "float32")
        m = keras.Model({"t": a, "s": b}, layers.subtract([a, b]))
        np.testing.assert_array_equal(m({"t": x, "s": y}), x)
        for call in (m, lambda x: m.predict(x, verbose=0), lambda x: m([keras.Input((2,)), keras.Input((2,))])):
            with self.assertRaisesRegex(ValueError, "The structure of `inputs` doesn't match the expected structure"):
                call([x, y])
        m = keras.Model({"s": a, "t": b}, layers.subtract([a, b]))
        with self.assertWarnsRegex(UserWarning, "The structure of `inputs` doesn't match the expected structure"):
            np.testing.assert_array_equal(m.predict([x, y], verbose=0), x)


class Assembled(unittest.TestCase):
    def test_steps_in_time_of_a_model_that_is_not_built(self):
        inner = keras.Sequential([layers.Flatten(), layers.Dense(2, kernel_initializer="ones")])
        self.assertFalse(inner.built)
        x = keras.Input((3, 2, 4))
        m = keras.Model(x, layers.TimeDistributed(inner)(x))
        self.assertTrue(inner.built)
        data = np.random.default_rng(0).normal(size=(2, 3, 2, 4)).astype("float32")
        wanted = np.repeat(data.reshape(2, 3, 8).sum(-1, keepdims=True), 2, -1)
        np.testing.assert_allclose(m(data), wanted, 1e-5, 1e-5)
        layer = layers.TimeDistributed(keras.Sequential([layers.Flatten(), layers.Dense(2, kernel_initializer="ones")]))
        copy = type(layer).from_config(layer.get_config())
        for one in (layer, copy, loaded(m)):
            np.testing.assert_allclose(one(data), wanted, 1e-5, 1e-5)

    def test_layers_in_a_row_that_data_built_are_taken_away_and_added(self):
        m = keras.Sequential([layers.Dense(4), layers.Dense(5)])
        m(np.ones((3, 2)))
        m.pop()
        self.assertTrue(m.built)
        self.assertEqual([w.shape for w in m.weights], [(2, 4), (4,)])
        m.add(layers.Dense(7))
        self.assertEqual((m.built, m.output_shape), (True, (None, 7)))
        self.assertEqual(m(np.ones((3, 2))).shape, (3, 7))

    def test_operations(self):
        a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
        m = keras.Model([a, b], layers.Dense(4, name="d")((a + b)[:, :2]))
        self.assertEqual(len(m.operations), 5)
        self.assertEqual([m.operations[i].name for i in (0, 1, 4)], ["a", "b", "d"])
        self.assertEqual([x.name for x in m.layers], ["a", "b", "d"])


    def test_a_build_of_ones_own_builds(self):
        class Scale(layers.Layer):
            def build(self, shape):
                self.w = self.add_weight((shape[-1],), "ones")

            def call(self, x):
                return x * self.w

        layer = Scale()
        layer.build((None, 3))
        self.assertTrue(layer.built)
        np.testing.assert_array_equal(layer(np.ones((2, 3))), np.ones((2, 3)))
        self.assertEqual(len(layer.weights), 1)

    def test_without_an_optimizer(self):
        x = keras.Input((2,))
        m = keras.Model(x, layers.Dense(1, kernel_initializer="ones")(x))
        m.compile(None, "mse", metrics=["mae"])
        data = np.ones((4, 2), "float32"), np.zeros((4, 1), "float32")
        self.assertEqual(m.evaluate(*data, verbose=0), [4.0, 2.0])
        self.assertEqual(m.predict(data[0], verbose=0)[0, 0], 2.0)
        for call in (m.fit, m.train_on_batch):
            with self.assertRaisesRegex(ValueError, "needs an optimizer"):
                call(*data)


class Summaries(unittest.TestCase):
    def lines(self, model, **how):
        text = []
        model.summary(print_fn=text.append, **how)
        return text[0].splitlines()

    def test_of_operations_and_optimizers(self):
        x = keras.Input((2,))
        m = keras.Model(x, keras.ops.mean(layers.Dense(3, name="d")(x)))
        rows = [line for line in self.lines(m, show_trainable=True) if "│" in line]
        self.assertEqual([row.split("│")[-2].strip() for row in rows], ["-", "Y", "-"])
        self.assertIn(" () ", rows[2])
        self.assertIn(" Total params: 9 (36.00 B)", self.lines(m))
        self.assertFalse(any("Optimizer" in line for line in self.lines(m)))
        m = keras.Model(x, layers.Dense(3)(x))
        m.compile("adam", "mse")
        m.fit(np.zeros((4, 2)), np.zeros((4, 3)), verbose=0)
        numbers = [line.split(" (")[0] for line in self.lines(m)[-4:]]
        wanted = [" Total params: 29", " Trainable params: 9", " Non-trainable params: 0", " Optimizer params: 20"]
        self.assertEqual(numbers, wanted)

    def test_the_batch_of_a_call_is_shown(self):
        class Two(keras.Model):
            def __init__(self):
                super().__init__()
                self.first, self.never = layers.Dense(4), layers.Dense(1)

            def call(self, x):
                return self.first(x)

        m = Two()
        m(np.ones((5, 2)))
        rows = [line for line in self.lines(m) if "│" in line]
        self.assertIn("(5, 4)", rows[0])
        self.assertIn("?", rows[1])
        self.assertIn("0 (unbuilt)", rows[1])


class Stepping(keras.Model):
    def train_step(self, data):
        return super().train_step(data)

    def test_step(self, data):
        return super().test_step(data)


class Twice(keras.Model):
    def compute_loss(self, x, y, y_pred, sample_weight=None, **kwargs):
        return super().compute_loss(x=x, y=y, y_pred=[y_pred, y_pred], sample_weight=sample_weight, **kwargs)


class Logs(unittest.TestCase):
    def model(self, kind, outputs, **compiled):
        x = keras.Input((3,))
        heads = [layers.Dense(1, name=name, kernel_initializer="ones")(x) for name in "pq"]
        m = kind(x, dict(zip("ab", heads)) if outputs is dict else heads)
        m.compile("sgd", **compiled)
        return m

    def test_steps_log_the_loss_of_each_output(self):
        x, y = np.ones((6, 3), "float32"), [np.full((6, 1), 2.0, "float32"), np.ones((6, 1), "float32")]
        for outputs, compiled in (
            (list, {"loss": ["mse", "mae"], "loss_weights": [1.0, 2.0], "metrics": [["mae"], ["mse"]]}),
            (dict, {"loss": {"a": "mse", "b": "mae"}, "metrics": {"a": ["mae"]}}),
            (list, {"loss": ["mse", None]}),
        ):
            targets = dict(zip("ab", y)) if outputs is dict else y
            a, b = (self.model(kind, outputs, **compiled) for kind in (keras.Model, Stepping))
            h, g = (m.fit(x, targets, batch_size=4, epochs=2, shuffle=False, verbose=0).history for m in (a, b))
            self.assertEqual(list(h), list(g))
            for name in h:
                np.testing.assert_allclose(h[name], g[name], 1e-5, err_msg=name)
            h, g = (m.evaluate(x, targets, batch_size=4, verbose=0, return_dict=True) for m in (a, b))
            self.assertEqual(list(h), list(g))
            np.testing.assert_allclose(list(h.values()), list(g.values()), 1e-5)
            self.assertEqual([m.name for m in a.metrics], [m.name for m in b.metrics])
            several = None not in keras.tree.flatten(compiled["loss"])
            names = (["a_loss", "b_loss"] if outputs is dict else ["p_loss", "q_loss"]) if several else []
            self.assertEqual([m.name for m in b.metrics], ["loss", "compile_metrics", *names])

    def test_metrics_of_one_name(self):
        x, y = np.ones((4, 3), "float32"), np.zeros((4, 1), "float32")
        weights = np.array([1.0, 0, 0, 0], "float32")
        y[0] = 1
        for kind in (keras.Model, Stepping):
            i = keras.Input((3,))
            m = kind(i, layers.Dense(1, kernel_initializer="ones")(i))
            m.compile("sgd", "mae", metrics=["mse", "mse"], weighted_metrics=["mse", "mae"])
            logs = m.evaluate(x, y, sample_weight=weights, verbose=0, return_dict=True)
            wanted = {"loss": 0.5, "mae": 2.0, "mse": 7.75, "mse_1": 7.75, "weighted_mse": 4.0}
            self.assertEqual(logs, wanted)

    def test_losses_by_name_of_a_model_that_is_not_built(self):
        class Pair(keras.Model):
            def call(self, x):
                return x

        y = {"a": np.zeros((4, 1), "float32"), "b": np.zeros((4, 1), "float32")}
        m = Pair()
        m.compile("sgd", {"a": "mse", "b": "mae"}, loss_weights={"a": 1.0, "b": 2.0}, metrics={"a": ["mae"]})
        self.assertEqual(float(m.compute_loss(None, y, {"a": y["a"] + 2, "b": y["b"] + 3})), 10.0)
        self.assertEqual([metric.name for metric in m.metrics], ["loss", "compile_metrics", "a_loss", "b_loss"])
        m.compile("sgd", ["mse", "mse"])
        with self.assertRaisesRegex(ValueError, "y_true and y_pred have different structures"):
            m.compute_loss(None, [y["a"]] * 3, [y["a"]] * 2)

    def test_losses_of_what_compute_loss_makes_of_an_output(self):
        x = keras.Input((3,))
        m = Twice(x, layers.Dense(1, name="a", kernel_initializer="ones")(x))
        m.compile("sgd", ["mean_squared_error", "mean_absolute_error"])
        data, y = np.ones((4, 3), "float32"), np.ones((4, 1), "float32")
        h = m.fit(data, (y, 2 * y), verbose=0).history
        self.assertEqual(h, {"loss": [5.0], "mean_absolute_error_loss": [1.0], "mean_squared_error_loss": [4.0]})

    def test_targets_of_those_outputs_alone_that_have_a_loss(self):
        x = keras.Input((2,))
        y, data = layers.Dense(3, kernel_initializer="ones")(x), np.ones((4, 2), "float32")
        for kind in (keras.Model, Stepping):
            m = kind(x, [y, y, y])
            m.compile(loss=["mse", None, None])
            self.assertEqual(m.evaluate(data, np.zeros((4, 3)), verbose=0), 4.0)

    def test_a_loss_without_state_leaves_what_is_counted(self):
        m = self.model(Stepping, list, loss=["mse", "mae"])
        x, y = np.ones((2, 3), "float32"), [np.ones((2, 1), "float32")] * 2
        m.fit(x, y, verbose=0)
        before = [v.numpy().copy() for v in m.metrics_variables]
        state = [v.numpy() for v in m.trainable_variables], [], before
        m.stateless_compute_loss(*state, x=x, y=y, y_pred=m(x))
        self.assertEqual(len(before), 6)
        np.testing.assert_array_equal([v.numpy() for v in m.metrics_variables], before)


class Generators(unittest.TestCase):
    """What is fitted is 3 * w, begun at 1, to 1."""

    def model(self, kind=keras.Model, **compiled):
        x = keras.Input((3,))
        m = kind(x, layers.Dense(1, kernel_initializer="ones")(x))
        m.compile("sgd", "mse", metrics=["mae"], **compiled)
        return m

    @staticmethod
    def batches(count):
        return ((np.ones((2, 3), "float32"), np.ones((2, 1), "float32")) for _ in range(count))

    def fitted(self, *args, kind=keras.Model, **how):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            h = self.model(kind).fit(*args, **how, verbose=0)
        return h.history, sum("ran out of data" in str(w.message) for w in seen)

    def test_one_that_ended_is_gone_over_by_its_first_two_batches(self):
        for kind in (keras.Model, Stepping):
            h, warned = self.fitted(self.batches(4), epochs=3, kind=kind)
            np.testing.assert_allclose(h["loss"], [3.1691479682922363, 1.8952149152755737, 1.3577187061309814], 1e-5)
            h, warned = self.fitted(self.batches(4), epochs=3, steps_per_epoch=3, kind=kind)
            np.testing.assert_allclose(h["loss"], [3.4170570373535156, 2.4254205226898193, 1.8952149152755737], 1e-5)
            self.assertEqual(warned, 2)
            h, warned = self.fitted(self.batches(4), epochs=3, validation_data=self.batches(2), kind=kind)
            wanted = [2.0528757572174072, 1.4706659317016602, 1.0535744428634644]
            np.testing.assert_allclose(h["val_loss"], wanted, 1e-5)

    def test_data_without_a_batch(self):
        class Nothing(keras.utils.PyDataset):
            def __len__(self):
                return 0

            def __getitem__(self, i):
                raise AssertionError("not asked for")

        m = self.model()
        other = self.model(Stepping)
        for call in (m.fit, m.evaluate, m.predict, other.fit, other.evaluate):
            with self.assertRaisesRegex(ValueError, "the generator must yield at least one batch"):
                call(self.batches(0), verbose=0)
            with self.assertRaisesRegex(ValueError, "The PyDataset has length 0"):
                call(Nothing(), verbose=0)

    def test_fewer_than_steps(self):
        m = self.model()
        for call in (m.evaluate, m.predict):
            with self.assertWarnsRegex(UserWarning, "ran out of data"):
                call(self.batches(2), steps=4, verbose=0)



class Numbered(keras.utils.PyDataset):
    """Batches of one row that hold their number; it notes what it is asked and told."""

    def __init__(self, count=8, known=True, **how):
        super().__init__(**how)
        self.count, self.known, self.seen = count, known, []

    @property
    def num_batches(self):
        return self.count if self.known else None

    def on_epoch_begin(self):
        self.seen.append("begin")

    def on_epoch_end(self):
        self.seen.append("end")

    def __getitem__(self, i):
        return np.full((1, 1), i % self.count, "float32"), np.zeros((1, 1), "float32")


class Told(keras.callbacks.Callback):
    """Notes the loss of each batch, which is its number."""

    def on_train_begin(self, logs=None):
        self.losses, self.before = [], 0.0

    def on_epoch_begin(self, epoch, logs=None):
        self.losses.append([])

    def on_train_batch_end(self, batch, logs=None):
        self.losses[-1].append(round(logs["loss"] * (batch + 1) - sum(self.losses[-1])))


class Datasets(unittest.TestCase):
    def fitted(self, data, kind, y=None, **how):
        """The numbers of the batches of each epoch, as they were trained."""
        x = keras.Input((1,))
        m = kind(x, layers.Dense(1, kernel_initializer="ones", use_bias=False)(x))
        m.compile(keras.optimizers.SGD(0.0), "mae")
        told = Told()
        m.fit(data, y, callbacks=[told], verbose=0, **how)
        return told.losses

    def test_batches_by_number_come_in_another_order_each_time(self):
        for kind in (keras.Model, Stepping):
            for workers in (1, 2):
                epochs = self.fitted(Numbered(workers=workers), kind, epochs=3)
                self.assertEqual([sorted(e) for e in epochs], [list(range(8))] * 3)
                self.assertEqual(len({tuple(e) for e in epochs}), 3)
                epochs = self.fitted(Numbered(workers=workers), kind, epochs=2, shuffle=False)
                self.assertEqual(epochs, [list(range(8))] * 2)
            epochs = self.fitted(Numbered(known=False), kind, epochs=2, steps_per_epoch=6)
            self.assertEqual(epochs, [[0, 1, 2, 3, 4, 5], [6, 7, 0, 1, 2, 3]])
            epochs = self.fitted(Numbered(), kind, epochs=2, steps_per_epoch=4)
            self.assertEqual(sorted(sum(epochs, [])), list(range(8)))

    def test_threads_make_them_ahead(self):
        class Meeting(Numbered):
            """The first two batches wait for each other, once."""

            def __init__(self):
                super().__init__(4, workers=2)
                self.both, self.met = threading.Barrier(2), False

            def __getitem__(self, i):
                if i < 2 and not self.met:
                    self.both.wait(30)
                    self.met = True
                return super().__getitem__(i)

        for kind in (keras.Model, Stepping):
            self.assertEqual(self.fitted(Meeting(), kind, shuffle=False), [[0, 1, 2, 3]])

    def test_they_are_told_where_an_epoch_begins_and_ends(self):
        for kind in (keras.Model, Stepping):
            for how in ({}, {"steps_per_epoch": 3}, {"steps_per_epoch": 8}):
                data = Numbered()
                self.fitted(data, kind, epochs=2, **how)
                self.assertEqual(data.seen, ["begin", "end"] * 2, (kind, how))
            data, x = Numbered(), keras.Input((1,))
            m = kind(x, layers.Dense(1)(x))
            m.compile("sgd", "mse")
            m.evaluate(data, verbose=0)
            m.predict(data, verbose=0)
            self.assertEqual(data.seen, ["begin", "end"] * 2, kind)

    def test_they_can_be_gone_over(self):
        self.assertEqual([int(x[0, 0]) for x, _ in Numbered(3)], [0, 1, 2])
        endless = zip(range(5), Numbered(3, known=False))
        self.assertEqual([int(x[0, 0]) for _, (x, _) in endless], [0, 1, 2, 0, 1])

    def test_rows_change_places_within_their_batches(self):
        x, y = np.arange(12.0, dtype="float32")[:, None], np.zeros((12, 1), "float32")
        for kind in (keras.Model, Stepping):
            epochs = self.fitted(x, kind, y, batch_size=3, epochs=2, shuffle="batch")
            self.assertEqual(epochs, [[1, 4, 7, 10]] * 2)
            epochs = self.fitted(x, kind, y, batch_size=1, epochs=1, shuffle=True)
            self.assertNotEqual(epochs, [list(range(12))])
            self.assertEqual(sorted(epochs[0]), list(range(12)))

    def test_targets_beside_batches(self):
        y = np.zeros((8, 1))
        for kind in (keras.Model, Stepping):
            for data in (Numbered(), (b for b in Numbered())):
                with self.assertRaisesRegex(ValueError, "`y` should not be passed"):
                    self.fitted(data, kind, y)
                with self.assertRaisesRegex(ValueError, "`sample_weights` should not be passed"):
                    self.fitted(data, kind, sample_weight=y)
            with self.assertRaisesRegex(ValueError, "Unrecognized data type"):
                self.fitted("words", kind)


if __name__ == "__main__":
    unittest.main()
