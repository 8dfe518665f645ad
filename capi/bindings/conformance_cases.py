"""The cases of conformance.json about tensors and networks."""
import numpy as np

from conformance import Net, case


# ---- Tensors ---------------------------------------------------------------------------------------------------------
@case
def dtypes(c):
    """tensors of every type of data"""
    for dtype, values in {"float32": [0, -1.5, 16777215, 0.125], "float64": [0.5, -1e300, 2.5e-300, 1],
                          "int32": [0, -2147483648, 2147483647, 7], "uint8": [0, 255, 1, 128],
                          "int64": [0, -9007199254740991, 9007199254740991, 5], "bool": [0, 1, 1, 0]}.items():
        c.expect(dtype, c.tensor(dtype, [values[:2], values[2:]], dtype), 0)


@case
def shapes(c):
    """tensors of rank 0, of rank 8 and without elements"""
    for to, shape, values in ("scalar", [], [2.5]), ("deep", [1, 2, 1, 1, 1, 1, 1, 1], [1, 2]), ("none", [0, 3], []):
        c("tensor", to=to, dtype="float32", shape=shape, values=values)
        c("expect", tensor=to, dtype="float32", shape=shape, values=values)


@case
def scalar_input(c):
    """a graph of rank 0, built without a name"""
    c("graph", to="g")
    c("input", graph="g", to="x", dtype="float32", shape=[])
    c("add", graph="g", kind="Rescaling", attrs={"scale": 2, "offset": 1}, to=["y"], **{"in": ["x"]})
    c("shape", graph="g", node="y", shape=[])
    c("build", graph="g", to="m", out=["y"], **{"in": ["x"]})
    c("session", model="m", to="s")
    c("tensor", to="one", dtype="float32", shape=[], values=[1.5])
    c("run", session="s", to=["out"], **{"in": ["one"]})
    c("expect", tensor="out", dtype="float32", shape=[], values=[4.0])


# ---- Networks --------------------------------------------------------------------------------------------------------
def dense_net(c, activation="softmax", units=3, context=None):
    net = Net(c, context)
    net.input("x", 4)
    net.add("Dense", ["x"], ["hidden"], {"units": 5, "activation": "relu"})
    net.add("Dense", ["hidden"], ["y"], {"units": units, "activation": activation})
    net.build(["x"], ["y"])
    net.draw("data", 8, 4)
    return net


@case
def dense(c):
    """Dense, of batches of 8 and 0"""
    net = dense_net(c)
    c("shape", graph="g", node="y", shape=[-1, 3])
    net.run("data")
    c.draw("nothing", 0, 4)
    c("run", session="s", to=["empty"], **{"in": ["nothing"]})
    c("expect", tensor="empty", dtype="float32", shape=[0, 3], values=[])


@case
def in_place(c):
    """a run that writes into a tensor of the caller's"""
    dense_net(c).run("data")
    c.tensor("mine", [[0.0] * 3] * 8)
    c("run", session="s", into=["mine"], **{"in": ["data"]})
    c("same", tensors=["mine", "out y"])


@case
def convolution(c):
    """Conv2D, BatchNormalization, MaxPooling2D, Flatten, Dense"""
    net = Net(c)
    net.input("x", 6, 6, 2)
    net.add("Conv2D", ["x"], ["conv"], {"filters": 3, "kernel_size": [3, 3], "padding": "same", "activation": "relu"})
    net.add("BatchNormalization", ["conv"], ["norm"])
    net.add("MaxPooling2D", ["norm"], ["pool"], {"pool_size": [2, 2]})
    net.add("DepthwiseConv2D", ["pool"], ["depthwise"], {"kernel_size": [2, 2], "strides": [1, 1]})
    net.add("Flatten", ["depthwise"], ["flat"])
    net.add("Dense", ["flat"], ["y"], {"units": 2})
    net.build(["x"], ["y"])
    net.draw("data", 2, 6, 6, 2)
    net.run("data", tolerance=5e-5)


