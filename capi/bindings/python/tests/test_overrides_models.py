"""Methods of models overridden, by a class and on the object."""

import contextlib
import functools
import tempfile
import unittest

import numpy as np

import dl4.keras as keras
from overriding import CONFIGS, LAYERS_DIRECT, MODELS_DIRECT, Case, X, Y, dense, interface, overriding, trained


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
        steps = "test_step compute_loss _compute_loss compute_metrics get_metrics_result reset_metrics metrics losses"
        steps = steps.split()
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
        """evaluate(), fit() and train_on_batch() call it."""
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
            self.see_train_step(cls, make, name, hits)

    def see_weights(self, cls, make, name, hits):
        m = self.compiled(make)
        self.refused(cls, name, lambda: trained(m))
        self.refused(cls, name, lambda: m.train_on_batch(X, Y))

    see_variables = see_weights

    def see_train_step(self, cls, make, name, hits):
        for train in (trained, lambda m: m.train_on_batch(X, Y))[: 1 if name == "reset_metrics" else 2]:
            m = self.compiled(make)
            hits.clear()
            train(m)
            self.assertTrue(hits)

    see_make_train_function = see_train_step

    def see_make_test_function(self, cls, make, name, hits):
        plain = self.compiled(self.Mine).evaluate(X, Y, verbose=0)
        np.testing.assert_allclose(self.compiled(make).evaluate(X, Y, verbose=0), plain, 1e-5)
        self.assertTrue(hits)

    def see_make_predict_function(self, cls, make, name, hits):
        for f in ("predict", "predict_on_batch"):
            m = make()
            hits.clear()
            np.testing.assert_allclose(getattr(m, f)(X), X.sum(-1, keepdims=True), 1e-5, 1e-5)
            self.assertTrue(hits)

    def see_save_own_variables(self, cls, make, name, hits):
        """Called for Keras's files, refused where the library writes."""
        m = self.compiled(make)
        m(X)
        with tempfile.TemporaryDirectory() as folder:
            m.save(f"{folder}/x.keras")
            m.save_weights(f"{folder}/x.weights.h5")
            m.load_weights(f"{folder}/x.weights.h5")
        if name == "compile_from_config":
            m.compile_from_config({"optimizer": "sgd", "loss": "mse"})
        self.assertTrue(hits)
        self.refused(cls, name, lambda: m.save("x.safetensors"))

    see_load_own_variables = see_get_compile_config = see_compile_from_config = see_save_own_variables

    def see_compute_mask(self, cls, make, name, hits):
        from dl4.keras.src.symbolic.masks import mask_of

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

    def test_a_callback_sets_the_epoch_that_steps_begin_with(self):
        class Stepping(self.Mine):
            def train_step(self, data):
                return super().train_step(data)

        class Later(keras.callbacks.Callback):
            def on_train_begin(self, logs=None):
                self.model._initial_epoch = 2

        self.assertEqual(trained(self.compiled(Stepping), 4, callbacks=[Later()]).epoch, [2, 3])

    def test_replaced_on_the_object(self):
        m = keras.Sequential([keras.Input((3,)), dense()])
        call = m.call
        m.call = lambda x: call(x) * 7
        np.testing.assert_allclose(m.predict(X, verbose=0), X.sum(-1, keepdims=True) * 7, 1e-5, 1e-5)
        m = self.compiled(self.Mine)
        m.train_step = lambda data: {"loss": 0.0}
        self.assertEqual(trained(m).history["loss"], [0.0])
        layer = dense()
        layer(X)
        with self.assertRaisesRegex(NotImplementedError, r"Dense\.call.* has been called"):
            layer.call = lambda x: x

    def test_whatever_name_a_method_was_given(self):
        class More(keras.layers.Dense):
            @functools.wraps(keras.layers.Dense.call)
            def call(self, x):
                return super().call(x) + 1

        np.testing.assert_allclose(dense(More)(X), X.sum(-1, keepdims=True) + 1, 1e-5, 1e-5)
        taken = type("Taken", (keras.Model,), {"_run": lambda self: None})
        with self.assertRaisesRegex(NotImplementedError, "Taken._run: the name is Model's own here"):
            taken()

    def test_layers_around_it(self):
        for kind, layer in (("TimeDistributed", "Dense"), ("Bidirectional", "LSTM"), ("RNN", "SimpleRNNCell")):
            hits = []
            cls = overriding(getattr(keras.layers, layer), "call", hits)
            getattr(keras.layers, kind)(cls(2))(np.ones((1, 4, 3), "float32"))
            self.assertTrue(hits)
        cls = overriding(keras.layers.Dense, "call", [])
        self.refused(cls, "call", lambda: keras.layers.SpectralNormalization(cls(2)))

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
