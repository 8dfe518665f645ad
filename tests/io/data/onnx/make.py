"""Writes the ONNX files beside it with the `onnx` package, and what ONNX Runtime gives for them: tests/capi/
onnx_files_test.cpp reads both. Needs onnx, onnxruntime and safetensors."""

import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save

HERE = pathlib.Path(__file__).resolve().parent
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
random = np.random.default_rng(1)
expected = {}


def weights(**shapes):
    return {k: (random.standard_normal(s) / max(1, np.prod(s[1:])) ** 0.5).astype("float32") for k, s in shapes.items()}


def ints(**lists):
    return {k: np.array(v, "int64") for k, v in lists.items()}


def node(op, inputs, output, **attributes):
    outputs = output.split(" ") if isinstance(output, str) else output
    return helper.make_node(op, inputs.split(" ") if inputs else [], outputs, name=f"{op}_{outputs[0]}", **attributes)


def write(name, nodes, inputs, outputs, initializers, feeds, opset=20):
    """feeds: {input: array}, run by ONNX Runtime."""
    ports = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
    results = [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs]
    tensors = [numpy_helper.from_array(v, k) for k, v in initializers.items()]
    graph = helper.make_graph(nodes, name, ports, results, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(model)
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, feeds)
    for i, (key, _, _) in enumerate(inputs):
        expected[f"{name}/input/{i}"] = np.ascontiguousarray(feeds[key])
    for i, value in enumerate(got):
        expected[f"{name}/output/{i}"] = np.ascontiguousarray(value)


def normal(*shape):
    return random.standard_normal(shape).astype("float32")


write(
    "mlp",
    [
        node("Gemm", "x w1 b1", "h", transB=1),
        node("Relu", "h", "r"),
        node("MatMul", "r w2", "m"),
        node("Add", "m b2", "a"),
        node("Softmax", "a", "y"),
    ],
    [("x", FLOAT, ["batch", 6])],
    [("y", FLOAT, ["batch", 3])],
    weights(w1=(5, 6), b1=(5,), w2=(5, 3), b2=(3,)),
    {"x": normal(4, 6)},
    opset=13,
)

