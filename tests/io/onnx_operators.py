"""Models of one or a few nodes whose values come at run time, with free axes where ONNX leaves them, on libdl4 and on
ONNX Runtime (the evaluator of the package `onnx` for what that has not): the same shape, type and numbers, or refused by
a name that the case says; and the model written again, by ONNX Runtime. Prints what differs and how many agree; ends
with 1 where one differs; with 77 without `onnx` or `onnxruntime`.

`python onnx_operators.py WORD...` runs those alone whose names have a word in them."""

import itertools
import os
import pathlib
import sys
import tempfile

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

from onnx_arrays import difference

onnxruntime.set_default_logger_severity(4)
node = helper.make_node
random = np.random.default_rng(3)
CASES = []


def floats(*shape, low=-1.0, high=1.0):
    return random.uniform(low, high, shape).astype("float32")


def case(name, nodes, inputs, constants=(), opset=21, free=(0,), refused=None, tolerance=1e-5, reference=False, wanted=None):
    """inputs: by name, at run time; `free`: axes of theirs that are free in the model. `refused`: words of the refusal.
    `wanted`: the outputs, where neither ONNX Runtime nor the package's evaluator has the op."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    CASES.append((name, nodes, dict(inputs), dict(constants), opset, free, refused, tolerance, reference, wanted))


def model(nodes, inputs, constants, opset, free):
    """`free`: "apart" gives the first axis of each input a name of its own."""

    def info(name, a):
        if free == "apart":
            shape = [name.upper(), *a.shape[1:]]
        else:
            shape = [f"{name}_{i}" if i in free else d for i, d in enumerate(a.shape)]
            shape = ["N" if i == 0 and 0 in free and a.ndim > 0 else d for i, d in enumerate(shape)]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), shape)

    given = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    outputs = [helper.make_tensor_value_info(n, 0, None) for n in nodes[-1].output if n]
    graph = helper.make_graph(nodes, "g", [info(n, a) for n, a in inputs.items()], outputs, given)
    sets = [helper.make_opsetid("", opset)] + [
        helper.make_opsetid(d, 5 if d == "ai.onnx.ml" else 1) for d in sorted({n.domain for n in nodes} - {""})
    ]
    made = helper.make_model(graph, opset_imports=sets, ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(made, strict_mode=False)
    known = {i.name: i for i in [*inferred.graph.value_info, *inferred.graph.output]}
    for out in made.graph.output:
        if known[out.name].type.tensor_type.elem_type:
            out.type.CopyFrom(known[out.name].type)
        elif any(n.domain for n in nodes):  # whose outputs nothing infers
            out.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    return made


def expected(made, inputs, reference):
    if not reference:
        session = onnxruntime.InferenceSession(made.SerializeToString())
        return session.run(None, inputs)
    return ReferenceEvaluator(made).run(None, inputs)


def read_as(array):
    return np.ascontiguousarray(array.astype("int32") if array.dtype == np.int8 else array)


def ours(made, inputs):
    loaded = Model.from_bytes(made.SerializeToString())
    arrays = [read_as(inputs[n]) for n in loaded.names(0)]
    got = [t.numpy() for t in loaded.session().run([Tensor.of(a, str(a.dtype)) for a in arrays])]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "again.onnx")
        loaded.save(path)
        onnx.checker.check_model(path, full_check=True)
        session = onnxruntime.InferenceSession(path)
        again = session.run(None, {i.name: read_as(inputs[i.name]) for i in session.get_inputs()})
    for one, other in zip(got, again, strict=True):
        if one.dtype != other.dtype or not np.allclose(one, other, rtol=1e-4, atol=1e-4):
            raise ValueError("ONNX Runtime has other numbers of the model written again")
    return got


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
    case("RoiAlign max", node("RoiAlign", ["x", "b", "i"], ["y"], mode="max", sampling_ratio=2), given, refused='"mode" of "max"')
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


# ---- of free sizes ---------------------------------------------------------------------------------------------------


def whole(*numbers):
    return np.array(numbers, "int64")


def sizes():
    """Nodes whose shapes or numbers follow from sizes that the model is run with."""
    x, both = {"x": floats(5, 4, 6)}, (0, 1)
    shape, first, second = node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]), node("Gather", ["s", "one"], ["m"])
    constants = {"zero": np.array(0), "one": np.array(1)}
    for k in (-2, 0, 3):
        made = [shape, node("Slice", ["s", "l", "h"], ["t"]), node("ConstantOfShape", ["t"], ["c"]), node("EyeLike", ["c"], ["e"], k=k, dtype=1)]
        made += [node("Unsqueeze", ["e", "h"], ["u"]), node("Add", ["x", "u"], ["y"])]
        case(f"EyeLike of sizes {k}", made, x, {"l": whole(0), "h": whole(2)}, free=both)
    for parts, axis in itertools.product((2, 3, 4), (0, 1)):
        made = [node("Split", ["x"], [f"p{i}" for i in range(parts)], axis=axis, num_outputs=parts)]
        made += [node("Concat", [f"p{i}" for i in reversed(range(parts))], ["y"], axis=axis)]
        if parts < 4 or axis == 1:  # five places make no four parts
            case(f"Split of a free axis into {parts} along {axis}", made, x, free=both)
    made = [shape, node("Split", ["s"], ["a", "b"]), node("Concat", ["b", "a", "rest"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])]
    made[1].attribute.append(helper.make_attribute("num_outputs", 2))
    case("Split of sizes", made, {"x": floats(5, 4, 6, 1)}, {"rest": whole(1)}, free=both)
    # Pads as PyTorch has them: pairs from the last axis on, turned round.
    made = [shape, second, node("Sub", ["seven", "m"], ["d"]), node("Unsqueeze", ["d", "none"], ["e"]), node("Concat", ["two", "e", "four"], ["q"], axis=0)]
    made += [node("Reshape", ["q", "pairs"], ["r"]), node("Slice", ["r", "end", "least", "none", "end"], ["f"]), node("Transpose", ["f"], ["g"], perm=[1, 0])]
    made += [node("Reshape", ["g", "flat"], ["p"]), node("Pad", ["x", "p"], ["y"])]
    more = {"seven": np.array(7), "none": whole(0), "two": whole(1, 0, 2), "four": whole(0, 0), "pairs": whole(3, 2)}
    more.update(end=whole(-1), least=whole(-(2**62)), flat=whole(-1))
    case("Pad by pairs of sizes", made, x, constants | more, free=both)
    for of, k in (("all", [shape, second, node("Unsqueeze", ["m", "none"], ["k"])]), ("half", [shape, second, node("Div", ["m", "half"], ["h"]), node("Unsqueeze", ["h", "none"], ["k"])])):
        made = [*k, node("TopK", ["x", "k"], ["v", "i"], axis=1), node("Cast", ["i"], ["f"], to=1), node("Add", ["v", "f"], ["y"])]
        case(f"TopK of {of} of an axis", made, x, constants | {"none": whole(0), "half": np.array(2)}, free=both)
    for inverse, parts in itertools.product((0, 1), (1, 2)):
        op = node("DFT", ["x", "", "axis"], ["y"], inverse=inverse)
        case(f"DFT of a free axis {inverse} {parts}", op, {"x": floats(3, 7, 4, parts)}, {"axis": np.array(1)}, free=both, tolerance=1e-4)
    case("DFT of a free axis, onesided", node("DFT", ["x", "", "axis"], ["y"], onesided=1), {"x": floats(3, 7, 1)}, {"axis": np.array(1)}, free=both, refused="onesided")
    given = {"a": floats(3, 5, 2, 4), "b": floats(6, 2, 4)}
    case("Einsum of three free axes", node("Einsum", ["a", "b"], ["y"], equation="binh,tnh->bnit"), given, free="apart")
    case("Einsum of many free axes", node("Einsum", ["a", "b"], ["y"], equation="binh,btnh->bnti"), {"a": given["a"], "b": floats(3, 6, 2, 4)}, free=both)
    for equation, a, b in (("bhwc,bhwd->bcd", (2, 3, 4, 5), (2, 3, 4, 6)), ("bhc,bijc->bhij", (2, 3, 4), (2, 5, 6, 4)), ("abij,acdij->bcd", (2, 3, 4, 5), (2, 6, 7, 4, 5)), ("hc,ijc->jhi", (3, 4), (5, 6, 4))):
        for some in ((), (0, 1), (0, 1, 2, 3)):
            case(f"Einsum {equation} {some}", node("Einsum", ["a", "b"], ["y"], equation=equation), {"a": floats(*a), "b": floats(*b)}, free=some)
    case("Einsum of one matrix for all", node("Einsum", ["a", "b"], ["y"], equation="...ij,...jk"), {"a": floats(1, 3, 4), "b": floats(2, 4, 5)}, free=())
    made = [shape, first, second, node("Mul", ["n", "m"], ["all"]), node("Range", ["zero", "all", "m"], ["r"]), node("Cast", ["r"], ["y"], to=1)]
    case("Range in steps of a size", made, x, constants, free=both)
    case("Range in steps of no places", made, {"x": floats(5, 0, 6)}, constants, free=both, refused="a size is divided by 0")
    for kind in ("ReduceMax", "ReduceMin", "ReduceProd"):
        made = [shape, node(kind, ["s"], ["m"], keepdims=0), node("Cast", ["m"], ["f"], to=1), node("Add", ["x", "f"], ["y"])]
        case(f"{kind} of sizes", made, x, free=both)
    made = [shape, node("Gather", ["s", "which"], ["t"]), node("Concat", ["t", "image"], ["u"], axis=0), node("AffineGrid", ["a", "u"], ["g"]), node("GridSample", ["x", "g"], ["y"])]
    case("AffineGrid of a size", made, {"x": floats(2, 3, 5, 4), "a": floats(2, 2, 3)}, {"which": whole(0), "image": whole(3, 5, 4)})
    # A table of positions cut to a length, at most its own: what it is added to says how long that is.
    made = [shape, node("Gather", ["s", "which"], ["t"]), node("Slice", ["table", "begin", "t", "which"], ["p"]), node("Add", ["x", "p"], ["z"])]
    made += [node("Reshape", ["z", "heads"], ["h"]), node("Split", ["h"], ["a", "b"], axis=3, num_outputs=2), node("Mul", ["a", "b"], ["y"])]
    case("positions cut to a length", made, x, {"which": whole(1), "begin": whole(0), "table": floats(1, 64, 6), "heads": whole(0, 0, 1, -1)}, free=both)


def computed_kernels():
    for strides, pads, dilations in itertools.product(([1, 1], [2, 1]), ([0] * 4, [1, 0, 2, 1]), ([1, 1], [1, 2])):
        op = node("Conv", ["x", "w", "b"], ["y"], strides=strides, pads=pads, dilations=dilations)
        given = {"x": floats(2, 3, 7, 8), "w": floats(4, 3, 3, 2), "b": floats(4)}
        case(f"Conv of a computed kernel {strides} {pads} {dilations}", op, given, free=(), tolerance=1e-4)
    case("Conv 1D of a computed kernel", node("Conv", ["x", "w"], ["y"], strides=[3]), {"x": floats(2, 3, 9), "w": floats(4, 3, 3)}, free=(), tolerance=1e-4)
    made = [node("Slice", ["x", "zero", "one", "zero"], ["w"]), node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1])]
    case("Conv of filters as many as a free axis says", made, {"x": floats(2, 3, 3, 3)}, {"zero": whole(0), "one": whole(1)}, tolerance=1e-4)
    given = {"x": floats(2, 4, 7, 8), "w": floats(4, 2, 3, 2)}
    case("Conv in groups of a computed kernel", node("Conv", ["x", "w"], ["y"], group=2), given, free=(), refused="in groups")
    case("Conv of a computed bias", node("Conv", ["x", "w", "b"], ["y"]), {"x": floats(2, 3, 7, 8), "b": floats(4)}, {"w": floats(4, 3, 3, 2)}, tolerance=1e-4)


# ---- places that the model computes ----------------------------------------------------------------------------------


def places():
    for shape, axis, free in itertools.product(((4, 3, 5), (6, 3)), (0, 1, -1), ((), (0,))):
        n = shape[axis]
        size = [4, *shape[1:]] if axis in (0, -len(shape)) else [*shape[:axis % len(shape)], 2, *shape[axis % len(shape) + 1:]]
        low = 0 if free and axis == 0 else -n
        given = {"x": floats(*shape), "i": random.integers(low, n, size).astype("int64")}
        if free and axis == 0:
            size[0] = shape[0]  # one name for both
            given["i"] = random.integers(0, n, size).astype("int64")
        case(f"GatherElements {shape} {axis} {free}", node("GatherElements", ["x", "i"], ["y"], axis=axis), given, free=free)
        for how in ("none", "add", "max", "min"):
            indices = given["i"] if how != "none" else np.argsort(floats(*size), axis=axis).astype("int64")
            updates = {"x": given["x"], "i": indices, "u": floats(*size)}
            op = node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis, reduction=how)
            case(f"ScatterElements {shape} {axis} {free} {how}", op, updates, free=free)
    for batch, deep, free in itertools.product((0, 1), (1, 2), ((), (0,))):
        given = {"x": floats(4, 3, 5, 2), "i": random.integers(0, 3, (4, 6, deep)).astype("int64")}
        case(f"GatherND {batch} {deep} {free}", node("GatherND", ["x", "i"], ["y"], batch_dims=batch), given, free=free)
    for deep, how in itertools.product((1, 2, 3), ("none", "add", "max", "min")):
        rows = np.array([[0, 2, 1], [3, 0, -1], [1, 1, 0]], "int64")[:, :deep]
        given = {"x": floats(4, 3, 5), "i": rows, "u": floats(3, *(4, 3, 5)[deep:])}
        case(f"ScatterND {deep} {how}", node("ScatterND", ["x", "i", "u"], ["y"], reduction=how), given, free=())
    rows = {"x": floats(4, 3), "i": np.array([[1], [0], [2], [1]], "int64")}
    case("GatherElements apart", node("GatherElements", ["x", "i"], ["y"], axis=1), rows, free="apart")
    case("GatherND apart", node("GatherND", ["x", "i"], ["y"], batch_dims=1), rows, free="apart")
    put = {"x": floats(4, 3), "i": np.array([[1], [0]], "int64"), "u": floats(2, 3)}
    case("ScatterND apart", node("ScatterND", ["x", "i", "u"], ["y"]), put, free="apart")
    twice = {"x": floats(4, 2), "i": np.array([[1], [1], [3]], "int64"), "u": floats(3, 2)}
    case("ScatterND of one place twice", node("ScatterND", ["x", "i", "u"], ["y"]), twice, free=())
    case("ScatterND of integers", node("ScatterND", ["x", "i", "u"], ["y"]), {**twice, "x": np.arange(8).reshape(4, 2), "u": np.arange(6).reshape(3, 2)}, free=())
    case("ScatterND mul", node("ScatterND", ["x", "i", "u"], ["y"], reduction="mul"), twice, free=(), refused='"reduction" mul')
    pooled = [node("MaxPool", ["x"], ["p", "i"], kernel_shape=[2, 2], strides=[2, 2]), node("MaxUnpool", ["p", "i"], ["y"], kernel_shape=[2, 2], strides=[2, 2])]
    case("MaxUnpool", pooled, {"x": floats(2, 3, 4, 6)})
    for strides, pads, dilations in itertools.product(([1, 1], [2, 1]), ([0] * 4, [1, 0, 1, 2]), ([1, 1], [1, 2])):
        steps = [(s + pads[i] + pads[i + 2] - dilations[i] * (k - 1) - 1) // strides[i] + 1 for i, (s, k) in enumerate(((5, 2), (6, 3)))]
        sizes = {"i": np.array([5, 6], "int64"), "b": np.array([2, 3], "int64")}
        op = node("Col2Im", ["x", "i", "b"], ["y"], strides=strides, pads=pads, dilations=dilations)
        case(f"Col2Im {strides} {pads} {dilations}", op, {"x": floats(2, 3 * 6, steps[0] * steps[1])}, sizes)
    for n in (1, 2, 3, 4):
        case(f"Det {n}", node("Det", ["x"], ["y"]), {"x": floats(2, 3, n, n)}, reference=True)
    case("Det 5", node("Det", ["x"], ["y"]), {"x": floats(2, 5, 5)}, refused="only of up to 4")
    for equation, shape in (("ii", (4, 4)), ("ii->i", (4, 4)), ("...ii->...i", (2, 3, 4, 4)), ("bii->b", (2, 4, 4)), ("iji->j", (3, 2, 3)), ("iii->i", (3, 3, 3))):
        case(f"Einsum {equation}", node("Einsum", ["x"], ["y"], equation=equation), {"x": floats(*shape)}, free=() if equation[0] == "i" else (0,))


def flexible():
    given = {"q": floats(2, 4, 5, 8), "k": floats(2, 2, 6, 8), "v": floats(2, 2, 6, 3)}
    bodies = {"none": None, "cap": [node("Tanh", ["s"], ["t"])], "scaled": [node("Mul", ["s", "two"], ["t"])]}
    for name, body in bodies.items():
        how = {}
        if body:
            port = [helper.make_tensor_value_info(n, 1, ["B", "H", "L", "S"]) for n in "st"]
            two = [numpy_helper.from_array(np.float32(2), "two")]
            how = {"score_mod": helper.make_graph(body, "b", port[:1], port[1:], two)}
        op = node("FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", scale=0.3, **how)
        q, k, v = given["q"], np.repeat(given["k"], 2, 1), np.repeat(given["v"], 2, 1)
        scores = {"none": lambda s: s, "cap": np.tanh, "scaled": lambda s: 2 * s}[name](0.3 * q @ k.swapaxes(2, 3))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        case(f"FlexAttention {name}", op, given, opset=26, wanted=[weights / weights.sum(-1, keepdims=True) @ v])


# ---- integers --------------------------------------------------------------------------------------------------------


def bytes_of(kind, *shape):
    limits = np.iinfo(kind)
    return random.integers(limits.min, limits.max + 1, shape).astype(kind)


def whole_reductions():
    ends = {k: np.array([[np.iinfo(k).max, 1, -3], [2, np.iinfo(k).min, 7]], k) for k in ("int32", "int64")}
    # More than float32 has; of int64 ONNX Runtime sums a row in double.
    most = {"int32": 2**31 // 3, "int64": 2**51}
    sums = {k: np.array([[n, 5, -3], [n - 1, 1 - n, 7]], k) for k, n in most.items()}
    small = {k: np.array([[(2 ** (v.bits // 4)) + 1, 5, -3], [7, 3, 2 ** (v.bits // 4) - 1]], k) for k, v in ((k, np.iinfo(k)) for k in ends)}
    for kind, op, axes in itertools.product(("int32", "int64"), ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"), ([0], [1], [0, 1])):
        for keep in (0, 1):
            given = {"ReduceSum": sums, "ReduceProd": small}.get(op, ends)[kind]
            case(f"{op} of {kind} {axes} {keep}", node(op, ["x", "a"], ["y"], keepdims=keep), {"x": given}, {"a": np.array(axes)}, reference=True)
    for kind, op, axis, last in itertools.product(("int32", "int64"), ("ArgMax", "ArgMin"), (0, 1), (0, 1)):
        given = {"x": np.concatenate([ends[kind], ends[kind][:1]])}
        case(f"{op} of {kind} {axis} {last}", node(op, ["x"], ["y"], axis=axis, select_last_index=last), given, free=(), reference=True)
    for kind, op in itertools.product(("uint8", "int8"), ("ReduceMax", "ReduceMin")):
        made = [node(op, ["x", "a"], ["r"]), node("Cast", ["r"], ["y"], to=6)]
        case(f"{op} of {kind}", made, {"x": bytes_of(kind, 5, 4)}, {"a": np.array([1])}, reference=True)


def integers():
    for kinds, terms, zeros in itertools.product((("uint8", "uint8"), ("uint8", "int8"), ("int8", "int8")), (7, 300, 5000), (False, True)):
        if kinds == ("int8", "int8") and terms != 300:
            continue
        a, b = kinds
        given, constants = {"a": bytes_of(a, 3, terms)}, {"b": bytes_of(b, terms, 4)}
        if zeros:
            constants.update({"z": bytes_of(a), "w": bytes_of(b, 4)})
        names = ["a", "b", *(["z", "w"] if zeros else [])]
        case(f"MatMulInteger {a} {b} {terms} {zeros}", node("MatMulInteger", names, ["y"]), given, constants, tolerance=0)
        scales = {"s": np.float32(0.03), "t": np.float32(0.02), "u": np.float32(0.9 if terms < 100 else 9)}
        zero = {"z": bytes_of(a), "w": bytes_of(b), "v": bytes_of(a)}
        op = [node("QLinearMatMul", ["a", "s", "z", "b", "t", "w", "u", "v"], ["q"]), node("DequantizeLinear", ["q", "u", "v"], ["y"])]
        case(f"QLinearMatMul {a} {b} {terms} {zeros}", op, given, {"b": constants["b"], **scales, **zero}, tolerance=1e-6)
    for op, a, b in itertools.product(("MatMulInteger", "QLinearMatMul"), ([5], [4, 5], [2, 4, 5]), ([5], [5, 3], [2, 5, 3])):
        if len(a) > 1 and len(b) > 1:
            continue
        numbers = {"z": np.uint8(3), "w": np.uint8(12), "s": np.float32(0.03), "t": np.float32(0.02), "u": np.float32(0.9)}
        names, end = ["a", "b", "z", "w"], node("Cast", ["q"], ["y"], to=1)
        if op == "QLinearMatMul":
            names, end = ["a", "s", "z", "b", "t", "w", "u", "z"], node("DequantizeLinear", ["q", "u", "z"], ["y"])
        numbers["b"] = bytes_of("uint8", *b)
        case(f"{op} of a vector {a} {b}", [node(op, names, ["q"]), end], {"a": bytes_of("uint8", *a)}, numbers, tolerance=1e-6)
    for size, channels, group, more in itertools.product(([3, 3], [2, 3], [1, 1]), (2, 64), (1, 2), ({}, {"strides": [2, 1]}, {"pads": [1, 0, 2, 1]}, {"auto_pad": "SAME_UPPER"})):
        w = bytes_of("int8", 6, channels // group, *size)
        given = {"x": bytes_of("uint8", 2, channels, 9, 8)}
        op = node("ConvInteger", ["x", "w", "z"], ["y"], group=group, **more)
        case(f"ConvInteger {size} {channels} {group} {more}", op, given, {"w": w.astype("uint8"), "z": np.uint8(7)}, tolerance=0)
        names = ["x", "s", "z", "w", "t", "v", "u", "o", "b"]
        numbers = {"s": np.float32(0.03), "z": np.uint8(120), "w": w, "t": floats(6, low=0.01, high=0.05), "v": np.zeros(6, "int8"), "u": np.float32(0.3 if channels < 9 else 2), "o": np.uint8(9), "b": random.integers(-500, 500, 6).astype("int32")}
        op = [node("QLinearConv", names, ["q"], group=group, **more), node("Cast", ["q"], ["y"], to=1)]
        case(f"QLinearConv {size} {channels} {group} {more}", op, given, numbers, tolerance=0)
    dynamic = [
        node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"]),
        node("MatMulInteger", ["q", "w", "z"], ["m"]),
        node("Cast", ["m"], ["f"], to=1),
        node("Mul", ["f", "s"], ["y"]),
    ]
    for low, high in ((-1, 1), (0.2, 3), (-3, -1), (0, 0)):
        case(f"DynamicQuantizeLinear {low} {high}", dynamic, {"x": floats(3, 40, low=low, high=high)}, {"w": bytes_of("int8", 40, 5)}, tolerance=1e-6)


def quantized():
    """Ops of ONNX Runtime's own, around the numbers of a byte."""
    of = {"domain": "com.microsoft"}
    steps = {n: np.float32(v) for n, v in (("s", 0.03), ("t", 0.05), ("u", 0.0713))}
    for kind in ("uint8", "int8"):
        zeros = {n: np.array(v, kind) for n, v in (("z", 3), ("w", 12), ("v", 7))}
        end = node("DequantizeLinear", ["q", "u", "v"], ["y"])
        behind = ["u", "v"]
        pair = {"a": bytes_of(kind, 3, 4), "b": bytes_of(kind, 3, 4)}
        image = {"a": bytes_of(kind, 2, 3, 6, 5)}
        a, b = ["a", "s", "z"], ["b", "t", "w"]
        known = {**steps, **zeros}
        one = 0.0714  # two numbers may round to steps that lie side by side
        for op in ("QLinearAdd", "QLinearMul"):
            case(f"{op} {kind}", [node(op, [*a, *b, *behind], ["q"], **of), end], pair, known, tolerance=one)
        case(f"QLinearConcat {kind}", [node("QLinearConcat", [*behind, *a, *b], ["q"], axis=1, **of), end], pair, known, tolerance=one)
        for op, more in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.3})):
            case(f"{op} {kind}", [node(op, [*a, *behind], ["q"], **more, **of), end], {"a": pair["a"]}, known)
        for op, more in (("QLinearGlobalAveragePool", {}), ("QLinearAveragePool", {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]})):
            case(f"{op} {kind}", [node(op, [*a, *behind], ["q"], **more, **of), end], image, known, tolerance=one)
        last = node("QLinearAveragePool", [*a, *behind], ["q"], kernel_shape=[2, 2], channels_last=1, **of)
        case(f"QLinearAveragePool {kind} of the last axis", [last, end], image, known, refused='"channels_last" of 1')
        fine = {**known, "u": np.float32(1 / 256), "v": np.array(0 if kind == "uint8" else -128, kind)}
        of_rows = node("QLinearSoftmax", [*a, *behind], ["q"], axis=1, opset=13, **of)
        case(f"QLinearSoftmax {kind}", [of_rows, end], {"a": pair["a"]}, fine, tolerance=0.004)
        columns = node("QLinearSoftmax", [*a, *behind], ["q"], axis=0, opset=13, **of)
        case(f"QLinearSoftmax {kind} axis 0", [columns, end], {"a": pair["a"]}, fine, refused="another axis than the last")
        flags = {"c": np.array([[True], [False], [True]])}
        case(f"QLinearWhere {kind}", [node("QLinearWhere", ["c", *a, *b, *behind], ["q"], **of), end], {**flags, **pair}, known, tolerance=one)
        rows = {"a": bytes_of(kind, 3, 30)}
        weights = {"b": bytes_of("int8", 5, 30), "w": np.zeros(5, "int8"), "t": floats(5, low=0.01, high=0.05), "c": random.integers(-500, 500, 5).astype("int32"), "u": np.float32(0.9)}
        inputs = [*a, *b, "c"]
        case(f"QGemm {kind}", [node("QGemm", [*inputs, *behind], ["q"], transB=1, **of), end], rows, {**known, **weights})
        if kind == "uint8":
            case("QGemm of floats", node("QGemm", inputs, ["y"], transB=1, alpha=0.5, **of), rows, {**known, **weights}, tolerance=1e-4)


