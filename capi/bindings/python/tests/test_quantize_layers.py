"""Layers that GPTQ and AWQ fit by themselves, and quantized layers within others."""
import copy
import json
import pathlib
import tempfile
import unittest
import zipfile

import numpy as np

import dl4
import dl4.keras as keras
from dl4.keras import layers, quantizers
from dl4.keras.src.quantizers import awq, gptq

import fitted_programs
import keras_files
import recorded_programs

HERE = pathlib.Path(__file__).parent
Programs = recorded_programs.tests_of(fitted_programs.PROGRAMS, HERE / "fitted_expected.npz")
X = np.random.default_rng(0).normal(size=(4, 7)).astype("float32")


class Waiting(unittest.TestCase):
    """Layers that quantize() told of GPTQ or AWQ and that nobody fitted."""

    def told(self, mode="gptq", **given):
        config = {"gptq": quantizers.GPTQConfig, "awq": quantizers.AWQConfig}[mode](None, None, group_size=4, **given)
        layer = layers.Dense(5, name="told")
        layer.build((None, 7))
        layer.quantize(mode, config)
        return layer, config

    def test_files_and_copies_of_them_are_refused(self):
        for mode in ("gptq", "awq"):
            layer, _ = self.told(mode)
            model = keras.Sequential([keras.Input((7,)), layer])
            words = f"layer told was told of {mode.upper()}.*is not calibrated"
            with tempfile.TemporaryDirectory() as folder:
                for suffix in (".keras", ".safetensors", ".h5", ".weights.h5", ".npz"):
                    save = model.save_weights if suffix in (".weights.h5", ".npz") else model.save
                    self.assertRaisesRegex(NotImplementedError, words, save, f"{folder}/m{suffix}")
                self.assertRaisesRegex(NotImplementedError, words, model.export, f"{folder}/m.onnx", "onnx")
            self.assertRaisesRegex(NotImplementedError, words, copy.deepcopy, layer)
            self.assertRaisesRegex(NotImplementedError, words, layer.save_own_variables, {})

    def test_weights_of_a_file_calibrate_them(self):
        for mode, fit in (("gptq", gptq.GPTQ), ("awq", awq.AWQ)):
            layer, config = self.told(mode)
            model = keras.Sequential([keras.Input((7,)), layer])
            one = fit(layer, config)
            one.see(X)
            (one.quantize_and_correct_layer if mode == "gptq" else one.quantize_layer)()
            again, _ = self.told(mode)
            with tempfile.TemporaryDirectory() as folder:
                model.save_weights(f"{folder}/m.weights.h5")
                other = keras.Sequential([keras.Input((7,)), again])
                other.load_weights(f"{folder}/m.weights.h5")
            self.assertTrue(getattr(again, f"is_{mode}_calibrated"))
            np.testing.assert_array_equal(other.predict(X, verbose=0), model.predict(X, verbose=0))
            self.assertRaisesRegex(NotImplementedError, "kernel of floats is gone",
                                   setattr, again, f"is_{mode}_calibrated", False)
            self.assertRaisesRegex(ValueError, "expected quantize", one.quantize_and_correct_layer
                                   if mode == "gptq" else one.quantize_layer)

    def test_what_cannot_be_fitted_is_refused(self):
        layer = layers.EinsumDense("abcd,cdef->abef", (None, 2, 3))
        layer.build((None, 3, 4, 5))
        config = quantizers.GPTQConfig(None, None)
        self.assertRaisesRegex(ValueError, "only supports 2D or 3D kernels", layer.quantize, config=config)
        self.assertRaisesRegex(TypeError, "Unsupported layer type for GPTQ", gptq.GPTQ, layers.Conv1D(2, 2))
        tuned = layers.Dense(2)
        tuned.build((None, 3))
        tuned.enable_lora(1)
        self.assertRaisesRegex(NotImplementedError, "lora is not currently", tuned.quantize, config=config)

        class Mine(layers.Dense):
            pass

        mine = Mine(2)
        mine.build((None, 3))
        self.assertRaisesRegex(NotImplementedError, "Mine does not have a `quantize`", mine.quantize, config=config)
        self.assertIsNone(mine.quantization_mode)

    def test_words_of_calibration_come_with_it(self):
        layer, _ = self.told()
        self.assertIn("is_gptq_calibrated", dir(layer))
        self.assertNotIn("is_gptq_calibrated", dir(layers.Dense(2)))
        self.assertFalse(layers.Dense(2, dtype="gptq/4/8_from_float32").is_gptq_calibrated)


