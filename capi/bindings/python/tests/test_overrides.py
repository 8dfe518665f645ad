"""Every method of Keras's interface, overridden in a class that derives from each public class: it is honoured, seen in
what comes out, or refused with the class's and the method's name. There is no third way."""

import contextlib
import io
import os
import tempfile
import unittest
import warnings

import numpy as np

import dl4.keras as keras
from dl4.keras import _overrides
from dl4.keras._tensors import flatten, map_nest
from overriding import PARTS, PROPERTIES, Sample, interface, kinds, overriding, samples

X = np.linspace(-1, 1, 24, dtype="float32").reshape(8, 3)
Y = X[:, :1] + 1.0
# What only a user calls, and finds as it is written.
LAYERS_DIRECT = """add_metric count_params get_weights set_weights stateless_call trainable_weights trainable_variables
non_trainable_weights non_trainable_variables losses metrics_variables input output path quantize quantized_build
quantized_call rematerialized_call adapt reset_state reset_states enable_lora add_loss""".split()
MODELS_DIRECT = """compile fit evaluate predict train_on_batch test_on_batch predict_on_batch get_layer layers summary
save save_weights load_weights export to_json metrics_names jit_compile run_eagerly get_state_tree set_state_tree
stateless_compute_loss get_quantization_layer_structure distribute_strategy distribute_reduction_method inputs outputs
input_shape output_shape add pop""".split()


def doubled(y):
    return map_nest(lambda t: keras.ops.cast(t, "float32") * 2 + 1, y)


def dense(base=keras.layers.Dense, **config):
    return base(1, kernel_initializer="ones", **config)


def model_of(layer, cls=keras.Sequential, **how):
    m = cls([keras.Input((3,)), layer])
    m.compile(keras.optimizers.SGD(0.1), **{"loss": "mse", **how})
    return m


def trained(m, epochs=1, **how):
    return m.fit(X, Y, batch_size=4, epochs=epochs, verbose=0, shuffle=False, **how)


