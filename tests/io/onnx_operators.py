"""Models of one or a few nodes whose values come at run time, with free axes where ONNX leaves them, on libdl4 and on
ONNX Runtime (the evaluator of the package `onnx` for what that has not): the same shape, type and numbers, or refused by
a name that the case says. Prints what differs and how many agree; ends with 1 where one differs; with 77 without `onnx`
or `onnxruntime`.

`python onnx_operators.py WORD...` runs those alone whose names have a word in them."""

import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
    from onnx.reference import ReferenceEvaluator
except ImportError:
    print("no onnx package or no onnxruntime: skipped")
    sys.exit(77)

from dl4.abi import Error
from dl4.core import Model, Tensor

onnxruntime.set_default_logger_severity(4)
node = helper.make_node
random = np.random.default_rng(3)
CASES = []


def floats(*shape, low=-1.0, high=1.0):
    return random.uniform(low, high, shape).astype("float32")


def case(name, nodes, inputs, constants=(), opset=21, free=(0,), refused=None, tolerance=1e-5, reference=False):
    """inputs: by name, at run time; `free`: axes of theirs that are free in the model. `refused`: words of the refusal."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    CASES.append((name, nodes, dict(inputs), dict(constants), opset, free, refused, tolerance, reference))


def model(nodes, inputs, constants, opset, free):
    def info(name, a):
        shape = [f"{name}_{i}" if i in free else d for i, d in enumerate(a.shape)]
        shape = ["N" if i == 0 and 0 in free and a.ndim > 0 else d for i, d in enumerate(shape)]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), shape)

    given = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    outputs = [helper.make_tensor_value_info(n, 0, None) for n in nodes[-1].output if n]
    graph = helper.make_graph(nodes, "g", [info(n, a) for n, a in inputs.items()], outputs, given)
    sets = [helper.make_opsetid("", opset)] + [
        helper.make_opsetid(d, 1) for d in sorted({n.domain for n in nodes} - {""})
    ]
    made = helper.make_model(graph, opset_imports=sets, ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(made, strict_mode=False)
    known = {i.name: i for i in [*inferred.graph.value_info, *inferred.graph.output]}
    for out in made.graph.output:
        if known[out.name].type.tensor_type.elem_type:
            out.type.CopyFrom(known[out.name].type)
    return made


def expected(made, inputs, reference):
    if not reference:
        session = onnxruntime.InferenceSession(made.SerializeToString())
        return session.run(None, inputs)
    return ReferenceEvaluator(made).run(None, inputs)


def ours(made, inputs):
    loaded = Model.from_bytes(made.SerializeToString())
    feed = [Tensor.of(np.ascontiguousarray(inputs[n]), str(inputs[n].dtype)) for n in loaded.names(0)]
    return [t.numpy() for t in loaded.session().run(feed)]


# ---- between the places of images ------------------------------------------------------------------------------------


def sampled():
    for mode, outside, corners in itertools.product(
        ("linear", "nearest", "cubic"), ("zeros", "border", "reflection"), (0, 1)
    ):
        how = {"mode": mode, "padding_mode": outside, "align_corners": corners}
        op = node("GridSample", ["x", "g"], ["y"], **how)
        given = {"x": floats(2, 3, 5, 4), "g": floats(2, 3, 7, 2, low=-1.6, high=1.6)}
        case(f"GridSample {mode} {outside} {corners}", op, given)
        if mode != "cubic":
            given = {"x": floats(2, 2, 3, 5, 4), "g": floats(2, 3, 2, 2, 3, low=-1.6, high=1.6)}
            case(f"GridSample 3D {mode} {outside} {corners}", op, given)
    old = node("GridSample", ["x", "g"], ["y"], mode="bicubic")
    case("GridSample opset 16", old, {"x": floats(1, 2, 5, 4), "g": floats(1, 3, 7, 2)}, opset=16)
    for size in ([2, 3, 5, 6], [2, 3, 4, 5, 6]):
        for corners in (0, 1):
            n = len(size) - 2
            case(
                f"AffineGrid {n} {corners}",
                node("AffineGrid", ["t", "s"], ["y"], align_corners=corners),
                {"t": floats(2, n, n + 1)},
                {"s": np.array(size, "int64")},
                reference=True,
            )
    boxes = np.array([[0.3, 0.2, 4.4, 3.7], [1, 2, 1.5, 2.5], [-3, -2, 9, 8], [0, 0, 20, 30]], "float32")
    images = np.array([1, 0, 1, 0], "int64")
    for where, ratio, scale in itertools.product(("half_pixel", "output_half_pixel"), (1, 3), (1.0, 0.5)):
        how = {"coordinate_transformation_mode": where, "sampling_ratio": ratio, "spatial_scale": scale}
        op = node("RoiAlign", ["x", "b", "i"], ["y"], output_height=3, output_width=2, **how)
        case(f"RoiAlign {where} {ratio} {scale}", op, {"x": floats(2, 3, 6, 7), "b": boxes, "i": images})
    adaptive = node("RoiAlign", ["x", "b", "i"], ["y"], output_height=3, output_width=2)
    given = {"x": floats(2, 3, 6, 7), "b": boxes, "i": images}
    case("RoiAlign adaptive", adaptive, given, refused='"sampling_ratio" of 0')
    case("RoiAlign max", node("RoiAlign", ["x", "b", "i"], ["y"], mode="max", sampling_ratio=2), given, refused='"mode" max')
    for groups, masked, strides, pads in itertools.product((1, 2), (False, True), ([1, 1], [2, 1]), ([0] * 4, [1, 0, 2, 1])):
        h = (5 + pads[0] + pads[2] - 2 - 1) // strides[0] + 1
        w = (6 + pads[1] + pads[3] - 3) // strides[1] + 1
        given = {"x": floats(2, 4, 5, 6), "o": floats(2, groups * 3 * 3 * 2, h, w, low=-2, high=2)}
        names = ["x", "w", "o", "b"]
        if masked:
            given["m"] = floats(2, groups * 9, h, w)
            names.append("m")
        how = {"offset_group": groups, "strides": strides, "pads": pads, "kernel_shape": [3, 3], "group": 2}
        case(
            f"DeformConv {groups} {masked} {strides} {pads}",
            node("DeformConv", names, ["y"], **how),
            given,
            {"w": floats(6, 2, 3, 3), "b": floats(6)},
            opset=19,
            reference=True,
        )


# ---- sound -----------------------------------------------------------------------------------------------------------


def signals():
    for parts, inverse, onesided, axis, length in itertools.product((1, 2), (0, 1), (0, 1), (1, 2), (None, 4, 7)):
        if onesided and (parts == 2) != bool(inverse):
            continue
        given = {"x": floats(2, 5, 6, parts)}
        constants = {"a": np.array(axis, "int64")}
        if length:
            constants["l"] = np.array(length, "int64")
        op = node("DFT", ["x", "l" if length else "", "a"], ["y"], inverse=inverse, onesided=onesided)
        name = f"DFT {parts} {inverse} {onesided} {axis} {length}"
        case(name, op, given, constants, tolerance=1e-4, reference=True)
    case("DFT opset 17", node("DFT", ["x"], ["y"], axis=1), {"x": floats(2, 9, 1)}, opset=17, tolerance=1e-4)
    for onesided, windowed, parts in itertools.product((0, 1), (False, True), (1, 2)):
        if onesided and parts == 2:
            continue
        constants = {"s": np.array(4, "int64"), "l": np.array(8, "int64")}
        if windowed:
            constants["w"] = floats(8, low=0.1)
        op = node("STFT", ["x", "s", "w" if windowed else "", "l"], ["y"], onesided=onesided)
        case(f"STFT {onesided} {windowed} {parts}", op, {"x": floats(2, 40, parts)}, constants, tolerance=1e-4)
    for op, periodic, n in itertools.product(("HannWindow", "HammingWindow", "BlackmanWindow"), (0, 1), (2, 9, 16)):
        made = [node(op, ["n"], ["w"], periodic=periodic), node("Mul", ["x", "w"], ["y"])]
        case(f"{op} {periodic} {n}", made, {"x": floats(2, n)}, {"n": np.array(n, "int64")})
    mel = [node("MelWeightMatrix", list("abcde"), ["w"]), node("MatMul", ["x", "w"], ["y"])]
    numbers = {"a": np.int64(8), "b": np.int64(64), "c": np.int64(8192), "d": np.float32(20), "e": np.float32(4000)}
    case("MelWeightMatrix", mel, {"x": floats(2, 33)}, {k: np.asarray(v) for k, v in numbers.items()})


# ---- steps -----------------------------------------------------------------------------------------------------------


def steps():
    for flat, interleaved, turned, by_id in itertools.product((False, True), (0, 1), (0, 4), (False, True)):
        half = (turned or 8) // 2
        given = {"x": floats(2, 3, 32) if flat else floats(2, 4, 3, 8)}
        constants = {"c": floats(50, half), "s": floats(50, half)}
        names = ["x", "c", "s"]
        if by_id:
            given["i"] = random.integers(0, 50, (2, 3)).astype("int64")
            names.append("i")
        else:
            constants = {}
            given.update({"c": floats(2, 3, half), "s": floats(2, 3, half)})
        how = {"interleaved": interleaved, "rotary_embedding_dim": turned, "num_heads": 4 if flat or turned else 0}
        op = node("RotaryEmbedding", names, ["y"], **how)
        # Steps are free too.
        case(f"RotaryEmbedding {flat} {interleaved} {turned} {by_id}", op, given, constants, 23, reference=True)
    for past, biased, function, k in itertools.product((False, True), (False, True), ("none", "silu"), (1, 4)):
        given, constants = {"x": floats(2, 3, 5)}, {"w": floats(3, 1, k)}
        if past:
            given["p"] = floats(2, 3, k - 1)
        if biased:
            constants["b"] = floats(3)
        names = ["x", "w", "b" if biased else "", "p" if past else ""]
        op = node("CausalConvWithState", names, ["y", "s"], activation=function)
        case(f"CausalConvWithState {past} {biased} {function} {k}", op, given, constants, 27, reference=True)
    for rule, past, group in itertools.product(("linear", "gated", "delta", "gated_delta"), (False, True), (1, 2)):
        given = {"q": floats(2, 5, 2 * group * 4), "k": floats(2, 5, 8), "v": floats(2, 5, 6)}
        if past:
            given["s"] = floats(2, 2, 4, 3)
        if "gated" in rule:
            given["d"] = floats(2, 5, 2 if past else 8, low=-1, high=0)
        if "delta" in rule:
            given["b"] = floats(2, 5, 2, low=0, high=1)
        names = ["q", "k", "v", *(n if n in given else "" for n in "sdb")]
        how = {"q_num_heads": 2 * group, "kv_num_heads": 2, "update_rule": rule}
        case(f"LinearAttention {rule} {past} {group}", node("LinearAttention", names, ["y", "z"], **how), given, opset=27, free=(0, 1), reference=True)
    for batch, time, shape in ((1, 0, (5, 2, 3)), (0, 1, (2, 5, 3)), (0, 1, (2, 5))):
        lengths = np.array([3, 5], "int64")
        op = node("ReverseSequence", ["x", "l"], ["y"], batch_axis=batch, time_axis=time)
        for free in ((), (0,), (0, 1)):
            case(f"ReverseSequence {batch} {time} {shape} {free}", op, {"x": floats(*shape), "l": lengths}, free=free if batch == 0 or free != (0,) else ())
    for mode, at in itertools.product(("linear", "circular"), (True, False)):
        given = {"c": floats(2, 3, 6, 4), "u": floats(2, 3, 2, 4)}
        if at:
            given["i"] = np.array([4, 1 if mode == "linear" else 5], "int64")
        op = node("TensorScatter", ["c", "u", "i" if at else ""], ["y"], mode=mode)
        case(f"TensorScatter {mode} {at}", op, given, opset=24, reference=True)
    for alpha in (1.0, 0.5):
        op = node("SwiGLU", ["a", "b"], ["y"], alpha=alpha)
        case(f"SwiGLU {alpha}", op, {"a": floats(2, 3), "b": floats(2, 3)}, opset=28, reference=True)


# ---- edges and pools -------------------------------------------------------------------------------------------------


def edges():
    for number in (np.inf, -np.inf, 2.5, 0):
        op = node("Pad", ["x", "p", "v"], ["y"])
        given = {"p": np.array([0, 1, 2, 0, 0, 1], "int64"), "v": np.float32(number)}
        case(f"Pad {number}", op, {"x": floats(2, 3, 4)}, given)
    for shape, axes in (([4, 2], [1, 2]), ([7, 6], [1, 2]), ([2, 9], [-1, 1])):
        op = node("CenterCropPad", ["x", "s"], ["y"], axes=axes)
        case(f"CenterCropPad {shape} {axes}", op, {"x": floats(2, 5, 4)}, {"s": np.array(shape, "int64")})
    for p, how in itertools.product((1, 2, 3), ({}, {"pads": [1, 1, 0, 1]}, {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, {"strides": [2, 2], "ceil_mode": 1}, {"dilations": [2, 1]})):
        op = node("LpPool", ["x"], ["y"], kernel_shape=[3, 2], p=p, **how)
        case(f"LpPool {p} {how}", op, {"x": floats(2, 3, 8, 7)}, reference="dilations" in how)
    for kind in ("uint8", "int8"):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        given = {"x": random.integers(low, high + 1, (2, 3, 6, 6)).astype(kind)}
        made = [node("MaxPool", ["x"], ["m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), node("Cast", ["m"], ["y"], to=6)]
        if kind == "uint8":
            case(f"MaxPool {kind}", made, given)
    long = node("MaxPool", ["x"], ["y"], kernel_shape=[100], strides=[5], dilations=[7])
    case("MaxPool of long windows", long, {"x": floats(1, 1, 2000)})


# ---- numbers while the file is read ----------------------------------------------------------------------------------


def numbers():
    for k, shape in itertools.product((-2, 0, 1), ((3, 4), (4, 3))):
        made = [node("EyeLike", ["c"], ["e"], k=k, dtype=1), node("Mul", ["x", "e"], ["y"])]
        case(f"EyeLike {k} {shape}", made, {"x": floats(*shape)}, {"c": np.zeros(shape, "float32")}, free=())
    flags = np.array([True, False, True, True, False])
    for axis in (None, 0, 1, -1):
        how = {} if axis is None else {"axis": axis}
        some = flags if axis is None or axis % 2 else flags[:2]
        case(f"Compress {axis}", node("Compress", ["x", "f"], ["y"], **how), {"x": floats(2, 5)}, {"f": some})
    found = {"c": np.array([[0, 3, 0], [4, 0, 5]], "float32")}
    made = [node("NonZero", ["c"], ["n"]), node("Cast", ["n"], ["f"], to=1), node("Add", ["x", "f"], ["y"])]
    case("NonZero", made, {"x": floats(2, 3)}, found)
    case("NonZero of the model's", node("NonZero", ["x"], ["y"]), {"x": floats(2, 3)}, refused="they must be constants")
    repeated = np.array([[2, 1, 1], [2, 1, 1], [0, 3, 3]], "float32")
    for axis, ordered, part in itertools.product((None, 0, 1), (0, 1), range(4)):
        how = {"sorted": ordered, **({} if axis is None else {"axis": axis})}
        out = ["" if i != part else "u" for i in range(4)]
        out = ["u" if part == 0 else "z", *out[1:]]
        made = [node("Unique", ["c"], out, **how), node("Cast", ["u"], ["f"], to=1), node("Reshape", ["f", "s"], ["r"]), node("Mul", ["x", "r"], ["y"])]
        case(f"Unique {axis} {ordered} {part}", made, {"x": floats(2, 1)}, {"c": repeated, "s": np.array([-1], "int64")})
    boxes, scores = floats(2, 20, 4, low=0), floats(2, 3, 20, low=0)
    for centre, most in itertools.product((0, 1), (0, 2, 5)):
        given = {"b": boxes, "s": scores, "m": np.array([most], "int64"), "i": np.array([0.3], "float32"), "t": np.array([0.2], "float32")}
        made = [node("NonMaxSuppression", list("bsmit"), ["n"], center_point_box=centre), node("Cast", ["n"], ["f"], to=1), node("Add", ["f", "x"], ["y"])]
        case(f"NonMaxSuppression {centre} {most}", made, {"x": floats(1, 3)}, given)
    bits = [node("BitCast", ["c"], ["i"], to=6), node("Cast", ["i"], ["f"], to=1), node("Add", ["x", "f"], ["y"])]
    case("BitCast", bits, {"x": floats(1, 3)}, {"c": floats(3)}, opset=26, reference=True)
    case("BitCast of the model's", node("BitCast", ["x"], ["y"], to=6), {"x": floats(1, 3)}, opset=26, refused="they must be constants", reference=True)


def main():
    for family in (sampled, signals, steps, edges, numbers):
        family()
    words = sys.argv[1:]
    agree, wrong = 0, []
    for name, nodes, inputs, constants, opset, free, refused, tolerance, reference in CASES:
        if words and not any(w in name for w in words):
            continue
        try:
            made = model(nodes, inputs, constants, opset, free)
            got = ours(made, inputs)
        except Error as error:
            if refused and refused in str(error):
                agree += 1
            else:
                wrong.append(f"{name}: {' '.join(str(error).split())[:300]}")
            continue
        if refused:
            wrong.append(f"{name}: is not refused")
            continue
        wanted = expected(made, inputs, reference)
        for one, want in zip(got, wanted, strict=True):
            want = np.asarray(want)
            if one.dtype != want.dtype or one.shape != want.shape:
                wrong.append(f"{name}: {one.dtype} {one.shape}, expected {want.dtype} {want.shape}")
                break
            if not np.allclose(one.astype("float64"), want.astype("float64"), rtol=tolerance, atol=tolerance, equal_nan=True):
                off = np.abs(one.astype("float64") - want.astype("float64")).max()
                wrong.append(f"{name}: {off} off")
                break
        else:
            agree += 1
    for line in wrong:
        print(line)
    print(f"{agree} agree, {len(wrong)} do not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
