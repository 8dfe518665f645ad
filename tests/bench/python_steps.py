#!/usr/bin/env python3
"""Training steps that differentiate by hand: dl4.keras beside Keras on TensorFlow (also by XLA) and on JAX, one thread.

    python_steps.py [--rounds N] [--rows TEXT] [PYTHON ...]

GAN and WGAN-GP (second order) on 28x28 images, VAE, DQN with a target net. dl4 and TensorFlow run the same text, a step
in `tf.function`; JAX's is `jax.jit` of Keras's stateless calls. Each side is a process of its own, and they take turns.
The table has the time of the first step, which compiles, and the median of later ones. What an interpreter does not
have is left out, with a line that says so."""

import argparse
import os
import statistics
import subprocess
import sys
import time

SIDES = ("dl4", "tensorflow", "tensorflow, XLA", "jax")
SECONDS = 0.3


def models(keras, row):
    layers = keras.layers
    if row == "VAE":
        return (
            keras.Sequential([keras.Input((784,)), layers.Dense(256, "relu"), layers.Dense(32)]),
            keras.Sequential([keras.Input((16,)), layers.Dense(256, "relu"), layers.Dense(784)]),
        )
    if row == "DQN":
        return tuple(
            keras.Sequential(
                [
                    keras.Input((84, 84, 4)),
                    layers.Conv2D(16, 8, 4, activation="relu"),
                    layers.Conv2D(32, 4, 2, activation="relu"),
                    layers.Flatten(),
                    layers.Dense(256, "relu"),
                    layers.Dense(6),
                ]
            )
            for _ in range(2)
        )
    return (
        keras.Sequential(
            [
                keras.Input((32,)),
                layers.Dense(7 * 7 * 32, "relu"),
                layers.Reshape((7, 7, 32)),
                layers.Conv2DTranspose(16, 4, 2, "same", activation="relu"),
                layers.Conv2DTranspose(1, 4, 2, "same", activation="sigmoid"),
            ]
        ),
        keras.Sequential(
            [
                keras.Input((28, 28, 1)),
                layers.Conv2D(16, 4, 2, "same", activation="leaky_relu"),
                layers.Conv2D(32, 4, 2, "same", activation="leaky_relu"),
                layers.Flatten(),
                layers.Dense(1),
            ]
        ),
    )


def inputs(row):
    import numpy as np

    r = np.random.default_rng(1)
    uniform = lambda *shape: r.uniform(0, 1, shape).astype("float32")
    if row == "VAE":
        return uniform(64, 784), r.normal(size=(64, 16)).astype("float32")
    if row == "DQN":
        action = np.eye(6, dtype="float32")[r.integers(0, 6, 32)]
        return uniform(32, 84, 84, 4), action, uniform(32), uniform(32, 84, 84, 4)
    return uniform(32, 28, 28, 1), r.normal(size=(32, 32)).astype("float32"), uniform(32, 1, 1, 1)


