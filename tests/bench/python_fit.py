#!/usr/bin/env python3
"""fit() and predict() of usual models: dl4.keras beside Keras on TensorFlow and on JAX.

    DL4_LIBRARY=build/release/libdl4.so.1 python_fit.py [--rounds N] [--rows TEXT] [--threads 1] [PYTHON]

All sides run the same text on the same arrays. PYTHON has Keras, TensorFlow and JAX (default: this interpreter). Each
side is a process of its own, and they take turns; the first epoch and the first prediction, which compile, are not
counted. Times are medians of the rounds, milliseconds of an epoch or a prediction; the ratio is the median over the
rounds of the faster peer's time by dl4's."""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

SIDES = ("dl4", "tensorflow", "jax")
ROWS = ("MLP", "CNN", "LSTM", "GRU", "transformer", "autoencoder")


def problem(keras, row):
    """A compiled model with its data and the size of a batch."""
    import numpy as np

    layers, r = keras.layers, np.random.default_rng(1)
    images, classes = r.random((4096, 28, 28), "float32"), r.integers(0, 10, 4096)
    if row == "MLP":
        dense = [layers.Dense(256, "relu"), layers.Dense(128, "relu"), layers.Dense(10, "softmax")]
        stack = [keras.Input((784,)), *dense]
        x, y, size = images.reshape(-1, 784), classes, 128
    elif row == "autoencoder":
        stack = [keras.Input((784,)), layers.Dense(32, "relu"), layers.Dense(784, "sigmoid")]
        x = y = images.reshape(-1, 784)
        size = 256
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
    else:
        tokens = keras.Input((100,), dtype="int32")
        h = layers.Embedding(2000, 32)(tokens)
        h = layers.LayerNormalization()(h + layers.MultiHeadAttention(2, 32)(h, h))
        h = layers.LayerNormalization()(h + layers.Dense(32)(layers.Dense(32, "relu")(h)))
        h = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(h))
        model = keras.Model(tokens, layers.Dense(10, "softmax")(layers.Dense(20, "relu")(h)))
        x, y, size = r.integers(0, 2000, (1024, 100)).astype("int32"), classes[:1024], 32
    if row != "transformer":
        model = keras.Sequential(stack)
    model.compile("adam", "mse" if row == "autoencoder" else "sparse_categorical_crossentropy")
    return model, x, y, size


def serve(side):
    """Answers lines "row call" by the seconds of one."""
    if side == "dl4":
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "capi/bindings/python"))
        import dl4.keras as keras
    else:
        os.environ["KERAS_BACKEND"] = side
        import keras
    known = {}
    print("ready", flush=True)
    for line in sys.stdin:
        row, call = line.split()
        if row not in known:
            known.clear()
            known[row] = problem(keras, row)
        model, x, y, size = known[row]
        begun = time.perf_counter()
        if call == "fit":
            model.fit(x, y, batch_size=size, epochs=1, verbose=0)
        else:
            model.predict(x, batch_size=size, verbose=0)
        print(time.perf_counter() - begun, flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--rows", default="")
    p.add_argument("--threads", type=int)
    p.add_argument("--serve")
    p.add_argument("python", nargs="?", default=sys.executable)
    o = p.parse_args()
    if o.serve:
        return serve(o.serve)
    before = ["taskset", "-c", ",".join(map(str, range(o.threads)))] if o.threads else []
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    sides = {}
    for side in SIDES:
        command = [*before, o.python, __file__, "--serve", side]
        sides[side] = subprocess.Popen(
            command,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if sides[side].stdout.readline() != "ready\n":
            print(f"left out: {side}, which {o.python} does not run")
            del sides[side]

    def seconds(side, row, call):
        time.sleep(0.2)  # until the threads of the side before have come to rest
        sides[side].stdin.write(f"{row} {call}\n")
        sides[side].stdin.flush()
        return float(sides[side].stdout.readline())

    names = list(sides)
    print("| | " + " | ".join(f"{side}, ms" for side in names) + " | best peer / dl4 |")
    print("|---|" + "--:|" * (len(names) + 1))
    for row in (r for r in ROWS if o.rows in r):
        for call in ("fit", "predict"):
            for side in names:
                seconds(side, row, call)
                seconds(side, row, call)
            times = [{side: seconds(side, row, call) for side in names} for _ in range(o.rounds)]
            ratio = statistics.median(min(t[s] for s in names if s != "dl4") / t["dl4"] for t in times)
            cells = [f"{statistics.median(t[side] for t in times) * 1e3:.1f}" for side in names]
            print(f"| {row}, {call}() | {' | '.join(cells)} | {ratio:.2f} |", flush=True)
    for process in sides.values():
        process.stdin.close()
        process.wait()


if __name__ == "__main__":
    main()
