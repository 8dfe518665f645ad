"""Writes quantizable.keras, quantized_*.keras and what their models give: Keras's int8, int4, gptq, awq, and a
DTypePolicyMap; bfloat16.keras and float16.keras with weights of these types.

Needs the Keras of tests/golden/requirements.txt."""
import os
import pathlib
import zipfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
from keras import dtype_policies, layers, quantizers
from safetensors.numpy import save

HERE = pathlib.Path(__file__).resolve().parent
expected = {}
rng = np.random.default_rng(38)


def saves_zero_points(cls):
    """Keras 3.15.1 leaves the zero points of gptq and awq out of a file, and then does not open it."""
    was = cls._get_kernel_with_merged_lora

    def whole(self):
        kernel, scale, zero = was(self)
        return kernel, scale, self.kernel_zero if self.quantization_mode in ("gptq", "awq") else zero

    cls._get_kernel_with_merged_lora = whole




def normal(*shape):
    return rng.normal(size=shape).astype("float32")


def deflated(path):
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(zipfile.ZipInfo(member), content, zipfile.ZIP_DEFLATED, 9)


def record(name, model, *inputs):
    path = HERE / name
    model.save(path)
    model = keras.models.load_model(path)
    deflated(path)
    for i, x in enumerate(inputs):
        expected[f"{name}/input/{i}"] = x
    outputs = model(list(inputs) if len(inputs) > 1 else inputs[0], training=False)
    for i, y in enumerate(outputs if isinstance(outputs, (list, tuple)) else [outputs]):
        expected[f"{name}/output/{i}"] = np.asarray(y)


def stirred(model):
    """The same weights at every call."""
    weights = np.random.default_rng(3)
    for v in model.weights:
        v.assign(0.4 * weights.normal(size=v.shape).astype("float32"))
    return model


def net():
    ids, x = keras.Input((4,), dtype="int32", name="ids"), keras.Input((4, 6), name="x")
    table = layers.ReversibleEmbedding(9, 5, tie_weights=False, logit_soft_cap=3.0, name="table")
    tied = layers.ReversibleEmbedding(9, 5, name="tied")
    h = layers.LSTM(3, return_sequences=True)(layers.Embedding(9, 5, mask_zero=True, name="masked")(ids))
    h = layers.Concatenate()([h, x])
    h = layers.EinsumDense("abc,cde->abde", output_shape=(4, 2, 5), bias_axes="de", activation="relu", name="split")(
        h)
    h = layers.EinsumDense("abde,def->abf", output_shape=(4, 5), bias_axes="f", name="joined")(h)
    turned = layers.EinsumDense("abc,dc->adb", output_shape=(3, 4), name="turned")(h)
    h = layers.Add()([h, table(ids), tied(ids)])
    y = layers.Dense(3, activation="tanh", name="last")(h)
    return keras.Model([ids, x], [table(h, reverse=True), tied(h, reverse=True), turned, y])


IDS, X = rng.integers(0, 9, (3, 4)).astype("int32"), normal(3, 4, 6)


def quantized(name, **how):
    """Of one model, which is quantizable.keras."""
    keras.backend.clear_session()
    model = stirred(net())
    if name == "int8":
        record("quantizable.keras", model, IDS, X)
    model.quantize(**how)
    record(f"quantized_{name}.keras", model, IDS, X)


