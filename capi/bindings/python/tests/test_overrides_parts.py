"""Methods of losses, metrics, optimizers, schedules, initializers, regularizers, constraints, callbacks overridden."""

import tempfile
import unittest

import numpy as np

import dl4.keras as keras
from overriding import CHANGES, CONFIGS, Case, X, Y, dense, interface, kinds, model_of, overriding, see_config, trained


SPARSE = """SparseCategoricalCrossentropy SparseCategoricalAccuracy SparseTopKCategoricalAccuracy MeanIoU IoU Circle
CategoricalGeneralizedCrossEntropy""".split()


def targets_and_predictions(kind):
    p = np.abs(np.sin(np.arange(12, dtype="float32"))).reshape(4, 3)
    p /= p.sum(-1, keepdims=True)
    if kind == "CTC":
        return np.array([[1, 2], [2, 1]]), np.tile(p[:2, None], (1, 5, 1)) * np.arange(1, 6, dtype="float32")[:, None]
    if kind in ("MeanIoU", "IoU"):
        return np.arange(4) % 3, np.round(p[:, 0])
    return np.arange(4) % 3 if kind in SPARSE else np.eye(3, dtype="float32")[np.arange(4) % 3], p


class Losses(Case):
    def test_every_method(self):
        for kind in ["", *kinds("loss")]:
            base = getattr(keras.losses, kind or "Loss")
            if kind in ("Crossentropy", "Functional"):  # what a graph is made of inside
                continue
            for name in interface("loss", kind):
                with self.subTest(f"{kind}.{name}"):
                    hits = []
                    cls = overriding(base, name, hits, self.changes(name))
                    if not self.is_refused(cls, name, cls):
                        self.one(base, cls, name, hits)

    @staticmethod
    def changes(name):
        scaled = {"call": lambda r: 100 * r, "__call__": lambda r: 100 * r}
        return {**CHANGES, **scaled, "get_config": lambda r: {**r, "name": "changed"}}.get(name, lambda r: r)

    def one(self, base, cls, name, hits):
        if name in CONFIGS:
            return see_config(self, cls, name, hits)
        if base is keras.losses.Loss:
            cls.call = lambda self, y, p: keras.ops.mean(keras.ops.square(y - p), -1) * (100 if name == "call" else 1)
            plain = keras.losses.MeanSquaredError()
        else:
            plain = base()
        y, p = targets_and_predictions(base.__name__)
        if name == "__call__":
            np.testing.assert_allclose(cls()(y, p), 100 * plain(y, p), 1e-4)
        np.testing.assert_allclose(float(cls()(y, p)) / 100, float(plain(y, p)), 1e-4)
        got, expected = (self.model(loss, p).evaluate(p, y, verbose=0) for loss in (cls(), plain))
        np.testing.assert_allclose(got / 100, expected, 1e-4)

    def model(self, loss, p):
        m = keras.Sequential([keras.Input(p.shape[1:]), keras.layers.Activation("linear")])
        m.compile("sgd", loss)
        return m