class Case(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")

    def refused(self, cls, name, f):
        """f() raises, and says of which class and which method."""
        with self.assertRaises((NotImplementedError, ValueError), msg=f"{cls.__mro__[1].__name__}.{name}") as caught:
            f()
        self.assertIn(f"{cls.__name__}.{name}", str(caught.exception))

    def is_refused(self, cls, name, make):
        """Is it refused when an object is made? Then by name."""
        if _overrides.outcome(cls, name) != "made":
            return False
        self.refused(cls, name, make)
        return True

    def direct(self, thing, name, hits):
        """Its own method is found on it."""
        if name in PROPERTIES or isinstance(getattr(type(thing), name, None), property):
            with contextlib.suppress(Exception):
                getattr(thing, name)
        else:
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                getattr(thing, name)(os.path.join(os.devnull, "x"))  # which is no place
        self.assertIn(name, hits)


class Layers(Case):
    @classmethod
    def setUpClass(cls):
        cls.samples = samples()

    def test_samples_are_of_every_layer(self):
        self.assertEqual(set(kinds("layer")), self.samples.keys() | PARTS)

    def test_every_method_of_every_layer(self):
        for kind in sorted(self.samples.keys() - PARTS):
            sample, base = self.samples[kind], getattr(keras.layers, kind)
            self.plain = Sample(base, *sample)
            self.expected = self.plain.run()
            for name in interface("layer", kind):
                with self.subTest(f"{kind}.{name}"):
                    self.one(base, name, sample)

    def one(self, base, name, sample):
        hits = []
        changed = getattr(self, f"change_{name}", lambda r: r)
        cls = overriding(base, name, hits, changed)
        if self.is_refused(cls, name, lambda: cls(**sample[0])):
            return
        if name in LAYERS_DIRECT:
            return self.direct(cls(**sample[0]), name, hits)
        getattr(self, f"see_{name}")(cls, name, sample, hits)

    def like(self, cls, sample, change=lambda y: y):
        m = Sample(cls, *sample)
        m.model.set_weights(self.plain.model.get_weights())
        for got, expected in zip(m.run(), self.expected):
            np.testing.assert_allclose(got, change(expected), 1e-4, 1e-4)
        return m

    def doubles(self, cls, sample):
        with np.errstate(over="ignore"):
            self.like(cls, sample, lambda y: y.astype("float32") * 2 + 1)

    change_call = change___call__ = staticmethod(doubled)

    def see_call(self, cls, name, sample, hits):
        self.doubles(cls, sample)
        self.assertTrue(hits)
        layer = base_layer = cls.__mro__[1](**sample[0])
        call = layer.call
        base_layer.call = lambda *args, **kwargs: doubled(call(*args, **kwargs))  # on the object
        self.doubles(lambda **_: layer, sample)

    def see___call__(self, cls, name, sample, hits):
        self.doubles(cls, sample)
        self.assertTrue(hits)

    def see_build(self, cls, name, sample, hits):
        def build(layer, *args, **kwargs):
            super(cls, layer).build(*args, **kwargs)
            layer.more = layer.add_weight(shape=(2,), name="more")

        cls.build = build
        self.assertEqual(len(Sample(cls, *sample).layer.weights), len(self.plain.layer.weights) + 1)

    def see_compute_mask(self, cls, name, sample, hits):
        from dl4.keras._own import mask_of

        first = flatten(self.plain.outputs)[0]
        cls.compute_mask = lambda *_: np.ones(first.shape[:1], bool)
        m = self.like(cls, sample)
        self.assertEqual(mask_of(flatten(m.outputs)[0]).shape, first.shape[:1])

    def see_compute_output_shape(self, cls, name, sample, hits):
        cls.compute_output_shape = lambda *_: (7,) * 7
        self.refused(cls, name, lambda: Sample(cls, *sample))  # as it contradicts call()

    change_compute_output_spec = staticmethod(lambda r: keras.Input((1, 2, 3, 4, 5)))

    def see_compute_output_spec(self, cls, name, sample, hits):
        self.refused(cls, name, lambda: Sample(cls, *sample))
        self.assertTrue(hits)

    change_input_spec = staticmethod(lambda r: keras.layers.InputSpec(ndim=77))

    def see_input_spec(self, cls, name, sample, hits):
        with self.assertRaisesRegex(ValueError, "expected ndim=77"):
            Sample(cls, *sample)

    change_get_config = staticmethod(lambda r: {**r, "more": 7})

    def see_get_config(self, cls, name, sample, hits):
        m = Sample(cls, *sample)
        config = keras.saving.serialize_keras_object(m.layer)["config"]
        self.assertEqual(config["more"], 7)

    def see_from_config(self, cls, name, sample, hits):
        config = keras.saving.serialize_keras_object(cls(**sample[0]))
        keras.saving.deserialize_keras_object(config, {"Mine": cls})
        self.assertTrue(hits)

    change_get_build_config = staticmethod(lambda r: {"more": 7})

    def see_get_build_config(self, cls, name, sample, hits):
        self.assertEqual(keras.saving.serialize_keras_object(cls(**sample[0]))["build_config"], {"more": 7})

    def see_build_from_config(self, cls, name, sample, hits):
        config = {**keras.saving.serialize_keras_object(cls(**sample[0])), "build_config": {"input_shape": (2, 3)}}
        with contextlib.suppress(Exception):  # not every layer is built for that
            keras.saving.deserialize_keras_object(config, {"Mine": cls})
        self.assertTrue(hits)

    def see_weights(self, cls, name, sample, hits):
        m = Sample(cls, *sample).model
        m.compile("sgd", lambda y, p: keras.ops.mean(p))
        self.refused(cls, name, lambda: m.fit(np.zeros(2), np.zeros(2), verbose=0))

    see_variables = see_metrics = see_weights

    def see_save_own_variables(self, cls, name, sample, hits):
        m = Sample(cls, *sample).model
        self.refused(cls, name, lambda: m.save("x.keras"))
        self.refused(cls, name, lambda: m.save_weights("x.weights.h5"))
        self.refused(cls, name, lambda: m.load_weights("x.weights.h5"))

    see_load_own_variables = see_save_own_variables


class OwnLayers(Case):
    """Of Layer itself, whose methods are its user's from the start."""

    class Twice(keras.layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1],), initializer="ones", name="w")

        def call(self, x):
            return x * self.w * 2.0

    def test_every_method(self):
        for name in interface("layer", ""):
            with self.subTest(name):
                hits = []
                cls = overriding(self.Twice, name, hits, CHANGES.get(name, lambda r: r))
                if self.is_refused(cls, name, cls):
                    continue
                if name in LAYERS_DIRECT or name in ("add_weight", "add_variable"):
                    if name == "add_weight":
                        cls()(X)
                        self.assertTrue(hits)
                    else:
                        self.direct(cls(), name, hits)
                    continue
                if name in CONFIGS:
                    see_config(self, cls, name, hits)
                    continue
                SEE_LAYER[name](self, cls, name, hits)


