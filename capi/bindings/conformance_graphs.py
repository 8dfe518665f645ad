"""The cases of conformance.json about graphs that differentiate and assign. Expected numbers are those of Keras on
TensorFlow, differentiated by GradientTape."""
from conformance import case, fails


class Program:
    """A graph of one training step, in short words. Models are layers of it, and are in Keras too."""

    def __init__(self, c):
        self.c, self.models, self.made = c, {}, 0
        c("graph", to="g")

    def model(self, to, features, *dense):
        """Dense layers one after another, (name, attributes) each: a model, and Keras's of the same weights."""
        import keras
        c, inside, last = self.c, to + " graph", "x of " + to
        c("graph", to=inside)
        c("input", graph=inside, to=last, name="x", dtype="float32", shape=[-1, features])
        model = self.models[to] = keras.Sequential([keras.Input((features,))])
        for name, attrs in dense:
            c("add", graph=inside, kind="Dense", name=name, attrs=attrs, to=[name], **{"in": [last]})
            model.add(keras.layers.Dense.from_config({**attrs, "name": name}))
            last = name
        c("build", graph=inside, to=to, out=[last], **{"in": ["x of " + to]})
        for weight in model.weights:
            weight.assign(c.tensor("first", c.random.normal(size=weight.shape).round(2) / 2))
            c("set_weight", model=to, name=self.name(weight), tensor="first")
        c("layer", graph="g", to="layer " + to, kind="Functional", name=to, models={"model": to})
        return model

    @staticmethod
    def name(weight):
        return "/".join(weight.path.split("/")[-2:])

    def input(self, to, array):
        """An input, its tensor `to` + " data", and the array for Keras."""
        self.c("input", graph="g", to=to, name=to, dtype="float32", shape=list(array.shape))
        return self.c.tensor(to + " data", array)

    def constant(self, to, array):
        self.c.tensor(to + " data", array)
        self.c("constant", graph="g", to=to, name=to, tensor=to + " data")

    def call(self, model, x, to):
        self.c("call", graph="g", layer="layer " + model, to=[to], **{"in": [x]})
        return to

    def add(self, kind, *ins, **attrs):
        self.made += 1
        to = f"{kind} {self.made}"
        self.c("add", graph="g", kind=kind, attrs=attrs or None, to=[to], **{"in": list(ins)})
        return to

    def weights(self, model):
        """The values that the model's weights have here."""
        self.made += 1
        names = [self.name(w) for w in self.models[model].weights]
        slots = [f"{model}/{name} {self.made}" for name in names]
        for name, slot in zip(names, slots):
            self.c("weight", graph="g", name=f"{model}/{name}", to=slot)
        return slots

    def optimize(self, to, optimizer, weights, loss):
        by = [f"{to} by {w}" for w in weights]
        self.c("gradients", graph="g", of=[loss], by=weights, to=by)
        self.c("update", graph="g", name=to, attrs={"optimizer": optimizer}, of=weights, by=by, to=to)
        return to

    def run(self, inputs, outputs, others, step, steps=3):
        """Builds the outputs after others and compares `steps` runs, then the weights, with step() of Keras."""
        c, ins = self.c, [n + " data" for n in inputs]
        c("after", graph="g", node=outputs[0], to="first output", **{"in": others})
        outputs = ["first output", *outputs[1:]]
        c("build", graph="g", to="step", out=outputs, **{"in": inputs})
        c("session", model="step", to="s")
        for _ in range(steps):
            c("run", session="s", to=["out " + n for n in outputs], **{"in": ins})
            for name, value in zip(outputs, step()):
                c.expect("out " + name, value.numpy())
        for to, model in self.models.items():
            for weight in model.weights:
                c("get_weight", model=to, name=self.name(weight), to="now")
                c.expect("now", weight.numpy())


def adam(rate):
    return {"class_name": "Adam", "config": {"learning_rate": rate}}


@case
def gan(c):
    """a step of two models and two optimizers: GAN"""
    import keras
    import numpy as np
    import tensorflow as tf
    p = Program(c)
    maker = p.model("maker", 2, ("h", {"units": 4, "activation": "relu"}), ("y", {"units": 3}))
    judge = p.model("judge", 3, ("h", {"units": 4, "activation": "tanh"}), ("y", {"units": 1}))
    real, noise = (p.input(n, c.random.normal(size=s).round(2)) for n, s in (("real", (4, 3)), ("noise", (4, 2))))
    p.constant("ones", np.ones((4, 1)))
    p.constant("zeros", np.zeros((4, 1)))
    loss = {"class_name": "BinaryCrossentropy", "config": {"from_logits": True}}
    fake = p.call("maker", "noise", "fake")
    of_real, of_fake = p.call("judge", "real", "of real"), p.call("judge", fake, "of fake")
    judged = p.add("Add", p.add("Loss", "ones", of_real, loss=loss), p.add("Loss", "zeros", of_fake, loss=loss))
    done = [p.optimize("judge_optimizer", adam(0.05), p.weights("judge"), judged)]
    made = p.add("Loss", "ones", p.call("judge", fake, "of fake again"), loss=loss)  # by the judge's new weights
    done.append(p.optimize("maker_optimizer", adam(0.02), p.weights("maker"), made))
    of_maker, of_judge = keras.optimizers.Adam(0.02), keras.optimizers.Adam(0.05)
    crossentropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def step():
        with tf.GradientTape() as tape:
            answers = judge(real), judge(maker(noise))
            judged = crossentropy(np.ones((4, 1)), answers[0]) + crossentropy(np.zeros((4, 1)), answers[1])
        of_judge.apply(tape.gradient(judged, judge.trainable_variables), judge.trainable_variables)
        with tf.GradientTape() as tape:
            made = crossentropy(np.ones((4, 1)), judge(maker(noise)))
        of_maker.apply(tape.gradient(made, maker.trainable_variables), maker.trainable_variables)
        return judged, made

    p.run(["real", "noise"], [judged, made], done, step)
    c("get_weight", model="step", name="judge_optimizer/iterations", to="now")
    c.expect("now", np.int64(3), 0)


