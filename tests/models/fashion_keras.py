"""The Keras side of the Fashion-MNIST comparison.

Trains the four nets of capi/examples/four_layers.c from given initial weights on given batches and writes each net's
test accuracy per seed as JSON. `start` holds <net>_<seed>.safetensors (weights named "<layer>/<weight>") and
order_<seed>.bin (int32 sample indices, all epochs concatenated). `--write-start` makes such a directory from Keras's
own initializers instead of training.
"""
import argparse
import gzip
import json
import os
import pathlib
import time

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import Input, layers
from safetensors.numpy import load_file, save_file

NETS = ("dense", "conv", "lstm", "attention")
BATCH = 128


def build(net):
    if net == "dense":
        x = Input((28, 28, 1), name="image")
        h = layers.Flatten(name="flatten")(x)
        h = layers.Dense(128, activation="relu", name="hidden")(h)
    elif net == "conv":
        x = Input((28, 28, 1), name="image")
        h = layers.Conv2D(16, 3, activation="relu", name="conv1")(x)
        h = layers.MaxPooling2D(2, name="pool1")(h)
        h = layers.Conv2D(32, 3, activation="relu", name="conv2")(h)
        h = layers.MaxPooling2D(2, name="pool2")(h)
        h = layers.Flatten(name="flatten")(h)
    elif net == "lstm":
        x = Input((28, 28), name="rows")
        h = layers.LSTM(64, name="lstm")(x)
    else:
        x = Input((28, 28), name="rows")
        query = layers.Dense(64, name="query")(x)
        key = layers.Dense(64, name="key")(x)
        value = layers.Dense(64, activation="relu", name="value")(x)
        h = layers.Attention(name="attention")([query, value, key])
        h = layers.GlobalAveragePooling1D(name="pool")(h)
    return keras.Model(x, layers.Dense(10, activation="softmax", name="output")(h), name=net)


def weight_names(model):
    """Native name of every variable, in Keras's order ("lstm/lstm_cell/kernel" is "lstm/kernel")."""
    return ["/".join((v.path.split("/")[0], v.path.split("/")[-1])) for v in model.weights]


def set_start(model, path):
    given = load_file(path)
    names = weight_names(model)
    if sorted(names) != sorted(given):
        raise SystemExit(f"{path}: has weights {sorted(given)}, expected {sorted(names)}")
    for name, variable in zip(names, model.weights):
        variable.assign(given[name])


def read_idx(path):
    with gzip.open(path) as file:
        data = file.read()
    rank = data[3]
    shape = np.frombuffer(data, ">i4", rank, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_set(directory, part):
    return (read_idx(directory / f"{part}-images-idx3-ubyte.gz"),
            read_idx(directory / f"{part}-labels-idx1-ubyte.gz").astype(np.int32))


def batches(images, labels, order, shape):
    def pick(i):
        x = tf.cast(tf.gather(images, i), tf.float32) / 255.0
        return tf.reshape(x, (-1, *shape)), tf.gather(labels, i)
    return tf.data.Dataset.from_tensor_slices(order).batch(BATCH).map(pick).prefetch(2)


def train(net, start, order, train_set, test_set, epochs):
    model = build(net)
    set_start(model, start)
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    shape = model.inputs[0].shape[1:]
    images, labels = (tf.constant(a) for a in train_set)
    test = batches(*(tf.constant(a) for a in test_set), np.arange(len(test_set[0]), dtype=np.int32), shape)
    began, loss = time.monotonic(), []
    for epoch in order.reshape(epochs, -1):
        logs = model.fit(batches(images, labels, epoch, shape), verbose=0, shuffle=False).history
        loss.append(logs["loss"][0])
    seconds = time.monotonic() - began
    accuracy = model.evaluate(test, verbose=0, return_dict=True)["accuracy"]
    return {"accuracy": accuracy, "train_accuracy": logs["accuracy"][0], "loss": loss, "seconds": round(seconds, 1)}


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")


def write_start(directory, seeds, samples, epochs):
    directory.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        order = np.concatenate([rng.permutation(samples) for _ in range(epochs)]).astype("<i4")
        order.tofile(directory / f"order_{seed}.bin")
        for net in NETS:
            keras.utils.set_random_seed(seed)
            model = build(net)
            weights = {n: v.numpy() for n, v in zip(weight_names(model), model.weights)}
            save_file(weights, directory / f"{net}_{seed}.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", type=pathlib.Path, help="directory of initial weights and batch orders")
    parser.add_argument("data", type=pathlib.Path, help="directory of the four Fashion-MNIST .gz files")
    parser.add_argument("result", type=pathlib.Path, nargs="?", help="JSON file to write; runs already in it are kept")
    parser.add_argument("--nets", nargs="+", default=NETS, choices=NETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--test-part", action="store_true",
                        help="train on the first 9,000 images of the 10,000-image part, test on the last 1,000")
    parser.add_argument("--write-start", action="store_true", help="fill the start directory instead of training")
    options = parser.parse_args()

    test_set = read_set(options.data, "t10k")
    if options.test_part:
        train_set, test_set = [a[:9000] for a in test_set], [a[9000:] for a in test_set]
    else:
        train_set = read_set(options.data, "train")
    if options.write_start:
        return write_start(options.start, options.seeds, len(train_set[0]), options.epochs)

    result = {"keras": keras.__version__, "tensorflow": tf.__version__, "processor": processor(),
              "cores": os.cpu_count(), "epochs": options.epochs, "batch": BATCH, "nets": {}}
    if options.result and options.result.exists():
        result["nets"] = json.loads(options.result.read_text())["nets"]
    for seed in options.seeds:
        for net in options.nets:
            order = np.fromfile(options.start / f"order_{seed}.bin", "<i4")
            if order.size % options.epochs or (order.size and not 0 <= order.min() <= order.max() < len(train_set[0])):
                raise SystemExit(f"order_{seed}.bin does not fit {options.epochs} epochs of {len(train_set[0])} images")
            run = train(net, options.start / f"{net}_{seed}.safetensors", order, train_set, test_set, options.epochs)
            print(f"{net} seed {seed}: {run['accuracy']:.4f} in {run['seconds']} s", flush=True)
            by_seed = {**result["nets"].get(net, {}).get("seeds", {}), str(seed): run}
            accuracy = [r["accuracy"] for r in by_seed.values()]
            result["nets"][net] = {"seeds": by_seed, "mean": float(np.mean(accuracy)),
                                   "spread": float(np.ptp(accuracy))}
            if options.result:
                options.result.write_text(json.dumps(result, indent=1) + "\n")
    if not options.result:
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