CONFIGS = ("get_config", "from_config", "get_build_config", "build_from_config")
CHANGES = {
    "call": doubled,
    "__call__": doubled,
    "get_config": lambda r: {**r, "name": "changed"},
    "get_build_config": lambda r: {"more": 7},
    "input_spec": lambda r: keras.layers.InputSpec(ndim=77),
    "supports_masking": lambda r: True,
}


def see_config(case, cls, name, hits, make=None):
    """Configs are written and read by a class's own methods."""
    make = make or cls
    if name == "build_from_config":
        config = {**keras.saving.serialize_keras_object(make()), "build_config": {"input_shape": (2, 3)}}
        keras.saving.deserialize_keras_object(config, {"Mine": cls})
        return case.assertTrue(hits)
    config = keras.saving.serialize_keras_object(make())
    if name == "get_build_config":
        return case.assertEqual(config["build_config"], {"more": 7})
    if name == "get_config":
        return case.assertEqual(config["config"]["name"], "changed")
    keras.saving.deserialize_keras_object(config, {"Mine": cls})
    return case.assertTrue(hits)


def _sees_double(case, cls, name, hits):
    m = model_of(cls())
    np.testing.assert_allclose(m.predict(X, verbose=0), X * 4 + 1, 1e-5, 1e-5)
    np.testing.assert_allclose(m.layers[0](X), X * 4 + 1, 1e-5, 1e-5)
    case.assertTrue(hits)


def _sees_build(case, cls, name, hits):
    model_of(cls())
    case.assertTrue(hits)


def _sees_mask(case, cls, name, hits):
    from dl4.keras._own import mask_of

    cls.compute_mask = lambda self, inputs, mask=None: keras.ops.any(inputs > 0, axis=-1)
    case.assertIsNotNone(mask_of(cls()(keras.Input((3,)))))


def _sees_masking(case, cls, name, hits):
    from dl4.keras._own import mask_of

    masked = keras.layers.Masking()(keras.Input((5, 3)))
    case.assertIsNotNone(mask_of(cls()(masked)))
    case.assertTrue(hits)


def _sees_spec(case, cls, name, hits):
    with case.assertRaisesRegex(ValueError, "expected ndim=77"):
        cls()(X)


def _sees_shape(case, cls, name, hits):
    setattr(cls, name, lambda self, *_: keras.Input((1, 7)) if name.endswith("spec") else (7, 7, 7))
    case.refused(cls, name, lambda: cls()(keras.Input((3,))))


def _refuses_fit(case, cls, name, hits):
    m = model_of(cls())
    case.refused(cls, name, lambda: trained(m))


