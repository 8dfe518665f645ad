"""Taxi passengers of the next half hour in New York, from two days of them:   taxi.py nyc_taxi.csv [SEED] [--keras]

nyc_taxi.csv stands in data/realKnownCause of https://github.com/numenta/NAB (MIT). The last fifth of the
rows, which has the five anomalies of the series, is never seen in training. Repeating the last value is wrong by 1,190
passengers on average."""
import csv
import datetime
import time

import numpy as np

from words import chosen

keras, (path, *seed) = chosen()
keras.utils.set_random_seed(int(*seed or [0]))
rows = [(datetime.datetime.fromisoformat(r["timestamp"]), float(r["value"])) for r in csv.DictReader(open(path))]
value = np.array([v for _, v in rows])
hour = np.array([t.hour + t.minute / 60 for t, _ in rows]) * (2 * np.pi / 24)
day = np.array([t.weekday() for t, _ in rows]) * (2 * np.pi / 7) + hour / 7
split, window = len(rows) * 4 // 5, 96
mean, spread = value[:split].mean(), value[:split].std()
series = (value - mean) / spread
week = 7 * 48
facts = np.stack([series, np.sin(hour), np.cos(hour), np.sin(day), np.cos(day)], 1).astype("float32")
# What is known of the step to be told: its time, and the value a week before.
ahead = np.stack([np.sin(hour), np.cos(hour), np.sin(day), np.cos(day), np.roll(series, week)], 1).astype("float32")
at = np.arange(week, len(rows))
past = np.stack([facts[i - window:i] for i in at])
change = (series[at] - series[at - 1]).astype("float32")[:, None]
train, test = at < split, at >= split

x, now = keras.Input((window, 5)), keras.Input((5,))
h = keras.layers.GRU(64)(x)
h = keras.layers.Dense(64, activation="relu")(keras.layers.Concatenate()([h, now]))
model = keras.Model([x, now], keras.layers.Dense(1)(h))
model.compile(keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(3e-3, 50 * 123)), "mae")
begin = time.perf_counter()
model.fit([past[train], ahead[at][train]], change[train], epochs=50, batch_size=64, verbose=2)
told = model.predict([past[test], ahead[at][test]], verbose=0)
error = np.abs(told - change[test]).mean() * spread
print(f"mean absolute error {error:.0f} passengers after {time.perf_counter() - begin:.0f} s")
