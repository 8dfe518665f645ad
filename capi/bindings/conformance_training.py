"""The cases of conformance.json about losses, training and files."""
from conformance import Net, case
from conformance_cases import dense_net


# ---- Losses and metrics ----------------------------------------------------------------------------------------------
@case
def losses(c):
    """losses and metrics of two tensors"""
    import keras
    import numpy as np
    true, pred = c.draw("true", 4, 3), c.draw("pred", 4, 3)
    weights = c.tensor("weights", [1, 0, 2, 0.5])
    for kind, attrs in [("MeanSquaredError", None), ("MeanAbsoluteError", {"reduction": "none"}),
                        ("Huber", {"delta": 0.5}), ("CosineSimilarity", {"axis": -1}), ("LogCosh", None)]:
        loss = getattr(keras.losses, kind)(**(attrs or {}))
        c("measure", category="loss", kind=kind, attrs=attrs, true="true", pred="pred", to="loss")
        c.expect("loss", np.asarray(loss(true, pred)))
        c("measure", category="loss", kind=kind, attrs=attrs, true="true", pred="pred", weights="weights", to="loss")
        c.expect("loss", np.asarray(loss(true, pred, sample_weight=weights)))
    labels = c.tensor("labels", [0, 2, 1, 1], "int32")
    c("measure", category="metric", kind="SparseCategoricalAccuracy", true="labels", pred="pred", to="metric")
    c.expect("metric", np.asarray(keras.metrics.SparseCategoricalAccuracy()(labels, pred)))


# ---- Training --------------------------------------------------------------------------------------------------------
def classes(net, below=3):
    net.draw("labels", 8, 1, dtype="int32", below=below)
    return net


@case
def adam(c):
    """Adam, sparse cross-entropy and accuracy over five steps"""
    net = classes(dense_net(c))
    net.trainer(optimizer={"class_name": "Adam", "config": {"learning_rate": 0.05}},
                loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    c("describe", object="t", format="json", contains=["\"accuracy\""])
    for _ in range(5):
        net.step(["data"], ["labels"])
    net.weight("hidden/kernel")
    c("get", trainer="t", key="iterations", value=5)
    c("get", trainer="t", key="learning_rate", value=0.05)


@case
def optimizers(c):
    """SGD with momentum and clipping, then another trainer with RMSprop"""
    net = dense_net(c, None)
    net.draw("targets", 8, 3)
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True,
                                                           "clipnorm": 0.5}}, loss="mse", metrics=["mae"])
    for _ in range(3):
        net.step(["data"], ["targets"])
    c("release", slot="t")
    net.trainer(optimizer={"class_name": "RMSprop", "config": {"learning_rate": 0.01}}, loss="mse", metrics=["mse"])
    for _ in range(3):
        net.step(["data"], ["targets"])
    net.weight("y/kernel")


@case
def schedule(c):
    """a schedule, and a learning rate that is set"""
    net = dense_net(c, None)
    net.draw("targets", 8, 3)
    decay = {"module": "keras.optimizers.schedules", "class_name": "ExponentialDecay", "registered_name": None,
             "config": {"initial_learning_rate": 0.2, "decay_steps": 1, "decay_rate": 0.5}}
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": decay}}, loss="mse")
    for _ in range(3):
        net.step(["data"], ["targets"])
    c("release", slot="t")
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.1}}, loss="mse")
    net.step(["data"], ["targets"])
    c("set", trainer="t", key="learning_rate", value=0.01)
    net.model.optimizer.learning_rate = 0.01
    net.step(["data"], ["targets"])
    net.weight("hidden/kernel")


@case
def recurrent_training(c):
    """training of a masked LSTM"""
    net = Net(c)
    net.input("words", None, dtype="int32")
    net.add("Embedding", ["words"], ["embedded"], {"input_dim": 7, "output_dim": 3, "mask_zero": True})
    net.add("LSTM", ["embedded"], ["states"], {"units": 4, "return_sequences": True})
    net.add("Dense", ["states"], ["y"], {"units": 3, "activation": "softmax"})
    net.build(["words"], ["y"])
    net.data["data"] = c.tensor("data", [[1, 2, 3, 0, 0], [6, 1, 5, 4, 0], [2, 2, 0, 0, 0]], "int32")
    net.draw("labels", 3, 5, dtype="int32")
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.2}},
                loss="sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    for _ in range(4):
        net.step(["data"], ["labels"])


