"""The cases of conformance.json that must fail, and how."""
import json

from conformance import case, fails
from conformance_cases import dense_net
from conformance_training import fitted


def graph(c, shape=(-1, 4), dtype="float32"):
    c("graph", to="g")
    c("input", graph="g", to="x", name="x", dtype=dtype, shape=list(shape))


@case
def attributes(c):
    """refused: attributes"""
    graph(c)
    for kind, attrs, attribute in [
            ("Dense", {}, "units"), ("Dense", {"units": -1}, "units"), ("Dense", {"units": "many"}, "units"),
            ("Dense", {"units": 1.5}, "units"), ("Dense", {"units": 1, "unit": 2}, "unit"),
            ("Dropout", {"rate": 2}, "rate"),
            ("Conv2D", {"filters": 1, "kernel_size": [3, 3], "padding": "some"}, "padding")]:
        c("layer", graph="g", to="l", kind=kind, name="here", attrs=attrs,
          error=fails("INVALID_ARGUMENT", layer="here", attribute=attribute))
    c("layer", graph="g", to="l", kind="Dense", name="here", attrs={"units": 1, "activation": "rely"},
      error=fails("UNKNOWN_KIND", layer="here", attribute="activation", did_you_mean="relu"))


@case
def kinds(c):
    """refused: kinds that there are not"""
    graph(c)
    c("layer", graph="g", to="l", kind="Dens", error=fails("UNKNOWN_KIND", did_you_mean="Dense"))
    c("registry", category="layer", name="Dens", error="UNKNOWN_KIND")
    c("registry", category="layers", name="Dense", error="NOT_FOUND")
    c("registry", category="layer", name="Dense", attributes=["units", "activation", "use_bias"])
    c("registry", category="optimizer", name="Adam", attributes=["learning_rate", "beta_1"])
    c.draw("t", 2, 3)
    c("measure", category="loss", kind="Hubert", true="t", pred="t", to="o", error="UNKNOWN_KIND")


@case
def null_attributes(c):
    """null for every attribute of every layer"""
    conv = {"filters": 2, "kernel_size": 2}
    size = {"units": 2}
    entry = {"class_name": "Input", "name": "x", "config": {"shape": [None, 2], "dtype": "float32"}}
    model = {"format": 1, "layers": [entry], "inputs": [["x", 0, 0]], "outputs": [["x", 0, 0]]}
    c("null_attributes", attrs={
        **{k: size for k in ("Dense", "LSTM", "GRU", "SimpleRNN", "LSTMCell", "GRUCell", "SimpleRNNCell",
                             "GraphAttention")},
        **{f"Conv{n}D{t}": conv for n in (1, 2, 3) for t in ("", "Transpose")},
        **{k: conv for k in ("SeparableConv1D", "SeparableConv2D", "ConvLSTM1D", "ConvLSTM2D")},
        **{f"{k}{n}D": {"kernel_size": 2} for k, n in [("DepthwiseConv", 1), ("DepthwiseConv", 2)]},
        **{f"AveragePooling{n}D": {"pool_size": 2} for n in (1, 2, 3)},
        **{f"Adaptive{k}Pooling{n}D": {"output_size": 2} for k in ("Max", "Average") for n in (1, 2, 3)},
        **{k: {"rate": 0.5} for k in ("Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D",
                                      "GaussianDropout", "AlphaDropout")},
        **{k: {"layer": {"class_name": "LSTM", "config": size}} for k in ("Bidirectional", "TimeDistributed")},
        **{k: {"input_dim": 3, "output_dim": 2} for k in ("Embedding", "ReversibleEmbedding")},
        "Activation": {"activation": "relu"}, "Reshape": {"target_shape": [2]}, "Permute": {"dims": [1]},
        "RepeatVector": {"n": 2}, "Rescaling": {"scale": 2}, "GaussianNoise": {"stddev": 1},
        "EinsumDense": {"equation": "ab,bc->ac", "output_shape": 2}, "RNN": {"cell": {"class_name": "LSTMCell",
                                                                                    "config": size}},
        "StackedRNNCells": {"cells": [{"class_name": "LSTMCell", "config": size}]},
        "MultiHeadAttention": {"num_heads": 2, "key_dim": 2},
        "GroupQueryAttention": {"head_dim": 2, "num_query_heads": 2, "num_key_value_heads": 1},
        "LocalAttention": {"window": 2}, "GraphNetwork": {"edge_units": 2, "node_units": 2}, "Dot": {"axes": 1},
        "Clip": {"x_min": 0, "x_max": 1}, "Argmax": {"axis": 1}, "Slice": {"start_indices": [0], "shape": [1]},
        "Repeat": {"repeats": 2, "axis": 1}, "ExpandDims": {"axis": 1}, "Loss": {"loss": "mse"},
        "Metric": {"metric": "mae"}, "Functional": {"model": model}})


