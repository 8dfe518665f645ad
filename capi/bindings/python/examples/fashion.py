"""Clothes in pictures, by a small residual net:   fashion.py FOLDER [SEED] [--keras]

FOLDER has the four .gz files of data/fashion in https://github.com/zalandoresearch/fashion-mnist (MIT)."""
import gzip
import time

import numpy as np

from words import chosen

keras, (folder, *seed) = chosen()
seed = int(*seed or [0])
keras.utils.set_random_seed(seed)
layers = keras.layers


def read(name, head):
    return np.frombuffer(gzip.open(f"{folder}/{name}-ubyte.gz").read()[head:], "uint8")


(x, y), (xt, yt) = [((read(f"{n}-images-idx3", 16).reshape(-1, 28, 28, 1) / 255 - 0.2860).astype("float32"),
                     read(f"{n}-labels-idx1", 8).astype("int32")) for n in ("train", "t10k")]


def block(h, filters, strides):
    short = h if strides == 1 else layers.Conv2D(filters, 1, strides, use_bias=False)(h)
    h = layers.BatchNormalization()(layers.Conv2D(filters, 3, strides, "same", use_bias=False)(h))
    h = layers.ReLU()(h)
    h = layers.BatchNormalization()(layers.Conv2D(filters, 3, 1, "same", use_bias=False)(h))
    return layers.ReLU()(layers.Add()([h, short]))


inp = keras.Input((28, 28, 1))
h = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(inp)))
for filters, strides in ((16, 1), (32, 2), (64, 2)):
    h = block(h, filters, strides)
h = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(h))
model = keras.Model(inp, layers.Dense(10)(h))
epochs = 8
model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(4e-3, epochs * 469)),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
begin = time.perf_counter()
model.fit(x, y, epochs=epochs, batch_size=128, verbose=2)
loss, accuracy = model.evaluate(xt, yt, batch_size=500, verbose=0)
print(f"accuracy {100 * accuracy:.2f} % after {time.perf_counter() - begin:.0f} s")
