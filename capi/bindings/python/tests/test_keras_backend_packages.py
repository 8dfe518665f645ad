"""Packages that build on Keras, with the library as its backend: keras-hub, KerasTuner, keras-tcn. Those that are not
installed are skipped."""

import importlib.util
import sys
import tempfile
import unittest

import numpy as np

try:
    import dl4.keras_backend  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

import keras
from keras import layers


def needs(package):
    found = importlib.util.find_spec(package) is not None
    if not found:
        print(f"skipped: {package} is not installed")
    return unittest.skipUnless(found, f"{package} is not installed")


@needs("keras_hub")
class Hub(unittest.TestCase):
    def test_an_encoder_learns(self):
        import keras_hub

        keras.utils.set_random_seed(1)
        tokens = keras.Input((6,), dtype="int32")
        x = keras_hub.layers.TokenAndPositionEmbedding(20, 6, 8)(tokens)
        x = keras_hub.layers.TransformerEncoder(16, 2)(x)
        model = keras.Model(tokens, layers.Dense(1)(layers.GlobalAveragePooling1D()(x)))
        model.compile(keras.optimizers.Adam(0.01), "mse")
        x = np.random.RandomState(0).randint(0, 20, (64, 6))
        loss = model.fit(x, (x == 3).sum(1), epochs=15, verbose=0).history["loss"]
        self.assertLess(loss[-1], 0.5 * loss[0])

    def test_a_decoder_looks_back_only(self):
        import keras_hub

        decoder = keras_hub.layers.TransformerDecoder(16, 2)
        x = np.random.RandomState(0).rand(2, 5, 8).astype("f4")
        whole = np.asarray(decoder(x))
        np.testing.assert_allclose(whole[:, :3], decoder(x[:, :3]), atol=1e-5)

    def test_a_backbone(self):
        import keras_hub

        model = keras_hub.models.BertBackbone(
            vocabulary_size=50,
            num_layers=1,
            num_heads=2,
            hidden_dim=8,
            intermediate_dim=16,
            max_sequence_length=6,
        )
        ones = np.ones((2, 6), "i4")
        given = {"token_ids": ones, "segment_ids": 0 * ones, "padding_mask": ones}
        called, predicted = model(given), model.predict(given, verbose=0)
        for name, shape in (("sequence_output", (2, 6, 8)), ("pooled_output", (2, 8))):
            self.assertEqual(called[name].shape, shape)
            np.testing.assert_allclose(called[name], predicted[name], atol=1e-6)


@needs("keras_tuner")
class Tuner(unittest.TestCase):
    def test_a_search(self):
        import keras_tuner

        def build(choice):
            units = choice.Int("units", 2, 8)
            model = keras.Sequential([keras.Input((3,)), layers.Dense(units, "relu"), layers.Dense(1)])
            model.compile(keras.optimizers.Adam(choice.Choice("rate", [1e-2, 1e-3])), "mse")
            return model

        x = np.random.RandomState(0).rand(64, 3).astype("f4")
        y = x.sum(1, keepdims=True)
        with tempfile.TemporaryDirectory() as folder:
            tuner = keras_tuner.RandomSearch(build, "val_loss", max_trials=3, seed=1, directory=folder)
            tuner.search(x, y, epochs=2, validation_data=(x, y), verbose=0)
            best = tuner.get_best_models()[0].evaluate(x, y, verbose=0)
            scores = [t.score for t in tuner.oracle.get_best_trials(3)]
        self.assertEqual(len(scores), 3)
        self.assertAlmostEqual(best, min(scores), places=4)


@needs("tcn")
class Tcn(unittest.TestCase):
    def test_it_learns(self):
        import tcn

        keras.utils.set_random_seed(2)
        model = keras.Sequential(
            [keras.Input((20, 1)), tcn.TCN(nb_filters=8, kernel_size=2, dilations=[1, 2, 4]), layers.Dense(1)]
        )
        model.compile(keras.optimizers.Adam(0.01), "mse")
        x = np.random.RandomState(0).rand(64, 20, 1).astype("f4")
        loss = model.fit(x, x[:, -3:].sum(1), epochs=10, verbose=0).history["loss"]
        self.assertLess(loss[-1], 0.3 * loss[0])


if __name__ == "__main__":
    unittest.main()