# ---- recurrent nets that no layer of ours is -------------------------------------------------------------------------


def recurrent():
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for direction, d in directions.items():
            units, steps, batch = 3, 5, 2
            x = {"x": floats(steps, batch, 4)}
            w = {"w": floats(d, gates * units, 4), "r": floats(d, gates * units, units), "b": floats(d, 2 * gates * units)}
            outputs = ["y", "h", *(["c"] if op == "LSTM" else [])]
            how = {"hidden_size": units, "direction": direction}
            case(f"{op} {direction} clip", node(op, ["x", "w", "r", "b"], outputs, clip=0.3, **how), x, w, free=(0, 1))
            lengths = node(op, ["x", "w", "r", "b", "l"], outputs, **how)
            case(f"{op} {direction} lengths", lengths, {**x, "l": np.array([3, 5], "int32")}, w, free=())
            case(f"{op} {direction} constant lengths", lengths, x, {**w, "l": np.array([4, 2], "int32")}, free=())
            case(f"{op} {direction} computed weights", node(op, ["x", "w", "r"], outputs, **how), {**x, "w": w["w"], "r": w["r"]}, free=())
            names = ["HardSigmoid", "Affine", "ScaledTanh"] if op == "LSTM" else ["ThresholdedRelu", "LeakyRelu"] if op == "GRU" else ["Elu"]
            numbers = {"LSTM": ([0.3, 0.7, 1.5], [0.4, 0.1, 0.6]), "GRU": ([0.1, 0.2], []), "RNN": ([0.7], [])}[op]
            alpha, beta = (list(v) * d for v in numbers)
            other = {"activations": names * d, "activation_alpha": alpha, **({"activation_beta": beta} if beta else {})}
            case(f"{op} {direction} functions", node(op, ["x", "w", "r", "b"], outputs, **other, **how), x, w, free=(0, 1))
            if op == "GRU":
                after = node(op, ["x", "w", "r", "b", "l"], outputs, linear_before_reset=1, **how)
                case(f"GRU {direction} lengths after", after, {**x, "l": np.array([2, 5], "int32")}, w, free=())
            if op == "LSTM":
                state, peepholes = {"s": floats(d, batch, units)}, {"p": floats(d, 3 * units)}
                for at, name in ((5, "h"), (6, "c")):
                    inputs = ["x", "w", "r", "b", "", *[""] * (at - 5), "s"]
                    case(f"LSTM {direction} {name} alone", node(op, inputs, outputs, **how), {**x, **state}, w, free=())
                inputs = ["x", "w", "r", "b", "", "", "", "p"]
                case(f"LSTM {direction} peepholes", node(op, inputs, outputs, **how), x, {**w, **peepholes}, free=(0, 1))
                case(f"LSTM {direction} coupled", node(op, ["x", "w", "r", "b"], outputs, input_forget=1, **how), x, w, free=(0, 1))
    batch_first = node("LSTM", ["x", "w", "r", "b", "", "", "", "p"], ["y", "h", "c"], hidden_size=3, layout=1)
    weights = {"w": floats(1, 12, 4), "r": floats(1, 12, 3), "b": floats(1, 24), "p": floats(1, 9)}
    case("LSTM batch first peepholes", batch_first, {"x": floats(2, 5, 4)}, weights, free=(0, 1), reference=True)


