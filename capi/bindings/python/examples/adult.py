"""Does someone earn more than 50,000 dollars? From the census of 1994:   adult.py adult.data [SEED [OUT.keras]] [--keras]

adult.data is the training file of "Adult" at https://archive.ics.uci.edu/dataset/2/adult (Becker and Kohavi 1996, CC BY
4.0); or a table with a line of names. The commonest answer is right for 75.9 %. OUT.keras takes columns as they are:
capi/examples/table_serve.c and `dl4 run OUT.keras --csv table.csv` answer with it."""
import csv
import time

import numpy as np

from words import chosen

NAMES = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]
keras, (path, *more) = chosen()
seed = int(more[0]) if more else 0
keras.utils.set_random_seed(seed)
Space = keras.utils.FeatureSpace
rows = [r for r in csv.reader(open(path), skipinitialspace=True) if r]
columns = dict(zip(rows.pop(0) if rows[0][0] == "age" else NAMES, zip(*rows)))
features = {"age": Space.float_discretized(16), "capital-gain": Space.float_discretized(64), "capital-loss":
            Space.float_discretized(32), "hours-per-week": "float_normalized", "education-num": "integer_categorical",
            "native-country": Space.string_hashed(32)}
features.update(dict.fromkeys(["workclass", "marital-status", "occupation", "relationship"], "string_categorical"))
space = Space(features, crosses=[Space.cross(("education-num", "occupation"), 128)])
table = {name: np.array(columns[name], {"float32": "float32", "int32": "int32"}.get(f.dtype)) for name, f in
         space.features.items()}
y = np.array([v in (">50K", "1") for v in columns["income"]], "float32")[:, None]
order = np.random.RandomState(0).permutation(len(y))
train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5:]

space.adapt({name: column[train] for name, column in table.items()})
encoded = space.get_encoded_features()
h = encoded
for units in (128, 64):
    h = keras.layers.Dropout(0.4)(keras.layers.Dense(units, activation="relu")(h))
out = keras.layers.Dense(1, activation="sigmoid", name="income")(h)
model = keras.Model(encoded, out)  # of columns that are encoded once; the other one takes them as they are
model.compile("adam", "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC(num_thresholds=1000)])
x = np.asarray(space(table))
begin = time.perf_counter()
model.fit(x[train], y[train], epochs=10, batch_size=128, verbose=2)
loss, accuracy, auc = model.evaluate(x[test], y[test], batch_size=1024, verbose=0)
print(f"accuracy {100 * accuracy:.2f} %, area under the curve {auc:.4f} after {time.perf_counter() - begin:.0f} s")
if more[1:]:
    keras.Model(space.get_inputs(), out).save(more[1])
