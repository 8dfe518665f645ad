"""model.quantize() and keras.quantizers: what the library makes of weights, on the layers that the user holds."""
import pathlib
import tempfile
import unittest
import warnings

import numpy as np

import dl4
import dl4.keras as keras
from dl4.keras import layers, quantizers

import recorded_programs
from quantized_programs import PROGRAMS

Programs = recorded_programs.tests_of(PROGRAMS, pathlib.Path(__file__).parent / "quantized_expected.npz")
DATA = pathlib.Path(__file__).resolve().parents[4] / "tests/io/data"
X = np.random.default_rng(0).normal(size=(4, 7)).astype("float32")


def net():
    keras.utils.set_random_seed(3)
    first = layers.Dense(5, activation="tanh", name="first")
    return first, keras.Sequential([keras.Input((7,)), first, layers.Dense(3, name="second")])


def quantized(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.quantize(*args, **kwargs)
    return model


class Quantize(unittest.TestCase):
    def test_layers_stay_the_objects_that_they_were(self):
        first, model = net()
        before = model.predict(X, verbose=0)
        quantized(model, "int8")
        self.assertIs(model.layers[0], first)
        self.assertEqual([w.dtype for w in first.weights], ["float32", "int8", "float32"])
        self.assertEqual([w.name for w in first.weights], ["bias", "kernel", "kernel_scale"])
        after = model.predict(X, verbose=0)
        self.assertFalse(np.array_equal(before, after))
        np.testing.assert_allclose(after, before, atol=0.05)
        self.assertRaisesRegex(ValueError, "Layer 'first' is already quantized", model.quantize, "int8")

    def test_weights_are_keras_s(self):
        """Keras made both files of one model; bits are compared in tests/io/quantized_test.cpp."""
        for mode, file in (("int8", "int8"), ("int4", "int4")):
            model = keras.models.load_model(str(DATA / "quantizable.keras"))
            wanted = dl4.Model.load(str(DATA / f"quantized_{file}.keras"))
            quantized(model, mode)
            for name, _, _ in wanted.weights():
                np.testing.assert_array_equal(model.core.get_weight(name), wanted.get_weight(name), name)

    def test_files_both_ways(self):
        _, model = net()
        quantized(model, config=quantizers.Int4QuantizationConfig(block_size=2))
        with tempfile.TemporaryDirectory() as folder:
            for suffix in (".keras", ".safetensors"):
                path = f"{folder}/model{suffix}"
                model.save(path)
                again = keras.models.load_model(path)
                np.testing.assert_array_equal(again.predict(X, verbose=0), model.predict(X, verbose=0))

    def test_numbers_that_bytes_do_not_have_are_refused(self):
        first, model = net()
        quantized(model, "int8")
        for number in (128, -129, float("nan")):
            self.assertRaisesRegex(ValueError, "numbers of int8", first.kernel.assign, np.full((7, 5), number))
        fitted = layers.Dense(3, dtype="gptq/8/-1_from_float32")
        fitted.build((None, 7))
        for number in (256, -1):
            assign = fitted.quantized_kernel.assign
            self.assertRaisesRegex(ValueError, "numbers of uint8", assign, np.full((3, 7), number))
        first.kernel.assign(np.full((7, 5), -128.0))
        np.testing.assert_array_equal(first.kernel, np.full((7, 5), -128))

    def test_biases_are_trained(self):
        first, model = net()
        quantized(model, "int8")
        bias, kernel = (np.array(w) for w in first.weights[:2])
        model.compile("sgd", "mse")
        model.fit(X, np.ones((4, 3), "float32"), verbose=0)
        np.testing.assert_array_equal(first.kernel, kernel)
        self.assertFalse(np.array_equal(first.bias, bias))

    def test_whole_numbers_are_not_trained(self):
        first, model = net()
        quantized(model, "int8")
        first.bias.trainable = False
        first.bias.trainable = True
        for w in first.weights[1:]:
            self.assertRaisesRegex(NotImplementedError, f"first/{w.name}: whole numbers", setattr, w, "trainable", True)
            w.trainable = False
        model.trainable = False
        model.trainable = True
        self.assertEqual([w.name for w in first.trainable_weights], ["bias"])

    def test_filters_find_layers(self):
        for filters in ("^sec", ["nothing", "cond$"], lambda layer: layer.name == "second"):
            first, model = net()
            quantized(model, "int8", filters=filters)
            self.assertEqual(first.kernel.dtype, "float32")
            self.assertEqual(model.layers[1].kernel.dtype, "int8")

    def test_inputs_and_ranges_are_those_of_the_config(self):
        to = quantizers.AbsMaxQuantizer(value_range=(-100, 90), epsilon=1e-2)
        for config, inputs in (
            (quantizers.Int8QuantizationConfig(activation_quantizer=None), None),
            (quantizers.Int8QuantizationConfig(activation_quantizer=to), to.get_config()),
        ):
            first, model = net()
            quantized(model, config=config)
            said = first.get_config()["quantization_config"]["config"]["activation_quantizer"]
            self.assertEqual(said and said["config"], inputs)
        first, model = net()
        kernel = np.array(first.kernel)
        small = quantizers.AbsMaxQuantizer(0, (-9, 9))
        quantized(model, config=quantizers.Int8QuantizationConfig(weight_quantizer=small))
        whole, scale = quantizers.abs_max_quantize(kernel, 0, (-9, 9))
        np.testing.assert_array_equal(first.kernel, whole)
        np.testing.assert_array_equal(first.kernel_scale, scale[0])
        for axis in (None, -1, 1):
            one = quantizers.Int8QuantizationConfig(weight_quantizer=quantizers.AbsMaxQuantizer(axis))
            self.assertRaisesRegex(ValueError, r"expected axis=\(0,\)", quantized, net()[1], config=one)
        ids = keras.Input((3,), dtype="int32")
        both = keras.Model(ids, layers.Embedding(5, 4, name="table")(ids))
        both = keras.Model(ids, layers.Dense(2, name="before")(both(ids)))
        config = quantizers.Int8QuantizationConfig(weight_quantizer=quantizers.AbsMaxQuantizer(0))
        self.assertRaisesRegex(ValueError, r"layer table.*expected axis=\(1,\)", quantized, both, config=config)
        self.assertEqual({w.dtype for w in both.weights}, {"float32"})

    def test_what_is_not_done_is_refused(self):
        _, model = net()
        for given in (("float8",), ("float8", quantizers.Float8QuantizationConfig())):
            self.assertRaisesRegex(NotImplementedError, "float8", model.quantize, *given)
            self.assertRaisesRegex(NotImplementedError, "float8", model.layers[0].quantize, *given)
        self.assertRaisesRegex(ValueError, "must pass a `GPTQConfig`", model.quantize, "gptq")
        self.assertRaisesRegex(ValueError, "Invalid quantization mode", model.quantize, "int7")
        self.assertRaisesRegex(ValueError, "You must provide either", model.quantize)
        self.assertRaisesRegex(ValueError, "Contradictory arguments", model.quantize, "int4",
                               quantizers.Int8QuantizationConfig())
        self.assertRaisesRegex(ValueError, "`filters` argument", model.quantize, "int8", None, 3)
        self.assertRaisesRegex(ValueError, "Unrecognized keyword", model.quantize, "int8", other=1)
        self.assertRaisesRegex(ValueError, "must be an instance of", model.quantize, config=3)
        axis = quantizers.Int8QuantizationConfig(activation_quantizer=quantizers.AbsMaxQuantizer(axis=0))
        self.assertRaisesRegex(NotImplementedError, "the axis follows", model.quantize, config=axis)
        self.assertEqual([w.dtype for w in model.weights], ["float32"] * 4)


    def test_float8_is_refused_wherever_it_is_asked_for(self):
        policies = keras.dtype_policies
        policy = policies.QuantizedFloat8DTypePolicy("float8", "float32")

        class Own(layers.Layer):
            def call(self, x):
                return x

        def set_policy(layer, value):
            layer.dtype_policy = value

        maps = policies.DTypePolicyMap(policy), policies.DTypePolicyMap("float32", {"a/.*": policy})
        dense = layers.Dense(2)
        dense.build((None, 3))
        for given in ("float8_from_float32", "float8_from_mixed_bfloat16", policy, policies.serialize(policy), *maps):
            makers = [lambda: layers.Dense(2, dtype=given), lambda: layers.LSTM(2, dtype=given),
                      lambda: layers.MultiHeadAttention(2, 2, dtype=given), lambda: Own(dtype=given)]
            if not isinstance(given, dict):
                makers.append(lambda: keras.config.set_dtype_policy(given))
                kinds = dense, layers.Dense(2), layers.GRU(2), Own()
                makers += [lambda layer=layer: set_policy(layer, given) for layer in kinds]
            for make in makers:
                self.assertRaisesRegex(NotImplementedError, "float8", make)
        for name in ("float8_e4m3fn", "float8_e5m2"):
            for make in (layers.Dense, Own, keras.Input):
                given = {"units": 2} if make is layers.Dense else {"shape": (2,)} if make is keras.Input else {}
                self.assertRaisesRegex(NotImplementedError, "float8", make, dtype=name, **given)
            self.assertRaisesRegex(ValueError, f"`floatx` value: {name}", keras.config.set_floatx, name)
            x = keras.Input((2,))
            self.assertRaisesRegex(NotImplementedError, name, keras.Model, x, keras.ops.cast(x, name))
        model = net()[1]
        config = model.get_config()
        config["layers"][1]["config"]["dtype"] = policies.serialize(policy)
        self.assertRaisesRegex(NotImplementedError, "float8", keras.Sequential.from_config, config)
        for words in ({"mode": "float8"}, {"mode": {"mode": "float8", "inputs": None}}):
            self.assertRaisesRegex(dl4.Error, "float8 is not supported", dl4.Model.from_bytes, model.core.to_bytes(),
                                   quantize=words)
        self.assertRaisesRegex(dl4.Error, 'got "float8"', model.core.session, weights="float8")
        self.assertEqual(keras.config.dtype_policy().name, "float32")

    def test_what_layers_say(self):
        first, model = net()
        self.assertIsNone(first.quantization_mode)
        for layer in (layers.Dense(2), layers.Embedding(3, 2), layers.EinsumDense("ab,bc->ac", 3), layers.Conv2D(2, 3)):
            self.assertRaisesRegex(ValueError, f"'{layer.name}'.*is not built yet", layer.quantize, "int8")
        self.assertRaisesRegex(NotImplementedError, "Invalid quantization mode.*=int7", first.quantized_build, (7, 5), "int7")
        self.assertRaisesRegex(NotImplementedError, r"\(7, 5\), 'int8'.*expected quantize\(\)", first.quantized_build, (7, 5), "int8")
        self.assertRaisesRegex(NotImplementedError, "`quantized_build`", layers.LSTM(2).quantized_build, (7, 5), "int8")
        self.assertRaisesRegex(NotImplementedError, "Invalid quantization mode.*=None", first.quantized_call, X)
        quantized(model, "int8", filters="first")
        np.testing.assert_array_equal(first.quantized_call(X), first(X))
        self.assertEqual([layer.quantization_mode for layer in model.layers], ["int8", None])
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/model.keras")
            again = keras.models.load_model(f"{folder}/model.keras")
        self.assertEqual([again.get_layer(n).quantization_mode for n in ("first", "second")], ["int8", None])
        quantized(model, "int4", filters="second")
        self.assertEqual(model.layers[1].quantization_mode, "int4")
        x = keras.Input((4, 8))
        heads = quantized(keras.Model(x, layers.MultiHeadAttention(2, 4)(x, x)), "int8").layers[1]
        self.assertIsNone(heads.quantization_mode)
        self.assertEqual(heads.get_config()["dtype"]["class_name"], "DTypePolicyMap")

    def test_a_policy_that_is_set_counts_with_its_blocks(self):
        for name, scales in (
            ("int4/2_from_float32", (4, 5)), ("int4/-1_from_float32", (5,)), ("int8_from_float32", (5,)),
        ):
            first, _ = net()
            first.dtype_policy = name
            self.assertEqual((first.dtype_policy.name, first.kernel_scale.shape), (name, scales))

    def test_layers_that_cannot_be_quantized_are_told_of(self):
        conv = keras.Sequential([keras.Input((6, 2)), layers.Conv1D(3, 2), layers.Dense(2)])
        with self.assertWarnsRegex(UserWarning, "Layer Conv1D does not have a `quantize` method"):
            conv.quantize("int8")
        self.assertEqual([w.dtype for w in conv.weights], ["float32", "float32", "float32", "int8", "float32"])

    def test_odd_widths_and_zeros(self):
        """5 numbers are in 3 bytes; blocks need not divide the rows."""
        for block in (None, 2, 3):
            first, model = net()
            first.set_weights([np.zeros((7, 5), "float32"), np.ones(5, "float32")])
            wanted = model.predict(X, verbose=0)
            quantized(model, config=quantizers.Int4QuantizationConfig(block_size=block), filters="first")
            np.testing.assert_allclose(model.predict(X, verbose=0), wanted, rtol=1e-5)
            self.assertEqual((first.weights[1].shape, first.kernel.shape), ((7, 3), (7, 5)))


class Fitted(unittest.TestCase):
    def quantize(self, mode, *blocks, before=(), filters=None, **given):
        """A model of blocks, whose weights are fitted to the first 12 tokens."""
        x = keras.Input((4,), dtype="int32")
        table = layers.Embedding(11, 8, **dict(before))
        y = table(x)
        for block in blocks:
            y = block(y)
        model = keras.Model(x, y)
        given.setdefault("group_size", 4)
        given.setdefault("quantization_layer_structure", {"pre_block_layers": [table], "sequential_blocks": blocks})
        config = {"gptq": quantizers.GPTQConfig, "awq": quantizers.AWQConfig}[mode]
        given = {"dataset": [np.arange(12) % 11], "tokenizer": 0, "num_samples": 3, "sequence_length": 4, **given}
        model.quantize(mode, config(**given), filters)
        return model

    def test_what_is_not_fitted_is_refused(self):
        def dense():
            return layers.Dense(3, name="last")

        class Mine(layers.Dense):
            def call(self, x):
                return super().call(x) + 1

        for mode in ("gptq", "awq"):
            def refused(error, words, *blocks, mode=mode, **given):
                self.assertRaisesRegex(error, words, self.quantize, mode, *blocks, **given)

            refused(ValueError, "requires a dataset", dense(), dataset=None)
            refused(ValueError, "requires a dataset", dense(), tokenizer=None)
            refused(ValueError, "is empty", dense(), dataset=[])
            refused(TypeError, "must be an iterable", dense(), dataset="text")
            refused(ValueError, "No sequential blocks", dense(), quantization_layer_structure={"pre_block_layers": []})
            refused(NotImplementedError, "masks from pre_block_layers", dense(), before={"mask_zero": True})
            refused(NotImplementedError, "Layer Mine does not have a `quantize`", Mine(3))
            for equation, shape in (("abc,dc->abd", (None, 8)), ("abc,cde->abde", (None, 2, 16))):
                layer = layers.EinsumDense(equation, shape, name="einsum")
                refused(NotImplementedError, "layer einsum: expected a kernel", layer)
        x = keras.Input((4, 8))
        grouped = keras.Model(x, layers.GroupQueryAttention(4, 2, 1, name="grouped")(x, x))
        self.assertRaisesRegex(NotImplementedError, "layer grouped", self.quantize, "awq", grouped)
        tuned = self.quantize("gptq", dense(), filters="none")
        tuned.layers[-1].enable_lora(2)
        structure = {"pre_block_layers": tuned.layers[1:2], "sequential_blocks": tuned.layers[2:]}
        config = quantizers.GPTQConfig([np.arange(9)], 0, quantization_layer_structure=structure, sequence_length=9)
        self.assertRaisesRegex(NotImplementedError, "lora is not.*with GPTQ", tuned.quantize, "gptq", config)
        twice = self.quantize("gptq", dense())
        structure = {"pre_block_layers": twice.layers[1:2], "sequential_blocks": twice.layers[2:]}
        config = quantizers.AWQConfig([np.arange(9)], 0, num_samples=1, quantization_layer_structure=structure,
                                      sequence_length=9)
        self.assertRaisesRegex(ValueError, "'last' is already quantized", twice.quantize, "awq", config)
        self.assertRaisesRegex(ValueError, "valid quantization structure", net()[1].quantize, "gptq",
                               quantizers.GPTQConfig(["a"], 0))
        for size, group in ((160, -1), (160, 100), (192, 256)):
            wide = {"embeddings_initializer": "ones"}
            model = keras.Sequential([keras.Input((4, 8)), layers.Dense(size, name="wide"), dense()])
            self.assertRaisesRegex(ValueError, f"kernel of {size} rows, got {group}", self.quantize, "gptq", model,
                                   before=wide, group_size=group, filters="last")
            self.assertEqual(model.get_layer("last").kernel.dtype, "float32")

    def test_layers_are_found(self):
        """Those that filters mean, inside of others, and one that is called twice; the others stay."""
        inner, twice = layers.Dense(8, name="inner"), layers.Dense(8, name="twice")
        x = keras.Input((None, 8))
        block = keras.Model(x, twice(twice(keras.Sequential([keras.Input((None, 8)), inner])(x))))
        for mode in ("gptq", "awq"):
            last = layers.Dense(2, name="last")
            model = self.quantize(mode, keras.models.clone_model(block), last, filters="wice|nner")
            by_name = {layer.name: layer for layer in model._flatten_layers()}
            self.assertEqual([by_name[n].quantization_mode for n in ("inner", "twice", "last")], [mode, mode, None])

    def test_data_counts(self):
        """With data come other weights than with little of it, of GPTQ with a smaller error; files keep it all."""
        r = np.random.default_rng(0)
        values = [r.normal(size=(11, 8)) * np.array([20, 1, 1, 1, 10, 0.1, 1, 1]), r.normal(size=(8, 6)), np.zeros(6)]
        for mode in ("gptq", "awq"):
            errors = []
            for tokens in (np.arange(12) % 11, np.full(12, 5)):
                keras.utils.set_random_seed(0)
                last = layers.Dense(6, name="last")
                unfitted = self.quantize(mode, last, filters="none")
                unfitted.set_weights(values)
                ids = np.arange(8, dtype="int32").reshape(2, 4)
                wanted = unfitted.predict(ids, verbose=0)
                structure = {"pre_block_layers": unfitted.layers[1:2], "sequential_blocks": [last]}
                config = {"gptq": quantizers.GPTQConfig, "awq": quantizers.AWQConfig}[mode]
                unfitted.quantize(mode, config([tokens], 0, num_samples=3, sequence_length=4, group_size=-1,
                                               quantization_layer_structure=structure))
                got = unfitted.predict(ids, verbose=0)
                errors.append(np.square(got - wanted).mean())
                with tempfile.TemporaryDirectory() as folder:
                    unfitted.save(f"{folder}/model.keras")
                    again = keras.models.load_model(f"{folder}/model.keras")
                np.testing.assert_array_equal(again.predict(ids, verbose=0), got)
                self.assertEqual(again.layers[-1].dtype_policy.name, f"{mode}/4/-1_from_float32")
            self.assertNotEqual(*errors)
            if mode == "gptq":
                self.assertLess(*errors)


class Quantizers(unittest.TestCase):
    def test_packing_is_keras_s(self):
        rows = np.array([[-3, 7], [2, -8], [1, 0]], "int8")  # the example of Keras's documentation
        packed, shape, length = quantizers.pack_int4(rows)
        np.testing.assert_array_equal(packed, [[45, -121], [1, 0]])
        self.assertEqual((shape, length), ((2, 2), 3))
        packed, _, _ = quantizers.pack_int4(rows.T.copy(), axis=1)
        np.testing.assert_array_equal(packed, [[45, 1], [-121, 0]])
        x = np.random.default_rng(0).integers(-8, 8, (3, 5, 4)).astype("int8")
        for axis in (0, 1, 2, -1):
            packed, _, _ = quantizers.pack_int4(x, axis)
            np.testing.assert_array_equal(quantizers.unpack_int4(packed, x.shape[axis], axis), x)
        self.assertRaises(TypeError, quantizers.pack_int4, X)
        self.assertRaises(ValueError, quantizers.pack_int4, rows, 0, "int16")
        self.assertRaises(TypeError, quantizers.unpack_int4, X, 2)

    def test_objects_by_name_and_config(self):
        self.assertIsInstance(quantizers.get("abs_max_quantizer"), quantizers.AbsMaxQuantizer)
        self.assertRaisesRegex(ValueError, "typo", quantizers.get, "typo")
        config = quantizers.Int4QuantizationConfig(quantizers.AbsMaxQuantizer(0, (-8, 7)), block_size=None)
        again = quantizers.deserialize(quantizers.serialize(config))
        self.assertEqual(again.get_config(), config.get_config())
        self.assertEqual(again.weight_quantizer.axis, (0,))
        gptq = quantizers.GPTQConfig(["text"], None, group_size=64)
        self.assertEqual(gptq.dtype_policy_string(), "gptq/4/64")
        self.assertRaisesRegex(ValueError, "only supports 4-bit", quantizers.AWQConfig, None, None, weight_bits=8)

    def test_numbers_that_a_type_does_not_have_are_refused(self):
        self.assertRaisesRegex(ValueError, "numbers of uint8", quantizers.abs_max_quantize, X, -1, dtype="uint8")
        for bits in (1, 17):
            self.assertRaisesRegex(ValueError, "num_bits must be between 2 and 16",
                                   quantizers.fake_quant_with_min_max_vars, X, -1.0, 1.0, num_bits=bits)

    def test_symbols_are_rounded_or_refused(self):
        x = keras.Input((7,))
        y = quantizers.fake_quant_with_min_max_vars(x, -1.0, 1.0, num_bits=4)
        on_arrays = quantizers.fake_quant_with_min_max_vars(X, -1.0, 1.0, num_bits=4)
        np.testing.assert_array_equal(keras.Model(x, y).predict(X, verbose=0), on_arrays)
        self.assertLessEqual(len(np.unique(on_arrays)), 16)
        self.assertRaisesRegex(NotImplementedError, "abs_max_quantize: of arrays", quantizers.abs_max_quantize, x, -1)

    def test_numbers_by_the_largest(self):
        whole, scale = quantizers.abs_max_quantize(np.array([[0.5, -2.0, 1.0], [0, 0, 0]], "float32"), axis=-1)
        np.testing.assert_array_equal(whole, [[32, -127, 64], [0, 0, 0]])
        np.testing.assert_array_equal(scale, np.float32(127) / (np.array([[2], [0]], "float32") + np.float32(1e-7)))
        self.assertRaisesRegex(ValueError, "value_range", quantizers.AbsMaxQuantizer, None, (-200, 127))
        config = quantizers.AbsMaxQuantizer(axis=1).get_config()
        self.assertEqual(config["axis"], (1,))
        self.assertRaisesRegex(ValueError, "block_size", quantizers.Int4QuantizationConfig, block_size=0)
        self.assertRaisesRegex(
            ValueError, "custom quantizers", quantizers.Int4QuantizationConfig, quantizers.AbsMaxQuantizer(0, (-8, 7))
        )


if __name__ == "__main__":
    unittest.main()
