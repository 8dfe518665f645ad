"""Training steps that differentiate by hand, as Keras on TensorFlow computes them: GAN, VAE, DQN with a target net,
distillation, accumulated gradients.

    python graph_programs.py            writes tests/data/graph_programs.npz

tests/capi/objects/graph_programs_test.cpp builds the same programs as graphs. Names: <program>/before/<model>/<weight>,
<program>/in/<input>, <program>/out/<step>/<output>, <program>/after/<model>/<weight>."""
import os
import pathlib

os.environ.update(KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1")
import keras
import numpy
import tensorflow as tf

L, arrays = keras.layers, {}
draw = numpy.random.default_rng(7)


def numbers(*shape):
    return draw.uniform(-1, 1, shape).astype("float32")


def model(*layers):
    return keras.Sequential(layers)


def steps(program, models, inputs, step, count=3):
    """models and inputs by name; step(**inputs) gives a list of outputs."""
    for when in ("before", "after"):
        for name, m in models.items():
            for w in m.weights:
                arrays[f"{program}/{when}/{name}/" + "/".join(w.path.split("/")[-2:])] = w.numpy()
        if when == "before":
            arrays.update({f"{program}/in/{k}": v for k, v in inputs.items()})
            given = {k: tf.constant(v) for k, v in inputs.items()}
            for i in range(count):
                for j, out in enumerate(step(**given)):
                    arrays[f"{program}/out/{i}/{j}"] = out.numpy()


def gan():
    g = model(keras.Input((3,)), L.Dense(8, "relu", name="g1"), L.Dense(6, "tanh", name="g2"))
    d = model(keras.Input((6,)), L.Dense(8, "leaky_relu", name="d1"), L.Dense(1, name="d2"))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    og, od = keras.optimizers.Adam(0.02), keras.optimizers.Adam(0.05)

    def step(real, z):
        with tf.GradientTape() as tape:
            fake = g(z)
            of_real, of_fake = d(real), d(fake)
            d_loss = loss(tf.ones_like(of_real), of_real) + loss(tf.zeros_like(of_fake), of_fake)
        od.apply(tape.gradient(d_loss, d.trainable_variables), d.trainable_variables)
        with tf.GradientTape() as tape:
            judged = d(g(z))
            g_loss = loss(tf.ones_like(judged), judged)
        og.apply(tape.gradient(g_loss, g.trainable_variables), g.trainable_variables)
        return d_loss, g_loss

    steps("gan", {"g": g, "d": d}, {"real": numbers(5, 6), "z": numbers(5, 3)}, step)


def vae():
    e = model(keras.Input((6,)), L.Dense(8, "relu", name="e1"), L.Dense(4, name="e2"))
    d = model(keras.Input((2,)), L.Dense(8, "relu", name="d1"), L.Dense(6, name="d2"))
    o = keras.optimizers.Adam(0.02)

    def step(x, noise):
        with tf.GradientTape() as tape:
            mean, log_var = tf.split(e(x), 2, axis=1)
            y = d(mean + tf.exp(0.5 * log_var) * noise)
            rebuilt = tf.reduce_mean(tf.reduce_sum(tf.square(x - y), axis=1))
            kl = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var)), axis=1))
            total = rebuilt + kl
        variables = e.trainable_variables + d.trainable_variables
        o.apply(tape.gradient(total, variables), variables)
        return total, kl

    steps("vae", {"e": e, "d": d}, {"x": numbers(5, 6), "noise": numbers(5, 2)}, step)


def dqn():
    def net(prefix):
        return model(keras.Input((4,)), L.Dense(8, "relu", name=prefix + "1"), L.Dense(3, name=prefix + "2"))

    q, t = net("q"), net("t")
    o, huber = keras.optimizers.RMSprop(0.01), keras.losses.Huber()

    def step(state, action, reward, following):
        target = reward + 0.9 * tf.reduce_max(t(following), axis=1)
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(q(state) * action, axis=1)
            loss = huber(target, chosen)
        o.apply(tape.gradient(loss, q.trainable_variables), q.trainable_variables)
        for a, b in zip(t.variables, q.variables):
            a.assign(0.9 * a + 0.1 * b)
        return (loss,)

    action = numpy.eye(3, dtype="float32")[[0, 2, 1, 1, 0]]
    steps("dqn", {"q": q, "t": t}, {"state": numbers(5, 4), "action": action, "reward": numbers(5),
                                    "following": numbers(5, 4)}, step)


def distillation():
    teacher = model(keras.Input((4,)), L.Dense(8, "relu", name="t1"), L.Dense(3, name="t2"))
    student = model(keras.Input((4,)), L.Dense(3, name="s1"))
    o, kl = keras.optimizers.SGD(0.1, momentum=0.9), keras.losses.KLDivergence()
    crossentropy = keras.losses.CategoricalCrossentropy(from_logits=True)

    def step(x, y):
        with tf.GradientTape() as tape:
            soft, own = tf.nn.softmax(teacher(x) / 3.0), student(x)
            loss = 0.1 * crossentropy(y, own) + 0.9 * kl(soft, tf.nn.softmax(own / 3.0))
        o.apply(tape.gradient(loss, student.trainable_variables), student.trainable_variables)
        return (loss,)

    steps("distillation", {"teacher": teacher, "student": student},
          {"x": numbers(5, 4), "y": numpy.eye(3, dtype="float32")[[0, 1, 2, 2, 1]]}, step)


def accumulation():
    m = model(keras.Input((3,)), L.Dense(4, "tanh", name="m1"), L.Dense(2, name="m2"))
    o = keras.optimizers.Adam(0.05)

    def step(x1, y1, x2, y2):
        sums = [tf.Variable(tf.zeros_like(v)) for v in m.trainable_variables]
        for x, y in ((x1, y1), (x2, y2)):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(m(x) - y))
            for s, g in zip(sums, tape.gradient(loss, m.trainable_variables)):
                s.assign_add(g / 2)
        o.apply(sums, m.trainable_variables)
        return (loss,)

    steps("accumulation", {"m": m}, {"x1": numbers(3, 3), "y1": numbers(3, 2), "x2": numbers(3, 3),
                                     "y2": numbers(3, 2)}, step)


keras.utils.set_random_seed(3)
for program in (gan, vae, dqn, distillation, accumulation):
    program()
numpy.savez_compressed(pathlib.Path(__file__).resolve().parent.parent / "data/graph_programs.npz", **arrays)
