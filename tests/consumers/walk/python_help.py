"""help() has a page for what is called most, and errors say what to do"""

import numpy as np

import dl4.keras as keras

for function in (keras.Model.fit, keras.Model.compile, keras.Model.predict, keras.callbacks.EarlyStopping, keras.ops.exp):
    assert function.__doc__, function

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="softmax")])
model.compile("adam", "categorical_crossentropy")
x = np.zeros((8, 4))
MISTAKES = (
    (lambda: model.fit(x, np.zeros((5, 3))), "got x: 8, y: 5"),
    (lambda: model.fit(x, np.zeros(8, int)), "sparse_categorical_crossentropy"),
    (lambda: model.predict(x[0]), "x[None]"),
    (lambda: keras.layers.Densee(3), "did you mean 'Dense'"),
    (lambda: keras.optimizers.Adam(lr=0.1), "did you mean 'learning_rate'"),
    (lambda: keras.layers.Conv2D(4, 5)(keras.Input((3, 3, 1))), "kernel_size 5 does not fit in 3"),
    (lambda: np.exp(keras.Input((3,))), "those of keras.ops do"),
    (lambda: bool(keras.Input((3,))), "has no truth value"),
)
for mistake, remedy in MISTAKES:
    try:
        mistake()
    except Exception as e:
        assert remedy in str(e) and "dl4_" not in str(e), str(e)
    else:
        raise AssertionError(remedy)
