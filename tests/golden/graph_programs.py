"""Programs that differentiate by hand, as Keras on TensorFlow computes them: GAN, VAE, DQN with a target net,
distillation, accumulated gradients, WGAN with a gradient penalty, actor and critic, diffusion, MAML, metric learning,
explanations of an image's class. (No LayerNormalization in the gradient penalty: TensorFlow's gradient of second order
of it is not what differences show.)

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


def wgan():
    g = model(keras.Input((3,)), L.Dense(36, "tanh", name="g1"), L.Reshape((6, 6, 1), name="g2"))
    c = model(keras.Input((6, 6, 1)), L.Conv2D(4, 3, strides=2, padding="same", activation="tanh", name="c1"),
              L.Flatten(name="c2"), L.Dense(1, use_bias=False, name="c3"))
    og, oc = keras.optimizers.Adam(0.01), keras.optimizers.Adam(0.01)

    def step(real, z, part):
        with tf.GradientTape() as tape:
            fake = g(z)
            between = real + part * (fake - real)
            with tf.GradientTape() as inner:
                inner.watch(between)
                judged = c(between)
            norm = tf.sqrt(tf.reduce_sum(tf.square(inner.gradient(judged, between)), axis=[1, 2, 3]))
            penalty = tf.reduce_mean(tf.square(norm - 1))
            c_loss = tf.reduce_mean(c(fake)) - tf.reduce_mean(c(real)) + 10 * penalty
        oc.apply(tape.gradient(c_loss, c.trainable_variables), c.trainable_variables)
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(c(g(z)))
        og.apply(tape.gradient(g_loss, g.trainable_variables), g.trainable_variables)
        return c_loss, g_loss, penalty

    steps("wgan", {"g": g, "c": c}, {"real": numbers(4, 6, 6, 1), "z": numbers(4, 3),
                                     "part": numpy.abs(numbers(4, 1, 1, 1))}, step)


def actor():
    trunk = model(keras.Input((4,)), L.Dense(8, "relu", name="t1"))
    acts = model(keras.Input((8,)), L.Dense(3, name="a1"))
    critic = model(keras.Input((8,)), L.Dense(1, name="c1"))
    o, huber = keras.optimizers.Adam(0.02, clipnorm=0.5), keras.losses.Huber()

    def step(state, action, gain):
        with tf.GradientTape() as tape:
            h = trunk(state)
            policy, value = tf.nn.softmax(acts(h)), critic(h)[:, 0]
            logs = tf.math.log(policy)
            chosen = tf.reduce_sum(logs * action, axis=1)
            entropy = -tf.reduce_mean(tf.reduce_sum(policy * logs, axis=1))
            loss = -tf.reduce_mean(chosen * tf.stop_gradient(gain - value)) + huber(gain, value) - 0.01 * entropy
        variables = [v for m in (acts, critic, trunk) for v in m.trainable_variables]
        o.apply(tape.gradient(loss, variables), variables)
        return loss, entropy

    steps("actor", {"trunk": trunk, "actor": acts, "critic": critic},
          {"state": numbers(5, 4), "action": numpy.eye(3, dtype="float32")[[0, 2, 1, 1, 0]], "gain": numbers(5)}, step)


def diffusion():
    def net():
        return model(keras.Input((6, 6, 2)), L.Conv2D(6, 3, padding="same", activation="swish", name="n1"),
                     L.GroupNormalization(2, name="n2"), L.Conv2D(1, 3, padding="same", name="n3"))

    now, average = net(), net()
    o = keras.optimizers.AdamW(0.01, weight_decay=0.01)

    def step(image, noise, angle):
        signal_rate, noise_rate = tf.cos(angle), tf.sin(angle)
        noisy = signal_rate * image + noise_rate * noise
        variance = tf.tile(noise_rate**2, (1, 6, 6, 1))
        with tf.GradientTape() as tape:
            told = now(tf.concat([noisy, variance], axis=-1))
            loss = tf.reduce_mean(keras.losses.mean_absolute_error(noise, told))
        o.apply(tape.gradient(loss, now.trainable_variables), now.trainable_variables)
        for a, b in zip(average.weights, now.weights):
            a.assign(0.9 * a + 0.1 * b)
        return loss, tf.reduce_mean(tf.square(image - (noisy - noise_rate * told) / signal_rate))

    steps("diffusion", {"now": now, "average": average},
          {"image": numbers(4, 6, 6, 1), "noise": numbers(4, 6, 6, 1), "angle": numpy.abs(numbers(4, 1, 1, 1))}, step)


def maml():
    m = model(keras.Input((1,)), L.Dense(5, "tanh", name="m1"), L.Dense(1, name="m2"))
    o = keras.optimizers.Adam(0.02)

    def output(x, w):
        return tf.tanh(x @ w[0] + w[1]) @ w[2] + w[3]

    def step(**given):
        weights = [v.value for v in m.trainable_variables]
        with tf.GradientTape() as tape:
            losses = []
            for t in "ab":
                with tf.GradientTape() as inner:
                    loss = tf.reduce_mean(tf.square(output(given[t + "_x"], weights) - given[t + "_y"]))
                adapted = [w - 0.1 * g for w, g in zip(weights, inner.gradient(loss, weights))]
                losses.append(tf.reduce_mean(tf.square(output(given[t + "_new_x"], adapted) - given[t + "_new_y"])))
            total = (losses[0] + losses[1]) / 2
        o.apply(tape.gradient(total, weights), m.trainable_variables)
        return (total,)

    steps("maml", {"m": m}, {t + name: numbers(n, 1) for t in "ab" for name, n in
                             (("_x", 4), ("_y", 4), ("_new_x", 6), ("_new_y", 6))}, step)


def metric():
    m = model(keras.Input((6,)), L.Dense(8, "relu", name="m1"), L.Dense(3, name="m2"), L.UnitNormalization(name="m3"))
    o, crossentropy = keras.optimizers.Adam(0.02), keras.losses.CategoricalCrossentropy(from_logits=True)

    def step(anchor, positive, negative, same):
        with tf.GradientTape() as tape:
            a, b, c = m(anchor), m(positive), m(negative)
            far = [tf.reduce_sum(tf.square(a - other), axis=1) for other in (b, c)]
            triplet = tf.reduce_mean(tf.nn.relu(far[0] - far[1] + 0.5))
            loss = triplet + crossentropy(same, 5 * tf.einsum("ae,be->ab", a, b))
        o.apply(tape.gradient(loss, m.trainable_variables), m.trainable_variables)
        return loss, triplet

    steps("metric", {"m": m}, {"anchor": numbers(5, 6), "positive": numbers(5, 6), "negative": numbers(5, 6),
                               "same": numpy.eye(5, dtype="float32")}, step)


def explanations():
    features = model(keras.Input((8, 8, 2)), L.Conv2D(4, 3, activation="relu", name="f1"), L.MaxPooling2D(name="f2"),
                     L.Conv2D(5, 2, activation="relu", name="f3"))
    head = model(keras.Input((2, 2, 5)), L.Flatten(name="h1"), L.Dense(3, "softmax", name="h2"))

    def step(x, which):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            found = features(x)
            score = tf.reduce_sum(head(found) * which)
        saliency = tf.reduce_max(tf.abs(tape.gradient(score, x)), axis=3)
        weights = tf.reduce_mean(tape.gradient(score, found), axis=[1, 2], keepdims=True)
        cam = tf.nn.relu(tf.reduce_sum(found * weights, axis=3))
        slopes = []
        for i in range(5):
            at = x * (i / 4)
            with tf.GradientTape() as tape:
                tape.watch(at)
                there = tf.reduce_sum(head(features(at)) * which)
            slopes.append(tape.gradient(there, at))
        mean = sum((a + b) / 2 for a, b in zip(slopes, slopes[1:])) / 4
        return score, saliency, cam, x * mean

    steps("explanations", {"features": features, "head": head},
          {"x": numbers(3, 8, 8, 2), "which": numpy.eye(3, dtype="float32")[[2, 0, 1]]}, step, 1)


keras.utils.set_random_seed(3)
for program in (gan, vae, dqn, distillation, accumulation, wgan, actor, diffusion, maml, metric, explanations):
    program()
numpy.savez_compressed(pathlib.Path(__file__).resolve().parent.parent / "data/graph_programs.npz", **arrays)