@case
def dqn(c):
    """a step with assignments to a second model: DQN with a target net"""
    import keras
    import numpy as np
    import tensorflow as tf
    p = Program(c)
    layers = ("h", {"units": 5, "activation": "relu"}), ("y", {"units": 3})
    online, late = p.model("online", 4, *layers), p.model("late", 4, *layers)
    state, following = (p.input(n, c.random.normal(size=(5, 4)).round(2)) for n in ("state", "following"))
    action = p.input("action", np.eye(3)[c.random.integers(3, size=5)])
    reward = p.input("reward", c.random.normal(size=5).round(2))
    best = p.add("Max", p.call("late", "following", "values"), axis=1)
    target = p.add("Add", "reward", p.add("Rescaling", best, scale=0.9))
    chosen = p.add("Sum", p.add("Multiply", p.call("online", "state", "all"), "action"), axis=1)
    loss = p.add("Loss", target, chosen, loss="Huber")
    rmsprop = {"class_name": "RMSprop", "config": {"learning_rate": 0.01}}
    done = [p.optimize("optimizer", rmsprop, p.weights("online"), loss)]
    for now, old in zip(p.weights("online"), p.weights("late")):
        way = p.add("Rescaling", p.add("Subtract", now, old), scale=0.25)
        c("assign", graph="g", node=old, attrs={"operation": "assign_add"}, to="assigned " + old, **{"from": way})
        done.append("assigned " + old)
    optimizer, huber = keras.optimizers.RMSprop(0.01), keras.losses.Huber()

    def step():
        target = reward + 0.9 * tf.reduce_max(late(following), axis=1)
        with tf.GradientTape() as tape:
            loss = huber(target, tf.reduce_sum(online(state) * action, axis=1))
        optimizer.apply(tape.gradient(loss, online.trainable_variables), online.trainable_variables)
        for old, now in zip(late.variables, online.variables):
            old.assign_add(0.25 * (now - old))
        return (loss,)

    p.run(["state", "action", "reward", "following"], [loss], done, step)


@case
def penalty(c):
    """a gradient that is differentiated, and an update by a learning rate that is given"""
    import keras
    import tensorflow as tf
    p = Program(c)
    critic = p.model("critic", 3, ("h", {"units": 4, "activation": "tanh"}), ("y", {"units": 1}))
    x = p.input("x", c.random.normal(size=(4, 3)).round(2))
    rate = p.input("rate", c.tensor("given", 0.25))
    score = p.call("critic", "x", "score")
    c("gradients", graph="g", of=[score], by=["x"], attrs={"sum": True}, to=["slope"])
    loss = p.add("Mean", p.add("Square", "slope"))
    weights = p.weights("critic")
    by = ["by " + w for w in weights]
    c("gradients", graph="g", of=[loss], by=weights, attrs={"unconnected": "zeros"}, to=by)
    c("update", graph="g", name="sgd", attrs={"optimizer": "SGD"}, learning_rate="rate", of=weights, by=by,
      to="done")
    optimizer, given = keras.optimizers.SGD(float(rate)), tf.constant(x)

    def step():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                tape.watch(given)
                score = critic(given)
            loss = tf.reduce_mean(tf.square(tape.gradient(score, given)))
        variables = critic.trainable_variables
        found = outer.gradient(loss, variables)
        optimizer.apply([tf.zeros_like(v) if g is None else g for v, g in zip(variables, found)], variables)
        return (loss,)

    p.run(["x", "rate"], [loss], ["done"], step)


