"""Small graphs of integers that are constants or sizes, and of quantized numbers, on libdl4 and on ONNX Runtime: the same
shape, type and numbers, or refused by name. Prints what differs and how many agree; ends with 1 where one differs or
more are refused than there were; with 77 without `onnx` or `onnxruntime`.

`python onnx_integers.py WORD...` runs those alone whose names have a word in them, and shows each refusal."""

import itertools
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("no onnx package or no onnxruntime: skipped")
    sys.exit(77)

from dl4.abi import Error
from dl4.core import Model, Tensor

onnxruntime.set_default_logger_severity(4)
node = helper.make_node
SHAPES = [(), (1,), (3,), (1, 1), (3, 1), (1, 3), (2, 3), (2, 1, 3), (1, 2, 1)]
INTEGERS = ["int64", "int32"]
X = np.array([[0.5, -1.0, 2.25, 3.0], [-4.0, 5.5, 6.0, -7.0]], "float32")
random = np.random.default_rng(7)


def model(nodes, constants, result, opset=21):
    """Whose input x is (N, 4) and whose output is `result`, whatever its type."""
    given = [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info(result, 0, None)],
        given,
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    made = onnx.shape_inference.infer_shapes(made)
    for out in made.graph.output:
        for info in made.graph.value_info:
            if info.name == out.name:
                out.CopyFrom(info)
    return made.SerializeToString()


def cases():
    for kind, a, b in itertools.product(INTEGERS, SHAPES, SHAPES):
        try:
            np.broadcast_shapes(a, b)
        except ValueError:
            continue
        left, right = (random.integers(-9, 10, s).astype(kind) for s in (a, b))
        right = np.where(right == 0, 3, right).astype(kind)
        for op in "Add Sub Mul Div Equal Less Greater LessOrEqual GreaterOrEqual Max Min".split():
            yield f"{op} {kind} {a} {b}", [node(op, ["a", "b"], ["r"])], {"a": left, "b": right}
        for c in {a, (), (3,)}:
            flag = random.integers(0, 2, c).astype(bool)
            named = {"a": left, "b": right, "c": flag}
            yield f"Where {kind} {c} {a} {b}", [node("Where", ["c", "a", "b"], ["r"])], named
    for kind, a in itertools.product(INTEGERS, SHAPES):
        value = random.integers(-9, 10, a).astype(kind)
        for op in ("Neg", "Abs", "Sign", "Identity", "Shape", "Size"):
            yield f"{op} {kind} {a}", [node(op, ["a"], ["r"])], {"a": value}
        for to in ("int64", "int32", "float32", "bool"):
            number = helper.np_dtype_to_tensor_dtype(np.dtype(to))
            yield f"Cast {kind} {a} {to}", [node("Cast", ["a"], ["r"], to=number)], {"a": value}
            like = {"a": value, "l": np.zeros(2, to)}
            yield f"CastLike {kind} {a} {to}", [node("CastLike", ["a", "l"], ["r"])], like
        for shape in ([-1], [1, -1], [-1, 1], list(a) + [1], [value.size], [1, 1, value.size, 1]):
            to = {"a": value, "s": np.array(shape, "int64")}
            yield f"Reshape {kind} {a} {shape}", [node("Reshape", ["a", "s"], ["r"])], to
        for axis in range(-len(a) - 1, len(a) + 1):
            at = {"a": value, "s": np.array([axis], "int64")}
            yield f"Unsqueeze {kind} {a} {axis}", [node("Unsqueeze", ["a", "s"], ["r"])], at
        for axis in range(len(a)):
            at = {"a": value, "s": np.array([axis], "int64")}
            if a[axis] == 1:
                yield f"Squeeze {kind} {a} {axis}", [node("Squeeze", ["a", "s"], ["r"])], at
            yield f"Concat {kind} {a} {axis}", [node("Concat", ["a", "a"], ["r"], axis=axis)], {"a": value}
            for name, (low, high, step) in {"all": (0, 99, 1), "back": (-1, -99, -1), "some": (1, 3, 2)}.items():
                list_of = {n: np.array([v], "int64") for n, v in zip("bedt", (low, high, axis, step))}
                cut = [node("Slice", ["a", "b", "e", "d", "t"], ["r"])]
                yield f"Slice {kind} {a} {axis} {name}", cut, {"a": value, **list_of}
            for places in (np.int64(0), np.int64(-1), np.array([0, -1, 0]), np.array([[0], [-1]])):
                taken = [node("Gather", ["a", "i"], ["r"], axis=axis)]
                yield f"Gather {kind} {a} {axis} {places.shape}", taken, {"a": value, "i": places}
            for keep in (0, 1):
                yield f"ReduceProd {kind} {a} {axis} {keep}", [
                    node("ReduceProd", ["a", "s"], ["r"], keepdims=keep)
                ], at
        yield f"Squeeze {kind} {a}", [node("Squeeze", ["a"], ["r"])], {"a": value}
        yield f"Transpose {kind} {a}", [node("Transpose", ["a"], ["r"])], {"a": value}
        yield f"Flatten {kind} {a}", [node("Flatten", ["a"], ["r"], axis=min(1, len(a)))], {"a": value}
        yield f"Tile {kind} {a}", [node("Tile", ["a", "s"], ["r"])], {"a": value, "s": np.full(len(a), 2, "int64")}
        wide = np.array([2, *np.broadcast_shapes(a, (3,) if a and a[-1] in (1, 3) else ())], "int64")
        yield f"Expand {kind} {a}", [node("Expand", ["a", "s"], ["r"])], {"a": value, "s": wide}
        of = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), [1], [7])
        shape = np.array(a, "int64")
        yield f"ConstantOfShape {kind} {a}", [node("ConstantOfShape", ["s"], ["r"], value=of)], {"s": shape}
        yield f"Pow {kind} {a}", [node("Pow", ["a", "e"], ["r"])], {"a": value, "e": np.array(3, kind)}
        yield f"Clip {kind} {a}", [node("Clip", ["a", "l", "h"], ["r"])], {
            "a": value,
            "l": np.array(-3, kind),
            "h": np.array(4, kind),
        }
        # What follows a rule must have a shape too.
        for op in ("Neg", "Identity"):
            then = [node(op, ["a"], ["n"]), node("Cast", ["n"], ["f"], to=1), node("Add", ["one", "f"], ["r"])]
            yield f"{op} then Add {kind} {a}", then, {"a": value, "one": np.ones((2, 1, 1), "float32")}
    for start, limit, step in ((0, 7, 2), (5, -5, -3), (3, 3, 1), (7, 0, 1), (-2**53 - 1, -2**53 + 3, 1)):
        for kind in INTEGERS if abs(start) < 2**31 else ["int64"]:
            named = {n: np.array(v, kind) for n, v in zip("abc", (start, limit, step))}
            yield f"Range {kind} {start} {limit} {step}", [node("Range", ["a", "b", "c"], ["r"])], named
    yield from sizes()
    yield from quantized()