class Metrics(Case):
    ARGUMENTS = {
        "MeanIoU": {"num_classes": 3},
        "IoU": {"num_classes": 3, "target_class_ids": [0, 1]},
        "OneHotMeanIoU": {"num_classes": 3},
        "OneHotIoU": {"num_classes": 3, "target_class_ids": [0, 1]},
        "BinaryIoU": {"target_class_ids": [0, 1]},
        "SensitivityAtSpecificity": {"specificity": 0.5},
        "SpecificityAtSensitivity": {"sensitivity": 0.5},
        "PrecisionAtRecall": {"recall": 0.5},
        "RecallAtPrecision": {"precision": 0.5},
    }

    def test_every_method(self):
        for kind in kinds("metric"):
            if kind == "Functional":
                continue
            base, arguments = getattr(keras.metrics, kind), self.ARGUMENTS.get(kind, {})
            for name in interface("metric", kind):
                with self.subTest(f"{kind}.{name}"):
                    hits = []
                    changes = {**CHANGES, "result": lambda r: r * 100 + 1}
                    cls = overriding(base, name, hits, changes.get(name, lambda r: r))
                    if not self.is_refused(cls, name, lambda: cls(**arguments)):
                        self.one(base, cls, name, hits, arguments)

    def one(self, base, cls, name, hits, arguments):
        if name in CONFIGS:
            return see_config(self, cls, name, hits, lambda: cls(**arguments))
        if name in ("__call__", "variables") or name.startswith("stateless"):
            return self.direct(cls(**arguments), name, hits)
        y, p = targets_and_predictions(base.__name__)
        plain = base(**arguments)
        m = keras.Sequential([keras.Input(p.shape[1:]), keras.layers.Activation("linear")])
        m.compile("sgd", lambda a, b: keras.ops.mean(b), metrics=[cls(**arguments)])
        if base.__name__ in ("Mean", "Sum"):  # of values, not of targets
            made = cls(**arguments)
            made.update_state([1.0, 2.0]), made.reset_state(), made.update_state([1.0, 2.0]), made.result()
            return self.assertTrue(hits)
        plain.update_state(y, p)
        logs = m.evaluate(p, y, verbose=0, return_dict=True)
        change = 1.0 if name != "result" else 100.0
        np.testing.assert_allclose(
            np.asarray(logs[made_name(m)]), np.asarray(plain.result()) * change + (change > 1), 1e-3, 1e-4
        )
        self.assertTrue(hits)
        hits.clear()
        m.fit(p, y, verbose=0) if m.trainable_weights else m.evaluate(p, y, verbose=0)
        self.assertTrue(hits)

    def test_in_training_it_sees_the_predictions_before_each_step(self):
        class Seen(keras.metrics.Metric):
            def __init__(self):
                super().__init__(name="seen")
                self.all, self.weights_seen = [], []

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.all.append(np.abs(np.asarray(y_true) - np.asarray(y_pred)).mean())

            def result(self):
                return float(np.mean(self.all))

            def reset_state(self):
                self.all = []

        m = model_of(dense(), metrics=[Seen(), "mae"])
        h = trained(m, 3, validation_data=(X, Y)).history
        np.testing.assert_allclose(h["seen"], h["mae"], 1e-5)
        np.testing.assert_allclose(h["val_seen"], h["val_mae"], 1e-5)
        _, seen, mae = m.train_on_batch(X, Y)
        self.assertAlmostEqual(seen, mae, 5)
        shuffled = m.fit(X, Y, batch_size=4, epochs=2, verbose=0, class_weight={1: 2.0}).history
        np.testing.assert_allclose(shuffled["seen"], shuffled["mae"], 1e-5)
        batches = [(X[:4], Y[:4]), (X[4:], Y[4:])]
        streamed = m.fit((b for _ in range(2) for b in batches), steps_per_epoch=2, epochs=2, verbose=0).history
        np.testing.assert_allclose(streamed["seen"], streamed["mae"], 1e-5)


def made_name(m):
    return m._compiled["metrics"][0].name


OF_AN_UPDATE = set(
    "update_step build apply scale_loss _backend_apply_gradients _backend_update_step _clip_by_norm _clip_gradients "
    "_apply_weight_decay _use_weight_decay _update_model_variables_moving_average finalize_variable_values".split()
)
CALLED_BY_HAND = {"apply_gradients", "exclude_from_weight_decay", "set_weights", "stateless_apply"}


class Optimizers(Case):
    def test_every_method(self):
        for kind in kinds("optimizer"):
            base = getattr(keras.optimizers, kind)
            for name in interface("optimizer", kind):
                with self.subTest(f"{kind}.{name}"):
                    hits = []
                    cls = overriding(base, name, hits, CHANGES.get(name, lambda r: r))
                    if self.is_refused(cls, name, cls):
                        continue
                    if name in CONFIGS:
                        see_config(self, cls, name, hits)
                    elif name in CALLED_BY_HAND:
                        self.see_called(cls(0.1), name, hits)
                    elif name in OF_AN_UPDATE:
                        self.see_update(cls, base, name, hits)
                    else:
                        self.refused(cls, name, lambda: keras.Model().compile(cls(), "mse"))

    def see_called(self, o, name, hits):
        v = keras.Variable(np.ones(3, "float32"))
        if name == "exclude_from_weight_decay":
            o.exclude_from_weight_decay(var_names=["bias"])
        elif name == "apply_gradients":
            o.apply_gradients([(np.ones(3, "float32"), v)])
        else:
            o.build([v])
            state = [np.array(x) for x in o.variables]
            o.set_weights(state) if name == "set_weights" else o.stateless_apply(state, [v.numpy()], [v.numpy()])
        self.assertTrue(hits)

    def see_update(self, cls, base, name, hits):
        """fit() calls it, and computes what it does without the override."""
        how = {"use_ema": True, "ema_momentum": 0.5, "clipnorm": 0.5, "weight_decay": 0.01}
        plain, own = (self.fitted(c(0.1, **how)) for c in (base, cls))
        self.assertTrue(hits)
        np.testing.assert_allclose(own, plain, 1e-4, 1e-5)

    def fitted(self, optimizer):
        m = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="ones")])
        m.compile(optimizer, "mse")
        x = np.array([[1.0, -2.0], [0.5, 3.0]], "float32")
        m.fit(x, x[:, :1], batch_size=1, epochs=2, shuffle=False, verbose=0)
        return np.concatenate([w.ravel() for w in m.get_weights()])

    def test_by_hand(self):
        v = keras.Variable(np.ones(3, "float32"))
        cls = overriding(keras.optimizers.SGD, "_track_variable", [])
        self.refused(cls, "_track_variable", lambda: cls(0.1).apply([np.ones(3, "float32")], [v]))

        class Twice(keras.optimizers.SGD):
            def apply(self, grads, trainable_variables=None):
                super().apply([2 * grads[0]], trainable_variables)

        Twice(0.1).apply_gradients([(np.ones(3, "float32"), v)])
        np.testing.assert_allclose(v.numpy(), 0.8, 1e-6)


