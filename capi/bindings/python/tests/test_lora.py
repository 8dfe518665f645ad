"""LoRA of layers, and what of it the files keep."""

import pathlib
import tempfile
import unittest

import numpy as np

import dl4
import dl4.keras as keras
from dl4.keras import layers

import recorded_programs
from lora_programs import PROGRAMS

Programs = recorded_programs.tests_of(PROGRAMS, pathlib.Path(__file__).parent / "lora_expected.npz")
X = np.random.default_rng(0).normal(size=(4, 7)).astype("float32")
ONES = {"a_initializer": "ones", "b_initializer": "ones"}


def net(mode=None, **how):
    keras.utils.set_random_seed(3)
    layer = layers.Dense(3, name="layer", **how)
    model = keras.Sequential([keras.Input((7,)), layer])
    if mode:
        model.quantize(mode)
    return layer, model


def stored(model, suffix):
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/model{suffix}")
        return keras.models.load_model(f"{folder}/model{suffix}")


class Lora(unittest.TestCase):
    def test_the_other_weights_stay_the_objects_that_they_were(self):
        layer, model = net()
        kernel, bias = layer.weights
        before = model.predict(X, verbose=0)
        layer.enable_lora(2)
        self.assertIs(layer.weights[0], kernel)
        self.assertIs(layer.bias, bias)
        np.testing.assert_array_equal(model.predict(X, verbose=0), before)  # of a product with zeros
        self.assertGreater(np.abs(np.array(layer.lora_kernel_a)).max(), 0)

    def test_files_without_layers_of_ones_own_keep_it_as_it_is(self):
        for mode in (None, "int8"):
            layer, model = net(mode)
            layer.enable_lora(2, **ONES)
            again = stored(model, ".safetensors")
            np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))
            np.testing.assert_array_equal(again.layers[-1].lora_kernel_a, np.ones((7, 2)))

    def test_models_without_it(self):
        layer, model = net()
        layer.enable_lora(2, lora_alpha=3, **ONES)
        merged = dl4.Model.from_bytes(model.core.to_bytes(), merge_lora=True)
        self.assertEqual([name for name, _, trained in merged.weights() if trained], ["layer/kernel", "layer/bias"])
        np.testing.assert_allclose(merged.get_weight("layer/kernel"), layer.kernel, rtol=1e-6)
        with tempfile.TemporaryDirectory() as folder:
            model.export(f"{folder}/model.onnx", format="onnx", verbose=False)
            exported = dl4.Model.load(f"{folder}/model.onnx")
        self.assertEqual([shape for _, shape, _ in exported.weights()], [(7, 3), (3,)])

    def test_a_model_that_was_compiled_goes_on(self):
        for mode in (None, "int8", "int4"):
            layer, model = net()
            model.compile("adam", "mse")
            model.fit(X, X[:, :3], verbose=0)
            if mode:
                model.quantize(mode)
            layer.enable_lora(2)
            kernel = np.array(layer._weight("kernel"))
            losses = model.fit(X, X[:, :3], epochs=3, verbose=0).history["loss"]
            self.assertEqual(losses, sorted(losses, reverse=True))
            np.testing.assert_array_equal(layer._weight("kernel"), kernel)
            self.assertGreater(np.abs(np.array(layer.lora_kernel_b)).max(), 0)
            self.assertEqual(int(model.optimizer.iterations), 4)

    def test_all_models_of_a_layer_have_it(self):
        layer, model = net()
        other = keras.Sequential([keras.Input((7,)), layer, layers.Dense(2)])
        layer.enable_lora(2, **ONES)
        model.compile("sgd", "mse")
        model.fit(X, X[:, :3], verbose=0)
        np.testing.assert_array_equal(np.array(other.layers[0](X)), model.predict(X, verbose=0))

    def test_inside_of_a_layer(self):
        wrapped = layers.TimeDistributed(layers.Dense(3, lora_rank=2))
        model = keras.Sequential([keras.Input((5, 7)), wrapped])
        model.set_weights([np.random.default_rng(i).normal(size=w.shape) for i, w in enumerate(model.weights)])
        x = np.ones((2, 5, 7), "float32")
        again = stored(model, ".keras")
        np.testing.assert_allclose(again.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5)
        self.assertEqual(np.abs(np.array(again.weights[-1])).max(), 0)

    def test_projections_that_are_quantized(self):
        x = keras.Input((4, 6))
        for mode in ("int8", "int4"):
            layer = layers.MultiHeadAttention(2, 3, output_shape=(2, 3))
            model = keras.Model(x, layer(x, x))
            model.quantize(mode)
            for part in (layer.query_dense, layer.output_dense):
                part.enable_lora(2, **ONES)
            self.assertEqual(layer.query_dense.lora_kernel_a.shape, (6, 2, 2))
            self.assertEqual(layer.output_dense.lora_kernel_b.shape, (2, 3))
            self.assertIs(layer.query_dense, layer.query_dense)
            data = np.ones((2, 4, 6), "float32")
            again = stored(model, ".safetensors")
            np.testing.assert_array_equal(again.predict(data, verbose=0), model.predict(data, verbose=0))
            self.assertFalse(stored(model, ".keras").layers[-1].query_dense.lora_enabled)

    def test_what_is_not_done_is_refused(self):
        layer, _ = net()
        for rank in (0, -1, 2.5, None, True):
            self.assertRaisesRegex(ValueError, "`rank` of at least 1", layer.enable_lora, rank)
        for rank in (0, "a"):
            self.assertRaisesRegex(dl4.Error, "lora_rank", layers.Dense, 3, lora_rank=rank)
        self.assertRaisesRegex(dl4.Error, "LoRA is incompatible", layers.Dense, 3, lora_rank=1,
                               kernel_constraint="unit_norm")
        gptq = layers.Dense(2, dtype="gptq/4/-1_from_float32")
        gptq.build((None, 3))
        self.assertRaisesRegex(NotImplementedError, "not currently supported with GPTQ", gptq.enable_lora, 2)
        self.assertRaisesRegex(dl4.Error, "LoRA is not supported", layers.Dense, 2, lora_rank=2,
                               dtype="gptq/4/-1_from_float32")
        self.assertRaisesRegex(dl4.Error, "lora_rank", layers.SpectralNormalization, layers.Dense(2, lora_rank=1))
        heads = layers.MultiHeadAttention(2, 3)
        self.assertRaisesRegex(AttributeError, "query_dense", getattr, heads, "query_dense")
        heads.build((None, 4, 6), (None, 4, 6))
        heads.query_dense.enable_lora(2)
        self.assertRaisesRegex(ValueError, "already enabled", heads.query_dense.enable_lora, 2)
        self.assertRaisesRegex(ValueError, "rank", heads.key_dense.enable_lora, 0)
        self.assertRaisesRegex(AttributeError, "no attribute 'quantize' in this version", getattr, heads.key_dense,
                               "quantize")


if __name__ == "__main__":
    unittest.main()
