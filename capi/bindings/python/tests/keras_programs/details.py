"""What is seldom asked: configs of functions, masks asked for, losses on weights, refusals in Keras's words."""

import numpy as np

import os
import tempfile

from . import DATA, ONE_HOT, mlp, numbers, program


@program
def keras_files(keras):
    m = mlp(keras)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.keras")
        m.save(path)
        again = keras.saving.load_model(path)
        m.save_weights(os.path.join(folder, "m.weights.h5"))
        return again.predict(DATA[:3], verbose=0), sorted(os.listdir(folder))


@program
def clones_are_compiled(keras):
    m = mlp(keras)
    m.compile("sgd", "categorical_crossentropy")
    other = keras.models.clone_model(m)
    other.set_weights(m.get_weights())
    return other.compiled, other.evaluate(DATA, ONE_HOT, verbose=0)


@program
def stateful_layers_on_arrays(keras):
    layer = keras.layers.GRU(3, stateful=True)
    layer(numbers(2, 4, 3))
    r = np.random.RandomState(3)
    layer.set_weights([r.standard_normal(w.shape).astype("float32") for w in layer.get_weights()[:3]])
    layer.reset_state()
    first, second = np.asarray(layer(numbers(2, 4, 3))), np.asarray(layer(numbers(2, 4, 3)))
    layer.reset_state()
    return first, second, np.asarray(layer(numbers(2, 4, 3)))