@case
def lstm(c):
    """LSTM with its sequence and states"""
    net = Net(c)
    net.input("x", None, 3)
    net.add("LSTM", ["x"], ["sequence", "h", "c"], {"units": 4, "return_sequences": True, "return_state": True})
    net.build(["x"], ["sequence", "h", "c"])
    net.draw("data", 2, 5, 3)
    net.run("data")


@case
def gru_of_a_state(c):
    """GRU that starts from the states of another one"""
    net = Net(c)
    net.input("x", 4, 3)
    net.input("before", 4)
    net.add("GRU", ["x"], ["first", "state"], {"units": 4, "return_state": True}, nodes={"initial_state": ["before"]})
    net.add("GRU", ["x"], ["second"], {"units": 4}, nodes={"initial_state": ["state"]})
    net.build(["x", "before"], ["second"])
    net.draw("data", 2, 4, 3)
    net.draw("state data", 2, 4)
    net.run("data", "state data")


@case
def mask_of_embedding(c):
    """Embedding of int32 words whose mask an LSTM heeds"""
    net = Net(c)
    net.input("words", None, dtype="int32")
    net.add("Embedding", ["words"], ["embedded"], {"input_dim": 7, "output_dim": 3, "mask_zero": True})
    net.add("LSTM", ["embedded"], ["y"], {"units": 2})
    net.build(["words"], ["y"])
    net.data["data"] = c.tensor("data", [[1, 2, 3, 0, 0], [6, 0, 5, 4, 0]], "int32")
    net.run("data")


@case
def mask_as_an_argument(c):
    """a mask of bool given to a call"""
    net = Net(c)
    net.input("x", 4, 3)
    net.input("steps", 4, dtype="bool")
    net.add("SimpleRNN", ["x"], ["y"], {"units": 2}, nodes={"mask": ["steps"]})
    net.build(["x", "steps"], ["y"])
    net.draw("data", 2, 4, 3)
    net.data["mask data"] = c.tensor("mask data", [[1, 1, 0, 0], [1, 0, 1, 1]], "bool")
    net.run("data", "mask data")


@case
def attention(c):
    """Attention of a query over values"""
    net = Net(c)
    net.input("query", 3, 4)
    net.input("value", 5, 4)
    net.add("Attention", ["query", "value"], ["y"], {"use_scale": True})
    net.build(["query", "value"], ["y"])
    net.draw("q", 2, 3, 4)
    net.draw("v", 2, 5, 4)
    net.run("q", "v")


@case
def transformer(c):
    """MultiHeadAttention with a causal mask, Add, LayerNormalization"""
    net = Net(c)
    net.input("x", None, 6)
    net.add("MultiHeadAttention", ["x", "x"], ["heads"], {"num_heads": 2, "key_dim": 3}, {"use_causal_mask": True})
    net.add("Add", ["x", "heads"], ["sum"])
    net.add("LayerNormalization", ["sum"], ["y"])
    net.build(["x"], ["y"])
    net.draw("data", 2, 4, 6)
    net.run("data")


@case
def bidirectional(c):
    """Bidirectional of a layer in JSON, TimeDistributed"""
    lstm = {"module": "keras.layers", "class_name": "GRU", "config": {"units": 2, "return_sequences": True},
            "registered_name": None}
    dense = {"module": "keras.layers", "class_name": "Dense", "config": {"units": 2}, "registered_name": None}
    net = Net(c)
    net.input("x", 4, 3)
    net.add("Bidirectional", ["x"], ["both"], {"layer": lstm, "merge_mode": "sum"})
    net.add("TimeDistributed", ["both"], ["y"], {"layer": dense})
    net.build(["x"], ["y"])
    net.draw("data", 2, 4, 3)
    net.run("data")


