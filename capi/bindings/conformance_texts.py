"""The cases of conformance.json about strings, and about layers that learn from data before training."""
from conformance import Net, case, fails

TEXTS = [["good, GOOD film"], ["a bad film"], ["Bad bad"], ["good"], ["a film"]]


@case
def strings(c):
    """tensors of strings, of rank 0 and 2 and without elements"""
    for to, values in ("scalar", "é"), ("rows", [["a", ""], ["bc", "日本語 😀"], [" ", "\n"]]), ("none", [[], []]):
        c.expect(to, c.tensor(to, values, "string"))
    c.tensor("again", [["a", ""], ["bc", "日本語 😀"], [" ", "\n"]], "string")
    c("same", tensors=["rows", "again"])


@case
def words(c):
    """words as numbers, and numbers as words"""
    net = Net(c)
    net.input("x", 2, dtype="string")
    vocabulary = ["red", "grün", "blue"]
    net.add("StringLookup", ["x"], ["ids"], {"vocabulary": vocabulary, "num_oov_indices": 1})
    net.add("StringLookup", ["ids"], ["back"], {"vocabulary": vocabulary, "invert": True})
    net.add("Hashing", ["x"], ["hash"], {"num_bins": 7, "salt": 3})
    net.build(["x"], ["ids", "back", "hash"])
    net.data["data"] = c.tensor("data", [["red", "blue"], ["", "grün"], ["RED", "日本語"]], "string")
    net.run("data")


def text_net(c):
    """From a text to an answer, with what a layer has learned."""
    net = Net(c)
    net.data["texts"] = c.tensor("texts", TEXTS, "string")
    net.input("x", 1, dtype="string")
    net.adapt("TextVectorization", "texts", ["x"], ["ids"], {"max_tokens": 5, "output_sequence_length": 4})
    net.add("Embedding", ["ids"], ["words"], {"input_dim": 5, "output_dim": 3})
    net.add("GlobalAveragePooling1D", ["words"], ["mean"])
    net.add("Dense", ["mean"], ["y"], {"units": 1, "activation": "sigmoid"})
    net.build(["x"], ["y"])
    return net


@case
def text(c):
    """a text to an answer: TextVectorization that adapts, Embedding, Dense; saved and loaded"""
    net = text_net(c)
    net.run("texts")
    c("save", model="m", to="file")
    c("load", bytes="file", to="n")
    c("session", model="n", to="s")
    c("run", session="s", to=["again"], **{"in": ["texts"]})
    c("same", tensors=["again", "out y"])


@case
def text_trained(c):
    """training on strings"""
    net = text_net(c)
    net.data["answers"] = c.tensor("answers", [[1], [0], [0], [1], [1]])
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.5}}, loss="binary_crossentropy")
    net.step(["texts"], ["answers"])
    c("dataset", to="d", x=["texts"], y=["answers"], options={"batch_size": 4, "shuffle": False})
    net.fit("d", ["texts"], ["answers"], options={"epochs": 2})
    net.evaluate("d", ["texts"], ["answers"])


@case
def table(c):
    """a table: Normalization, Discretization and IntegerLookup that adapt"""
    net = Net(c)
    net.data["lengths"] = c.tensor("lengths", [[1, 10], [2, 30], [4, 20], [8, 60]])
    net.data["codes"] = c.tensor("codes", [[7], [3], [7], [7]], "int64")
    net.input("length", 2)
    net.input("code", 1, dtype="int64")
    net.adapt("Normalization", "lengths", ["length"], ["normal"])
    net.adapt("Discretization", "lengths", ["length"], ["bins"], {"num_bins": 3})
    net.adapt("IntegerLookup", "codes", ["code"], ["one_hot"], {"output_mode": "multi_hot"})
    net.build(["length", "code"], ["normal", "bins", "one_hot"])
    net.run("lengths", "codes")


@case
def refused(c):
    """refused: strings, and what cannot learn"""
    c.tensor("words", [["a"], ["b"]], "string")
    c.tensor("numbers", [[1], [2]])
    c("dataset", to="d", x=["words"], options={"batch_size": 2})
    c("dataset", to="of numbers", x=["numbers"], options={"batch_size": 2})
    c("adapt", to="l", kind="StringLookup", dataset="of numbers", error="SHAPE_MISMATCH")
    c("adapt", to="l", kind="Normalization", dataset="d", error="SHAPE_MISMATCH")
    c("adapt", to="l", kind="Dense", attrs={"units": 1}, dataset="d", error="UNSUPPORTED")
    c("adapt", to="l", kind="StringLockup", dataset="d", error=fails("UNKNOWN_KIND", did_you_mean="StringLookup"))
    c("adapt", to="l", kind="StringLookup", attrs={"max_token": 3}, dataset="d",
      error=fails("INVALID_ARGUMENT", attribute="max_token"))
    c("cancel", to="stop")
    c("trigger", cancel="stop")
    c("adapt", to="l", kind="StringLookup", dataset="d", cancel="stop", error="CANCELLED")
    c("graph", to="g")
    c("input", graph="g", to="x", name="x", dtype="string", shape=[-1, 1])
    c("add", graph="g", kind="Dense", name="dense", attrs={"units": 1}, to=["y"], **{"in": ["x"]},
      error=fails("INVALID_ARGUMENT", layer="dense"))
    c("add", graph="g", kind="StringLookup", name="lookup", attrs={"vocabulary": ["a", "a"]}, to=["y"],
      **{"in": ["x"]}, error=fails("INVALID_ARGUMENT", layer="lookup", attribute="vocabulary"))
    c("add", graph="g", kind="StringLookup", name="lookup", attrs={"vocabulary": ["a"]}, to=["y"], **{"in": ["x"]})
    c("build", graph="g", to="m", out=["y"], **{"in": ["x"]})
    c("session", model="m", to="s")
    c("run", session="s", to=["o"], **{"in": ["numbers"]}, error="SHAPE_MISMATCH")
    c("run", session="s", to=["o"], **{"in": ["words"]})
    c("expect", tensor="o", dtype="int64", shape=[2, 1], values=[1, 0])
