"""Does someone earn more than 50,000 dollars? From the census of 1994:   adult.py adult.data [SEED] [--keras]

adult.data is the training file of "Adult" at https://archive.ics.uci.edu/dataset/2/adult (Becker and Kohavi 1996, CC BY
4.0). Words become embeddings. The commonest answer is right for 75.9 %."""
import csv
import time

import numpy as np

from words import chosen

keras, (path, *seed) = chosen()
seed = int(*seed or [0])
keras.utils.set_random_seed(seed)
rows = [r for r in csv.reader(open(path), skipinitialspace=True) if r]
numeric, words = [0, 4, 10, 11, 12], [1, 3, 5, 6, 7, 8, 9, 13]
order = np.random.RandomState(0).permutation(len(rows))
train, test = order[: len(rows) * 4 // 5], order[len(rows) * 4 // 5:]
n = np.array([[float(r[i]) for i in numeric] for r in rows])
n[:, 2:4] = np.log1p(n[:, 2:4])
n = ((n - n[train].mean(0)) / n[train].std(0)).astype("float32")
known = [sorted({r[i] for r in rows}) for i in words]
w = [np.array([k.index(r[i]) for r in rows])[:, None] for i, k in zip(words, known)]
y = np.array([r[-1] == ">50K" for r in rows], "float32")[:, None]

numbers = keras.Input((len(numeric),))
ids = [keras.Input((1,), dtype="int32") for _ in words]
parts = [keras.layers.Flatten()(keras.layers.Embedding(len(k), min(12, len(k) // 2 + 1))(i))
         for i, k in zip(ids, known)]
h = keras.layers.Concatenate()([numbers, *parts])
for units in (128, 64):
    h = keras.layers.Dropout(0.3)(keras.layers.Dense(units, activation="relu")(h))
model = keras.Model([numbers, *ids], keras.layers.Dense(1, activation="sigmoid")(h))
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(num_thresholds=1000)])
begin = time.perf_counter()
model.fit([n[train], *(i[train] for i in w)], y[train], epochs=15, batch_size=128, verbose=2)
loss, accuracy, auc = model.evaluate([n[test], *(i[test] for i in w)], y[test], batch_size=1024, verbose=0)
print(f"accuracy {100 * accuracy:.2f} %, area under the curve {auc:.4f} after {time.perf_counter() - begin:.0f} s")