@case
def two_and_two(c):
    """two inputs, two outputs, a layer called twice"""
    net = Net(c)
    net.input("a", 3)
    net.input("b", 3)
    net.layer("shared", "Dense", {"units": 4, "activation": "tanh"})
    net.call("shared", ["a"], ["of a"])
    net.call("shared", ["b"], ["of b"])
    net.add("Concatenate", ["of a", "of b"], ["joined"])
    net.add("Dense", ["joined"], ["p"], {"units": 2})
    net.add("Subtract", ["of a", "of b"], ["q"])
    net.build(["a", "b"], ["p", "q"])
    net.draw("data a", 3, 3)
    net.draw("data b", 3, 3)
    net.run("data a", "data b")


@case
def constant(c):
    """a constant in a graph, int64 numbers through it"""
    c("graph", to="g")
    c("input", graph="g", to="x", name="x", dtype="int64", shape=[-1, 2])
    c.tensor("fixed", [[10, 20]], "int64")
    c("constant", graph="g", to="k", name="k", tensor="fixed")
    c("add", graph="g", kind="Add", name="sum", to=["y"], **{"in": ["x", "k"]})
    c("build", graph="g", to="m", out=["y"], **{"in": ["x"]})
    c("session", model="m", to="s")
    c.tensor("data", [[1, 2], [-3, 2147483648]], "int64")
    c("run", session="s", to=["out"], **{"in": ["data"]})
    c("expect", tensor="out", dtype="int64", shape=[2, 2], values=[11, 22, 7, 2147483668], tolerance=0)


@case
def mask_as_a_node(c):
    """the mask that a node carries, as an output of bool"""
    c("graph", to="g")
    c("input", graph="g", to="x", name="x", dtype="float32", shape=[-1, 3, 1])
    c("add", graph="g", kind="Masking", name="masking", to=["y"], **{"in": ["x"]})
    c("mask", graph="g", node="y", to="mask")
    c("build", graph="g", to="m", out=["y", "mask"], **{"in": ["x"]})
    c("session", model="m", to="s")
    c.tensor("data", [[[1], [0], [2]]])
    c("run", session="s", to=["out", "steps"], **{"in": ["data"]})
    c.expect("steps", [[True, False, True]])


@case
def names(c):
    """names that are not ASCII, through save and load"""
    c("graph", to="g")
    c("input", graph="g", to="x", name="entrée", dtype="float32", shape=[-1, 2])
    c("add", graph="g", kind="Dense", name="Слой_層", attrs={"units": 1}, to=["y"], **{"in": ["x"]})
    c("build", graph="g", to="m", out=["y"], **{"in": ["x"]})
    c("save", model="m", path="модель é.safetensors")
    c("load", path="модель é.safetensors", to="again")
    c("weights", model="again", names=["Слой_層/kernel", "Слой_層/bias"])
    c("get_weight", model="m", name="Слой_層/kernel", to="a")
    c("get_weight", model="again", name="Слой_層/kernel", to="b")
    c("same", tensors=["a", "b"])
    c("describe", object="again", format="text", contains=["Слой_層", "entrée"])


@case
def onnx(c):
    """an ONNX file by its path, with the weights in a file beside it"""
    # Add of x and "w", whose four floats lie in w.bin, in bytes that are ASCII all: protobuf as onnx.helper makes it.
    port = "\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x04"
    weight = "\x08\x04\x10\x01\x42\x01w\x6a\x11\x0a\x08location\x12\x05w.bin\x70\x01"
    node = "\x0a\x01x\x0a\x01w\x12\x01y\x22\x03Add"
    graph = ""
    for field, message in (("\x0a", node), ("\x2a", weight), ("\x5a", f"\x0a\x01x{port}"), ("\x62", f"\x0a\x01y{port}")):
        graph += f"{field}{chr(len(message))}{message}"
    assert len(graph) < 128
    c("text", to="text", text=f"\x08\x08\x3a{chr(len(graph))}{graph}\x42\x02\x10\x11")
    c("write", path="beside.onnx", text="text")
    c("text", to="floats", text="@" * 16)
    c("write", path="w.bin", text="floats")
    c("load", path="beside.onnx", to="m")
    c("session", model="m", to="s")
    c.tensor("x", [1, 2, -3, 4])
    c("run", session="s", to=["y"], **{"in": ["x"]})
    c.expect("y", np.array([1, 2, -3, 4], "float32") + np.frombuffer(b"@" * 16, "float32"))
    c("load", path="beside.onnx", options={"external_data": False}, to="m2", error="UNSUPPORTED")


