"""Runs models whose sizes depend on numbers that they compute on libdl4 and on ONNX Runtime, and prints what differs.
Each is written and run again. Ends with 1 where one differs or is refused; with 77 without onnx and onnxruntime."""

import sys

from onnx_flow import compared, Error, floats, Model, model_of, np

OF_FLAGS = "zero = Constant<value = float {0.0}>()\n  f = Greater(x, zero)\n  "
ROWS = """axes = Constant<value = int64[1] {1}>()
  s = ReduceSum<keepdims = 0>(x, axes)
  zero = Constant<value = float {0.0}>()
  f = Greater(s, zero)
  places = NonZero(f)
  ids = Transpose<perm = [1, 0]>(places)
  rows = GatherND(x, ids)"""
ones = np.ones
# name: inputs and outputs, body, lists of inputs to run with
CASES = {
    "NonZero of a list": (
        "(float[N] x) => (int64[1, K] y)",
        OF_FLAGS + "y = NonZero(f)",
        [[floats(7)], [ones(3, "float32")], [-ones(4, "float32")]],
    ),
    "NonZero of floats, three axes": (
        "(float[N,3,2] x) => (int64[3, K] y)",
        "r = Relu(x)\n  y = NonZero(r)",
        [[floats(4, 3, 2)], [floats(1, 3, 2)]],
    ),
    "rows by flags": (
        "(float[N,4] x, float[4,3] w) => (float[M,3] y, int64[2] size)",
        ROWS
        + """
  y = MatMul(rows, w)
  size = Shape(rows)""",
        [[floats(6, 4), floats(4, 3)], [floats(9, 4), floats(4, 3)], [-np.abs(floats(2, 4)), floats(4, 3)]],
    ),
    "Compress along an axis": (
        "(float[N,4] x, bool[N] f) => (float[M,4] y)",
        "y = Compress<axis = 0>(x, f)",
        [[floats(3, 4), np.array([True, False, True])], [floats(2, 4), np.array([False, False])]],
    ),
    "Compress of all": (
        "(float[N,4] x, bool[M] f) => (float[K] y)",
        "y = Compress(x, f)",
        [[floats(3, 4), np.array([True, False, True, True, False])]],
    ),
    "Unique": (
        "(float[N] x) => (float[K] y, int64[K] first, int64[N] of, int64[K] times)",
        "r = Round(x)\n  y, first, of, times = Unique(r)",
        [[3 * floats(40)], [floats(1)], [floats(0)]],
    ),
    "Unique in order of coming": (
        "(int64[N, 3] x) => (int64[K] y, int64[K] first, int64[L] of, int64[K] times)",
        "y, first, of, times = Unique<sorted = 0>(x)",
        [[np.random.default_rng(i).integers(-4, 4, (n, 3))] for i, n in enumerate((5, 12))],
    ),
    "Unique rows": (
        "(float[N, 2] x) => (float[K, 2] y, int64[K] first, int64[N] of, int64[K] times)",
        "r = Round(x)\n  y, first, of, times = Unique<axis = 0>(r)",
        [[floats(30, 2)], [floats(3, 2)]],
    ),
    "Unique columns in order of coming": (
        "(float[2, N] x) => (float[2, K] y, int64[K] first, int64[N] of, int64[K] times)",
        "r = Round(x)\n  y, first, of, times = Unique<axis = 1, sorted = 0>(r)",
        [[floats(2, 30)], [floats(2, 4)]],
    ),
    "NonMaxSuppression, and what it chooses": (
        "(float[B,N,4] boxes, float[B,C,N] scores) => (int64[K,3] chosen, float[K,4] found)",
        """most = Constant<value = int64[1] {4}>()
  overlap = Constant<value = float[1] {0.3}>()
  least = Constant<value = float[1] {0.2}>()
  chosen = NonMaxSuppression(boxes, scores, most, overlap, least)
  columns = Constant<value = int64[2] {0, 2}>()
  ids = Gather<axis = 1>(chosen, columns)
  found = GatherND(boxes, ids)""",
        [
            [np.abs(floats(b, n, 4)), np.random.default_rng(n).random((b, c, n)).astype("float32")]
            for b, c, n in ((1, 1, 8), (2, 3, 20), (1, 2, 1))
        ],
    ),
    "NonMaxSuppression of centres, all scores": (
        "(float[B,N,4] boxes, float[B,C,N] scores) => (int64[K,3] y)",
        """most = Constant<value = int64[1] {3}>()
  overlap = Constant<value = float[1] {0.5}>()
  y = NonMaxSuppression<center_point_box = 1>(boxes, scores, most, overlap)""",
        [[np.abs(floats(1, 12, 4)), np.random.default_rng(1).random((1, 2, 12)).astype("float32")]],
    ),
    "TopK of a number that is computed": (
        "(float[N] x) => (float[K] y, int64[K] i)",
        OF_FLAGS
        + """g = Cast<to = 7>(f)
  axes = Constant<value = int64[1] {0}>()
  k = ReduceSum<keepdims = 1>(g, axes)
  y, i = TopK(x, k)""",
        [[floats(9)], [floats(5)]],
    ),
    "Range of numbers": (
        "(int64 a, int64 b, int64 s, float[N] x) => (int64[K] y, float[M] z)",
        """y = Range(a, b, s)
  zero = Constant<value = float {0.0}>()
  top = ReduceMax<keepdims = 0>(x)
  half = Constant<value = float {0.5}>()
  z = Range(zero, top, half)""",
        [
            [np.int64(a), np.int64(b), np.int64(s), np.array([1.7, top], "float32")]
            for a, b, s, top in ((0, 5, 1, 3.2), (7, -3, -2, 2), (2, 2, 1, 0.1), (3, 1, 1, 5), (0, 7, 3, 4))
        ],
    ),
    "Slice at numbers": (
        "(float[N,5] x, int64[2] from, int64[2] to) => (float[A,B] y, float[C,5] z)",
        """axes = Constant<value = int64[2] {1, 0}>()
  steps = Constant<value = int64[2] {2, 1}>()
  y = Slice(x, from, to, axes, steps)
  one = Constant<value = int64[1] {0}>()
  last = Gather<axis = 0>(from, one)
  first = Gather<axis = 0>(to, one)
  zero = Constant<value = int64[1] {0}>()
  back = Constant<value = int64[1] {-1}>()
  z = Slice(x, first, last, zero, back)""",
        [
            [floats(n, 5), np.array(a), np.array(b)]
            for n, a, b in ((6, [0, 1], [5, 4]), (4, [1, -3], [-1, 9]), (3, [2, 2], [2, 1]), (5, [-9, 0], [9, -1]))
        ],
    ),
    "Expand, ConstantOfShape and Reshape to numbers": (
        "(float[N,1] x, int64[2] to, int64[3] shape) => (float[A,B] y, float[C,D] z, float[E,F,G] w)",
        """two = Constant<value = int64[2] {2, 1}>()
  more = Mul(to, two)
  y = Expand(x, to)
  z = ConstantOfShape(more)
  w = Reshape(x, shape)""",
        [
            [floats(6, 1), np.array([6, 4]), np.array([2, 3, 1])],
            [floats(4, 1), np.array([1, 3]), np.array([-1, 1, 2])],
            [floats(4, 1), np.array([4, 1]), np.array([2, -1, 1])],
            [floats(3, 1), np.array([3, 0]), np.array([0, 1, -1])],
        ],
    ),
    "Tile so many times": (
        "(float[N,3] x, int64[2] times) => (float[A,B] y)",
        "y = Tile(x, times)",
        [[floats(n, 3), np.array(times)] for n, times in ((2, [3, 1]), (4, [1, 2]), (1, [2, 3]), (3, [0, 1]))],
    ),
    "rows by flags, filled up to eight or cut": (
        "(float[N,4] x) => (float[A,B] y, int64[2] size)",
        ROWS
        + """
  eight = Constant<value = int64[1] {8}>()
  count = Shape<start = 0, end = 1>(rows)
  missing = Sub(eight, count)
  none = Constant<value = int64[1] {0}>()
  one = Constant<value = int64[1] {1}>()
  pads = Concat<axis = 0>(none, none, missing, one)
  value = Constant<value = float {0.5}>()
  y = Pad(rows, pads, value)
  size = Shape(y)""",
        [[floats(6, 4)], [floats(30, 4)], [-np.abs(floats(4, 4))], [floats(0, 4)]],
    ),
    "updates at the places of flags, maybe none": (
        "(float[N,3] x) => (float[N,3] y)",
        ROWS
        + """
  other = Neg(rows)
  y = ScatterND(x, ids, other)""",
        [[floats(6, 3)], [-np.abs(floats(4, 3))]],
    ),
    "a branch that counts": (
        "(float[N] x, float[K] w) => (float[M] y, int64[1] size)",
        """s = ReduceSum<keepdims = 0>(x)
  zero = Constant<value = float {0.0}>()
  f = Greater(x, zero)
  c = Greater(s, zero)
  few = Compress<axis = 0>(x, f)
  y = If(c)<
    then_branch = t() => (float[A] a) { one = Constant<value = float {0.5}>() g = Less(few, one) a = Compress<axis = 0>(few, g) },
    else_branch = e() => (float[B] b) { none = Constant<value = float[0] {}>() b = Identity(none) }>
  size = Shape(y)""",
        [[np.abs(floats(6)), floats(2)], [-np.abs(floats(4)), floats(2)], [np.abs(floats(9)), floats(2)]],
    ),
    "a cache that a branch makes or takes": (
        "(float[B,S,2] x, float[B,P,2] past, bool[1] taken) => (float[B,K,2] cache, float[B,2] y)",
        """size = Shape(x)
  none = Constant<value = int64[3] {0, 1, 2}>()
  cache = If(taken)<
    then_branch = t() => (float[A,C,2] a) { a = ConstantOfShape(none) },
    else_branch = e() => (float[D,E,2] b) { b = Concat<axis = 1>(past, x) }>
  axes = Constant<value = int64[1] {1}>()
  all = Concat<axis = 1>(past, x)
  y = ReduceSum<keepdims = 0>(all, axes)""",
        [[floats(2, s, 2), floats(2, p, 2), np.array([f])] for s, p, f in ((3, 0, False), (1, 4, True), (2, 2, False))],
    ),
    "flags of flags": (
        "(float[N] x) => (float[K] y)",
        OF_FLAGS
        + """a = Compress<axis = 0>(x, f)
  one = Constant<value = float {1.0}>()
  g = Less(a, one)
  y = Compress<axis = 0>(a, g)""",
        [[floats(20)], [floats(8)], [5 + floats(4)], [-np.abs(floats(4))]],
    ),
}