class Within(unittest.TestCase):
    def test_layers_that_a_config_names_are_not_in_files(self):
        """A config with the blocks is told to layers of these blocks."""
        for config in (quantizers.GPTQConfig, quantizers.AWQConfig):
            x, table = keras.Input((4,), dtype="int32"), layers.Embedding(11, 8)
            block = keras.Sequential([keras.Input((4, 8)), layers.Dense(8, name="up")], name="block")
            model = keras.Model(x, block(table(x)))
            structure = {"pre_block_layers": [table], "sequential_blocks": [block]}
            config = config([np.arange(9)], 0, num_samples=1, sequence_length=4, group_size=4,
                            quantization_layer_structure=structure)
            model.quantize(config.mode, config)
            ids = np.arange(8, dtype="int32").reshape(2, 4)
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/m.keras")
                again = keras.models.load_model(f"{folder}/m.keras")
            for other in (again, copy.deepcopy(model)):
                np.testing.assert_array_equal(other.predict(ids, verbose=0), model.predict(ids, verbose=0))
            self.assertIs(block.layers[0].quantization_config, config)
            self.assertIs(config.quantization_layer_structure, structure)

    def test_gates_are_in_keras_s_files(self):
        """They say the policy of each projection."""
        x = keras.Input((5, 8))
        for gate in ([], ["gate"]):
            heads = layers.MultiHeadAttention(2, 4, use_gate=bool(gate), name="heads")
            keras.Model(x, heads(x, x)).quantize("int8")
            policies = heads.get_config()["dtype"]["config"]["policy_map"]
            parts = ["query", "key", "value", *gate, "attention_output"]
            self.assertEqual(list(policies), [f"heads/{part}" for part in parts])

    def test_inputs_that_no_config_of_attention_says_are_refused(self):
        x, data = keras.Input((5, 8)), np.random.default_rng(0).normal(size=(2, 5, 8)).astype("float32")
        for config in (
            quantizers.Int8QuantizationConfig(activation_quantizer=None),
            quantizers.Int8QuantizationConfig(activation_quantizer=quantizers.AbsMaxQuantizer(epsilon=1e-3)),
            quantizers.Int4QuantizationConfig(None, quantizers.AbsMaxQuantizer(-1), None),
        ):
            model = keras.Model(x, layers.MultiHeadAttention(2, 4, name="heads")(x, x))
            model.quantize(config=config)
            words = "layer heads: Keras's config of attention has no place"
            with tempfile.TemporaryDirectory() as folder:
                self.assertRaisesRegex(NotImplementedError, words, model.save, f"{folder}/m.keras")
                model.save(f"{folder}/m.safetensors")
                again = keras.models.load_model(f"{folder}/m.safetensors")
            self.assertRaisesRegex(NotImplementedError, words, model.get_config)
            np.testing.assert_array_equal(again.predict(data, verbose=0), model.predict(data, verbose=0))

    def test_layers_of_a_model_within_one_show_whole_numbers(self):
        """A model of a file of Keras's with operations has models within as one layer."""
        model = keras.models.load_model(HERE / "keras_files/quantized.keras")
        inner = model.get_layer("inner")
        with np.load(HERE / "keras_files/expected.npz") as expected:
            np.testing.assert_allclose(model.predict(keras_files.ROWS, verbose=0), expected["quantized"], 1e-5, 1e-6)
        self.assertEqual([(w.name, w.dtype) for w in inner.weights],
                         [("bias", "float32"), ("kernel", "int8"), ("kernel_scale", "float32")])

    def test_the_library_s_own_files_of_attention(self):
        """What dl4_model_save() writes, of which Keras reads the policies."""
        x = keras.Input((5, 8))
        model = keras.Model(x, layers.MultiHeadAttention(2, 4, use_gate=True, name="heads")(x, x))
        model.quantize("int8")
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.keras"
            model.core.save(path)
            with zipfile.ZipFile(path) as file:
                dtype = json.loads(file.read("config.json"))["config"]["layers"][1]["config"]["dtype"]
            self.assertIn("heads/gate", dtype["config"]["policy_map"])
            model = keras.Model(x, layers.MultiHeadAttention(2, 4, name="heads")(x, x))
            model.quantize(config=quantizers.Int8QuantizationConfig(activation_quantizer=None))
            with self.assertRaisesRegex(dl4.Unsupported, '"heads".*has no place for how its inputs are quantized'):
                model.core.save(path)

    def test_onnx_files_multiply_whole_numbers(self):
        x, data = keras.Input((7,)), np.random.default_rng(0).normal(size=(3, 7)).astype("float32")
        model = keras.Model(x, layers.Dense(5)(layers.Dense(6, activation="relu")(x)))
        model.quantize("int8")
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/m.onnx"
            model.export(path, format="onnx", verbose=False)
            nodes = pathlib.Path(path).read_bytes()
            again = dl4.Model.load(path).session().run([data])[0]
        self.assertEqual((nodes.count(b"\x22\x0dMatMulInteger"), nodes.count(b"\x22\x06MatMul")), (2, 0))
        np.testing.assert_array_equal(again, model.predict(data, verbose=0))

    def test_h5_of_whole_numbers(self):
        x, data = keras.Input((7,)), np.random.default_rng(0).normal(size=(3, 7)).astype("float32")
        for mode in ("int8", "int4"):
            model = keras.Model(x, layers.Dense(5)(x))
            model.quantize(mode)
            with tempfile.TemporaryDirectory() as folder:
                model.save(f"{folder}/m.h5")
                again = keras.models.load_model(f"{folder}/m.h5")
            np.testing.assert_array_equal(again.predict(data, verbose=0), model.predict(data, verbose=0))


if __name__ == "__main__":
    unittest.main()