@case
def order(c):
    """a weight before and after its assignments, gradients of given output gradients"""
    import numpy as np
    c("graph", to="g")
    c("input", graph="g", to="x", name="x", dtype="float32", shape=[3])
    c("layer", graph="g", to="counter", kind="Weight", name="counter",
      attrs={"shape": [3], "initializer": "Ones", "learned": False})
    c("call", graph="g", layer="counter", to=["before"], **{"in": []})
    c("assign", graph="g", node="before", to="added", attrs={"operation": "assign_add"}, **{"from": "x"})
    c("weight", graph="g", name="counter/value", to="between")
    c("add", graph="g", kind="Square", to=["squares"], **{"in": ["between"]})
    c("assign", graph="g", node="between", to="squared", **{"from": "squares"})
    c("add", graph="g", kind="Square", to=["y"], **{"in": ["x"]})
    c("gradients", graph="g", of=["y", "y"], by=["x", "between"], to=["by x", "by weight"],
      output_gradients=["x", "between"])
    c("after", graph="g", node="between", to="read", **{"in": ["added", "squared"]})
    c("build", graph="g", to="m", out=["read", "by x", "by weight"], **{"in": ["x"]})
    c("session", model="m", to="s")
    x, value = c.tensor("data", [1, -2, 0.5]), np.ones(3, "float32")
    for _ in range(3):
        value += x
        c("run", session="s", to=["out", "slope", "none"], **{"in": ["data"]})
        c.expect("out", value)
        c.expect("slope", 2 * x * (x + value))
        c.expect("none", np.zeros(3, "float32"))
        value = value * value
        c("get_weight", model="m", name="counter/value", to="now")
        c.expect("now", value)
    c.tensor("zeros", np.zeros(3))
    c("set_weight", model="m", name="counter/value", tensor="zeros")
    c("session", model="m", to="s")
    c("run", session="s", to=["out", "slope", "none"], **{"in": ["data"]})
    c.expect("out", x)


@case
def refused(c):
    """refused: weights, gradients, assignments and updates"""
    c("graph", to="g")
    c("input", graph="g", to="x", name="x", dtype="float32", shape=[-1, 4])
    c("add", graph="g", kind="Dense", name="dense", attrs={"units": 3}, to=["y"], **{"in": ["x"]})
    c("add", graph="g", kind="Argmax", attrs={"axis": 1}, to=["ids"], **{"in": ["y"]})
    c("weight", graph="g", name="dense/kernels", to="w", error=fails("NOT_FOUND", did_you_mean="dense/kernel"))
    c("weight", graph="g", name="dense/kernel", to="kernel")
    c("weight", graph="g", name="dense/bias", to="bias")
    c("assign", graph="g", node="kernel", to="a", error=fails(
        "SHAPE_MISMATCH", expected='float32 (4, 3) for weight "dense/kernel"', got="float32 (3,)"), **{"from": "bias"})
    c("assign", graph="g", node="y", to="a", error="INVALID_ARGUMENT", **{"from": "y"})
    c("assign", graph="g", node="bias", to="a", attrs={"operation": "assign_mul"},
      error=fails("INVALID_ARGUMENT", attribute="operation", did_you_mean="assign_sub"), **{"from": "bias"})
    for attrs, of, by, error in [
            (None, "y", "kernel", "SHAPE_MISMATCH"), (None, "ids", "kernel", "INVALID_ARGUMENT"),
            ({"sum": True, "unconnected": "refused"}, "x", "kernel", "INVALID_ARGUMENT"),
            ({"summ": True}, "y", "kernel", fails("INVALID_ARGUMENT", attribute="summ", did_you_mean="sum"))]:
        c("gradients", graph="g", attrs=attrs, of=[of], by=[by], to=["d"], error=error)
    c("gradients", graph="g", of=["y"], by=["kernel"], to=["d"], output_gradients=["bias"],
      error=fails("SHAPE_MISMATCH", attribute="output_gradients"))
    c("gradients", graph="g", attrs={"sum": True}, of=["y"], by=["kernel"], to=["d"])
    c("input", graph="g", to="words", name="words", dtype="float32", shape=[-1, 5, 3])
    c("add", graph="g", kind="LSTM", attrs={"units": 2}, to=["last"], **{"in": ["words"]})
    c("gradients", graph="g", attrs={"sum": True}, of=["last"], by=["words"], to=["once"])
    c("gradients", graph="g", attrs={"sum": True}, of=["once"], by=["words"], to=["twice"], error="UNSUPPORTED")
    decay = {"class_name": "ExponentialDecay", "config": {"initial_learning_rate": 0.2, "decay_steps": 1,
                                                          "decay_rate": 0.5}}
    for attrs, by, error in [
            ({"optimizer": "SGD"}, ["d", "bias"], fails("INVALID_ARGUMENT", argument="gradients")),
            ({"optimizer": "SGD"}, ["bias"], "SHAPE_MISMATCH"),
            ({"optimizer": "SGDD"}, ["d"], fails("UNKNOWN_KIND", layer="update", did_you_mean="SGD")),
            ({}, ["d"], fails("INVALID_ARGUMENT", attribute="optimizer")),
            ({"optimizer": {"class_name": "SGD", "config": {"learning_rate": decay}}}, ["d"],
             fails("UNSUPPORTED", attribute="optimizer"))]:
        c("update", graph="g", name="update", attrs=attrs, of=["kernel"], by=by, to="u", error=error)
    c("update", graph="g", name="update", attrs={"optimizer": "SGD"}, of=["kernel"], by=["d"], to="u")
    c("update", graph="g", name="update", attrs={"optimizer": "SGD"}, of=["kernel"], by=["d"], to="v",
      error="INVALID_ARGUMENT")
