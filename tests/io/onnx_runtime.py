"""Random nodes on libdl4 against ONNX Runtime: Resize and Upsample, Pad of every type, ai.onnx.ml, ONNX's experiments.
Prints what differs and how many agree; ends with 1 where one differs, with 77 without `onnx` or `onnxruntime`."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("no onnx or onnxruntime: skipped")
    sys.exit(77)

from dl4 import onnx_backend
from dl4.abi import Error

from onnx_arrays import difference

onnxruntime.set_default_logger_severity(4)
random = np.random.default_rng(52)


def one(*of):
    return of[random.integers(len(of))]


def model(node, inputs, outputs, opset, constants=(), free=False):
    """`outputs`: types by name."""
    def port(name, a):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim if free else a.shape)

    graph = helper.make_graph(
        [node], "g", [port(n, a) for n, a in inputs.items()],
        [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in dict(constants).items()],
    )  # fmt: skip
    domains = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=domains, ir_version=8)


def scales_of(size):
    s = float(one(random.uniform(0.2, 4), random.integers(1, 5), random.integers(1, 12) / random.integers(1, 8), 1 / random.integers(1, 7)))
    return s if int(np.float32(s) * np.float32(size)) > 0 else 1.0


def resized():
    """ONNX Runtime leaves an axis as it is where its scale is 1, even if a part of it is to be taken, and an image whose
    size stays the same whatever its scales are: none of these, which ONNX says otherwise."""
    for _ in range(800):
        opset = one(7, 9, 10, 10, 11, 12, 13, 18, 19)
        op, size = ("Upsample" if opset < 10 else "Resize"), random.integers(1, 13, 2)
        scales = [1.0, 1.0, *(scales_of(n) for n in size)]
        if opset < 10:
            scales = [max(s, 1.0) for s in scales]
        how = {"mode": one("nearest", "linear", *(["cubic"] if opset > 10 else []))}
        inputs, constants = ["x"], {}
        if opset > 10:
            where = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
            where += ["tf_half_pixel_for_nn"] * (opset < 13) + ["half_pixel_symmetric"] * (opset > 18)
            how["coordinate_transformation_mode"] = one(*where)
            how["nearest_mode"] = one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
            if how["mode"] == "cubic":
                how["cubic_coeff_a"], how["exclude_outside"] = float(one(-0.75, -0.5)), int(one(0, 1))
            crops = how["coordinate_transformation_mode"] == "tf_crop_and_resize"
            sizes = random.integers(1, 21, 2)
            by_size = bool(one(0, 1))
            if crops and (np.any(sizes == size) if by_size else 1.0 in scales[2:]):
                continue
            if not by_size and np.all((np.float32(scales[2:]) * size.astype("float32")).astype(int) == size) and scales[2:] != [1, 1]:
                continue
            constants["roi"] = np.float32([0, 0, *random.uniform(-0.2, 0.4, 2), 1, 1, *random.uniform(0.6, 1.2, 2)] if crops else [])
            if crops:
                how["extrapolation_value"] = 9.0
            inputs.append("roi")
            if by_size:
                constants |= {"none": np.float32([]), "sizes": np.array([1, 2, *sizes])}
                inputs += ["none" if opset < 13 else "", "sizes"]
        if opset < 9:
            how["scales"] = scales
        elif len(inputs) < 4:
            constants["scales"] = np.float32(scales)
            inputs.append("scales")
        x = {"x": random.standard_normal((1, 2, *size)).astype("float32")}
        node = helper.make_node(op, inputs, ["y"], **how)
        yield f"{op} {opset} {how} {constants}", model(node, x, {"y": 1}, opset, constants), x


def padded():
    types = {"uint8": 255, "int8": 100, "int32": 1000, "int64": 1000, "bool": 2, "float32": 1000}
    shapes = [((3, 4), [1, 0, 2, 3]), ((1, 2, 3, 4), [0, 0, 1, 2, 0, 0, 1, 0]), ((2, 2, 3, 4), [0, 1, -1, 2, 0, 1, 1, -1])]
    for dtype, most in types.items():
        for mode, number in (("constant", 0), ("constant", 1), ("edge", 0), ("reflect", 0), ("wrap", 0)):
            for free in (False, True):
                for shape, pads in shapes:
                    if mode == "wrap" and min(pads) < 0:
                        continue
                    x = {"x": random.integers(0, most, shape).astype(dtype)}
                    constants = {"p": np.array(pads), "v": np.array(number * (most - 1)).astype(dtype)}
                    node = helper.make_node("Pad", ["x", "p", "v"], ["y"], mode=mode)
                    port = {"y": helper.np_dtype_to_tensor_dtype(x["x"].dtype)}
                    yield f"Pad {dtype} {mode} {number} {shape}", model(node, x, port, 19, constants, free and mode == "constant"), x


def learned():
    x = {"x": random.standard_normal((6, 3)).astype("float32")}
    for after in ("NONE", "LOGISTIC", "SOFTMAX"):
        for functions, classes in ((1, 2), (2, 2), (3, 3), (2, 3)):
            for labels in ({"classlabels_ints": [7, 9, 4][:classes]}, {"classlabels_strings": ["a", "b", "c"][:classes]}):
                node = helper.make_node(
                    "LinearClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", post_transform=after,
                    coefficients=random.standard_normal(3 * functions).tolist(),
                    intercepts=random.standard_normal(functions).tolist(), **labels,
                )  # fmt: skip
                label = TensorProto.INT64 if "classlabels_ints" in labels else TensorProto.STRING
                yield f"LinearClassifier {after} {functions} {labels}", model(node, x, {"label": label, "p": 1}, 18), x
    for sizes in ([3, 2], [2, 2], [5, 4], [3, 1]):
        for a in ("float32", "int64", "int32"):
            both = {"x": (10 * x["x"]).astype(a), "z": (9 * x["x"][:, :2]).astype(a)}
            node = helper.make_node("FeatureVectorizer", ["x", "z"], ["y"], domain="ai.onnx.ml", inputdimensions=sizes)
            yield f"FeatureVectorizer {sizes} {a}", model(node, both, {"y": 1}, 18), both
    image = {"x": random.standard_normal((2, 3, 4, 5)).astype("float32")}
    for op, how in (
        ("ImageScaler", {"scale": 0.5, "bias": [1.0, 2.0, 3.0]}),
        ("Affine", {"alpha": 0.5, "beta": 3.0}),
        ("ParametricSoftplus", {"alpha": 0.5, "beta": 3.0}),
        ("ScaledTanh", {"alpha": 0.5, "beta": 3.0}),
        ("Crop", {"border": [1, 0, 2, 1]}),
        ("Crop", {"border": [1, 2, 0, 0], "scale": [2, 3]}),
    ):
        yield f"{op} {how}", model(helper.make_node(op, ["x"], ["y"], **how), image, {"y": 1}, 9), image


def compared(proto, inputs, tolerance=1e-4):
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, inputs)
    got = onnx_backend.prepare(proto).run(list(inputs.values()))
    for a, b in zip(got, wanted, strict=True):
        if said := difference(a, b, tolerance, tolerance):
            return said
    return None


def main():
    agree, wrong = 0, []
    for name, proto, inputs in (*resized(), *padded(), *learned()):
        try:
            said = compared(proto, inputs)
        except Error as e:
            said = str(e)
        agree += said is None
        if said:
            wrong.append(f"{name}: {' '.join(said.split())[:300]}")
    for line in wrong:
        print(line)
    print(f"{agree} agree, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
