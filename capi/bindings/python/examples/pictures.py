"""Draws learning.svg and attention.svg with dl4.plot:   pictures.py FOLDER [TATOEBA]

The learning curves are of a LeNet-5 on the 10,000 test images of Fashion-MNIST, whose two .gz files are in FOLDER; the
heat map is that of translate.py, whose data are in TATOEBA. Needs matplotlib."""
import gzip
import os
import pathlib
import runpy
import sys

import matplotlib
import numpy as np

import dl4.keras as keras
import dl4.plot

HERE = pathlib.Path(__file__).resolve().parent
matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "dl4", "font.family": "sans-serif"})
import matplotlib.pyplot as plt  # noqa: E402


def save(ax, name):
    ax.figure.savefig(HERE.parent / name, metadata={"Date": None}, bbox_inches="tight")
    plt.close(ax.figure)


def read(folder, name, head):
    return np.frombuffer(gzip.open(f"{folder}/t10k-{name}-ubyte.gz").read()[head:], "uint8")


def learning(folder):
    x, y = read(folder, "images-idx3", 16).reshape(-1, 28, 28, 1) / np.float32(255), read(folder, "labels-idx1", 8)
    keras.utils.set_random_seed(0)
    layers = keras.layers
    model = keras.Sequential([
        keras.Input((28, 28, 1)),
        layers.Conv2D(6, 5, padding="same", activation="relu"), layers.MaxPooling2D(),
        layers.Conv2D(16, 5, activation="relu"), layers.MaxPooling2D(),
        layers.Flatten(), layers.Dense(120, activation="relu"), layers.Dense(84, activation="relu"), layers.Dense(10)])
    model.compile(keras.optimizers.Adam(2e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True),
                  metrics=["accuracy"])
    history = model.fit(x, y.astype("int32"), epochs=12, batch_size=64, validation_split=0.2, verbose=2)
    save(dl4.plot.learning_curves(history, ax=plt.subplots(figsize=(5, 3.2))[1]), "learning.svg")


def attention(folder):
    sys.argv = [str(HERE / "translate.py"), folder]
    sys.path.insert(0, str(HERE))
    of = runpy.run_path(sys.argv[0])
    english = [of["words"][0][i] for i in of["told"][1:]]
    scores = of["seen"][:, :len(of["german_words"])]
    save(dl4.plot.attention(scores, of["german_words"], english, ax=plt.subplots(figsize=(5, 3.2))[1]), "attention.svg")


if len(sys.argv) < 2 or not os.path.exists(sys.argv[1]):
    sys.exit(__doc__)
learning(sys.argv[1])
if len(sys.argv) > 2:
    attention(sys.argv[2])