def sizes():
    """Of the free axis and the known one of x."""
    shape = node("Shape", ["x"], ["s"])
    two = {"two": np.array([2], "int64"), "zero": np.array(0, "int64"), "minus": np.array([-1], "int64")}
    lists = {
        "Gather": [node("Gather", ["s", "zero"], ["g"]), node("Unsqueeze", ["g", "axis"], ["n"])],
        "Slice": [node("Slice", ["s", "axis", "one"], ["n"])],
        "Where": [node("Equal", ["minus", "minus"], ["q"]), node("Where", ["q", "minus", "two"], ["n"])],
        "Neg": [node("Neg", ["two"], ["m"]), node("Neg", ["m"], ["n"])],
        "Mul Div": [node("Mul", ["s", "two"], ["m"]), node("Div", ["m", "two"], ["d"]), node("Slice", ["d", "axis", "one"], ["n"])],
        "Concat": [node("Concat", ["s", "s"], ["m"], axis=0), node("Slice", ["m", "two", "three"], ["n"])],
        "Reshape": [node("Reshape", ["s", "square"], ["m"]), node("Reshape", ["m", "minus"], ["l"]), node("Slice", ["l", "axis", "one"], ["n"])],
        "Squeeze": [node("Slice", ["s", "axis", "one"], ["m"]), node("Squeeze", ["m"], ["l"]), node("Unsqueeze", ["l", "axis"], ["n"])],
    }
    more = {"axis": np.array([0], "int64"), "one": np.array([1], "int64"), "three": np.array([3], "int64")}
    more.update({"square": np.array([2, 1], "int64"), "four": np.array([4], "int64")})
    for name, nodes in lists.items():
        then = [node("Concat", ["n", "two", "two"], ["to"], axis=0), node("Reshape", ["x", "to"], ["r"])]
        if name in ("Neg",):
            then = [node("Concat", ["minus", "n", "two"], ["to"], axis=0), node("Reshape", ["x", "to"], ["r"])]
        yield f"sizes {name}", [shape, *nodes, *then], {**two, **more}