def _refuses_files(case, cls, name, hits):
    m = model_of(cls())
    for f in (lambda: m.save("x.keras"), lambda: m.save_weights("x.npz"), lambda: m.load_weights("x.npz")):
        case.refused(cls, name, f)


SEE_LAYER = {
    "call": _sees_double,
    "__call__": _sees_double,
    "build": _sees_build,
    "compute_mask": _sees_mask,
    "supports_masking": _sees_masking,
    "input_spec": _sees_spec,
    "compute_output_shape": _sees_shape,
    "compute_output_spec": _sees_shape,
    "weights": _refuses_fit,
    "variables": _refuses_fit,
    "metrics": _refuses_fit,
    "save_own_variables": _refuses_files,
    "load_own_variables": _refuses_files,
}


SPARSE = "SparseCategoricalCrossentropy SparseCategoricalAccuracy SparseTopKCategoricalAccuracy MeanIoU IoU Circle".split()
SPARSE.append("CategoricalGeneralizedCrossEntropy")


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
            return self.refused(cls, name, lambda: self.model(cls(), p).evaluate(p, y, verbose=0))
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
                    cls = overriding(base, name, hits, {**CHANGES, "result": lambda r: r * 100 + 1}.get(name, lambda r: r))
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
        m.compile("sgd", None if base.__name__ in ("Mean", "Sum") else lambda a, b: keras.ops.mean(b), metrics=[cls(**arguments)])
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
                        continue
                    self.refused(cls, name, lambda: keras.Model().compile(cls(), "mse"))

    def test_by_hand(self):
        v = keras.Variable(np.ones(3, "float32"))
        hits = []
        cls = overriding(keras.optimizers.SGD, "update_step", hits)
        self.refused(cls, "update_step", lambda: cls(0.1).apply([np.ones(3, "float32")], [v]))
        twice = type("Twice", (keras.optimizers.SGD,), {"apply": lambda self, g, v: super(twice, self).apply([2 * g[0]], v)})
        twice(0.1).apply_gradients([(np.ones(3, "float32"), v)])
        np.testing.assert_allclose(v.numpy(), 0.8, 1e-6)
        with self.assertRaisesRegex(NotImplementedError, "Alone"):
            type("Alone", (keras.optimizers.Optimizer,), {})()


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
            rates = [self.weights_after(keras.optimizers.SGD(s)) for s in (own, lambda: 0.0)[:1]]
            expected = self.weights_after(keras.optimizers.SGD(lambda step=0: 0.5 * float(plain(step))))
            np.testing.assert_allclose(rates[0], expected, 1e-5)

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
            self.refused(type(own), "__call__", lambda: dense(kernel_regularizer=own))
            if type(plain).__name__ == "OrthogonalRegularizer":  # of a known number of rows
                return
            active = [model_of(dense(activity_regularizer=r), loss=lambda y, p: 0.0 * keras.ops.mean(p)) for r in (plain, own)]
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
    EVENTS = "train_begin train_end epoch_begin epoch_end train_batch_begin train_batch_end batch_begin batch_end".split()
    EVENTS += "test_begin test_end test_batch_begin test_batch_end".split()
    EVENTS += "predict_begin predict_end predict_batch_begin predict_batch_end".split()

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


