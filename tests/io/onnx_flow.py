"""Runs models with If, Loop, Scan and sequences, and what tf2onnx writes for loops, on libdl4 and on ONNX Runtime, and
prints what differs. Each model that is read is written and run again. Ends with 1 where one differs or is refused; with
77 without onnx and onnxruntime."""

import os
import pathlib
import sys
import tempfile
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
warnings.simplefilter("ignore")

try:
    import numpy as np
    import onnx
    import onnx.parser
    import onnxruntime
except ImportError:
    print("no onnx or onnxruntime: skipped")
    sys.exit(77)

from dl4.abi import Error
from dl4.core import Model, Tensor

from onnx_arrays import difference

rng = np.random.default_rng(1)


def floats(*shape):
    return rng.normal(size=shape).astype("float32")


def whole(v):
    return np.int64(v)


BRANCHES = """s = ReduceSum<keepdims = 0>(x)
  zero = Constant<value = float {0.0}>()
  c = Greater(s, zero)"""

# name: opset, inputs and outputs, body, lists of inputs to run with
CASES = {
    "if": (
        18,
        "(float[N,4] x) => (float[M,4] y)",
        BRANCHES
        + """
  y = If(c)<then_branch = t() => (float[N,4] a) { a = Mul(x, x) }, else_branch = e() => (float[N,4] b) { b = Neg(x) }>""",
        [[np.abs(floats(3, 4))], [-np.abs(floats(2, 4))]],
    ),
    "if in if, weights inside": (
        18,
        "(float[N,4] x, bool d) => (float[M,3] y)",
        BRANCHES
        + """
  y = If(c)<
    then_branch = t() => (float[N,3] a) {
      w = Constant<value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0]>()
      four = Constant<value_ints = [4, 3]>()
      m = Reshape(w, four)
      a = If(d)<then_branch = t2() => (float[N,3] p) { p = MatMul(x, m) },
                else_branch = e2() => (float[N,3] q) { n = Neg(x) q = MatMul(n, m) }>
    },
    else_branch = e() => (float[N,3] b) {
      begin = Constant<value_ints = [0]>()
      end = Constant<value_ints = [3]>()
      axis = Constant<value_ints = [1]>()
      b = Slice(x, begin, end, axis) }>""",
        [
            [np.abs(floats(3, 4)), np.bool_(True)],
            [np.abs(floats(3, 4)), np.bool_(False)],
            [-np.abs(floats(2, 4)), np.bool_(False)],
        ],
    ),
    "if of shapes that fit one branch": (
        18,
        "(float[N] x, bool c) => (float[A,B] y)",
        """four = Constant<value_ints = [2, 2]>()
  six = Constant<value_ints = [2, 3]>()
  y = If(c)<then_branch = t() => (float[2,2] a) { a = Reshape(x, four) },
            else_branch = e() => (float[2,3] b) { b = Reshape(x, six) }>""",
        [[floats(4), np.bool_(True)], [floats(6), np.bool_(False)]],
    ),
    "two nets by an input, pads of computed constants": (
        18,
        "(float[N,L] x, int64 rate) => (float[N,C,M] y)",
        """first = Constant<value = int64 {16000}>()
  c = Equal(rate, first)
  y = If(c)<
    then_branch = t() => (float[N,2,P] a) {
      ends = Constant<value_ints = [3, 2]>()
      rows = Constant<value_ints = [2]>()
      none = ConstantOfShape<value = int64[1] {0}>(rows)
      all = Concat<axis = 0>(none, ends)
      table = Constant<value_ints = [2, 2]>()
      square = Reshape(all, table)
      turned = Transpose<perm = [1, 0]>(square)
      flat = Constant<value_ints = [-1]>()
      list = Reshape(turned, flat)
      order = Constant<value_ints = [0, 1, 2, 3]>()
      pads = Gather(list, order)
      p = Pad<mode = "reflect">(x, pads)
      one = Constant<value_ints = [1]>()
      w1 = Unsqueeze(p, one)
      w = Constant<value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>()
      s = Constant<value_ints = [2, 1, 4]>()
      k = Reshape(w, s)
      a = Conv<strides = [2]>(w1, k)
    },
    else_branch = e() => (float[N,2,Q] b) {
      pads = Constant<value_ints = [0, 1, 0, 4]>()
      p = Pad<mode = "reflect">(x, pads)
      one = Constant<value_ints = [1]>()
      w1 = Unsqueeze(p, one)
      w = Constant<value_floats = [8.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 1.0]>()
      s = Constant<value_ints = [2, 1, 4]>()
      k = Reshape(w, s)
      b = Conv<strides = [2]>(w1, k) }>""",
        [[floats(2, 9), whole(16000)], [floats(2, 6), whole(8000)], [floats(1, 12), whole(16000)]],
    ),
    "loop of a number that is an input": (
        18,
        "(int64 n, float[N,4] x) => (float[N,4] y, int64 k)",
        """zero = Constant<value = int64 {0}>()
  y, k = Loop(n, , x, zero)<body = b(int64 i, bool go, float[N,4] s, int64 c)
      => (bool more, float[N,4] t, int64 d) {
    more = Identity(go)
    h = Constant<value = float {0.5}>()
    f = Cast<to = 1>(i)
    g = Mul(s, h)
    t = Add(g, f)
    d = Add(c, i) }>""",
        [[whole(n), floats(3, 4)] for n in (0, 1, 7)],
    ),
    "loop until": (
        18,
        "(float[N] x) => (float[N] y)",
        """go = Constant<value_int = 1>()
  on = Cast<to = 9>(go)
  y = Loop(, on, x)<body = b(int64 i, bool c, float[N] s) => (bool more, float[N] t) {
    two = Constant<value = float {2.0}>()
    end = Constant<value = float {100.0}>()
    t = Mul(s, two)
    m = ReduceMax<keepdims = 0>(t)
    more = Less(m, end) }>""",
        [[np.float32([1, 2, 3])], [np.float32([200])]],
    ),
    "loop that an input says does not begin": (
        18,
        "(bool c, float[N] x) => (float[N] y)",
        """n = Constant<value = int64 {3}>()
  y = Loop(n, c, x)<body = b(int64 i, bool go, float[N] s) => (bool more, float[N] t) {
    more = Identity(go)
    t = Add(s, s) }>""",
        [[np.bool_(c), floats(3)] for c in (False, True)],
    ),
    "loop over a free axis": (
        18,
        "(float[T,B,4] x, float[B,4] h) => (float[B,4] y, float[T,B,4] all, int64[T] places)",
        """s = Shape(x)
  zero = Constant<value = int64 {0}>()
  n = Gather(s, zero)
  y, all, places = Loop(n, , h)<body = b(int64 i, bool go, float[B,4] s) => (bool more, float[B,4] t, float[B,4] u, int64 p) {
    more = Identity(go)
    e = Gather(x, i)
    a = Add(s, e)
    t = Tanh(a)
    u = Mul(t, t)
    p = Add(i, i) }>""",
        [[floats(5, 2, 4), floats(2, 4)], [floats(1, 3, 4), floats(3, 4)]],
    ),
    "loop of many steps": (
        18,
        "(float[2] x) => (float[2] y, float[300,2] all)",
        """n = Constant<value = int64 {300}>()
  y, all = Loop(n, , x)<body = b(int64 i, bool go, float[2] s) => (bool more, float[2] t, float[2] u) {
    more = Identity(go)
    c = Constant<value = float {0.9}>()
    f = Cast<to = 1>(i)
    m = Mul(s, c)
    t = Add(m, f)
    u = Identity(t) }>""",
        [[floats(2)]],
    ),
    "loop in if in loop": (
        18,
        "(int64 n, float[2] x) => (float[2] y)",
        """y = Loop(n, , x)<body = b(int64 i, bool go, float[2] s) => (bool more, float[2] t) {
    more = Identity(go)
    two = Constant<value = int64 {2}>()
    odd = Mod(i, two)
    c = Cast<to = 9>(odd)
    t = If(c)<
      then_branch = tb() => (float[2] a) {
        a = Loop(i, , s)<body = b2(int64 j, bool go2, float[2] s2) => (bool more2, float[2] t2) {
          more2 = Identity(go2)
          t2 = Add(s2, x) }> },
      else_branch = eb() => (float[2] q) { q = Neg(s) }> }>""",
        [[whole(n), floats(2)] for n in (0, 1, 6)],
    ),
    "scan of other axes and directions": (
        18,
        "(float[2,3] h, float[2,T,3] x, float[T,2] z) => (float[2,3] y, float[2,T,3] all, float[T,2,3] back)",
        """y, all, back = Scan<num_scan_inputs = 2, scan_input_axes = [1, 0], scan_input_directions = [0, 1],
      scan_output_axes = [1, 0], scan_output_directions = [0, 1],
      body = b(float[2,3] s, float[2,3] e, float[2] f) => (float[2,3] t, float[2,3] u, float[2,3] v) {
    one = Constant<value_ints = [1]>()
    g = Unsqueeze(f, one)
    m = Mul(s, g)
    t = Add(m, e)
    u = Neg(t)
    v = Identity(e) }>(h, x, z)""",
        [[floats(2, 3), floats(2, 5, 3), floats(5, 2)], [floats(2, 3), floats(2, 1, 3), floats(1, 2)]],
    ),
    "scan without a state": (
        18,
        "(float[T,3] x) => (float[T] y)",
        """y = Scan<num_scan_inputs = 1, body = b(float[3] e) => (float f) { f = ReduceSum<keepdims = 0>(e) }>(x)""",
        [[floats(4, 3)]],
    ),
    "scan of integers": (
        18,
        "(int64 h, int64[T] x) => (int64 y, int64[T] all)",
        """y, all = Scan<num_scan_inputs = 1, body = b(int64 s, int64 e) => (int64 t, int64 u) {
    t = Add(s, e)
    u = Identity(t) }>(h, x)""",
        [[whole(3), np.arange(5, dtype="int64")]],
    ),
    "scan in scan": (
        18,
        "(float[3] h, float[T,U,3] x) => (float[3] y, float[T,U,3] all)",
        """y, all = Scan<num_scan_inputs = 1, body = b(float[3] s, float[U,3] e) => (float[3] t, float[U,3] u) {
    t, u = Scan<num_scan_inputs = 1, body = b2(float[3] s2, float[3] e2) => (float[3] t2, float[3] u2) {
      a = Add(s2, e2)
      t2 = Tanh(a)
      u2 = Mul(t2, s) }>(s, e) }>(h, x)""",
        [[floats(3), floats(2, 4, 3)]],
    ),
    "scan of opset 8": (
        8,
        "(float[2,3] h, float[2,4,3] x) => (float[2,3] y, float[2,4,3] all)",
        """y, all = Scan<num_scan_inputs = 1, directions = [1], body = b(float[3] s, float[3] e) => (float[3] t, float[3] u) {
    t = Add(s, e)
    u = Identity(t) }>(, h, x)""",
        [[floats(2, 3), floats(2, 4, 3)]],
    ),
    "sequences": (
        18,
        "(float[N,6] x) => (float[N,6] y, int64 n)",
        """parts = SplitToSequence<axis = 1, keepdims = 0>(x)
  two = Constant<value = int64 {2}>()
  third = SequenceAt(parts, two)
  less = SequenceErase(parts, two)
  last = SequenceInsert(less, third)
  halves = SequenceMap<body = b(float[N] p) => (float[N] q) {
    h = Constant<value = float {0.5}>()
    q = Mul(p, h) }>(last)
  n = SequenceLength(halves)
  y = ConcatFromSequence<axis = 1, new_axis = 1>(halves)""",
        [[floats(3, 6)]],
    ),
}


