"""Usual mistakes: each error says what was wrong, names no function of the library's, and says what usually mends it."""

import os
import tempfile
import unittest
import warnings

import numpy as np

import dl4
import dl4.keras as keras
from dl4.keras import layers, ops

X = np.linspace(0, 1, 32, dtype="float32").reshape(8, 4)
Y = X[:, :1]
LABELS = np.arange(8) % 3


def net(units=3, activation="softmax", loss="categorical_crossentropy", **compiled):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(8), layers.Dense(units, activation=activation)])
    model.compile("adam", loss, **compiled)
    return model


def regression():
    return net(1, None, "mse")


def images():
    return keras.Sequential([keras.Input((8, 8, 1)), layers.Conv2D(2, 3), layers.Flatten(), layers.Dense(1)])


def two_inputs(inputs):
    return keras.Model(inputs, layers.Add()(list(inputs.values()) if isinstance(inputs, dict) else inputs))


def pair():
    return {name: keras.Input((4,), name=name) for name in "ab"}


def two_outputs():
    x = keras.Input((4,))
    model = keras.Model(x, {name: layers.Dense(1, name=name)(x) for name in "ab"})
    model.compile("adam", {"a": "mse", "c": "mse"})
    return model


def branch():
    if ops.sum(keras.Input((3,))) > 0:
        return 1


def written(model, other):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.weights.h5")
        model.save_weights(path)
        other.load_weights(path)


def loaded(name, text=None):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        keras.models.load_model(path)


def symbol(shape=(3,)):
    return keras.Input(shape)


OTHER_SIZE = lambda: keras.Sequential([keras.Input((4,)), layers.Dense(5), layers.Dense(3)])
RATE = "learning_rate"
SAMPLE = r"expected shape.*; a single sample needs a batch axis: x\[None\]$"
SPARSE = '; for integer labels the loss is "sparse_categorical_crossentropy"$'
ROWS = "expected arrays of as many samples, got x: 8, "
SYMBOLIC = "a symbolic tensor has no numbers: .*those of keras.ops do"

