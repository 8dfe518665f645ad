"""Small models on libdl4 against NumPy's numbers: old forms of ops, losses, order along an axis, types of numbers.
A case gives the outputs, or a part of the words that refuse it. Prints what differs and how many agree; ends with 1
where one differs; with 77 without `onnx` or `ml_dtypes`.   `python onnx_forms.py WORD...` runs those alone whose names have a word in
them."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))

try:
    import ml_dtypes
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
except ImportError:
    print("no onnx package or no ml_dtypes: skipped")
    sys.exit(77)

from dl4 import onnx_backend
from dl4.abi import Error

from onnx_arrays import difference

node = helper.make_node
X = np.random.default_rng(3).normal(size=(2, 3, 4, 5)).astype("float32")


def model(nodes, inputs, outputs, opset, constants):
    """`inputs`: arrays by name; `outputs`: how many, y0 y1 ..., with the types that the case expects."""
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()
    ]
    given = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    made = [
        helper.make_tensor_value_info(f"y{i}", helper.np_dtype_to_tensor_dtype(np.asarray(a).dtype), np.shape(a))
        for i, a in enumerate(outputs)
    ]
    graph = helper.make_graph(nodes, "g", values, made, given)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def old_forms():
    """name, opset, nodes, inputs, outputs or the words of the refusal, constants."""
    x = {"x": X}
    for op, f in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        for shape, axis in (((3,), 1), ((3, 4), 1), ((4,), 2), ((5,), None), ((4, 5), None), ((2, 3), 0), ((1,), None)):
            b = np.random.default_rng(4).uniform(1, 2, shape).astype("float32")
            at = 4 - len(shape) if axis is None else axis
            seen = b.reshape(b.shape + (1,) * (4 - at - len(shape)))
            more = {} if axis is None else {"axis": axis}
            yield (
                f"{op} {shape} {axis}",
                6,
                [node(op, ["x", "b"], ["y0"], broadcast=1, **more)],
                x,
                [f(X, seen)],
                {"b": b},
            )
    b = np.ones(3, "float32")
    yield "Add past the end", 6, [node("Add", ["x", "b"], ["y0"], broadcast=1, axis=4)], x, "has the axis 4", {"b": b}
    yield "Add too deep", 6, [node("Add", ["b", "x"], ["y0"], broadcast=1)], x, "of 4 axes to a first of 1", {"b": b}
    yield "Add as they are", 6, [node("Add", ["x", "b"], ["y0"])], x, 'without "broadcast"', {"b": b}
    less = (X < 0) & (X > -1)
    yield (
        "Less And",
        6,
        [
            node("Less", ["x", "z"], ["l"], broadcast=1),
            node("Less", ["m", "x"], ["n"], broadcast=1),
            node("And", ["l", "n"], ["y0"]),
        ],
        x,
        "broadcasts a second input",
        {"z": np.float32(0), "m": np.float32(-1)},
    )
    yield (
        "Less Greater And",
        6,
        [
            node("Less", ["x", "z"], ["l"], broadcast=1),
            node("Greater", ["x", "m"], ["n"], broadcast=1),
            node("And", ["l", "n"], ["y0"]),
        ],
        x,
        [less],
        {"z": np.float32(0), "m": np.float32(-1)},
    )
    slope = np.array([0.1, 0.2, 0.3], "float32")
    want = np.where(X < 0, X * slope.reshape(3, 1, 1), X)
    yield "PRelu by channel", 6, [node("PRelu", ["x", "s"], ["y0"])], x, [want], {"s": slope}
    yield (
        "PRelu of one",
        6,
        [node("PRelu", ["x", "s"], ["y0"])],
        x,
        [np.where(X < 0, X * slope[:1], X)],
        {"s": slope[:1]},
    )
    scale, mean, variance = (np.random.default_rng(5).uniform(1, 2, 3).astype("float32") for _ in range(3))
    over = (0, 2, 3)
    along = [v.reshape(3, 1, 1) for v in (scale, mean, variance)]
    named = {"s": scale, "b": mean, "m": mean, "v": variance}
    tested = (X - along[1]) / np.sqrt(along[2] + 1e-5) * along[0] + along[1]
    trained = (X - X.mean(over, keepdims=True)) / np.sqrt(X.var(over, keepdims=True) + 1e-5) * along[0] + along[1]
    names = ["x", "s", "b", "m", "v"]
    yield "BatchNormalization in a test", 6, [node("BatchNormalization", names, ["y0"], is_test=1)], x, [tested], named
    yield "BatchNormalization in training", 6, [node("BatchNormalization", names, ["y0"])], x, [trained], named
    yield "Dropout in a test", 6, [node("Dropout", ["x"], ["y0"], is_test=1, ratio=0.5)], x, [X], {}
    yield "Dropout of nothing", 6, [node("Dropout", ["x"], ["y0"], ratio=0.0)], x, [X], {}
    yield "Reshape", 4, [node("Reshape", ["x"], ["y0"], shape=[0, -1])], x, [X.reshape(2, -1)], {}
    yield "Reshape to nothing", 4, [node("Reshape", ["x"], ["y0"])], x, 'has no "shape"', {}
    padded = np.pad(X, [(0, 0), (0, 0), (1, 2), (0, 1)])
    yield "Pad", 1, [node("Pad", ["x"], ["y0"], paddings=[0, 0, 1, 0, 0, 0, 2, 1])], x, [padded], {}
    yield "Pad without", 1, [node("Pad", ["x"], ["y0"])], x, 'has no "paddings"', {}
    yield "Cast", 5, [node("Cast", ["x"], ["y0"], to="INT32")], x, [X.astype("int32")], {}
    yield "Cast to text", 5, [node("Cast", ["x"], ["y0"], to="STRING")], x, 'to "STRING" is not supported', {}
    tiles = {"n": np.int64(3), "a": np.int64(1)}
    yield "Tile", 5, [node("Tile", ["x", "n", "a"], ["y0"])], x, [np.tile(X, (1, 3, 1, 1))], tiles
    old = np.where(X > 0, X, 1.6732 * np.expm1(X)) * 1.0507
    yield "Selu", 5, [node("Selu", ["x"], ["y0"])], x, [old.astype("float32")], {}
    up = X.repeat(2, 2).repeat(3, 3)
    yield "Upsample", 6, [node("Upsample", ["x"], ["y0"], height_scale=2.0, width_scale=3.0)], x, [up], {}
    order = np.argsort(-X, -1, kind="stable")[..., :2]
    best = np.take_along_axis(X, order, -1)
    yield "TopK", 9, [node("TopK", ["x"], ["y0", "y1"], k=2)], x, [best, order], {}
    yield "Concat", 3, [node("Concat", ["x", "x"], ["y0"])], x, [np.concatenate([X, X], 1)], {}


def orders():
    for kind in ("float32", "int32", "int64", "uint8"):
        a = np.random.default_rng(6).integers(0, 9, (3, 7)).astype(kind)
        for largest in (0, 1):
            by = np.argsort(-a.astype("int64") if largest else a, 0, kind="stable")[:2]
            nodes = [node("TopK", ["x", "k"], ["y0", "y1"], axis=0, largest=largest)]
            yield (
                f"TopK {kind} {largest}",
                13,
                nodes,
                {"x": a},
                [np.take_along_axis(a, by, 0), by],
                {"k": np.array([2])},
            )
        if kind == "uint8":
            continue
        for exclusive in (0, 1):
            for reverse in (0, 1):
                turned = a[:, ::-1] if reverse else a
                sums, products = np.cumsum(turned, 1, dtype=kind), np.cumprod(turned, 1, dtype=kind)
                if exclusive:
                    sums = np.pad(sums[:, :-1], [(0, 0), (1, 0)])
                    products = np.pad(products[:, :-1], [(0, 0), (1, 0)], constant_values=1)
                for op, want, opset in (("CumSum", sums, 14), ("CumProd", products, 26)):
                    nodes = [node(op, ["x", "a"], ["y0"], exclusive=exclusive, reverse=reverse)]
                    want = want[:, ::-1] if reverse else want
                    yield f"{op} {kind} {exclusive} {reverse}", opset, nodes, {"x": a}, [want], {"a": np.array(-1)}
    large = np.array([1 << 40, 1, (1 << 62)], "int64")
    yield (
        "CumSum past 2^53",
        14,
        [node("CumSum", ["x", "a"], ["y0"])],
        {"x": large},
        [np.cumsum(large)],
        {"a": np.array(0)},
    )
    nodes = [node("TopK", ["x", "k"], ["y0", "y1"])]
    yield "TopK past the axis", 13, nodes, {"x": large}, [large] * 2 and "wants 4 of 3 places", {"k": np.array([4])}


def losses():
    scores = np.random.default_rng(8).normal(size=(4, 5, 3)).astype("float32")
    logs = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    target = np.array([[0, 1, 4], [2, 2, 3], [1, 0, 4], [3, 3, 1]])
    weight = np.array([0.5, 1, 2, 0.25, 3], "float32")
    for op, of in (("NegativeLogLikelihoodLoss", scores), ("SoftmaxCrossEntropyLoss", logs)):
        for w in (None, weight):
            for ignored in (None, 3, -7):
                ids = np.where(target == 3, -7, target) if ignored == -7 else target
                counts = np.ones((4, 3), bool) if ignored is None else ids != ignored
                by = (np.ones_like(weight) if w is None else w)[np.where(counts, ids, 0)] * counts
                each = -np.take_along_axis(of, np.where(counts, ids, 0)[:, None], 1)[:, 0] * by
                for reduction, want in (("none", each), ("sum", each.sum()), ("mean", each.sum() / by.sum())):
                    more = {} if ignored is None else {"ignore_index": ignored}
                    names = ["x", "t"] + ([] if w is None else ["w"])
                    outputs = ["y0"] + (["y1"] if op[0] == "S" else [])
                    wanted = [np.asarray(want, "float32")] + ([logs] if op[0] == "S" else [])
                    yield (
                        f"{op} {w is not None} {ignored} {reduction}",
                        13,
                        [node(op, names, outputs, reduction=reduction, **more)],
                        {"x": scores, "t": ids},
                        wanted,
                        {} if w is None else {"w": w},
                    )
        for bad in (5, -1):
            ids = np.where(target == 3, bad, target)
            yield (
                f"{op} {bad}",
                13,
                [node(op, ["x", "t"], ["y0"])],
                {"x": scores, "t": ids},
                "index 5 is out of range",
                {},
            )
        nodes = [node(op, ["x", "t"], ["y0"], reduction="all")]
        yield f"{op} of all", 13, nodes, {"x": scores, "t": target}, '"reduction" of "all" is not supported', {}


def random():
    rng = np.random.default_rng(9).uniform(1, 2, (40, 50)).astype("float32")
    flags = {"r": np.float32(0.25), "t": np.array(True)}

    def as_drawn(y, mask):
        np.testing.assert_allclose(y, np.where(mask, rng / 0.75, 0), rtol=1e-6)
        assert 0.7 < mask.mean() < 0.8, mask.mean()

    nodes = [node("Dropout", ["x", "r", "t"], ["y0", "y1"])]
    yield "Dropout in training", 13, nodes, {"x": rng}, [rng, rng > 0, as_drawn], flags
    nothing = {**flags, "r": np.float32(0)}
    yield "Dropout in training of nothing", 13, nodes, {"x": rng}, [rng, rng > 0], nothing
    yield "Dropout of all", 13, nodes, {"x": rng}, "has a ratio of 1", {**flags, "r": np.float32(1)}


INTEGERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split()
FLOATS = {
    "float16": (np.float16, True), "bfloat16": (ml_dtypes.bfloat16, True), "float64": (np.float64, True),
    "float8e4m3fn": (ml_dtypes.float8_e4m3fn, False), "float8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, False),
    "float8e5m2": (ml_dtypes.float8_e5m2, True), "float8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, False),
    "float4e2m1": (ml_dtypes.float4_e2m1fn, False),
}  # fmt: skip


def arithmetic():
    """Integers of every type, to both of their ends, where they wrap around."""
    rng = np.random.default_rng(10)
    for kind in INTEGERS:
        ends = np.iinfo(kind)
        high = min(ends.max, 2**63 - 1)  # int64 stands for uint64
        a = rng.integers(max(ends.min, -99), min(high, 200), 40).astype(kind)
        a[:4] = [ends.min, high, 0, 1]
        b = rng.integers(1, 9, 40).astype(kind)
        b[:2] = [1, 2]
        two = {"x": a, "b": b}
        with np.errstate(over="ignore"):
            ops = {
                "Add": a + b,
                "Sub": a - b,
                "Mul": a * b,
                "Max": np.maximum(a, b),
                "Min": np.minimum(a, b),
                "Sum": a + b,
                "Mod": np.mod(a, b),
                "BitwiseAnd": a & b,
                "BitwiseOr": a | b,
                "BitwiseXor": a ^ b,
                "Div": np.trunc(a / b).astype(kind) if ends.bits < 64 else np.sign(a).astype(kind) * (np.abs(a) // b),
            }
            one = {"Abs": np.abs(a), "Sign": np.sign(a), "Neg": -a, "BitwiseNot": ~a}
        by_one = np.trunc(a / b[5]).astype(kind)
        if ends.bits == 64:
            by_one = np.sign(a).astype(kind) * (np.abs(a) // b[5])
        if kind == "int64":  # whose lowest number has no opposite
            ops["Div"][0], by_one[0] = a[0] // b[0], -int(-int(a[0]) // int(b[5]))
        for op, want in ops.items():
            yield f"{op} {kind}", 18, [node(op, ["x", "b"], ["y0"])], two, [want], {}
            if op != "Sum":
                yield (
                    f"{op} {kind} by one",
                    18,
                    [node(op, ["x", "b"], ["y0"])],
                    {"x": a},
                    [
                        {
                            "Add": a + b[5],
                            "Sub": a - b[5],
                            "Mul": a * b[5],
                            "Max": np.maximum(a, b[5]),
                            "Min": np.minimum(a, b[5]),
                            "Mod": np.mod(a, b[5]),
                            "BitwiseAnd": a & b[5],
                            "BitwiseOr": a | b[5],
                            "BitwiseXor": a ^ b[5],
                            "Div": by_one,
                        }[op]
                    ],
                    {"b": b[5]},
                )
        for op, want in one.items():
            if op == "Neg" and kind[0] == "u":
                continue
            yield f"{op} {kind}", 18, [node(op, ["x"], ["y0"])], {"x": a}, [want], {}
        # What wraps is a number of its type to what reads it.
        nodes = [node("Add", ["x", "b"], ["s"]), node("Less", ["s", "x"], ["y0"])]
        if kind != "uint64":
            yield f"Add and Less {kind}", 18, nodes, two, [ops["Add"] < a], {}
        places = (b % ends.bits).astype(kind)
        for way, want in (("LEFT", a << places), ("RIGHT", a >> places)):
            yield (
                f"BitShift {way} {kind}",
                26,
                [node("BitShift", ["x", "b"], ["y0"], direction=way)],
                {"x": a, "b": places},
                [want],
                {},
            )
        powers = np.array([0, 1, 2, 3, 5], kind)
        base = np.array([2, 3, 7, ends.max if ends.bits < 64 else 5, 11], kind)
        if ends.bits >= 32 and kind[0] == "i":
            yield f"Pow {kind}", 15, [node("Pow", ["x", "p"], ["y0"])], {"x": base}, [base**powers], {"p": powers}
    nodes = [node("BitwiseNot", ["x"], ["n"]), node("BitShift", ["n", "b"], ["y0"], direction="RIGHT")]
    a, b = np.array([0, 5, 9], "uint64"), np.array([0, 1, 63], "uint64")
    yield "BitShift past 2^63", 18, nodes, {"x": a, "b": b}, [~a >> b], {}
    for kind in ("int8", "uint8"):
        image = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (1, 2, 4, 4)).astype(kind)
        want = image.reshape(1, 2, 2, 2, 2, 2).max((3, 5))
        nodes = [node("MaxPool", ["x"], ["y0"], kernel_shape=[2, 2], strides=[2, 2])]
        yield f"MaxPool {kind}", 12, nodes, {"x": image}, [want], {}
    nodes = [node("Transpose", ["x"], ["t"]), node("Add", ["t", "t"], ["y0"])]
    a = np.array([[100, -100], [3, 4]], "int8")
    yield "the type goes on", 18, nodes, {"x": a}, [a.T + a.T], {}


def casts():
    rng = np.random.default_rng(11)
    x = (rng.normal(size=64) * np.exp2(rng.integers(-12, 12, 64))).astype("float32")
    x[:9] = [0, 1, -1, 0.75, 2.5, 65519, 65520, -3.3e38, 2.0**-24]
    for name, (kind, _) in FLOATS.items():
        to = int(helper.np_dtype_to_tensor_dtype(np.dtype(kind)))
        least = np.float32(ml_dtypes.finfo(kind).max)
        with np.errstate(over="ignore"):
            wrapping, clipped = x.astype(kind), np.clip(x, -least, least).astype(kind)
        eight = name.startswith("float8")
        want = clipped if eight or name == "float4e2m1" else wrapping
        for source in ("x", "constant"):
            inputs, given = ({"x": x}, {}) if source == "x" else ({}, {"x": x})
            yield f"Cast {name} {source}", 23, [node("Cast", ["x"], ["y0"], to=to)], inputs, [want], given
            back = [node("Cast", ["x"], ["c"], to=to), node("Cast", ["c"], ["y0"], to=1)]
            yield f"Cast {name} and back {source}", 23, back, inputs, [want.astype("float32")], given
            if eight:
                nodes = [node("Cast", ["x"], ["y0"], to=to, saturate=0)]
                yield f"Cast {name} without saturation {source}", 23, nodes, inputs, [wrapping], given
            nodes = [node("Cast", ["z"], ["c"], to=1), node("Identity", ["c"], ["y0"])]
            given = {} if source == "x" else {"z": want}
            yield (
                f"Cast of {name} {source}",
                23,
                nodes,
                {"z": want} if source == "x" else {},
                [want.astype("float32")],
                given,
            )
    wide = rng.integers(-(1 << 40), 1 << 40, 40)
    wide[:6] = [0, 127, 128, -129, 1 << 31, -1]
    narrow = {"int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4, "int2": ml_dtypes.int2, "uint2": ml_dtypes.uint2}
    for name in [*INTEGERS, *narrow, "bool"]:
        kind = np.dtype(narrow.get(name, name))
        to = int(helper.np_dtype_to_tensor_dtype(kind))
        for source, a in (("int64", wide), ("int32", wide.astype("int32")), ("float32", np.clip(x, -7, 7))):
            want = a.astype(kind) if source != "float32" or name[0] != "u" else a.astype("int64").astype(kind)
            for constant in (False, True):
                inputs, given = ({}, {"x": a}) if constant else ({"x": a}, {})
                yield (
                    f"Cast {source} to {name} {constant}",
                    25,
                    [node("Cast", ["x"], ["y0"], to=to)],
                    inputs,
                    [want],
                    given,
                )
        if name not in ("bool", "uint64"):
            some = wide.astype(kind)
            nodes = [node("Cast", ["x"], ["y0"], to=1)]
            yield f"Cast of {name}", 25, nodes, {"x": some}, [some.astype("float32")], {}
            yield f"Cast of constants of {name}", 25, nodes, {}, [some.astype("float32")], {"x": some}
    signs = np.array([-1, -128, 127, 5], "int8")
    yield "BitCast", 26, [node("BitCast", ["x"], ["y0"], to=2)], {"x": signs}, [signs.view("uint8")], {}
    yield "BitCast of floats", 26, [node("BitCast", ["x"], ["y0"], to=6)], {"x": x}, [x.view("int32")], {}
    yield "BitCast of others", 26, [node("BitCast", ["x"], ["y0"], to=6)], {"x": signs}, "of another number of bits", {}
    yield "Cast to text", 13, [node("Cast", ["x"], ["y0"], to=8)], {"x": x}, "string is not supported", {}
    yield "Cast to powers of 2", 25, [node("Cast", ["x"], ["y0"], to=24)], {"x": x}, "float8e8m0 is not supported", {}


def quantized():
    x = np.array([[-3, -0.4, 0, 0.26, 1.9, 100]], "float32")
    for name, low, high in (("int4", -8, 7), ("uint4", 0, 15), ("int2", -2, 1), ("uint2", 0, 3), ("uint16", 0, 65535)):
        kind = np.dtype(getattr(ml_dtypes, name, name))
        zero = np.array(1).astype(kind)
        want = np.clip(np.round(x / np.float32(0.5)) + 1, low, high).astype(kind)
        for constant in (False, True):
            inputs, given = ({}, {"x": x}) if constant else ({"x": x}, {})
            given |= {"s": np.float32(0.5), "z": zero}
            yield f"Q {name} {constant}", 25, [node("QuantizeLinear", ["x", "s", "z"], ["y0"])], inputs, [want], given
            inputs, given = ({}, {"x": want}) if constant else ({"x": want}, {})
            given |= {"s": np.float32(0.5), "z": zero}
            back = (want.astype("float32") - 1) * np.float32(0.5)
            yield (
                f"DQ {name} {constant}",
                25,
                [node("DequantizeLinear", ["x", "s", "z"], ["y0"])],
                inputs,
                [back],
                given,
            )
    for name in ("float8e4m3fn", "float8e5m2", "float4e2m1"):
        kind = np.dtype(FLOATS[name][0])
        most = np.float32(ml_dtypes.finfo(kind).max)
        want = np.clip(x * 8, -most, most).astype(kind)
        given = {"s": np.float32(0.125), "z": np.array(0).astype(kind)}
        yield f"Q {name}", 25, [node("QuantizeLinear", ["x", "s", "z"], ["y0"])], {"x": x}, [want], given
        back = want.astype("float32") * np.float32(0.125)
        yield f"DQ {name}", 25, [node("DequantizeLinear", ["x", "s", "z"], ["y0"])], {"x": want}, [back], given
        moved = {**given, "z": np.array(1).astype(kind)}
        yield (
            f"Q {name} moved",
            25,
            [node("QuantizeLinear", ["x", "s", "z"], ["y0"])],
            {"x": x},
            "a zero point of 1",
            moved,
        )


def scans():
    x = np.random.default_rng(12).normal(size=(3, 4, 2)).astype("float32")
    start = np.random.default_rng(13).normal(size=(3, 2)).astype("float32")
    info = [helper.make_tensor_value_info(n, 1, [2]) for n in "stuv"]
    body = helper.make_graph(
        [node("Add", ["s", "t"], ["u"]), node("Identity", ["u"], ["v"])], "body", info[:2], info[2:]
    )
    states = start[:, None] + np.cumsum(x, 1)
    back = start[:, None] + np.cumsum(x[:, ::-1], 1)
    for way, want in ((0, states), (1, back)):
        nodes = [node("Scan", ["", "a", "x"], ["y0", "y1"], body=body, num_scan_inputs=1, directions=[way])]
        yield f"Scan 8 {way}", 8, nodes, {"a": start, "x": x}, [want[:, -1], want], {}
    nodes = [node("Scan", ["n", "a", "x"], ["y0", "y1"], body=body, num_scan_inputs=1)]
    given = {"n": np.array([4, 4, 2])}
    yield "Scan 8 with lengths", 8, nodes, {"a": start, "x": x}, "with lengths of the sequences", given


def check(opset, nodes, inputs, wanted, constants):
    refusal = wanted if isinstance(wanted, str) else None
    judge = wanted.pop() if wanted and callable(wanted[-1]) else None
    of = [np.float32(0)] * len([n for n in nodes[-1].output]) if refusal else wanted
    try:
        got = onnx_backend.prepare(model(nodes, inputs, of, opset, constants)).run(list(inputs.values()))
    except Error as error:
        if refusal and refusal in str(error):
            return
        raise AssertionError(str(error)) from error
    if refusal:
        raise AssertionError(f"expected the refusal {refusal!r}")
    if judge:
        return judge(*got)
    for one, want in zip(got, wanted, strict=True):
        if said := difference(one, want, 2e-5, 2e-6):
            raise AssertionError(said)


def main():
    words, agree, wrong = sys.argv[1:], 0, []
    for family in (old_forms, orders, losses, random, arithmetic, casts, quantized, scans):
        for name, *case in family():
            if words and not any(w in name for w in words):
                continue
            try:
                check(*case)
                agree += 1
            except AssertionError as error:
                wrong.append(f"{name}: {' '.join(str(error).split())[:300]}")
    for line in wrong:
        print(line)
    print(f"{agree} agree, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