def of_tf2onnx():
    """What tf2onnx writes for layers that are loops in TensorFlow."""
    try:
        import tensorflow as tf
        import tf2onnx
        import tf_keras as k
    except ImportError:
        print("no tf2onnx: its models are skipped")
        return
    layers = {
        "tf2onnx GRU": ((6, 4), k.layers.GRU(5, reset_after=False)),
        "tf2onnx GRU of a free length": ((None, 4), k.layers.GRU(5, return_sequences=True, reset_after=False)),
        "tf2onnx RNN of a GRUCell": ((None, 4), k.layers.RNN(k.layers.GRUCell(5), return_sequences=True)),
        "tf2onnx LSTM": ((None, 4), k.layers.Bidirectional(k.layers.LSTM(5, return_sequences=True))),
        "tf2onnx ConvLSTM2D": ((5, 8, 8, 3), k.layers.ConvLSTM2D(4, 3, padding="same")),
        "tf2onnx ConvLSTM2D of a free length": ((None, 8, 8, 3), k.layers.ConvLSTM2D(4, 3, return_sequences=True)),
    }
    for name, (shape, layer) in layers.items():
        x = k.Input(shape)
        signature = (tf.TensorSpec((None, *shape), tf.float32, name="x"),)
        model, _ = tf2onnx.convert.from_keras(k.Model(x, layer(x)), input_signature=signature, opset=15)
        yield name, model, [[floats(b, *(n or 7 for n in shape))] for b in (1, 3)]


