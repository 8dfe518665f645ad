"""Writes keras_2_nested.keras and what its model gives: models as layers, as Keras 2 counted their calls.

Needs tensorflow==2.15 and safetensors."""
import os
import pathlib
import zipfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import keras
import numpy as np
from keras import layers
from safetensors.numpy import save

HERE = pathlib.Path(__file__).resolve().parent


def main():
    keras.utils.set_random_seed(1)
    inner = keras.Input((5, 3))
    reader = keras.Model(inner, layers.LSTM(2)(layers.Dense(3)(inner)), name="reader")
    built = keras.Sequential([keras.Input((2,)), layers.Dense(4, activation="tanh"), layers.Dense(2)], name="built")
    late = keras.Sequential([layers.Dense(4, activation="tanh"), layers.Dense(2)], name="late")
    x = keras.Input((5, 3))
    first, second = reader(x), reader(layers.Dense(3)(x))
    model = keras.Model(x, [first, layers.Add()([built(first), second]), built(second), late(layers.Dense(2)(second))])
    model.save(HERE / "keras_2_nested.keras")
    with zipfile.ZipFile(HERE / "keras_2_nested.keras") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(HERE / "keras_2_nested.keras", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    values = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("f4")
    expected = {"keras_2_nested.keras/input/0": values}
    for i, y in enumerate(model(values)):
        expected[f"keras_2_nested.keras/output/{i}"] = y.numpy()
    (HERE / "expected_keras_2.safetensors").write_bytes(save(expected))


if __name__ == "__main__":
    main()
