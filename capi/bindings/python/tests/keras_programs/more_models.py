"""Models with outputs in nests, and what layers, losses and metrics say of themselves."""

import numpy as np

from . import DATA, fill, numbers, program

Y1, Y2, Y3 = (numbers(40, 1, seed=i) for i in (11, 12, 13))


@program
def model_from_the_middle(keras):
    x = keras.Input((4,), name="x")
    h = keras.layers.Dense(3, activation="tanh", name="h")(x)
    g = keras.layers.Dense(2, name="g")(h)
    y = keras.layers.Dense(1, name="y")(g * 2.0)
    whole = fill(keras.Model(x, y))
    tail, part = keras.Model(h, y), keras.Model([h], [g, y])
    data = numbers(40, 3, seed=5)
    results = [tail.predict(data, verbose=0), part.predict(data, verbose=0)]
    results += [str([w.shape for w in tail.get_weights()]), [layer.name for layer in tail.layers][1:]]
    tail.compile("sgd", "mse")
    tail.fit(data, Y1, epochs=2, verbose=0, shuffle=False)
    return results + [whole.predict(DATA, verbose=0), whole.get_weights()]


@program
def trainable_said_of_a_model(keras):
    x = keras.Input((4,))
    inner = keras.Model(x, keras.layers.Dense(3)(x), trainable=False)
    m = keras.Model(x, keras.layers.Dense(1)(inner(x)))
    fill(m)
    m.compile("sgd", "mse")
    m.fit(DATA, Y1, epochs=2, verbose=0, shuffle=False)
    return m.get_weights(), len(m.trainable_weights), str(inner.layers[-1].trainable)


@program
def integers_become_floats(keras):
    layers, results = keras.layers, []
    whole = np.random.RandomState(3).randint(0, 4, (2, 3, 4))
    for layer in (
        layers.Dense(2),
        layers.LSTM(2),
        layers.GRU(2, reset_after=False),
        layers.SimpleRNN(2),
        layers.Bidirectional(layers.SimpleRNN(2)),
        layers.RNN(layers.GRUCell(2)),
    ):
        layer.build((None, 3, 4))
        layer.set_weights([numbers(*w.shape, seed=i, scale=0.3) for i, w in enumerate(layer.get_weights())])
        for kind in ("int32", "int64", "uint8"):
            results.append(np.array(layer(whole.astype(kind))))
    return results