@case
def shapes(c):
    """refused: shapes and types of data"""
    graph(c)
    c("add", graph="g", kind="Conv2D", name="conv", attrs={"filters": 1, "kernel_size": 3}, to=["y"], **{"in": ["x"]},
      error=fails("SHAPE_MISMATCH", layer="conv"))
    c("add", graph="g", kind="Dense", name="dense", attrs={"units": 2}, to=["y"], **{"in": ["x"]})
    c("build", graph="g", to="m", out=["y"], **{"in": ["x"]})
    c("session", model="m", to="s")
    c.draw("narrow", 2, 3)
    c("run", session="s", to=["out"], **{"in": ["narrow"]}, error="SHAPE_MISMATCH")
    c.tensor("doubles", [[1.0] * 4], "float64")
    c("run", session="s", to=["out"], **{"in": ["doubles"]}, error="SHAPE_MISMATCH")
    c.draw("data", 2, 4)
    c("run", session="s", to=["out"], **{"in": ["data", "data"]}, error="INVALID_ARGUMENT")
    c("run", session="s", into=["narrow"], **{"in": ["data"]}, error="SHAPE_MISMATCH")
    c("run", session="s", to=["out"], **{"in": ["data"]})
    c("set_weight", model="m", name="dense/bias", tensor="narrow", error="SHAPE_MISMATCH")
    c("dataset", x=["data"], y=["doubles"], to="d", error="SHAPE_MISMATCH")


@case
def tensors(c):
    """refused: tensors of types and shapes that there are not"""
    c("tensor", to="t", dtype="float16", shape=[1], values=[1.0], error="UNSUPPORTED")
    c("graph", to="g")
    c("input", graph="g", to="x", dtype="float64", shape=[-1, 2], error="UNSUPPORTED")
    c("input", graph="g", to="x", dtype="float32", shape=[1] * 9, error="INVALID_ARGUMENT")
    c("input", graph="g", to="x", dtype="float32", shape=[-2], error="INVALID_ARGUMENT")


@case
def weights(c):
    """refused: weights and keys that there are not"""
    net = dense_net(c)
    c("get_weight", model="m", name="hidden/kernels", to="w", error="NOT_FOUND")
    c("set_weight", model="m", name="hiden/kernel", tensor="y/bias", error="NOT_FOUND")
    c("set_trainable", model="m", name="hiden", value=0, error="NOT_FOUND")
    c("session", model="m", options={"gradients": ["z"]}, to="s", error="NOT_FOUND")
    c("session", model="m", options={"fast": True}, to="s", error=fails("INVALID_ARGUMENT", attribute="fast"))
    net.trainer(optimizer="sgd", loss="mse")
    c("get", trainer="t", key="speed", error="NOT_FOUND")
    c("set", trainer="t", key="learning_rate", value=-1, error="INVALID_ARGUMENT")