# Resize of images of free sizes: to the sizes of another value, to those of an input, by a scale.
IMAGES = [[floats(1, 2, h, w), floats(1, 2, a, b)] for h, w, a, b in ((5, 4, 7, 9), (6, 9, 4, 6), (3, 8, 1, 1))]
for mode, where, rounding in (
    ("nearest", "asymmetric", "floor"),
    ("nearest", "half_pixel", "round_prefer_floor"),
    ("nearest", "half_pixel", "round_prefer_ceil"),
    ("nearest", "align_corners", "ceil"),
    ("nearest", "pytorch_half_pixel", "floor"),
    ("linear", "half_pixel", "floor"),
    ("linear", "pytorch_half_pixel", "floor"),
    ("linear", "align_corners", "floor"),
    ("linear", "asymmetric", "floor"),
):
    how = f'<mode = "{mode}", coordinate_transformation_mode = "{where}", nearest_mode = "{rounding}">'
    CASES[f"Resize {mode} {where} {rounding} to sizes of another value"] = (
        "(float[1,2,H,W] x, float[1,2,A,B] other) => (float[1,2,C,D] y)",
        f"""size = Shape(other)
  y = Resize{how}(x, , , size)""",
        IMAGES,
    )
    CASES[f"Resize {mode} {where} {rounding} to sizes that are given"] = (
        "(float[1,2,H,W] x, int64[2] to) => (float[1,2,C,D] y)",
        f"""same = Constant<value = int64[2] {{1, 2}}>()
  size = Concat<axis = 0>(same, to)
  y = Resize{how}(x, , , size)""",
        [[x, np.array(other.shape[2:])] for x, other in IMAGES],
    )
    for scale in (0.5, 1.5, 2.0, 0.75):
        CASES[f"Resize {mode} {where} {rounding} by {scale}"] = (
            "(float[1,2,H,W] x) => (float[1,2,C,D] y)",
            f"""scales = Constant<value = float[4] {{1.0, 1.0, {scale}, {scale}}}>()
  y = Resize{how}(x, , scales)""",
            [[x] for x, _ in IMAGES],
        )