def taped(tf, keras, row, jit):
    """The step of dl4 and of TensorFlow."""
    a, b = models(keras, row)
    first, second = keras.optimizers.Adam(2e-4), keras.optimizers.Adam(2e-4)

    def update(optimizer, tape, loss, *nets):
        variables = [v for net in nets for v in net.trainable_variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))

    def gan(real, z, part):
        bce = keras.losses.BinaryCrossentropy(from_logits=True)
        with tf.GradientTape() as tape:
            of_real, of_fake = b(real, training=True), b(a(z, training=True), training=True)
            d_loss = bce(tf.ones_like(of_real), of_real) + bce(tf.zeros_like(of_fake), of_fake)
        update(first, tape, d_loss, b)
        with tf.GradientTape() as tape:
            judged = b(a(z, training=True), training=True)
            g_loss = bce(tf.ones_like(judged), judged)
        update(second, tape, g_loss, a)
        return d_loss

    def wgan(real, z, part):
        with tf.GradientTape() as tape:
            fake = a(z, training=True)
            between = real + part * (fake - real)
            with tf.GradientTape() as inner:
                inner.watch(between)
                judged = b(between, training=True)
            slope = inner.gradient(judged, between)
            norm = tf.sqrt(tf.reduce_sum(tf.square(slope), axis=[1, 2, 3]))
            penalty = tf.reduce_mean(tf.square(norm - 1.0))
            d_loss = tf.reduce_mean(b(fake, training=True)) - tf.reduce_mean(b(real, training=True)) + 10.0 * penalty
        update(first, tape, d_loss, b)
        with tf.GradientTape() as tape:
            g_loss = -tf.reduce_mean(b(a(z, training=True), training=True))
        update(second, tape, g_loss, a)
        return d_loss

    def vae(x, noise):
        with tf.GradientTape() as tape:
            mean, log_var = tf.split(a(x, training=True), 2, axis=1)
            y = b(mean + tf.exp(0.5 * log_var) * noise, training=True)
            rebuilt = tf.reduce_mean(tf.reduce_sum(tf.square(x - tf.sigmoid(y)), axis=1))
            kl = tf.reduce_mean(tf.reduce_sum(-0.5 * (1 + log_var - tf.square(mean) - tf.exp(log_var)), axis=1))
            loss = rebuilt + kl
        update(first, tape, loss, a, b)
        return loss

    def dqn(state, action, reward, following):
        target = reward + 0.99 * tf.reduce_max(b(following, training=True), axis=1)
        with tf.GradientTape() as tape:
            chosen = tf.reduce_sum(a(state, training=True) * action, axis=1)
            loss = keras.losses.Huber()(target, chosen)
        update(first, tape, loss, a)
        return loss

    step = tf.function({"GAN": gan, "WGAN-GP": wgan, "VAE": vae, "DQN": dqn}[row], jit_compile=jit)
    given = [tf.constant(x) for x in inputs(row)]
    return lambda: float(step(*given))


def stateless(row):
    """The step of JAX."""
    import jax
    import jax.numpy as jnp
    import keras

    a, b = models(keras, row)
    first, second = keras.optimizers.Adam(2e-4), keras.optimizers.Adam(2e-4)
    values = lambda variables: [v.value for v in variables]
    frozen = {net: values(net.non_trainable_variables) for net in (a, b)}
    call = lambda net, weights, x: net.stateless_call(weights, frozen[net], x)[0]
    bce, huber = keras.losses.BinaryCrossentropy(from_logits=True), keras.losses.Huber()

    def two(d_loss, g_loss):
        def step(state, *given):
            wa, wb, s1, s2 = state
            loss, g = jax.value_and_grad(lambda w: d_loss(w, wa, *given))(wb)
            wb, s1 = first.stateless_apply(s1, g, wb)
            wa, s2 = second.stateless_apply(s2, jax.grad(lambda w: g_loss(w, wb, *given))(wa), wa)
            return (wa, wb, s1, s2), loss

        first.build(b.trainable_variables), second.build(a.trainable_variables)
        return step

    def d_gan(wb, wa, real, z, part):
        of_real, of_fake = call(b, wb, real), call(b, wb, call(a, wa, z))
        return bce(jnp.ones_like(of_real), of_real) + bce(jnp.zeros_like(of_fake), of_fake)

    def g_gan(wa, wb, real, z, part):
        judged = call(b, wb, call(a, wa, z))
        return bce(jnp.ones_like(judged), judged)

    def d_wgan(wb, wa, real, z, part):
        fake = call(a, wa, z)
        slope = jax.grad(lambda x: jnp.sum(call(b, wb, x)))(real + part * (fake - real))
        penalty = jnp.mean(jnp.square(jnp.sqrt(jnp.sum(jnp.square(slope), axis=(1, 2, 3))) - 1))
        return jnp.mean(call(b, wb, fake)) - jnp.mean(call(b, wb, real)) + 10 * penalty

    def g_wgan(wa, wb, real, z, part):
        return -jnp.mean(call(b, wb, call(a, wa, z)))

    def vae(state, x, noise):
        wa, wb, s1, s2 = state

        def loss(both):
            mean, log_var = jnp.split(call(a, both[0], x), 2, axis=1)
            y = call(b, both[1], mean + jnp.exp(0.5 * log_var) * noise)
            kl = -0.5 * (1 + log_var - jnp.square(mean) - jnp.exp(log_var))
            return jnp.mean(jnp.sum(jnp.square(x - jax.nn.sigmoid(y)), axis=1)) + jnp.mean(jnp.sum(kl, axis=1))

        value, (ga, gb) = jax.value_and_grad(loss)((wa, wb))
        both, s1 = first.stateless_apply(s1, ga + gb, wa + wb)
        return (both[: len(wa)], both[len(wa) :], s1, s2), value

    def dqn(state, at, action, reward, following):
        wa, wb, s1, s2 = state
        target = reward + 0.99 * jnp.max(call(b, wb, following), axis=1)
        loss, g = jax.value_and_grad(lambda w: huber(target, jnp.sum(call(a, w, at) * action, axis=1)))(wa)
        wa, s1 = first.stateless_apply(s1, g, wa)
        return (wa, wb, s1, s2), loss

    if row == "GAN":
        step = two(d_gan, g_gan)
    elif row == "WGAN-GP":
        step = two(d_wgan, g_wgan)
    else:
        step = vae if row == "VAE" else dqn
        first.build(a.trainable_variables + (b.trainable_variables if row == "VAE" else []))
        second.build(a.trainable_variables)
    step = jax.jit(step, donate_argnums=0)
    state = [(values(a.trainable_variables), values(b.trainable_variables), values(first.variables),
              values(second.variables))]
    state[0] = jax.tree_util.tree_map(jnp.array, state[0])  # donated: none of them twice
    given = [jnp.asarray(x) for x in inputs(row)]

    def run():
        state[0], loss = step(state[0], *given)
        return float(loss)

    return run