def of_silero():
    """The models in the wheel of silero-vad: DL4_SILERO is the folder of its data."""
    folder = os.environ.get("DL4_SILERO")
    for path in sorted(pathlib.Path(folder).glob("*.onnx")) if folder else ():
        model = onnx.load(path)
        runs = []
        for rate, size in ((16000, 576), (8000, 288)):
            given = {"input": 0.1 * floats(1, size), "state": floats(2, 1, 128), "sr": whole(rate)}
            names = [i.name for i in model.graph.input]
            if rate == 16000 or "sr" in names:
                runs.append([given[n] for n in names] if set(names) <= set(given) else None)
        if None not in runs:
            yield f"silero {path.name}", model, runs


def model_of(opset, ports, body):
    text = f'<ir_version: 8, opset_import: ["" : {opset}]>\ng {ports} {{\n  {body}\n}}'
    return onnx.parser.parse_model(text)


def models():
    for name, (opset, ports, body, runs) in CASES.items():
        yield name, model_of(opset, ports, body), runs
    yield from of_tf2onnx()
    yield from of_silero()


def differs(loaded, model, runs):
    peer = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    session = loaded.session()
    for given in runs:
        feed = dict(zip((i.name for i in model.graph.input), map(np.asarray, given)))
        wanted = peer.run(None, feed)
        got = session.run([Tensor.of(feed[n]) for n in loaded.names(0)])
        for one, want in zip((t.numpy() for t in got), wanted, strict=True):
            if said := difference(one, want, 1e-4, 1e-4, equal_nan=False):
                return said
    return None


def compared(models):
    wanted, wrong, count = sys.argv[1:], 0, 0
    for name, model, runs in models:
        if wanted and not any(w in name for w in wanted):
            continue
        count += 1
        said = None
        try:
            loaded = Model.from_bytes(model.SerializeToString())
            said = differs(loaded, model, runs)
        except Error as e:
            said = " ".join(str(e).split())
        if said:
            wrong += 1
            print(f"{name}: {said}")
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                loaded.save(os.path.join(folder, "again.onnx"))
                again = onnx.load(os.path.join(folder, "again.onnx"))
            onnx.checker.check_model(again, full_check=True)
            said = differs(loaded, again, runs)
        except Exception as e:  # noqa: BLE001
            said = " ".join(str(e).split())
        if said:
            wrong += 1
            print(f"{name}, written again: {said[:300]}")
    print(f"{count} models, {wrong} are wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(compared(models()))