def quantized():
    wide = np.array([[-5, -0.1, 0.34, 100], [0.05, 0.15, 0.25, -0.25], [1e9, -1e9, 12.75, 0.35]], "float32")
    for kind in ("uint8", "int8", "uint16", "int16"):
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        for name, scale, zero, more in (
            ("one", np.float32(0.1), np.array(0, kind), {}),
            ("one moved", np.float32(0.1), np.array(low + (high - low) // 3, kind), {}),
            ("half", np.float32(0.5), np.array(1, kind), {}),
            ("axis", np.array([0.1, 0.2, 0.5, 3], "float32"), np.array([0, 1, 2, 3], kind), {"axis": 1}),
            ("axis alike", np.array([0.1, 0.2, 0.5, 3], "float32"), np.array([7] * 4, kind), {"axis": -1}),
            ("blocks", None, None, {"axis": 1, "block_size": 2}),
        ):
            for source in ("constant", "x"):
                if name == "blocks":
                    if source == "x":
                        continue
                    scale = np.array([[0.1, 0.2], [0.5, 3], [1, 0.3]], "float32")
                    zero = np.array([[0, 1], [2, 3], [1, 0]], kind)
                named = {"s": scale, "z": zero, **({"c": wide} if source == "constant" else {})}
                first = node("QuantizeLinear", ["c" if source == "constant" else "x", "s", "z"], ["q"], **more)
                both = [first, node("DequantizeLinear", ["q", "s", "z"], ["r"], **more)]
                yield f"QDQ {kind} {name} {source}", both, named
                yield f"Q {kind} {name} {source}", [first, node("Cast", ["q"], ["r"], to=6)], named
                if name == "one moved":
                    turned = [first, node("Transpose", ["q"], ["t"]), node("DequantizeLinear", ["t", "s", "z"], ["r"])]
                    yield f"QTDQ {kind} {source}", turned, named
                    other = {**named, "z2": np.array(int(zero) + 1, kind)}
                    yield f"QDQ of two {kind} {source}", [first, node("DequantizeLinear", ["q", "s", "z2"], ["r"])], other
    weights = {"c": random.integers(-100, 100, (2, 4)).astype("int32"), "s": np.float32(0.01)}
    yield "DQ int32", [node("DequantizeLinear", ["c", "s"], ["r"])], weights
    yield "Q by default", [node("QuantizeLinear", ["x", "s"], ["q"]), node("Cast", ["q"], ["r"], to=6)], {"s": np.float32(0.1)}
    yield "Q output_dtype", [node("QuantizeLinear", ["x", "s"], ["q"], output_dtype=3), node("Cast", ["q"], ["r"], to=6)], {
        "s": np.float32(0.1)
    }


def theirs(bytes_of):
    session = onnxruntime.InferenceSession(bytes_of)
    return session.run(None, {"x": X} if session.get_inputs() else {})[0]


def main():
    words = sys.argv[1:]
    agree, refused, wrong, skipped = 0, [], [], 0
    for name, nodes, constants in cases():
        if words and not any(w in name for w in words):
            continue
        bytes_of = model(nodes, constants, "r")
        try:
            wanted = theirs(bytes_of)
        except Exception:
            skipped += 1  # ONNX Runtime has no such kernel
            continue
        try:
            got = Model.from_bytes(bytes_of).session().run([Tensor.of(X, "float32")])[0].numpy()
        except Error as error:
            refused.append(f"{name}: {' '.join(str(error).split())[:150]}")
            continue
        if got.dtype != wanted.dtype or got.shape != wanted.shape or not np.array_equal(got, wanted):
            wrong.append(f"{name}: {got.dtype} {got.shape} {got.tolist()}, ONNX Runtime {wanted.dtype} {wanted.shape} {wanted.tolist()}")
        else:
            agree += 1
    for line in wrong[:40] + (refused if words else []):
        print(line)
    print(f"{agree} agree, {len(wrong)} differ, {len(refused)} are refused, {skipped} are none of ONNX Runtime's")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