def by_columns(mode, bits, group):
    """As a calibration leaves the weights; their numbers may be any."""
    keras.backend.clear_session()
    model = keras.Sequential([
        keras.Input((4, 7)), layers.Dense(5),
        layers.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de"),
        layers.EinsumDense("abcd,cde->abe", output_shape=(None, 9), bias_axes="e")])
    stirred(model)
    if mode == "gptq":
        how = keras.quantizers.GPTQConfig(dataset=None, tokenizer=None, weight_bits=bits, group_size=group)
    else:
        how = keras.quantizers.AWQConfig(dataset=None, tokenizer=None, group_size=group)
    for layer in model.layers:
        layer.quantize(mode, config=how)
        del layer._kernel
        setattr(layer, f"is_{mode}_calibrated", True)
        shape = layer.quantized_kernel.shape
        layer.quantized_kernel.assign(rng.integers(0, 2**bits if bits < 4 else 256, shape).astype("uint8"))
        layer.kernel_zero.assign(rng.integers(0, 2**bits, layer.kernel_zero.shape).astype("uint8"))
        layer.kernel_scale.assign(rng.uniform(0.02, 0.2, layer.kernel_scale.shape))
        rows = layer.g_idx.shape[0]
        layer.g_idx.assign(rng.permutation(np.arange(rows) // group if group > 0 else np.zeros(rows)))
        if mode == "awq":
            layer.awq_scales.assign(rng.uniform(0.5, 2, layer.awq_scales.shape))
    record(f"quantized_{mode}_{bits}.keras", model, normal(2, 4, 7))


def without_zero_points():
    """As Keras 3.15.1 writes it; it does not open the file itself."""
    keras.backend.clear_session()
    model = keras.Sequential([keras.Input((7,)), layers.Dense(5)])
    layer = model.layers[0]
    layer.quantize("gptq", config=keras.quantizers.GPTQConfig(dataset=None, tokenizer=None, group_size=3))
    del layer._kernel
    layer.is_gptq_calibrated = True
    model.save(HERE / "lost_zero_points.keras")
    deflated(HERE / "lost_zero_points.keras")


def policy_map():
    """Keras decides by the path of each layer; an attention layer's projections are such layers."""
    keras.backend.clear_session()
    policies = dtype_policies.DTypePolicyMap(default_policy="int8_from_float32")
    for key in ("heads", "heads/softmax.*", "heads/dropout.*"):
        policies[key] = dtype_policies.get("float32")
    x = keras.Input((5, 8))
    h = layers.MultiHeadAttention(2, 3, name="heads", dtype=policies)(x, x)
    model = keras.Model(x, layers.Dense(4, name="last", dtype=policies)(h))
    for v in model.weights:
        if v.name == "kernel_scale":
            v.assign(rng.uniform(50, 200, v.shape))
        elif v.dtype == "int8":
            v.assign(rng.integers(-127, 128, v.shape).astype("int8"))
        else:
            v.assign(normal(*v.shape))
    record("quantized_map.keras", model, normal(2, 5, 8))


def of_two_bytes(dtype):
    """What the same weights give in float32."""
    keras.backend.clear_session()
    half, wide = (keras.Sequential([keras.Input((4,)), layers.Dense(3, dtype=of)]) for of in (dtype, "float32"))
    stirred(half)
    wide.set_weights([np.asarray(v).astype("float32") for v in half.weights])
    x = normal(2, 4)
    record(f"{dtype}.keras", half, x)
    expected[f"{dtype}.keras/output/0"] = np.asarray(wide(x))


def main():
    keras.utils.set_random_seed(1)
    to_range = quantizers.AbsMaxQuantizer(value_range=(-100, 90), epsilon=1e-2)
    quantized("int8", mode="int8")
    quantized("int8_range", config=quantizers.Int8QuantizationConfig(activation_quantizer=to_range))
    quantized("int8_weights", config=quantizers.Int8QuantizationConfig(activation_quantizer=None))
    quantized("int4", mode="int4")
    quantized("int4_blocks", config=quantizers.Int4QuantizationConfig(block_size=3))
    quantized("int4_columns", config=quantizers.Int4QuantizationConfig(block_size=None))
    quantized("int4_inputs", config=quantizers.Int4QuantizationConfig(
        block_size=-1, activation_quantizer=quantizers.AbsMaxQuantizer()))
    without_zero_points()
    saves_zero_points(layers.Dense)
    saves_zero_points(layers.EinsumDense)
    by_columns("gptq", 4, 3)
    by_columns("gptq", 8, -1)
    by_columns("gptq", 3, 2)
    by_columns("awq", 4, 3)
    policy_map()
    of_two_bytes("bfloat16")
    of_two_bytes("float16")
    (HERE / "expected_quantized.safetensors").write_bytes(save(expected))


if __name__ == "__main__":
    main()