write(
    "cnn",
    [
        node("Conv", "x k1 c1", "p", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("BatchNormalization", "p g s m v", "n"),
        node("LeakyRelu", "n", "l", alpha=0.1),
        node("MaxPool", "l", "q", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Conv", "q k2", "d", pads=[1, 1, 1, 1], group=4),
        node("Add", "q d", "e"),
        node("AveragePool", "e", "f", kernel_shape=[2, 2], pads=[1, 0, 0, 0]),
        node("Concat", "f f", "ff", axis=1),
        node("GlobalAveragePool", "ff", "gp"),
        node("Flatten", "gp", "fl"),
        node("Gemm", "fl w", "y", transB=1),
    ],
    [("x", FLOAT, ["N", 3, 15, 13])],
    [("y", FLOAT, ["N", 5])],
    {**weights(k1=(4, 3, 3, 3), c1=(4,), k2=(4, 1, 3, 3), g=(4,), s=(4,), m=(4,), w=(5, 8)),
     "v": np.abs(normal(4)) + 0.5},
    {"x": normal(2, 3, 15, 13)},
    opset=12,
)

write(
    "recurrent",
    [
        node("Transpose", "x", "t", perm=[1, 0, 2]),
        node("LSTM", "t wl rl bl", "y1 h1 c1", hidden_size=3, direction="bidirectional"),
        node("Transpose", "y1", "y1t", perm=[2, 0, 1, 3]),
        node("Reshape", "y1t shape", "seq"),
        node("Transpose", "seq", "seqt", perm=[1, 0, 2]),
        node("GRU", "seqt wg rg bg", "y2 h2", hidden_size=4, linear_before_reset=1),
        node("Squeeze", "y2 one", "y2s"),
        node("RNN", "y2s wr rr br", "y3 h3", hidden_size=2, direction="reverse"),
        node("Squeeze", "h3 zero", "last"),
        node("Squeeze", "y3 one", "steps"),
    ],
    [("x", FLOAT, ["batch", "time", 5])],
    [("last", FLOAT, ["batch", 2]), ("steps", FLOAT, ["time", "batch", 2]), ("c1", FLOAT, [2, "batch", 3])],
    {
        **weights(wl=(2, 12, 5), rl=(2, 12, 3), bl=(2, 24), wg=(1, 12, 6), rg=(1, 12, 4), bg=(1, 24), wr=(1, 2, 4)),
        **weights(rr=(1, 2, 2), br=(1, 4)),
        **ints(shape=[0, 0, 6], one=[1], zero=[0]),
    },
    {"x": normal(2, 7, 5)},
    opset=14,
)

write(
    "transformer",
    [
        node("Gather", "table ids", "e"),
        node("LayerNormalization", "e g b", "n", epsilon=1e-6),
        node("MatMul", "n wq", "q"),
        node("MatMul", "n wk", "k"),
        node("MatMul", "n wv", "v"),
        node("Shape", "ids", "s"),
        node("Gather", "s zero", "batch"),
        node("Gather", "s one", "time"),
        node("Unsqueeze", "batch axis0", "b1"),
        node("Unsqueeze", "time axis0", "t1"),
        node("Concat", "b1 t1 heads", "split", axis=0),
        node("Reshape", "q split", "q4"),
        node("Reshape", "k split", "k4"),
        node("Reshape", "v split", "v4"),
        node("Transpose", "q4", "qh", perm=[0, 2, 1, 3]),
        node("Transpose", "k4", "kh", perm=[0, 2, 3, 1]),
        node("Transpose", "v4", "vh", perm=[0, 2, 1, 3]),
        node("MatMul", "qh kh", "a"),
        node("Mul", "a scale", "as"),
        node("Softmax", "as", "p", axis=-1),
        node("MatMul", "p vh", "o"),
        node("Transpose", "o", "ot", perm=[0, 2, 1, 3]),
        node("Concat", "b1 t1 width", "join", axis=0),
        node("Reshape", "ot join", "oj"),
        node("Einsum", "oj wo", "z", equation="btd,de->bte"),
        node("Add", "z e", "r"),
        node("Div", "r root", "d"),
        node("Erf", "d", "f"),
        node("Slice", "f begin end axis1", "sl"),
        node("ReduceMean", "sl axis1", "y", keepdims=0),
    ],
    [("ids", INT64, ["batch", "time"])],
    [("y", FLOAT, ["batch", 8])],
    {
        **weights(table=(11, 8), g=(8,), b=(8,), wq=(8, 8), wk=(8, 8), wv=(8, 8), wo=(8, 8)),
        "scale": np.float32(0.5),
        "root": np.float32(2**0.5),
        **ints(zero=0, one=1, axis0=[0], heads=[2, 4], width=[8], begin=[1], end=[2**62], axis1=[1]),
    },
    {"ids": random.integers(0, 11, (3, 5))},
)

scale, zero = np.float32(0.02), np.int8(3)
write(
    "quantized",
    [
        node("QuantizeLinear", "x scale zero", "xq"),
        node("DequantizeLinear", "xq scale zero", "xd"),
        node("DequantizeLinear", "w scale zero", "wd"),
        node("MatMul", "xd wd", "y"),
    ],
    [("x", FLOAT, ["batch", 4])],
    [("y", FLOAT, ["batch", 3])],
    {"w": random.integers(-100, 100, (4, 3)).astype("int8"), "scale": scale, "zero": zero},
    {"x": (random.integers(-100, 100, (2, 4)).astype("float32") - 3) * scale},
    opset=13,
)

# Steps that are powers of two: sums of products are exact in float32, those of a kernel that adds inputs before it
# multiplies (Winograd's) are not, and many lie at a half, where the smallest error is one of a whole step.
steps = {k: np.float32(2.0**n) for k, n in {"sx": -3, "sw": -6, "sy": 0}.items()}
x, w = random.integers(100, 128, (1, 64, 12, 12)), random.integers(100, 128, (64, 64, 3, 3))
middle = np.sum(w, (1, 2, 3)) * 113.5
write(
    "quantized_conv",
    [
        node("QuantizeLinear", "x sx none", "xq"),
        node("DequantizeLinear", "xq sx none", "xd"),
        node("DequantizeLinear", "w sw none", "wd"),
        node("Conv", "xd wd b", "c"),
        node("Relu", "c", "r"),
        node("QuantizeLinear", "r sy none", "yq"),
        node("DequantizeLinear", "yq sy none", "y"),
    ],
    [("x", FLOAT, ["batch", 64, 12, 12])],
    [("y", FLOAT, ["batch", 64, 10, 10])],
    {"w": w.astype("int8"), "b": (-np.round(middle) / 512).astype("float32"), "none": np.int8(0), **steps},
    {"x": x.astype("float32") / 8},
    opset=13,
)

(HERE / "expected.safetensors").write_bytes(save(expected))
