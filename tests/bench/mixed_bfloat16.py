#!/usr/bin/env python3
"""Training steps in mixed_bfloat16 against the same in float32.

    DL4_LIBRARY=build/release/libdl4.so.1 PYTHONPATH=capi/bindings/python taskset -c 1 \\
      python3 tests/bench/mixed_bfloat16.py [--rows TEXT] [--rounds 7]

Both train in turns, by fit() on one thread; processor time of a step, medians of the rounds, and the median of their
ratios, above 1 where mixed_bfloat16 is faster."""
import argparse
import statistics
import time

import numpy as np

import dl4.keras as keras

layers = keras.layers


def mlp(width, hidden):
    def net(x):
        for units in hidden:
            x = layers.Dense(units, activation="relu")(x)
        return layers.Dense(10)(x)

    return (width,), net


def lenet(x):
    for filters, padding in ((6, "same"), (16, "valid")):
        x = layers.AveragePooling2D(2)(layers.Conv2D(filters, 5, padding=padding, activation="tanh")(x))
    x = layers.Dense(120, activation="tanh")(layers.Flatten()(x))
    return layers.Dense(10)(layers.Dense(84, activation="tanh")(x))


def dqn(x):
    for filters, size, strides in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(filters, size, strides, activation="relu")(x)
    return layers.Dense(6)(layers.Dense(512, activation="relu")(layers.Flatten()(x)))


def two_convolutions(x):
    for _ in range(2):
        x = layers.Conv2D(64, 3, activation="relu")(x)
    return layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def recurrent(layer):
    return (28, 28), lambda x: layers.Dense(10)(layer(128)(x))


def encoder(x):
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, x))
    h = layers.Dense(128)(layers.Dense(512, activation="relu")(x))
    return layers.Dense(10)(layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x + h)))


ROWS = {
    "MLP 784-256-128-10 B128": (128, *mlp(784, (256, 128))),
    "MLP 1024-1024-1024-10 B128": (128, *mlp(1024, (1024, 1024))),
    "LeNet-5 B32": (32, (28, 28, 1), lenet),
    "DQN Atari B32": (32, (84, 84, 4), dqn),
    "conv 32x32 3->64->64 3x3 B8": (8, (32, 32, 3), two_convolutions),
    "LSTM T28 B128 H128": (128, *recurrent(layers.LSTM)),
    "GRU T28 B128 H128": (128, *recurrent(layers.GRU)),
    "encoder block B8 T64 D128": (8, (64, 128), encoder),
}


def prepared(policy, batch, shape, net):
    keras.config.set_dtype_policy(policy)
    keras.utils.set_random_seed(1)
    x = keras.Input(shape)
    model = keras.Model(x, net(x))
    model.compile("adam", "mse")
    r = np.random.default_rng(0)
    data = r.normal(size=(4 * batch, *shape)), r.normal(size=(4 * batch, model.output_shape[-1]))
    data = [a.astype("float32") for a in data]

    def steps():
        model.fit(*data, batch_size=batch, verbose=0, shuffle=False)
        return 4

    steps()
    return steps


def microseconds(steps, seconds):
    done, begin = 0, time.process_time()
    while (taken := time.process_time() - begin) < seconds:
        done += steps()
    return taken / done * 1e6


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", default="", help="only rows with this text in their name")
    p.add_argument("--rounds", type=int, default=7)
    o = p.parse_args()
    keras.config.set_context(threads=1, emulate_bfloat16=True)
    print("| training step | float32, us | mixed_bfloat16, us | ratio |\n|---|--:|--:|--:|")
    for name, row in ROWS.items():
        if o.rows not in name:
            continue
        both = [prepared(policy, *row) for policy in ("float32", "mixed_bfloat16")]
        times = [[microseconds(steps, 0.1) for steps in both] for _ in range(o.rounds)]
        plain, mixed = (statistics.median(t) for t in zip(*times))
        print(f"| {name} | {plain:.1f} | {mixed:.1f} | {statistics.median(a / b for a, b in times):.2f} |", flush=True)


main()
