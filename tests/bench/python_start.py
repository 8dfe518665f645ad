#!/usr/bin/env python3
"""The same small program on dl4.keras and on Keras with each of its backends:   python_start.py [PYTHON ...]

Seconds to import, to build LeNet-5 and compile it, to fit one epoch of 10,000 real images, to predict one row the first
time, and milliseconds each later time. A side is a process of its own, three times in turn; the table has the medians.
What an interpreter does not have is left out, with a line that says so."""

import gzip
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve()
DATA = HERE.parents[1] / "data" / "fashion-mnist"
SIDES = {"dl4.keras": "dl4", "Keras, TensorFlow": "tensorflow", "Keras, PyTorch": "torch", "Keras, JAX": "jax"}
COLUMNS = ("import, s", "build, s", "fit an epoch, s", "first predict, s", "later predict, ms", "accuracy")


def program(side):
    """What a user writes; the import line is all that differs."""
    import numpy

    with gzip.open(DATA / "t10k-images-idx3-ubyte.gz") as f:
        x = numpy.frombuffer(f.read()[16:], "uint8").reshape(-1, 28, 28, 1).astype("float32") / 255
    with gzip.open(DATA / "t10k-labels-idx1-ubyte.gz") as f:
        y = numpy.frombuffer(f.read()[8:], "uint8").astype("int32")
    at = [time.perf_counter()]
    if side == "dl4":
        import dl4.keras as keras
    else:
        os.environ["KERAS_BACKEND"] = side
        import keras
    at.append(time.perf_counter())
    layers = keras.layers
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(6, 5, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(16, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(120, activation="relu"),
            layers.Dense(84, activation="relu"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    at.append(time.perf_counter())
    history = model.fit(x, y, batch_size=32, epochs=1, verbose=0)
    at.append(time.perf_counter())
    model.predict(x[:1], verbose=0)
    at.append(time.perf_counter())
    later = []
    for i in range(1, 21):
        begun = time.perf_counter()
        model.predict(x[i : i + 1], verbose=0)
        later.append(1e3 * (time.perf_counter() - begun))
    spent = [b - a for a, b in zip(at, at[1:])]
    return [*spent, statistics.median(later), history.history["accuracy"][0]]


def run(python, side):
    command = [python, str(HERE), "--side", side]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def main(*pythons):
    results = {name: [] for name in SIDES}
    where = {}
    for _ in range(3):
        for name, side in SIDES.items():
            for python in where.get(name) or pythons or (sys.executable,):
                got = run(python, side)
                if isinstance(got, list):
                    where[name] = [python]
                    results[name].append(got)
                    break
                print(f"{name} in {python}: {got}", file=sys.stderr)
    print(f"| | {' | '.join(COLUMNS)} |\n|---|{'--:|' * len(COLUMNS)}")
    for name, rows in results.items():
        if rows:
            print(f"| {name} | {' | '.join(f'{statistics.median(v):.2f}' for v in zip(*rows))} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        print(json.dumps(program(sys.argv[2])))
    else:
        main(*sys.argv[1:])
