#!/usr/bin/env python3
"""fit() and predict() of usual models: Keras on the library beside Keras on TensorFlow and on JAX.

    DL4_LIBRARY=build/release/libdl4.so.1 python_fit.py [--rounds N] [--rows TEXT] [--threads 1] [--clock]
                                                        [--sides keras_backend,tensorflow,jax] [PYTHON]

All sides run the same text on the same arrays; only the GAN's step is that of each backend's guide. The first of the
sides is ours: keras_backend, Keras on the library, or dl4, the package dl4.keras. PYTHON has Keras, TensorFlow and JAX
(default: this interpreter). Each side is a process of its own, and they take turns. The first step, which compiles, is
apart. Times are the least of the rounds, milliseconds of an epoch or a prediction, of the processor or, with --clock,
of the clock; the ratio is the faster peer's time by ours."""

import argparse
import os
import pathlib
import subprocess
import sys
import time

ROWS = ("MLP", "CNN", "LSTM", "GRU", "transformer", "autoencoder", "distillation", "GAN")


def adversaries(keras, side):
    """A GAN on vectors: one optimizer, which makes the discriminator better and the generator worse for it."""
    layers, ops = keras.layers, keras.ops
    seeds = keras.random.SeedGenerator(3)

    class GAN(keras.Model):
        def __init__(self):
            super().__init__()
            stack = [keras.Input((16,)), layers.Dense(128, "relu"), layers.Dense(64)]
            self.generator = keras.Sequential(stack)
            stack = [keras.Input((64,)), layers.Dense(128, "leaky_relu"), layers.Dense(1)]
            self.discriminator = keras.Sequential(stack)
            self.built = True

        def call(self, x):
            return self.discriminator(x)

        def losses_of(self, real, fake):
            """Softplus of both margins."""
            better = ops.mean(ops.softplus(-real)) + ops.mean(ops.softplus(fake))
            return better, ops.mean(ops.softplus(-fake))

        def tape_step(self, data):
            import tensorflow as tf

            data = data[0] if isinstance(data, tuple) else data
            noise = keras.random.normal((ops.shape(data)[0], 16), seed=seeds)
            with tf.GradientTape(persistent=True) as tape:
                fake = self.discriminator(self.generator(noise))
                better, worse = self.losses_of(self.discriminator(data), fake)
            parts = (worse, self.generator), (better, self.discriminator)
            grads = [g for loss, part in parts for g in tape.gradient(loss, part.trainable_variables)]
            self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
            return {"loss": better}

        def state_step(self, state, data):
            if side == "jax":
                from jax import value_and_grad
            else:
                from dl4.keras_backend import value_and_grad
            trained, others, slots, measured = state
            data = data[0] if isinstance(data, tuple) else data
            noise = keras.random.normal((ops.shape(data)[0], 16), seed=3)
            count = len(self.generator.trainable_variables)

            def loss_of(which, variables):
                made, _ = self.generator.stateless_call(variables[:count], [], noise)
                real, _ = self.discriminator.stateless_call(variables[count:], [], data)
                fake, _ = self.discriminator.stateless_call(variables[count:], [], made)
                return self.losses_of(real, fake)[which]

            better, grads = value_and_grad(lambda v: loss_of(0, v))(trained)
            _, other = value_and_grad(lambda v: loss_of(1, v))(trained)
            trained, slots = self.optimizer.stateless_apply(slots, other[:count] + grads[count:], trained)
            return {"loss": better}, (trained, others, slots, measured)

        train_step = tape_step if side in ("tensorflow", "dl4") else state_step

    return GAN()


def distillation(keras, teacher, student):
    ops = keras.ops

    class Distiller(keras.Model):
        def __init__(self):
            super().__init__()
            self.teacher, self.student = teacher, student
            self.teacher.trainable = False
            self.built = True

        def call(self, x):
            return self.student(x)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            hard = ops.mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
            soft = ops.softmax(self.teacher(x, training=False) / 3.0)
            return 0.1 * hard + 0.9 * ops.mean(keras.losses.kl_divergence(soft, ops.softmax(y_pred / 3.0)))

    return Distiller()