@case
def convolutional_training(c):
    """training of Conv2D and BatchNormalization"""
    net = Net(c)
    net.input("x", 5, 5, 1)
    net.add("Conv2D", ["x"], ["conv"], {"filters": 2, "kernel_size": [3, 3], "use_bias": False})
    net.add("BatchNormalization", ["conv"], ["norm"])
    net.add("Activation", ["norm"], ["relu"], {"activation": "relu"})
    net.add("GlobalAveragePooling2D", ["relu"], ["pool"])
    net.add("Dense", ["pool"], ["y"], {"units": 1, "activation": "sigmoid"})
    net.build(["x"], ["y"])
    net.draw("data", 8, 5, 5, 1)
    net.draw("labels", 8, 1, dtype="int32", below=2)
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.1}}, loss="binary_crossentropy")
    for _ in range(3):
        net.step(["data"], ["labels"])
    net.weight("norm/moving_mean")


@case
def outputs_training(c):
    """two losses with weights, penalties, sample weights of one output each"""
    net = Net(c)
    net.input("x", 4)
    net.add("Dense", ["x"], ["hidden"], {"units": 5, "activation": "tanh", "kernel_regularizer":
                                         {"class_name": "L2", "config": {"l2": 0.01}}})
    net.add("Dense", ["hidden"], ["a"], {"units": 2})
    net.add("Dense", ["hidden"], ["b"], {"units": 1, "activation": "sigmoid"})
    net.build(["x"], ["a", "b"])
    net.draw("data", 8, 4)
    net.draw("targets", 8, 2)
    net.draw("labels", 8, 1, dtype="int32", below=2)
    net.data["w a"] = c.tensor("w a", [1, 2, 0, 1, 1, 0.5, 1, 1])
    net.data["w b"] = c.tensor("w b", [1, 1, 1, 3, 0, 1, 2, 1])
    net.trainer(optimizer="adam", loss=["mse", "binary_crossentropy"], loss_weights=[0.5, 2.0])
    net.step(["data"], ["targets", "labels"])
    net.step(["data"], ["targets", "labels"], ["w a", "w b"])


@case
def frozen(c):
    """a frozen layer stays as it is"""
    net = dense_net(c, None)
    net.draw("targets", 8, 3)
    net.model.get_layer("hidden").trainable = False
    c("set_trainable", model="m", name="hidden", value=0)
    net.trainer(optimizer="sgd", loss="mse")
    net.step(["data"], ["targets"])
    net.step(["data"], ["targets"])
    c("get_weight", model="m", name="hidden/kernel", to="kept")
    c("same", tensors=["kept", "hidden/kernel"])
    net.weight("y/kernel")


@case
def accumulation(c):
    """two halves accumulated are one step"""
    net = dense_net(c, None)
    net.draw("targets", 8, 3)
    for name in "data", "targets":
        for half in 0, 1:
            c.tensor(f"{name} {half}", net.data[name][4 * half:4 * half + 4])
    net.trainer(optimizer={"class_name": "SGD", "config": {"learning_rate": 0.1}}, loss="mse")
    for half in "0", "1":
        c("accumulate", trainer="t", x=["data " + half], y=["targets " + half])
    c("gradient", trainer="t", weight="y/bias", to="mean")
    before = net.model.get_layer("y").bias.numpy()
    c("apply", trainer="t")
    net.model.train_on_batch(net.data["data"], net.data["targets"])
    c.expect("mean", ((before - net.model.get_layer("y").bias.numpy()) / 0.1).astype("float32"), 1e-4)
    net.weight("hidden/kernel")


def fitted(c, **options):
    """A net with datasets `train` and `valid` of batches of 4, and a trainer."""
    net = classes(dense_net(c))
    net.trainer(**{"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.2}},
                   "loss": "sparse_categorical_crossentropy", "metrics": ["accuracy"], **options})
    net.draw("valid data", 4, 4)
    net.draw("valid labels", 4, 1, dtype="int32")
    for to, x, y in ("train", "data", "labels"), ("valid", "valid data", "valid labels"):
        c("dataset", x=[x], y=[y], options={"batch_size": 4, "shuffle": False}, to=to)
    return net


@case
def fit(c):
    """fit with validation, evaluate, predict"""
    net = fitted(c)
    net.fit("train", ["data"], ["labels"], "valid", {"epochs": 3},
            validation_data=(net.data["valid data"], net.data["valid labels"]))
    net.evaluate("train", ["data"], ["labels"])
    c("session", model="m", to="s")
    c("predict", session="s", dataset="train", to=["all"])
    c.expect("all", net.model.predict(net.data["data"], verbose=0))
    c("get", trainer="t", key="epoch", value=3)


