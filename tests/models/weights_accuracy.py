#!/usr/bin/env python3
"""What weights in fewer bytes cost in accuracy: nets in float32 against their sessions with other weights.

    DL4_LIBRARY=build/release/libdl4.so.1 PYTHONPATH=capi/bindings/python \\
      python3 tests/models/weights_accuracy.py FASHION_MNIST TINY_SHAKESPEARE [--epochs 3] [--seeds 3]

FASHION_MNIST is a folder with the four files of the data set, TINY_SHAKESPEARE a text. The article's four nets, wider
ones and character LSTMs are trained in float32; then the same model runs with each type of weights. The table has test
accuracy in percent, of the LSTMs the cross entropy in nats, with the greatest difference of a seed in brackets."""
import argparse
import gzip
import pathlib

import numpy as np

import dl4.keras as keras
from dl4 import Session

TYPES = ("bfloat16", "int8", "int4")
layers = keras.layers


def idx(path):
    data = gzip.open(path).read()
    shape = np.frombuffer(data, ">i4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def fashion_mnist(folder):
    """Images and labels, to train and to test."""
    parts = []
    for part in ("train", "t10k"):
        x = idx(folder / f"{part}-images-idx3-ubyte.gz").astype("float32") / 255
        parts.append((x, idx(folder / f"{part}-labels-idx1-ubyte.gz").astype("int32")))
    return parts


def dense(x):
    return layers.Dense(128, "relu")(layers.Flatten()(x))


def convolution(x):
    h = layers.MaxPooling2D(2)(layers.Conv2D(16, 3, activation="relu")(layers.Reshape((28, 28, 1))(x)))
    return layers.Flatten()(layers.MaxPooling2D(2)(layers.Conv2D(32, 3, activation="relu")(h)))


def lstm(x):
    return layers.LSTM(64)(x)


def attention(x):
    h = layers.Attention()([layers.Dense(64)(x), layers.Dense(64, "relu")(x), layers.Dense(64)(x)])
    return layers.GlobalAveragePooling1D()(h)


def wide_dense(x):
    """With enough weights for four bits."""
    return layers.Dense(512, "relu")(layers.Dense(512, "relu")(layers.Flatten()(x)))


def wide_lstm(x):
    return layers.LSTM(256)(x)


def classifier(body):
    x = keras.Input((28, 28))
    return keras.Model(x, layers.Dense(10, "softmax")(body(x)))


def characters(size, units):
    x = keras.Input((100,), dtype="int32")
    h = layers.LSTM(units, return_sequences=True)(layers.Embedding(size, units // 2)(x))
    return keras.Model(x, layers.Dense(size, "softmax")(h))


def predicted(model, weights, x):
    """One by one, for the plan keeps float32 where more samples at once make it as fast."""
    session = Session(model._require_built().core, {"weights": weights})
    return np.concatenate([session.run(x[i : i + 1])[0].numpy() for i in range(len(x))])


def row(name, make, data, test, score, digits, batch, o):
    found = {t: [] for t in ("float32", *TYPES)}
    for seed in range(o.seeds):
        keras.utils.set_random_seed(seed)
        model = make()
        model.compile("adam", "sparse_categorical_crossentropy")
        model.fit(*data, batch_size=batch, epochs=o.epochs, verbose=0)
        for t in found:
            found[t].append(score(predicted(model, t, test[0]), test[1]))
    base = np.array(found["float32"])
    cells = [f"{base.mean():.{digits}f}"]
    for t in TYPES:
        off = np.array(found[t]) - base
        cells.append(f"{np.mean(found[t]):.{digits}f} ({off[np.argmax(np.abs(off))]:+.{digits}f})")
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("fashion", type=pathlib.Path)
    p.add_argument("text", type=pathlib.Path)
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--seeds", type=int, default=3)
    o = p.parse_args()
    parts = fashion_mnist(o.fashion)
    print("| net | float32 | " + " | ".join(TYPES) + " |")
    print("|---|" + "--:|" * 4)
    accuracy = lambda p, y: 100 * float((p.argmax(-1) == y).mean())
    for body in (dense, convolution, lstm, attention, wide_dense, wide_lstm):
        row(body.__name__.replace("_", " "), lambda body=body: classifier(body), *parts, accuracy, 2, 128, o)
    known, ids = np.unique(np.frombuffer(o.text.read_bytes(), np.uint8), return_inverse=True)
    pieces = ids[: len(ids) // 101 * 101].reshape(-1, 101).astype("int32")
    train, test = pieces[:10000], pieces[10000:]
    nats = lambda p, y: float(-np.log(np.take_along_axis(p, y[..., None], -1)).mean())
    cut = lambda a: (a[:, :-1], a[:, 1:])
    for units in (128, 256):
        make = lambda: characters(len(known), units)
        row(f"character LSTM of {units}, nats", make, cut(train), cut(test), nats, 4, 16, o)


if __name__ == "__main__":
    main()