def pools():
    """Windows over free axes."""
    for op, window, pads, counted in itertools.product(("MaxPool", "AveragePool"), ((2, 2), (3, 2), (3, 1)), (0, 1), (0, 1)):
        how = {"kernel_shape": [window[0]] * 2, "strides": [window[1]] * 2, "pads": [pads, 0, 0, pads], "ceil_mode": 1}
        if op == "AveragePool":
            how["count_include_pad"] = counted
        elif counted:
            continue
        past = pads + window[1] > window[0]
        for size in (6, 7):
            name = f"{op} {window} {pads} {counted} {size}"
            case(name, node(op, ["x"], ["y"], **how), {"x": floats(2, 3, size, size + 1)}, free=(0, 2, 3), refused="steps past the window" if past else None)


    for op, (hole, step), pads in itertools.product(("MaxPool", "AveragePool", "LpPool"), ((2, 1), (2, 2), (2, 4), (3, 2)), (0, 2)):
        how = {"kernel_shape": [3, 2], "dilations": [hole, 1], "strides": [step, 1], "pads": [pads, 0, 0, 0]}
        case(f"{op} with holes {hole} {step} {pads}", node(op, ["x"], ["y"], **how), {"x": floats(2, 3, 13, 5)}, opset=22)


def trees():
    """TreeEnsemble, full trees of three levels: in lists of inner nodes and of leaves."""
    x = random.integers(-3, 4, (40, 3)).astype("float32")
    x[::7, 1] = np.nan
    all_modes = {"all": range(7), "one": [0], "members": [6], "equal": [4, 5]}
    for name, of in all_modes.items():
        for how, targets, after, missing in ((1, 2, 0, False), (1, 3, 0, True), (0, 2, 0, True), (1, 1, 1, False), (2, 1, 0, False), (3, 1, 0, True), (3, 2, 0, False)):
            lists = {k: [] for k in ("nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids", "nodes_falseleafs")}
            modes, members, roots = [], [], []
            for tree in range(3):
                roots.append(tree * 7)
                for i in range(7):
                    lists["nodes_featureids"].append(int(random.integers(0, 3)))
                    modes.append(random.choice(list(of)))
                    if modes[-1] == 6:
                        members += [*random.integers(-3, 4, random.integers(1, 4)), np.nan]
                    for side, at in (("true", 0), ("false", 1)):
                        last = i >= 3
                        lists[f"nodes_{side}leafs"].append(int(last))
                        lists[f"nodes_{side}nodeids"].append(tree * 8 + (i - 3) * 2 + at if last else tree * 7 + 2 * i + 1 + at)
            tensors = {
                "nodes_modes": np.array(modes, "uint8"),
                "nodes_splits": random.integers(-2, 3, 21).astype("float32"),
                "leaf_weights": floats(24),
                **({"membership_values": np.array(members, "float32")} if members else {}),
            }
            more = {n: numpy_helper.from_array(a, n) for n, a in tensors.items()} | lists
            if missing:
                more["nodes_missing_value_tracks_true"] = [int(v) for v in random.integers(0, 2, 21)]
            ends = {"tree_roots": roots, "leaf_targetids": [int(v) for v in random.integers(0, targets, 24)]}
            op = node("TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=targets, aggregate_function=how, post_transform=after, **ends, **more)
            refused = "of several targets" if how > 1 and targets > 1 else '"post_transform" of' if after else None
            case(f"TreeEnsemble {name} {how} {targets} {after} {missing}", op, {"x": x}, refused=refused)


def bad_places():
    """Places that the model computes and that are not there: an error of the run, which names the node."""
    x, one = floats(3, 4), floats(1, 4)
    for op, at, more in (
        ("Gather", [0, 7], {}),
        ("Gather", [0, -9], {"axis": 1}),
        ("GatherElements", [[0, 7], [1, 1], [0, 0]], {"axis": 1}),
        ("GatherElements", [[0, -5]], {"axis": 0}),
        ("GatherND", [[0, 7]], {}),
        ("GatherND", [[9]], {}),
        ("ScatterND", [[9]], {}),
        ("ScatterND", [[-4]], {}),
        ("ScatterElements", [[9, 1]], {"axis": 0}),
        ("ScatterElements", [[-9, 1]], {"axis": 1}),
    ):
        given = {"x": x, "i": np.array(at, "int64")}
        if op[0] == "S":
            given["u"] = one if op == "ScatterND" else one[:, :2]
        for free in ((), "apart"):
            case(f"{op} {at} {more} {free}", node(op, list(given), ["y"], name="the_node", **more), given, free=free, refused='layer "the_node')


# ---- random numbers: their kind, and that they are others in each run ------------------------------------------------


def drawn():
    """Problems of each op, by its name."""
    x = np.full((200, 50), 0.3, "float32")
    logits = np.log(np.tile(np.array([[0.2, 0.5, 0.3]], "float32"), (200, 1)))
    tests = {
        "RandomUniformLike": (node("RandomUniformLike", ["x"], ["y"], low=2.0, high=4.0), x, lambda y: abs(y.mean() - 3) < 0.05 and y.min() >= 2 and y.max() < 4),
        "RandomNormalLike": (node("RandomNormalLike", ["x"], ["y"], mean=1.0, scale=2.0), x, lambda y: abs(y.mean() - 1) < 0.1 and abs(y.std() - 2) < 0.1),
        "RandomUniform": ([node("RandomUniform", [], ["u"], shape=[50]), node("Add", ["x", "u"], ["y"])], x, lambda y: 0.3 <= y.min() and y.max() < 1.3 and np.unique(y[0]).size > 40),
        "RandomNormal": ([node("RandomNormal", [], ["u"], shape=[50]), node("Add", ["x", "u"], ["y"])], x, lambda y: np.unique(y[0]).size > 40),
        "Bernoulli": (node("Bernoulli", ["x"], ["y"]), x, lambda y: set(np.unique(y)) == {0, 1} and abs(y.mean() - 0.3) < 0.03),
        "Multinomial": (node("Multinomial", ["x"], ["y"], sample_size=50), logits, lambda y: y.dtype == np.int32 and np.allclose(np.bincount(y.ravel(), minlength=3) / y.size, [0.2, 0.5, 0.3], atol=0.03)),
        "Bernoulli of a seed": (node("Bernoulli", ["x"], ["y"], seed=5.0), x, lambda y: abs(y.mean() - 0.3) < 0.03),
    }
    for name, (op, given, good) in tests.items():
        made = model(op if isinstance(op, list) else [op], {"x": given}, {}, 21, (0,))
        runs = []
        for _ in range(2):
            loaded = Model.from_bytes(made.SerializeToString())
            session = loaded.session()
            runs.append([session.run([Tensor.of(given, "float32")])[0].numpy() for _ in range(2)])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "again.onnx")
            loaded.save(path)
            written = onnxruntime.InferenceSession(path).run(None, {"x": given})[0]
        first, second = runs[0]
        if not good(written) or written.dtype != first.dtype:
            yield f"{name}: numbers of another kind of the model written again"
        if not good(first) or not good(second):
            yield f"{name}: numbers of another kind: mean {first.mean()}"
        if np.array_equal(first, second):
            yield f"{name}: the same numbers in each run"
        if "seed" in name and not np.array_equal(first, runs[1][0]):
            yield f"{name}: other numbers of one seed"


def main():
    for family in (sampled, signals, steps, edges, numbers, sizes, computed_kernels, places, flexible, whole_reductions, integers, quantized, recurrent, pools, trees, bad_places):
        family()
    words = sys.argv[1:]
    agree, wrong = 0, []
    for name, nodes, inputs, constants, opset, free, refused, tolerance, reference, wanted in CASES:
        if words and not any(w in name for w in words):
            continue
        try:
            made = model(nodes, inputs, constants, opset, free)
            got = ours(made, inputs)
        except (Error, ValueError) as error:
            if refused and refused in str(error):
                agree += 1
            else:
                wrong.append(f"{name}: {' '.join(str(error).split())[:300]}")
            continue
        if refused:
            wrong.append(f"{name}: is not refused")
            continue
        wanted = wanted or expected(made, inputs, reference)
        for one, want in zip(got, wanted, strict=True):
            if said := difference(one, want, tolerance, tolerance):
                wrong.append(f"{name}: {said}")
                break
        else:
            agree += 1
    if not words:
        wrong.extend(drawn())
    for line in wrong:
        print(line)
    print(f"{agree} agree, {len(wrong)} do not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