# What is refused by name: inputs and outputs, body, words of the error.
REFUSED = {
    "a size in a body that is repeated": (
        "(float[N] x, int64 n) => (float[N] y)",
        """t = Constant<value = bool {1}>()
  y = Loop(n, t, x)<body = b(int64 i, bool c, float[M] v) => (bool d, float[M] w) {
    d = Identity(c) f = Greater(v, v) p = NonZero(f) s = Cast<to = 1>(p) r = ReduceSum<keepdims = 0>(s) w = Add(v, r) }>""",
        "in a body of Loop or Scan",
    ),
    "a threshold that is computed": (
        "(float[B,N,4] boxes, float[B,C,N] scores, float[1] t) => (int64[K,3] y)",
        "m = Constant<value = int64[1] {3}>()\n  y = NonMaxSuppression(boxes, scores, m, t)",
        "its input 3 is computed by the model",
    ),
    "a shape of unknown length": (
        "(float[N] x, int64[R] to) => (float[A] y)",
        "y = Reshape(x, to)",
        "to a shape of unknown length",
    ),
    "wide rows": (
        "(float[N,300] x) => (float[K,300] y)",
        "y = Unique<axis = 0>(x)",
        "of rows of 300 numbers",
    ),
}


def taken():
    """Refusals that do not come."""
    for name, (ports, body, words) in REFUSED.items():
        try:
            Model.from_bytes(model_of(18, ports, body).SerializeToString())
            said = "read"
        except Error as e:
            said = str(e)
        if words not in said:
            yield f"{name}: {said}"


if __name__ == "__main__":
    wrong = list(taken())
    print("\n".join([*wrong, f"{len(REFUSED)} refusals, {len(wrong)} do not come"]))
    sys.exit(compared((name, model_of(18, *case[:2]), case[2]) for name, case in CASES.items()) or bool(wrong))