def serve(side, row):
    """Answers "go" with milliseconds a step; the first line is the first step's."""
    os.sched_setaffinity(0, [0])
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", OMP_NUM_THREADS="1")
    os.environ["KERAS_BACKEND"] = "jax" if side == "jax" else "tensorflow"
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    if side == "dl4":
        import dl4 as tf
        import dl4.keras as keras

        tf.config.set_threads(1)
    elif side != "jax":
        import keras
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    step = stateless(row) if side == "jax" else taped(tf, keras, row, side.endswith("XLA"))
    begun = time.perf_counter()
    losses = [step()]
    print("ready", time.perf_counter() - begun, flush=True)
    losses += [step() for _ in range(5)]
    for _ in sys.stdin:
        begun, n = time.perf_counter(), 0
        while time.perf_counter() - begun < SECONDS:
            losses.append(step())
            n += 1
        print((time.perf_counter() - begun) / n * 1e3, losses[-1], flush=True)


def start(python, side, row):
    p = subprocess.Popen([python, __file__, "--serve", side, row], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    for line in p.stdout:
        if line.startswith("ready"):
            return p, float(line.split()[1])
    reason = p.stderr.read().strip().splitlines() or ["it ended"]
    print(f"left out: {side}, {row}: {reason[-1]}", file=sys.stderr)
    return None


def go(p):
    p.stdin.write("go\n")
    p.stdin.flush()
    for line in p.stdout:
        try:
            return float(line.split()[0])
        except ValueError:
            pass
    raise SystemExit(p.stderr.read())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", default="")
    parser.add_argument("--serve", nargs=2)
    parser.add_argument("python", nargs="*", default=[sys.executable])
    o = parser.parse_args()
    if o.serve:
        return serve(*o.serve)
    print("| step | " + " | ".join(f"{s}: first, s | ms" for s in SIDES) + " | best peer / dl4 |")
    print("|---" + "|--:" * (2 * len(SIDES) + 1) + "|")
    for row in ("GAN", "WGAN-GP", "VAE", "DQN"):
        if o.rows not in row:
            continue
        running = {}
        for side in SIDES:
            for python in o.python:
                if side not in running and (found := start(python, side, row)):
                    running[side] = found
        times = {side: [] for side in running}
        for _ in range(o.rounds):
            for side, (p, _) in running.items():
                times[side].append(go(p))
        for p, _ in running.values():
            p.kill()
        ms = {side: statistics.median(t) for side, t in times.items()}
        cells = [f"{running[s][1]:.2f} | {ms[s]:.2f}" if s in ms else " | " for s in SIDES]
        peers = [v for s, v in ms.items() if s != "dl4"]
        ratio = f"{min(peers) / ms['dl4']:.2f}" if peers and "dl4" in ms else ""
        print(f"| {row} | " + " | ".join(cells) + f" | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
