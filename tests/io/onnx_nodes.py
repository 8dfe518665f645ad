"""Runs the node tests that the `onnx` package generates on libdl4, those of the ops that it reads, and prints how many
pass. Ends with 1 where one fails that EXCLUDED does not name, or passes that it names; with 77 without `onnx`.

A test gives every operand as an input of the model. What layers of ours take as a weight or an attribute (kernels,
shapes, axes) is an initializer in real models: where a model is refused as it stands, it is tried with all inputs but
the first as initializers, and at last with all. `python onnx_nodes.py NAME...` runs the tests of these names alone and shows what is wrong."""

import collections
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))

try:
    import numpy as np
    import onnx
    import onnx.backend.test.loader
    from onnx import numpy_helper
except ImportError:
    print("no onnx package: skipped")
    sys.exit(77)

from dl4.abi import Error
from dl4.core import Model, Tensor

from onnx_arrays import difference

OPS = """Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Concat Constant
ConstantOfShape Conv ConvTranspose Cos Cosh CumProd CumSum DepthToSpace Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor Gather
GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual GroupNormalization GRU
HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual
Log LogSoftmax LpNormalization LRN LSTM MatMul Max MaxPool Mean MeanVarianceNormalization Min Mish Mod Mul
Neg NegativeLogLikelihoodLoss Not OneHot Or
Pad Pow PRelu Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
ReduceSum ReduceSumSquare Relu Reshape Resize RMSNormalization RNN Round Scan ScatterElements ScatterND Selu Shape Shrink
Sigmoid Sign Sin Sinh Size Slice Softmax Softplus Softsign SoftmaxCrossEntropyLoss SpaceToDepth Split Sqrt Squeeze Sub Sum Swish Tan Tanh
ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
AffineGrid BitCast BlackmanWindow CausalConvWithState CenterCropPad Compress DeformConv DFT EyeLike GridSample HammingWindow
HannWindow LinearAttention LpPool MelWeightMatrix NonMaxSuppression NonZero ReverseSequence RoiAlign RotaryEmbedding STFT
SwiGLU TensorScatter Unique
Col2Im ConvInteger Det DynamicQuantizeLinear MatMulInteger MaxUnpool QLinearConv QLinearMatMul""".split()

# Types of data that ours stand for; others (quarter floats, strings, unsigned integers past a byte ...) are not read.
TYPES = {onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64, onnx.TensorProto.BOOL}

EXCLUDED = {
    "test_lstm_with_peepholes": "peepholes",
    "test_resize_downsample_scales_linear_align_corners": "the corner of a size that is no whole number; as ONNX Runtime",
    "test_resize_downsample_scales_cubic_align_corners": "the corner of a size that is no whole number; as ONNX Runtime",
}

EXCLUDED |= dict.fromkeys(
    ("test_training_dropout" + end for end in ("", "_default", "_default_mask", "_mask")),
    "random numbers of another generator",
)

# What is asked for by an attribute or a type that is refused by its name: beginnings of names.
REFUSED = {
    "test_maxunpool_export_with_output_shape": "places of the smaller image; ONNX Runtime's are those of the larger one",
    "test_roialign_mode_max": "the largest of weighted corners, as ONNX Runtime has it",
}


def types_of(model):
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.WhichOneof("value") != "tensor_type":
            yield None
        else:
            yield value.type.tensor_type.elem_type


def is_ours(model):
    graph = model.graph
    opset = max(entry.version for entry in model.opset_import)
    return opset >= 7 and (
        all(node.op_type in OPS and node.domain in ("", "ai.onnx") for node in graph.node)
        # Attention's expansions count with Mod, over shapes that the model computes.
        and (len(graph.node) == 1 or all(node.op_type != "Mod" for node in graph.node))
        and not model.functions
        and all(kind in TYPES for kind in types_of(model))
    )


def run(model, inputs, free):
    """With the inputs from `free` on as initializers."""
    frozen = onnx.ModelProto()
    frozen.CopyFrom(model)
    for value, array in list(zip(model.graph.input, inputs))[free:]:
        frozen.graph.initializer.append(numpy_helper.from_array(array, value.name))
    del frozen.graph.input[free:]
    loaded = Model.from_bytes(frozen.SerializeToString())
    named = dict(zip((v.name for v in model.graph.input), inputs))
    feed = [Tensor.of(np.ascontiguousarray(named[n]), str(named[n].dtype)) for n in loaded.names(0)]
    return [t.numpy() for t in loaded.session().run(feed)]


def outputs(model, inputs):
    for free in (len(inputs), 1):
        try:
            return run(model, inputs, free)
        except Error:
            pass
    return run(model, inputs, 0)


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def check(test):
    for inputs, wanted in test.data_sets:
        got = outputs(test.model, [as_array(v) for v in inputs])
        for one, want in zip(got, map(as_array, wanted), strict=True):
            if said := difference(one, want, test.rtol, max(test.atol, 1e-6)):
                raise AssertionError(said)


def main():
    wanted = sys.argv[1:]
    passed, wrong, counts = collections.Counter(), [], collections.Counter()
    for test in onnx.backend.test.loader.load_model_tests(kind="node"):
        if wanted and test.name not in wanted:
            continue
        kind = "expanded" if "_expanded" in test.name else "plain"
        counts["all"] += 1
        if not is_ours(test.model):
            continue
        counts[kind] += 1
        try:
            check(test)
            passed[kind] += 1
            if test.name in EXCLUDED:
                wrong.append(f"{test.name}: passes, though it is excluded")
        except (Error, AssertionError) as error:
            if test.name in EXCLUDED:
                counts["excluded " + kind] += 1
            elif any(test.name.startswith(name) for name in REFUSED):
                counts["refused " + kind] += 1
            else:
                wrong.append(f"{test.name}: {' '.join(str(error).split())[:1000 if wanted else 170]}")
    for line in wrong:
        print(line)
    print(
        f"{counts['all']} node tests, {counts['plain']} plain and {counts['expanded']} expanded ones of ops that are read:"
        f" {passed['plain']} and {passed['expanded']} pass, {counts['excluded plain']} and"
        f" {counts['excluded expanded']} are excluded by name, {counts['refused plain']} and"
        f" {counts['refused expanded']} ask for what is refused"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    sys.exit(main())