class Parts(Case):
    """Schedules, initializers, regularizers, constraints: called with what they are of."""

    ARGUMENTS = {
        "ExponentialDecay": (0.1, 10, 0.5),
        "PiecewiseConstantDecay": ([2, 4], [0.1, 0.2, 0.3]),
        "PolynomialDecay": (0.1, 10),
        "InverseTimeDecay": (0.1, 10, 0.5),
        "CosineDecay": (0.1, 10),
        "CosineDecayRestarts": (0.1, 10),
    }

    def each(self, category, module, see, names=None):
        for kind in names or kinds(category):
            base, arguments = getattr(module, kind), self.ARGUMENTS.get(kind, ())
            for name in interface(category, kind):
                with self.subTest(f"{kind}.{name}"):
                    hits = []
                    change = {"get_config": lambda r: {**r}, "__call__": lambda r: r * 0.5}.get(name, lambda r: r)
                    cls = overriding(base, name, hits, change)
                    if self.is_refused(cls, name, lambda: cls(*arguments)):
                        continue
                    if name == "clone":
                        self.direct(cls(*arguments), name, hits)
                    elif name in CONFIGS:
                        config = keras.saving.serialize_keras_object(cls(*arguments))
                        keras.saving.deserialize_keras_object(config, {"Mine": cls})
                    else:
                        see(base(*arguments), cls(*arguments))
                    self.assertTrue(hits)

    def test_schedules(self):
        def see(plain, own):
            for step in (0, 3):
                self.assertAlmostEqual(float(own(step)), 0.5 * float(plain(step)), 6)
            expected = self.weights_after(keras.optimizers.SGD(lambda step=0: 0.5 * float(plain(step))))
            np.testing.assert_allclose(self.weights_after(keras.optimizers.SGD(own)), expected, 1e-5)

        self.each("schedule", keras.optimizers.schedules, see)

    def weights_after(self, optimizer):
        m = keras.Sequential([keras.Input((3,)), dense()])
        m.compile(optimizer, "mse")
        trained(m)
        return m.get_weights()[0]

    def test_initializers(self):
        def see(plain, own):
            shape = (4, 1, 3) if type(plain).__name__ == "STFT" else (2, 2)
            if type(plain).__name__ in ("Zeros", "Ones", "Constant", "Identity"):
                np.testing.assert_allclose(own(shape), 0.5 * np.asarray(plain(shape)), 1e-5)
            own(shape)
            if len(shape) == 2:
                layer = keras.layers.Dense(2, kernel_initializer=own)
                layer.build((None, 2))
                self.assertEqual(layer.kernel.shape, (2, 2))

        self.each("initializer", keras.initializers, see)

    def test_initializers_of_every_weight(self):
        class Half(keras.initializers.Ones):
            def __call__(self, shape, dtype=None):
                return super().__call__(shape, dtype) * 0.5

        lstm = keras.layers.LSTM(2, recurrent_initializer=Half(), bias_initializer=Half())
        lstm.build((None, 4, 3))
        np.testing.assert_array_equal(lstm.weights[1], np.full((2, 8), 0.5))
        np.testing.assert_array_equal(lstm.weights[2], [0.5, 0.5, 1, 1, 0.5, 0.5, 0.5, 0.5])
        heads = keras.layers.MultiHeadAttention(2, 3, kernel_initializer=Half())
        heads.build((None, 4, 3), (None, 4, 3))
        for w in heads.weights:
            self.assertEqual(set(np.unique(w)), {0.5} if w.name == "kernel" else {0.0})

    def test_regularizers(self):
        def see(plain, own):
            class Linear(keras.layers.Layer):
                def __init__(self, regularizer):
                    super().__init__()
                    self.r = regularizer

                def build(self, shape):
                    self.w = self.add_weight(shape=(3, 2), initializer="ones", regularizer=self.r)

                def call(self, x):
                    return x @ self.w

            found = [model_of(Linear(r), loss=lambda y, p: 0.0 * keras.ops.mean(p)) for r in (plain, own)]
            expected, got = (m.evaluate(X, np.zeros((8, 2)), verbose=0) for m in found)
            self.assertAlmostEqual(got, 0.5 * expected, 5)
            layers = [
                keras.layers.Dense(2, kernel_initializer="ones", use_bias=False, kernel_regularizer=r)
                for r in (plain, own)
            ]
            found = [model_of(layer, loss=lambda y, p: 0.0 * keras.ops.mean(p)) for layer in layers]
            expected, got = (m.evaluate(X, np.zeros((8, 2)), verbose=0) for m in found)
            self.assertAlmostEqual(got, 0.5 * expected, 5)
            if type(plain).__name__ == "OrthogonalRegularizer":  # of a known number of rows
                return
            layers = [dense(activity_regularizer=r) for r in (plain, own)]
            active = [model_of(layer, loss=lambda y, p: 0.0 * keras.ops.mean(p)) for layer in layers]
            expected, got = (m.evaluate(X, Y, verbose=0) for m in active)
            self.assertAlmostEqual(got, 0.5 * expected, 5)

        self.each("regularizer", keras.regularizers, see)

    def test_constraints(self):
        def see(plain, own):
            wide = keras.layers.Dense(2, kernel_initializer="ones", kernel_constraint=own)
            m = keras.Sequential([keras.Input((3,)), wide])
            m.compile(keras.optimizers.SGD(0.0), "mse")
            before = np.array(wide.kernel)
            m.fit(X, np.zeros((8, 2)), batch_size=8, verbose=0)
            np.testing.assert_allclose(wide.kernel, 0.5 * np.asarray(plain(before)), 1e-5)
            m.train_on_batch(X, np.zeros((8, 2)))
            v = keras.Variable(before, constraint=own)
            keras.optimizers.SGD(0.0).apply([np.zeros((3, 2), "float32")], [v])
            np.testing.assert_allclose(v.numpy(), 0.5 * np.asarray(plain(before)), 1e-5)

        self.each("constraint", keras.constraints, see)