# What is done, the class of the error, what it says.
MISTAKES = [
    (lambda: regression().fit(X, Y[:5]), ValueError, ROWS + "y: 5$"),
    (lambda: regression().evaluate(X, Y[:5]), ValueError, ROWS + "y: 5$"),
    (lambda: regression().fit(X, Y, validation_data=(X, Y[:3])), ValueError, ROWS + "y: 3$"),
    (lambda: regression().fit(X, Y, sample_weight=np.ones(3)), ValueError, ROWS + "y: 8, sample_weight: 3$"),
    (lambda: regression().fit(X), ValueError, "expected 1 targets, got 0; a loss needs `y`"),
    (lambda: net().fit(X, LABELS), ValueError, r"got \(8,\)" + SPARSE),
    (lambda: net().fit(X, LABELS[:, None]), ValueError, r"got \(8, 1\)" + SPARSE),
    (lambda: net().evaluate(X, LABELS), ValueError, SPARSE),
    (
        lambda: net(loss="sparse_categorical_crossentropy").fit(X, np.eye(3)[LABELS]),
        ValueError,
        'for one-hot targets the loss is "categorical_crossentropy"$',
    ),
    (lambda: net().fit(X, np.zeros((8, 4))), ValueError, r"expected shape \(None, 3\).*, got \(8, 4\)$"),
    (lambda: regression().fit(X, np.zeros((8, 2))), ValueError, r"expected shape \(None, 1\).*, got \(8, 2\)$"),
    (
        lambda: net(loss="sparse_categorical_crossentropy").fit(X, LABELS + 5),
        ValueError,
        r"index \d is out of range, expected at least 0 and less than 3",
    ),
    (lambda: net().predict(np.array([["a"] * 4])), ValueError, "input \"input_layer.*\": expected float32, got string"),
    (lambda: net().predict(np.array([[object()] * 4])), ValueError, "expected numbers, got <object.*of object"),
    (lambda: layers.Dense(3)("hello"), ValueError, "input 0 is incompatible with the layer"),
    (lambda: layers.Dense(3)(layers.Dense(4)), ValueError, "expected numbers, got <Dense"),
    (lambda: regression().fit(X, "abc"), ValueError, "expected an array with a batch axis as y, got a single value"),
    (lambda: net().predict(X[0]), ValueError, SAMPLE),
    (lambda: net()(X[0]), ValueError, SAMPLE),
    (lambda: images().predict(np.zeros((8, 8, 1))), ValueError, SAMPLE),
    (lambda: net().predict(np.zeros((2, 5))), ValueError, r"expected shape \(None, 4\), got \(2, 5\)$"),
    (lambda: net().predict(np.zeros((2, 3, 4))), ValueError, r"expected shape \(None, 4\), got \(2, 3, 4\)$"),
    (
        lambda: layers.Conv2D(4, 5)(symbol((3, 3, 1))),
        ValueError,
        "kernel_size 5 does not fit in 3",
    ),
    (
        lambda: layers.MaxPooling2D(4)(symbol((3, 3, 1))),
        ValueError,
        "pool_size 4 does not fit in 3",
    ),
    (branch, ValueError, "has no truth value"),
    (lambda: np.exp(symbol()), ValueError, SYMBOLIC),
    (lambda: np.dot(symbol(), np.eye(3)), ValueError, SYMBOLIC),
    (lambda: np.array(symbol()), ValueError, SYMBOLIC),
    (lambda: layers.Densee(3), AttributeError, "has no attribute 'Densee'; did you mean 'Dense'"),
    (lambda: keras.layer, AttributeError, "did you mean '(layers|Layer)'"),
    (lambda: keras.activations.relue, AttributeError, "did you mean 'relu'"),
    (lambda: ops.expp(X), AttributeError, "did you mean 'exp'"),
    (lambda: keras.optimizers.Adm, AttributeError, "did you mean 'Adam'"),
    (lambda: keras.callbacks.EarlyStoping, AttributeError, "did you mean 'EarlyStopping'"),
    (lambda: keras.utils.to_categoricall, AttributeError, "did you mean 'to_categorical'"),
    (lambda: keras.initializers.GlorotUnifrom, AttributeError, "did you mean 'GlorotUniform'"),
    (lambda: keras.models.load_modle, AttributeError, "did you mean 'load_model'"),
    (lambda: keras.layers.Quux, AttributeError, "has no attribute 'Quux'.*install keras and import dl4.keras_backend"),
    (lambda: keras.optimizers.Adam(lr=0.1), ValueError, f"keyword argument 'lr'; did you mean '{RATE}'"),
    (lambda: keras.optimizers.Adam(lr=0.1), TypeError, f"did you mean '{RATE}'"),
    (lambda: keras.optimizers.Adam(learning_rat=0.1), TypeError, f"did you mean '{RATE}'"),
    (lambda: keras.optimizers.get("adamm"), ValueError, '^unknown optimizer "adamm"; did you mean "Adam"'),
    (lambda: net(loss="msee").fit(X, Y), ValueError, '^unknown loss "msee"; did you mean "mse"'),
    (lambda: layers.Dense(3, activation="rellu"), ValueError, 'unknown activation "rellu"; did you mean "relu"'),
    (lambda: layers.Dense(3, kernel_initializer="glorot"), ValueError, 'unknown initializer "glorot"'),
    (lambda: layers.Dense(3, activaton="relu"), ValueError, "keyword argument 'activaton'; did you mean 'activation'"),
    (lambda: layers.Conv2D(3, 3, padding="sam"), ValueError, 'got "sam"; did you mean "same"'),
    (lambda: layers.Dense(-1), ValueError, '"units": expected at least 1, got -1'),
    (lambda: layers.Dropout(5), ValueError, '"rate": expected at most 1.0, got 5'),
    (lambda: written(net(), OTHER_SIZE()), ValueError, r'weight "dense_\d+/kernel": expected \(4, 5\), .* is \[4,8\]'),
    (lambda: loaded("nope.keras"), ValueError, 'cannot open ".*nope.keras": No such file'),
    (lambda: loaded("oops.keras", "int main(void) {}"), ValueError, "oops.keras.*expected a model in a file of Keras.*, got a text"),
    (lambda: keras.Model(symbol(), None), ValueError, "expected inputs and outputs"),
    (lambda: keras.Model(symbol(), layers.Dense(1)(symbol())), ValueError, "the outputs need the input .*, which is not among the inputs"),
    (lambda: keras.Sequential([layers.Dense(1)]).fit(X, Y), ValueError, r"call compile\(\) first"),
    (lambda: keras.Sequential([layers.Dense]), ValueError, "expected a layer or a model, got type"),
    (lambda: net().get_layer("dense_99"), ValueError, r"expected one of \['dense_.*, got 'dense_99'"),
    (lambda: net().layers[0].set_weights([np.zeros((3, 8)), np.zeros(8)]), ValueError, r"\(4, 8\).*\(3, 8\)"),
    (lambda: net().layers[0].set_weights([np.zeros((4, 8))]), ValueError, "expected 2 arrays, one for each weight, got 1"),
    (lambda: layers.Concatenate()([symbol((3, 4)), symbol((5, 4))]), ValueError, r"\(None, 3, 4\) and \(None, 5, 4\)"),
    (lambda: layers.Add()([symbol((3,)), symbol((4,))]), ValueError, r"\(None, 3\) and \(None, 4\) do not broadcast"),
    (lambda: layers.Reshape((3, 3))(symbol((8,))), ValueError, r"can't reshape \(None, 8\) to \(None, 3, 3\)"),
    (lambda: layers.LSTM(3)(symbol((4,))), ValueError, "expected ndim=3, found ndim=2"),
    (
        lambda: layers.MultiHeadAttention(2, 4)(symbol((3, 4))),
        ValueError,
        "expected 2 to 3 inputs, got 1",
    ),
    (lambda: two_inputs(list(pair().values())).predict(X), ValueError, "expected 2 inputs, got 1"),
    (lambda: two_inputs(pair()).predict({"a": X, "c": X}), ValueError, r"expected the inputs \['a', 'b'\], got none named 'b'"),
    (lambda: two_outputs().fit(X, {"a": Y, "b": Y}), ValueError, r"expected names of outputs, \['a', 'b'\], got 'c'"),
    (lambda: regression().fit(X, Y, epochs="3"), ValueError, '"epochs": expected an integer, got "3"'),
    (lambda: regression().fit(X, Y, validation_split=1.5), ValueError, '"validation_split": expected at most 1.0, got 1.5'),
    (
        lambda: net(loss="sparse_categorical_crossentropy").fit(X, LABELS, class_weight={"a": 2}),
        ValueError,
        "class_weight: expected a dict of weights by class number",
    ),
    (
        lambda: regression().fit(X, Y, callbacks=[keras.callbacks.EarlyStopping(monitor="val_los")]),
        ValueError,
        '"monitor": expected one of "loss", got "val_los"',
    ),
    (
        lambda: keras.Sequential([keras.Input((4,)), layers.Embedding(5, 2)]).predict(np.full((2, 4), 9)),
        ValueError,
        "index 9 is out of range, expected at least 0 and less than 5",
    ),
    (lambda: dl4.registry("layer", "Densse"), ValueError, '^unknown layer "Densse"; did you mean "Dense"'),
]


