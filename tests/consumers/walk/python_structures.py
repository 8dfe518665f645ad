"""dicts of inputs and outputs come back from files, around wrappers too"""

import os
import tempfile

import numpy as np

import dl4.keras as keras
from dl4.keras import layers

x = np.random.rand(4, 3, 1).astype("float32")


def model(content):
    value = keras.Input((3, 1), name="x")
    return keras.Model({"x": value}, {"kind": layers.Dense(1, name="kind")(content(value))})


CONTENTS = {
    "Dense": lambda v: layers.Dense(2)(v),
    "Bidirectional": lambda v: layers.Bidirectional(layers.LSTM(2))(v),
    "TimeDistributed": lambda v: layers.TimeDistributed(layers.Dense(2))(v),
    "RNN": lambda v: layers.RNN(layers.GRUCell(2))(v),
    "SpectralNormalization": lambda v: layers.SpectralNormalization(layers.Dense(2))(v),
}
for name, content in CONTENTS.items():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.keras")
        before = model(content)
        before.save(path)
        after = keras.models.load_model(path)
    assert type(after.input) is dict and type(after.output) is dict, name
    wanted, got = (m.predict({"x": x}, verbose=0)["kind"] for m in (before, after))
    np.testing.assert_array_equal(got, wanted)