@case
def training(c):
    """refused: training"""
    net = fitted(c)
    c("trainer", model="m", options={"optimizer": "sgd", "loss": "mse"}, to="second", error="BUSY")
    c("get_weight", model="m", name="y/bias", to="w")
    c("step", trainer="t", x=["data"], y=[], error="INVALID_ARGUMENT")
    c("apply", trainer="t", error="INVALID_ARGUMENT")
    c("fit", trainer="t", train="train", options={"epoch": 2}, error=fails("INVALID_ARGUMENT", attribute="epoch"))
    c("fit", trainer="t", train="train", options={"callbacks": ["EarlyStoping"]}, error="UNKNOWN_KIND")
    c("release", slot="t")
    for options, error in [({"loss": "mse"}, fails("INVALID_ARGUMENT", attribute="optimizer")),
                           ({"optimizer": "Adamm", "loss": "mse"}, fails("UNKNOWN_KIND", did_you_mean="Adam")),
                           ({"optimizer": {"class_name": "Adam", "config": {"learning_rate": -1}}, "loss": "mse"},
                            fails("INVALID_ARGUMENT", attribute="learning_rate")),
                           ({"optimizer": "sgd", "loss": "msee"}, "UNKNOWN_KIND")]:
        c("trainer", model="m", options=options, to="t", error=error)
    net.trainer(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    net.step(["data"], ["labels"])


@case
def cancelled(c):
    """refused: what a triggered flag stops"""
    fitted(c)
    c("cancel", to="flag")
    c("trigger", cancel="flag")
    c("fit", trainer="t", train="train", options={}, cancel="flag", error="CANCELLED")
    c("evaluate", trainer="t", dataset="train", cancel="flag", error="CANCELLED")
    c("session", model="m", to="s")
    c("run", session="s", to=["out"], **{"in": ["data"]}, cancel="flag", error="CANCELLED")
    c("predict", session="s", dataset="train", to=["out"], cancel="flag", error="CANCELLED")
    c("run", session="s", to=["out"], **{"in": ["data"]})


@case
def files(c):
    """refused: files"""
    dense_net(c)
    c("load", path="no such file", to="m2", error="NOT_FOUND")
    c("save", model="m", path="no such folder/model.safetensors", error="IO")
    c("save", model="m", path="model.tflite", error="UNSUPPORTED")
    c("load", path=".", to="m2", error="IO")
    c("text", to="text", text="this is not a model")
    c("write", path="text.safetensors", text="text")
    c("load", path="text.safetensors", to="m2", error="CORRUPT_FILE")
    c("save", model="m", to="bytes")
    for size in 0, 7, 100, 700:
        c("cut", bytes="bytes", size=size, to="part")
        c("load", bytes="part", to="m2", error="CORRUPT_FILE")
    c("load", bytes="bytes", to="m2")
    c("save", model="m", path="model.safetensors")
    c("load", path="model.safetensors", options={"verify": False, "check": 1}, to="m2",
      error=fails("INVALID_ARGUMENT", attribute="check"))


@case
def architectures(c):
    """refused: JSON"""
    c("graph", to="g")
    c("text", to="text", text="{")
    c("merge_json", graph="g", text="text", error="INVALID_ARGUMENT")
    newer = {"format": 2, "layers": [], "inputs": [], "outputs": []}
    c("text", to="newer", text=json.dumps(newer))
    c("merge_json", graph="g", text="newer", error="VERSION")
    c("add", graph="g", kind="Add", to=["y"], **{"in": []}, error="INVALID_ARGUMENT")
    c("build", graph="g", to="m", out=[], **{"in": []}, error="INVALID_ARGUMENT")
    c("context", options={"threads": 0}, to="c", error=fails("INVALID_ARGUMENT", attribute="threads"))
    c("context", options={"seed_scheme": "other"}, to="c", error=fails("INVALID_ARGUMENT", attribute="seed_scheme"))
    c("describe", object="g", format="dot", contains=["digraph"])
    c.draw("t", 1)
    c("describe", object="t", format="dot", error="UNSUPPORTED")


@case
def memory(c):
    """refused: more memory than the context's limit"""
    c("context", options={"memory_limit": 1000000}, to="small")
    c("graph", context="small", to="g")
    c("input", graph="g", to="x", name="x", dtype="float32", shape=[-1, 1000])
    c("add", graph="g", kind="Dense", name="big", attrs={"units": 1000}, to=["y"], **{"in": ["x"]})
    c("build", graph="g", to="m", out=["y"], **{"in": ["x"]}, error="OUT_OF_MEMORY")