class Models(Case):
    """Keras's numbers are those of 3.15.1."""

    class Mine(keras.Model):
        def __init__(self):
            super().__init__()
            self.d = dense()

        def call(self, x):
            return self.d(x)

    def test_every_method(self):
        for base in (self.Mine, keras.Sequential):
            for name in dict.fromkeys(interface("model", base.__name__)):
                with self.subTest(f"{base.__name__}.{name}"):
                    hits = []
                    cls = overriding(base, name, hits)
                    make = cls if base is self.Mine else lambda: cls([keras.Input((3,)), dense()])
                    if self.is_refused(cls, name, make):
                        continue
                    self.one(cls, make, name, hits)

    def one(self, cls, make, name, hits):
        if name in (*LAYERS_DIRECT, *MODELS_DIRECT, "add_weight", "add_variable") and name != "losses":
            m = make()
            m.compile("sgd", "mse")
            m(X)
            return self.direct(m, name, hits)
        if name in CONFIGS:
            m = make()
            m(X)
            if name == "build_from_config":
                return self.direct(m, name, hits)
            config = keras.saving.serialize_keras_object(m)
            if name == "from_config":
                with contextlib.suppress(Exception):
                    keras.saving.deserialize_keras_object(config, {"Mine": cls})
            return self.assertTrue(hits)
        sees = {"call": "call", "build": "build", "predict_step": "predict_step", "__call__": "run"}
        steps = "test_step compute_loss compute_metrics get_metrics_result reset_metrics metrics losses".split()
        return getattr(self, "see_" + ("steps" if name in steps else sees.get(name, name)))(cls, make, name, hits)

    def compiled(self, make):
        m = make()
        m.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
        return m

    def see_call(self, cls, make, name, hits):
        base = cls.__mro__[1]
        cls.call = lambda self, x: super(cls, self).call(x) * 2 + 1
        m = self.compiled(make)
        expected = X.sum(-1, keepdims=True) * 2 + 1
        np.testing.assert_allclose(m.predict(X, verbose=0), expected, 1e-5, 1e-5)
        np.testing.assert_allclose(m(X), expected, 1e-5, 1e-5)
        loss = float(np.mean((expected - Y) ** 2))
        self.assertAlmostEqual(m.evaluate(X, Y, verbose=0)[0], loss, 4)
        self.assertAlmostEqual(m.fit(X, Y, batch_size=8, verbose=0).history["loss"][0], loss, 4)
        self.assertIsNotNone(base)

    def see_build(self, cls, make, name, hits):
        make().build((None, 3))
        self.assertTrue(hits)

    def see_predict_step(self, cls, make, name, hits):
        cls.predict_step = lambda self, data: super(cls, self).predict_step(data) * 0 + 7
        m = make()
        np.testing.assert_array_equal(m.predict(X, verbose=0, batch_size=3), np.full((8, 1), 7.0))
        np.testing.assert_array_equal(m.predict_on_batch(X), np.full((8, 1), 7.0))

    def see_run(self, cls, make, name, hits):
        cls.__call__ = lambda self, x: super(cls, self).__call__(x) * 2
        m = self.compiled(make)
        np.testing.assert_allclose(m(X), X.sum(-1, keepdims=True) * 2, 1e-5, 1e-5)
        for f in (m.fit, m.evaluate, m.train_on_batch):
            self.refused(cls, name, lambda: f(X, Y))
        for f in (m.predict, m.predict_on_batch):
            self.refused(cls, name, lambda: f(X))

    def see_steps(self, cls, make, name, hits):
        """evaluate() calls it, fit() does for validation, and says what it can't call in training."""
        plain = self.compiled(self.Mine).evaluate(X, Y, verbose=0, return_dict=True)
        m = self.compiled(make)
        got = m.evaluate(X, Y, verbose=0, return_dict=True, batch_size=3)
        self.assertEqual(got.keys(), plain.keys())
        for key in got:
            self.assertAlmostEqual(got[key], plain[key], 5)
        self.assertTrue(hits)
        if name == "test_step":
            hits.clear()
            trained(m, validation_data=(X, Y))
            self.assertTrue(hits)
        else:
            self.refused(cls, name, lambda: trained(m))
            self.refused(cls, name, lambda: m.train_on_batch(X, Y))

    def see_weights(self, cls, make, name, hits):
        m = self.compiled(make)
        self.refused(cls, name, lambda: trained(m))
        self.refused(cls, name, lambda: m.train_on_batch(X, Y))

    see_variables = see_train_step = see_make_train_function = see_weights

    def see_make_test_function(self, cls, make, name, hits):
        m = self.compiled(make)
        self.refused(cls, name, lambda: m.evaluate(X, Y, verbose=0))

    def see_make_predict_function(self, cls, make, name, hits):
        self.refused(cls, name, lambda: make().predict(X, verbose=0))

    def see_save_own_variables(self, cls, make, name, hits):
        m = self.compiled(make)
        m(X)
        self.refused(cls, name, lambda: m.save("x.keras"))

    see_load_own_variables = see_get_compile_config = see_compile_from_config = see_save_own_variables

    def see_compute_mask(self, cls, make, name, hits):
        from dl4.keras._own import mask_of

        cls.compute_mask = lambda self, inputs, mask=None: keras.ops.any(inputs > 0, axis=-1)
        self.assertIsNotNone(mask_of(make()(keras.Input((3,)))))

    def see_compute_output_shape(self, cls, make, name, hits):
        setattr(cls, name, lambda self, *_: keras.Input((1, 7)) if name.endswith("spec") else (7, 7, 7))
        self.refused(cls, name, lambda: make().predict(X, verbose=0))

    see_compute_output_spec = see_compute_output_shape

    def see_input_spec(self, cls, make, name, hits):
        cls.input_spec = property(lambda self: keras.layers.InputSpec(ndim=77))
        with self.assertRaisesRegex(ValueError, "expected ndim=77"):
            make()(X)

    def see_supports_masking(self, cls, make, name, hits):
        make()(keras.layers.Masking()(keras.Input((3,))))
        self.assertTrue(hits)

    def test_keras_numbers(self):
        def evaluated(cls, **how):
            m = cls()
            m.compile("sgd", "mse", **how)
            return m.evaluate(NUMBERS, NUMBERS[:, :1], verbose=0, return_dict=True)

        class TenTimes(self.Mine):
            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                return super().compute_loss(x, y, y_pred, sample_weight) * 10

        class Other(self.Mine):
            def compute_metrics(self, x, y, y_pred, sample_weight=None):
                return {"mine": keras.ops.convert_to_tensor(5.0)}

        class Told(self.Mine):
            def test_step(self, data):
                return {"loss": keras.ops.convert_to_tensor(123.0)}

        self.assertAlmostEqual(evaluated(TenTimes)["loss"], 10 * evaluated(self.Mine)["loss"], 4)
        self.assertEqual(evaluated(Other), {"mine": 5.0})
        self.assertEqual(evaluated(Told), {"loss": 0.0})  # that name is the model's own mean, of nothing

    def test_replaced_on_the_object(self):
        m = keras.Sequential([keras.Input((3,)), dense()])
        call = m.call
        m.call = lambda x: call(x) * 7
        np.testing.assert_allclose(m.predict(X, verbose=0), X.sum(-1, keepdims=True) * 7, 1e-5, 1e-5)
        m = self.compiled(self.Mine)
        m.train_step = lambda data: {"loss": 0.0}
        with self.assertRaisesRegex(NotImplementedError, r"Mine\.train_step"):
            trained(m)
        layer = dense()
        layer(X)
        with self.assertRaisesRegex(NotImplementedError, r"Dense\.call.* called before"):
            layer.call = lambda x: x

    def test_the_library_s_own_classes_changed(self):
        call = keras.layers.Dense.call
        keras.layers.Dense.call = lambda self, x: call(self, x) + 1
        try:
            np.testing.assert_allclose(dense()(X), X.sum(-1, keepdims=True) + 1, 1e-5, 1e-5)
        finally:
            del keras.layers.Dense.call
        np.testing.assert_allclose(dense()(X), X.sum(-1, keepdims=True), 1e-5, 1e-5)


NUMBERS = np.random.default_rng(0).normal(size=(20, 3)).astype("float32")


if __name__ == "__main__":
    unittest.main()