class Callbacks(Case):
    def test_every_method(self):
        with tempfile.TemporaryDirectory() as folder:
            arguments = {
                "ModelCheckpoint": (f"{folder}/m.keras", "loss", 0, True),
                "CSVLogger": (f"{folder}/log.csv",),
                "BackupAndRestore": (f"{folder}/backup",),
                "LearningRateScheduler": (lambda epoch: 0.1,),
            }
            for kind in ["Callback", *kinds("callback")]:
                base = getattr(keras.callbacks, kind)
                for name in interface("callback", kind):
                    with self.subTest(f"{kind}.{name}"):
                        hits = []
                        cls = overriding(base, name, hits)
                        if not self.is_refused(cls, name, lambda: cls(*arguments.get(kind, ()))):
                            self.one(kind, cls(*arguments.get(kind, ())), name, hits)

    def one(self, kind, callback, name, hits):
        if name == "model":
            return self.skipped_as_data(callback)
        m = keras.Sequential([keras.Input((3,)), dense()])
        ema = {"use_ema": True} if kind == "SwapEMAWeights" else {}
        m.compile(keras.optimizers.SGD(0.1, **ema), "mse")
        trained(m, 3, validation_data=(X, Y), callbacks=[callback])
        m.predict(X, verbose=0, callbacks=[callback])
        if (kind, name) in (("ModelCheckpoint", "on_batch_end"), ("BackupAndRestore", "on_batch_end")):
            return self.assertFalse(hits)  # in Keras too their on_train_batch_end() does not call it
        self.assertTrue(hits)

    def skipped_as_data(self, callback):
        pass  # an attribute that set_model() sets

    def test_a_subclass_stops(self):
        class Stops(keras.callbacks.EarlyStopping):
            def on_epoch_end(self, epoch, logs=None):
                super().on_epoch_end(epoch, {"loss": 1.0})

        m, stops = model_of(dense()), Stops("loss", patience=1)
        self.assertEqual(len(trained(m, 9, callbacks=[stops]).epoch), 2)
        self.assertEqual((stops.stopped_epoch, stops.best, stops.wait), (1, 1.0, 1))


if __name__ == "__main__":
    unittest.main()