class Mistakes(unittest.TestCase):
    def test_each_says_what_mends_it(self):
        for number, (mistake, kind, said) in enumerate(MISTAKES):
            with self.subTest(number=number, said=said), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with self.assertRaisesRegex(kind, "(?s)" + said) as caught:
                    mistake()
                self.assertNotRegex(str(caught.exception), r"dl4_\w+")
                self.assertNotRegex(str(caught.exception), r"[(,] ?\?[,)]")

    def test_the_function_is_among_the_details(self):
        with self.assertRaises(dl4.UnknownKind) as caught:
            dl4.registry("layer", "Densse")
        self.assertEqual((caught.exception.function, caught.exception.did_you_mean), ("dl4_registry_json", "Dense"))

    def test_operators_take_arrays_on_the_left(self):
        x = keras.Input((3,))
        row = np.array([1, 2, 4], "float32")
        made = [row + x, row - x, row * x, row / (x + 1), row**x, row[None] @ ops.transpose(x), row < x, row >= x]
        model = keras.Model(x, [ops.cast(v, "float32") for v in made])
        data = np.array([[1, 0, 3]], "float32")
        wanted = [row + data, row - data, row * data, row / (data + 1), row**data, row[None] @ data.T, row < data, row >= data]
        for got, want in zip(model.predict(data, verbose=0), wanted):
            np.testing.assert_allclose(got, want, rtol=1e-6)


if __name__ == "__main__":
    unittest.main()
