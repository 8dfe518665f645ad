"""dl4.onnx_backend: models whose sizes and axes are inputs, types of outputs, what is refused."""

import unittest

import numpy as np

try:
    from onnx import helper, TensorProto
except ImportError:
    helper = None
else:
    from dl4 import onnx_backend
from dl4.abi import Error


def model_of(node, inputs, outputs):
    graph = helper.make_graph([node], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


@unittest.skipIf(helper is None, "no onnx package")
class OnnxBackend(unittest.TestCase):
    def test_floats(self):
        x, y = value("x", TensorProto.FLOAT, [None, 3]), value("y", TensorProto.FLOAT, [None, 3])
        rep = onnx_backend.prepare(model_of(helper.make_node("Relu", ["x"], ["y"]), [x], [y]))
        for rows in (1, 4):
            a = np.arange(rows * 3, dtype="float32").reshape(rows, 3) - 4
            np.testing.assert_array_equal(rep.run([a]).y, np.maximum(a, 0))
            np.testing.assert_array_equal(rep.run({"x": a})[0], np.maximum(a, 0))

    def test_axes_and_shapes_may_be_inputs(self):
        x, axes = value("x", TensorProto.FLOAT, [2, 3, 4]), value("axes", TensorProto.INT64, [1])
        y = value("y", TensorProto.FLOAT, None)
        rep = onnx_backend.prepare(model_of(helper.make_node("ReduceSum", ["x", "axes"], ["y"]), [x, axes], [y]))
        a = np.arange(24, dtype="float32").reshape(2, 3, 4)
        for axis in (0, 1, 2, 1):
            np.testing.assert_array_equal(rep.run([a, np.array([axis])])[0], a.sum(axis, keepdims=True))
        self.assertEqual(len(rep._sessions), 3)

    def test_the_type_of_an_output_is_the_models(self):
        x, y = value("x", TensorProto.DOUBLE, [2]), value("y", TensorProto.DOUBLE, [2])
        got = onnx_backend.run_model(model_of(helper.make_node("Neg", ["x"], ["y"]), [x], [y]), [np.array([1.0, -2.0])])
        self.assertEqual(got[0].dtype, np.float64)
        np.testing.assert_array_equal(got[0], [-1.0, 2.0])

    def test_sequences_are_lists_and_an_optional_may_be_none(self):
        sequence = helper.make_tensor_sequence_value_info
        three = [np.full(n + 1, n, "float32") for n in range(3)]
        node = helper.make_node("SequenceInsert", ["s", "x"], ["y"])
        inputs = [sequence("s", TensorProto.FLOAT, None), value("x", TensorProto.FLOAT, [1])]
        rep = onnx_backend.prepare(model_of(node, inputs, [sequence("y", TensorProto.FLOAT, None)]))
        for count in (0, 3, 1):
            (y,) = rep.run([three[:count], np.float32([7])])
            self.assertEqual([a.tolist() for a in y], [a.tolist() for a in three[:count]] + [[7.0]])
        node = helper.make_node("OptionalHasElement", ["o"], ["y"])
        optional = helper.make_optional_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))
        inputs = [helper.make_value_info("o", optional)]
        rep = onnx_backend.prepare(model_of(node, inputs, [value("y", TensorProto.BOOL, [])]))
        self.assertEqual([bool(rep.run([v])[0]) for v in (None, np.float32([1]))], [False, True])

    def test_refusals(self):
        x, y = value("x", TensorProto.FLOAT, [2]), value("y", TensorProto.FLOAT, [2])
        relu = model_of(helper.make_node("Relu", ["x"], ["y"]), [x], [y])
        with self.assertRaisesRegex(ValueError, "expected 1 inputs, got 2"):
            onnx_backend.prepare(relu).run([np.zeros(2, "float32")] * 2)
        with self.assertRaisesRegex(ValueError, "not on 'CUDA'"):
            onnx_backend.prepare(relu, "CUDA")
        for call in (lambda: onnx_backend.prepare(relu, verbose=1), lambda: onnx_backend.prepare(relu).run([x], fast=1)):
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument"):
                call()
        unknown = model_of(helper.make_node("NoSuchOp", ["x"], ["y"]), [x], [y])
        with self.assertRaisesRegex(Error, "NoSuchOp"):
            onnx_backend.run_model(unknown, [np.zeros(2, "float32")])
        self.assertFalse(onnx_backend.supports_device("CUDA:0"))

    def test_inputs_are_of_the_type_that_the_model_says(self):
        for kind, good, bad, words in (
            (TensorProto.DOUBLE, [1.5, -2.0], [1e39, 1.0], "1e.39 is past float32, which stands for float64"),
            (TensorProto.UINT64, [3, 1 << 62], [1 << 63, 1], "9223372036854775808 is past int64"),
        ):
            dtype = helper.tensor_dtype_to_np_dtype(kind)
            node = helper.make_node("Identity", ["x"], ["y"])
            rep = onnx_backend.prepare(model_of(node, [value("x", kind, [2])], [value("y", kind, [2])]))
            np.testing.assert_array_equal(rep.run([np.array(good, dtype)])[0], np.array(good, dtype))
            with self.assertRaisesRegex(ValueError, f"input 'x': {words}"):
                rep.run([np.array(bad, dtype)])
            with self.assertRaisesRegex(TypeError, f"input 'x': expected {dtype}, got int8"):
                rep.run([np.zeros(2, "int8")])


if __name__ == "__main__":
    unittest.main()