@case
def nested(c):
    """a model as a layer, which shares its weights"""
    net = dense_net(c)
    c("graph", to="outer")
    c("input", graph="outer", to="z", name="z", dtype="float32", shape=[-1, 4])
    c("add", graph="outer", kind="Functional", name="inner", models={"model": "m"}, to=["w"], **{"in": ["z"]})
    c("build", graph="outer", to="big", out=["w"], **{"in": ["z"]})
    c("weights", model="big", names=["inner/hidden/kernel", "inner/hidden/bias", "inner/y/kernel", "inner/y/bias"])
    net.run("data")
    c("session", model="big", to="big session")
    c("run", session="big session", to=["nested"], **{"in": ["data"]})
    c("same", tensors=["nested", "out y"])


@case
def gradients(c):
    """a session that gives gradients"""
    import tensorflow as tf
    net = dense_net(c, "tanh")
    c("session", model="m", options={"gradients": ["x", "hidden/kernel"]}, to="s")
    c("run", session="s", to=["out", "by x", "by kernel"], **{"in": ["data"]})
    x = tf.constant(net.data["data"])
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = tf.reduce_sum(net.model(x))
    by_x, by_kernel = tape.gradient(total, [x, net.model.weights[0].value])
    c.expect("by x", by_x.numpy())
    c.expect("by kernel", by_kernel.numpy())


@case
def description(c):
    """an architecture as JSON, and a model made of it"""
    net = dense_net(c)
    net.run("data")
    c("describe", object="m", format="json", to="architecture", contains=["\"hidden\"", "\"Dense\""])
    c("describe", object="m", format="dot", contains=["digraph"])
    c("describe", object="g", format="text", contains=["hidden"])
    c("graph", to="other")
    c("merge_json", graph="other", text="architecture")
    c("build", graph="other", to="copy", out=[], **{"in": []})
    for name in "hidden/kernel", "hidden/bias", "y/kernel", "y/bias":
        c("set_weight", model="copy", name=name, tensor=name)
    c("session", model="copy", to="copy session")
    c("run", session="copy session", to=["copied"], **{"in": ["data"]})
    c("same", tensors=["copied", "out y"])


@case
def clone(c):
    """a copy has weights of its own"""
    net = dense_net(c)
    c("clone", model="m", to="copy")
    c("get_weight", model="m", name="*", to="all")
    c("tensor", to="zeros", dtype="float32", shape=[5, 3], values=[0.0] * 15)
    c("set_weight", model="copy", name="y/kernel", tensor="zeros")
    net.weight("y/kernel")
    c("get_weight", model="copy", name="y/kernel", to="zero")
    c("same", tensors=["zeros", "zero"])


@case
def seeds(c):
    """contexts of one seed draw the same weights"""
    for n in "1", "2":
        c("context", options={"seed": 7, "threads": 1}, to="context" + n)
        c("graph", context="context" + n, to="g" + n)
        c("input", graph="g" + n, to="x" + n, name="x", dtype="float32", shape=[-1, 3])
        c("add", graph="g" + n, kind="Dense", name="d", attrs={"units": 2}, to=["y" + n], **{"in": ["x" + n]})
        c("build", graph="g" + n, to="m" + n, out=["y" + n], **{"in": ["x" + n]})
        c("get_weight", model="m" + n, name="d/kernel", to="w" + n)
    c("same", tensors=["w1", "w2"])


@case
def releases(c):
    """a session outlives its model, graph and context"""
    c("context", options={"threads": 1}, to="context")
    net = dense_net(c, context="context")
    net.run("data")
    for slot in "context", "g", "m":
        c("release", slot=slot)
    c("run", session="s", to=["later"], **{"in": ["data"]})
    c("same", tensors=["later", "out y"])
