"""Every method of Keras's interface, overridden in a class that derives from each public class: it is honoured, seen in
what comes out, or refused with the class's and the method's name. There is no third way."""

import contextlib
import tempfile
import unittest

import numpy as np

import dl4.keras as keras
from dl4.keras.src.tree import flatten
from overriding import CHANGES, CONFIGS, LAYERS_DIRECT, PARTS, Case, Sample, X, doubled, interface, kinds, model_of
from overriding import overriding, samples, see_config, trained


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

    change_convolution_op = staticmethod(lambda r: r)

    def see_convolution_op(self, cls, name, sample, hits):
        self.like(cls, sample)
        self.assertTrue(hits)

    see__calculate_scores = see__calculate_score_mask = see__apply_scores = see_convolution_op
    see__build_attention = see__compute_attention = see__compute_attention_mask = see_convolution_op
    see__masked_softmax = see_convolution_op

    def see__compute_causal_mask(self, cls, name, sample, hits):
        x = np.ones((1, 3, 4), "float32")
        cls(**{**sample[0], "sliding_window": 2})(x, x, use_causal_mask=True)
        self.assertTrue(hits)

    see__compute_sliding_window_mask = see__compute_causal_mask

    def see_build(self, cls, name, sample, hits):
        def build(layer, *args, **kwargs):
            super(cls, layer).build(*args, **kwargs)
            layer.more = layer.add_weight(shape=(2,), name="more")

        cls.build = build
        self.assertEqual(len(Sample(cls, *sample).layer.weights), len(self.plain.layer.weights) + 1)

    def see_compute_mask(self, cls, name, sample, hits):
        from dl4.keras.src.symbolic.masks import mask_of

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
        """Called for Keras's files, refused where the library writes."""
        m = Sample(cls, *sample).model
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/x.weights.h5"
            m.save_weights(path)
            m.load_weights(path)
        self.assertTrue(hits)
        self.refused(cls, name, lambda: m.save("x.safetensors"))
        self.refused(cls, name, lambda: m.save_weights("x.npz"))
        self.refused(cls, name, lambda: m.load_weights("x.npz"))

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


def _sees_double(case, cls, name, hits):
    m = model_of(cls())
    np.testing.assert_allclose(m.predict(X, verbose=0), X * 4 + 1, 1e-5, 1e-5)
    np.testing.assert_allclose(m.layers[0](X), X * 4 + 1, 1e-5, 1e-5)
    case.assertTrue(hits)


def _sees_build(case, cls, name, hits):
    model_of(cls())
    case.assertTrue(hits)


def _sees_mask(case, cls, name, hits):
    from dl4.keras.src.symbolic.masks import mask_of

    cls.compute_mask = lambda self, inputs, mask=None: keras.ops.any(inputs > 0, axis=-1)
    case.assertIsNotNone(mask_of(cls()(keras.Input((3,)))))


def _sees_masking(case, cls, name, hits):
    from dl4.keras.src.symbolic.masks import mask_of

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
    with tempfile.TemporaryDirectory() as folder:
        m.save_weights(f"{folder}/x.weights.h5")
        m.load_weights(f"{folder}/x.weights.h5")
    case.assertTrue(hits)
    for f in (lambda: m.save("x.safetensors"), lambda: m.save_weights("x.npz"), lambda: m.load_weights("x.npz")):
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


if __name__ == "__main__":
    unittest.main()