@case
def fit_of_parts(c):
    """fit with validation_split and class weights, then on from epoch 2"""
    net = fitted(c)
    options = {"epochs": 2, "validation_split": 0.5, "class_weight": [1, 2, 0.5]}
    net.fit("train", ["data"], ["labels"], None, options, class_weight=dict(enumerate([1, 2, 0.5])))
    net.fit("train", ["data"], ["labels"], None, {"epochs": 3, "initial_epoch": 2})


@case
def early_stopping(c):
    """fit with EarlyStopping"""
    import keras
    net = fitted(c)
    stop = {"monitor": "loss", "patience": 0, "min_delta": 0.05}
    net.fit("train", ["data"], ["labels"], None, {"epochs": 9, "callbacks": [{"class_name": "EarlyStopping",
                                                                             "config": stop}]},
            callbacks=[keras.callbacks.EarlyStopping(**stop)])


@case
def sequence(c):
    """fit on batches that a callback gives"""
    net = fitted(c)
    batches = []
    for i in 0, 1:
        c.tensor(f"x{i}", net.data["data"][4 * i:4 * i + 4])
        c.tensor(f"y{i}", net.data["labels"][4 * i:4 * i + 4], "int32")
        batches.append({"x": [f"x{i}"], "y": [f"y{i}"]})
    c("batches", batches=batches, to="flow")
    net.fit("flow", ["data"], ["labels"], None, {"epochs": 2})
    net.evaluate("flow", ["data"], ["labels"])


@case
def stop(c):
    """a progress callback that stops a fit after one epoch"""
    net = fitted(c)
    history = net.model.fit(net.data["data"], net.data["labels"], verbose=0, shuffle=False, batch_size=4).history
    c("fit", trainer="t", train="train", options={"epochs": 5}, at={"event": 3, "step": 1, "stop": True},
      history=history)


@case
def cancelled(c):
    """a cancelled fit goes on where it stood"""
    net = fitted(c)
    c("cancel", to="flag")
    c("fit", trainer="t", train="train", options={"epochs": 2}, cancel="flag",
      at={"event": 2, "step": 1, "trigger": "flag"}, error="CANCELLED")
    c("get", trainer="t", key="iterations", value=1)
    net.fit("train", ["data"], ["labels"], None, {"epochs": 2, "resume": True})


@case
def second_fit(c):
    """a second fit after a failed one"""
    net = fitted(c)
    c.draw("odd", 4, 7)
    c("tensor", to="odd labels", dtype="int32", shape=[4, 1], values=[0, 1, 2, 0])
    c("dataset", x=["odd"], y=["odd labels"], options={"batch_size": 4}, to="wrong")
    c("fit", trainer="t", train="wrong", options={"epochs": 1}, error="SHAPE_MISMATCH")
    net.fit("train", ["data"], ["labels"], None, {"epochs": 2})


@case
def not_a_number(c):
    """a step that meets infinity leaves the weights alone"""
    net = dense_net(c, None)
    net.draw("targets", 8, 3)
    net.trainer(optimizer="sgd", loss="mse")
    c.tensor("huge", [[3e38] * 4] * 8)
    c("step", trainer="t", x=["huge"], y=["targets"], error="NUMERIC")
    net.step(["data"], ["targets"])


# ---- Files -----------------------------------------------------------------------------------------------------------
@case
def files(c):
    """save and load, by path and in memory"""
    net = dense_net(c)
    net.run("data")
    c("save", model="m", path="model.safetensors")
    c("load", path="model.safetensors", to="one")
    c("save", model="m", to="bytes")
    c("load", bytes="bytes", to="two")
    for model in "one", "two":
        c("session", model=model, to="s")
        c("run", session="s", to=["again"], **{"in": ["data"]})
        c("same", tensors=["again", "out y"])


@case
def checkpoints(c):
    """a checkpoint brings training back, bit for bit"""
    net = classes(dense_net(c))
    net.trainer(optimizer="adam", loss="sparse_categorical_crossentropy")
    net.step(["data"], ["labels"])
    c("save", trainer="t", path="checkpoint.safetensors")
    c("save", trainer="t", to="bytes")
    c("step", trainer="t", x=["data"], y=["labels"])
    c("get_weight", model="m", name="*", to="there")
    for source in {"path": "checkpoint.safetensors"}, {"bytes": "bytes"}:
        c("load", trainer="t", **source)
        c("get", trainer="t", key="iterations", value=1)
        c("step", trainer="t", x=["data"], y=["labels"])
        c("get_weight", model="m", name="*", to="here")
        c("same", tensors=["there", "here"])
