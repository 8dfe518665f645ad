"""keras.ops that are made of others; random arrays; what is loaded goes on."""

import numpy as np

import os
import tempfile

from . import numbers, program
from .operations import both

A, B = numbers(2, 3, 4), numbers(2, 3, 4, seed=1)
POINTS = np.array([[-2.5, -1.5, -0.5, 0.2], [0.5, 1.5, 2.5, 7.3]], "float32")


@program
def padded(keras):
    o = keras.ops
    width = [[0, 0], [1, 2], [2, 1]]
    return [
        both(keras, f, A)
        for f in (
            lambda x: o.pad(x, width),
            lambda x: o.pad(x, width, "constant", 1.5),
            lambda x: o.pad(x, width, "reflect"),
            lambda x: o.pad(x, width, "symmetric"),
        )
    ]


@program
def names_in_snake_case(keras):
    w = keras.initializers.zeros()((2, 2)), keras.initializers.constant(0.5)((2,))
    return [np.asarray(v) for v in w] + [
        np.asarray(keras.activations.get("swish")(POINTS)),
        keras.constraints.max_norm(2.0).get_config()["max_value"],
    ]


@program
def loaded_models_go_on(keras):
    keras.utils.set_random_seed(0)
    m = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, "relu"), keras.layers.Dense(2)])
    m.set_weights([numbers(*w.shape, seed=i) for i, w in enumerate(m.get_weights())])
    m.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "mse", metrics=["mae"])
    x, y = numbers(16, 4, seed=7), numbers(16, 2, seed=8)
    m.fit(x, y, epochs=2, batch_size=16, verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        m.save(os.path.join(folder, "m.keras"))
        again = keras.models.load_model(os.path.join(folder, "m.keras"))
        plain = keras.models.load_model(os.path.join(folder, "m.keras"), compile=False)
    h = again.fit(x, y, epochs=2, batch_size=16, verbose=0).history
    return [h["loss"], h["mae"], again.evaluate(x, y, verbose=0), int(again.optimizer.iterations), str(plain.compiled)]