def problem(keras, row, side):
    """A compiled model with its data and the size of a batch."""
    import numpy as np

    layers, r = keras.layers, np.random.default_rng(1)
    images, classes = r.random((4096, 28, 28), "float32"), r.integers(0, 10, 4096)
    loss, model = "sparse_categorical_crossentropy", None

    def dense(*sizes):
        return [layers.Dense(n, "relu") for n in sizes[:-1]] + [layers.Dense(sizes[-1], "softmax")]

    if row == "MLP":
        stack = [keras.Input((784,)), *dense(256, 128, 10)]
        x, y, size = images.reshape(-1, 784), classes, 128
    elif row == "autoencoder":
        stack = [keras.Input((784,)), layers.Dense(32, "relu"), layers.Dense(784, "sigmoid")]
        x = y = images.reshape(-1, 784)
        size, loss = 256, "mse"
    elif row == "CNN":
        stack = [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, "softmax"),
        ]
        x, y, size = images[:1024, ..., None], classes[:1024], 128
    elif row in ("LSTM", "GRU"):
        stack = [keras.Input((28, 28)), getattr(layers, row)(128), layers.Dense(10, "softmax")]
        x, y, size = images[:1024], classes[:1024], 64
    elif row == "distillation":
        sizes = (256, 128, 10), (64, 10)
        model = distillation(keras, *(keras.Sequential([keras.Input((784,)), *dense(*s)]) for s in sizes))
        x, y, size = images.reshape(-1, 784), classes, 128
    elif row == "GAN":
        model = adversaries(keras, side)
        x, y, size, loss = images.reshape(-1, 784)[:, :64].copy(), None, 128, None
    else:
        tokens = keras.Input((100,), dtype="int32")
        h = layers.Embedding(2000, 32)(tokens)
        h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 32)(h, h))
        h = layers.LayerNormalization()(h + layers.Dense(32)(layers.Dense(32, "relu")(h)))
        h = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(h))
        model = keras.Model(tokens, layers.Dense(10, "softmax")(layers.Dense(20, "relu")(h)))
        x, y, size = r.integers(0, 2000, (1024, 100)).astype("int32"), classes[:1024], 32
    model = model or keras.Sequential(stack)
    model.compile("adam", loss)
    if row == "GAN":
        model.optimizer.build(model.trainable_variables)
    return model, x, y, size


def serve(side, now):
    """Answers lines "row call" by the seconds of one."""
    if side in ("dl4", "keras_backend"):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
    if side == "dl4":
        import dl4.keras as keras
    else:
        if side == "keras_backend":
            import dl4.keras_backend  # noqa: F401
        else:
            os.environ["KERAS_BACKEND"] = side
        import keras
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        row, call = line.split()
        if row not in known:
            known.clear()
            known[row] = problem(keras, row, side)
        model, x, y, size = known[row]
        if call == "first":
            x, y = x[:size], None if y is None else y[:size]
        begun = now()
        if call == "predict":
            model.predict(x, batch_size=size, verbose=0)
        else:
            model.fit(x, y, batch_size=size, epochs=1, verbose=0)
        print(now() - begun, flush=True)


def started(sides, o):
    """Their processes; without those that the interpreter does not run."""
    before = ["taskset", "-c", ",".join(map(str, range(o.threads)))] if o.threads else []
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    found = {}
    for side in sides:
        command = [*before, o.python, __file__, "--serve", side, *(["--clock"] if o.clock else [])]
        words = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=environment, text=True, **words)
        if process.stdout.readline() == "ready\n":
            found[side] = process
        else:
            print(f"left out: {side}, which {o.python} does not run")
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--rows", default="")
    p.add_argument("--threads", type=int)
    p.add_argument("--clock", action="store_true")
    p.add_argument("--sides", default="keras_backend,tensorflow,jax")
    p.add_argument("--serve")
    p.add_argument("python", nargs="?", default=sys.executable)
    o = p.parse_args()
    if o.serve:
        return serve(o.serve, time.perf_counter if o.clock else time.process_time)
    processes = started(o.sides.split(","), o)
    ours, *peers = names = list(processes)

    def seconds(side, row, call):
        time.sleep(0.2)  # until the threads of the side before have come to rest
        processes[side].stdin.write(f"{row} {call}\n")
        processes[side].stdin.flush()
        return float(processes[side].stdout.readline())

    print("| | " + " | ".join(f"{side}, ms" for side in names) + f" | best peer / {ours} |")
    print("|---|" + "--:|" * (len(names) + 1))
    for row in (r for r in ROWS if o.rows in r):
        for call in ("first", "fit", "predict"):
            times = {side: [] for side in names}
            for i in range(1 if call == "first" else o.rounds + 1):
                for side in names:
                    times[side].append(seconds(side, row, call))
            least = {side: min(found) for side, found in times.items()}
            ratio = min(least[side] for side in peers) / least[ours]
            cells = [f"{least[side] * 1e3:.1f}" for side in names]
            print(f"| {row}, {call} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)
    for process in processes.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
