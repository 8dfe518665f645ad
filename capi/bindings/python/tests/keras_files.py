#!/usr/bin/env python3
"""Models of Keras in its own files, and what they compute:   keras_files.py FOLDER   writes them with the real Keras.

The models are made by functions of `keras`, so that a test can make them of this package too."""

import sys

import numpy as np


def classes(keras):
    layers, package = keras.layers, keras.saving.register_keras_serializable(package="files")

    @package
    class Scaled(layers.Layer):
        def __init__(self, units, **kwargs):
            super().__init__(**kwargs)
            self.units, self.parts = units, [layers.Dense(units), {"norm": layers.LayerNormalization()}]

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(self.units,), initializer="ones", name="scale")
            self.parts[0].build(input_shape)
            self.parts[1]["norm"].build((*input_shape[:-1], self.units))

        def call(self, x):
            return self.parts[1]["norm"](self.parts[0](x)) * self.scale

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    @package
    class Tagger(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.words = layers.Embedding(20, 6)
            self.attention = layers.MultiHeadAttention(2, 3)
            self.both = layers.Bidirectional(layers.LSTM(4))
            self.scaled = Scaled(5)
            self.zz_last = layers.Dense(2)

        def call(self, x):
            h = self.words(x)
            return self.zz_last(self.scaled(self.both(h + self.attention(h, h))))

    return Scaled, Tagger


TOKENS = np.arange(30).reshape(5, 6) % 20
IMAGES = np.linspace(-1, 1, 5 * 8 * 8 * 3).reshape(5, 8, 8, 3).astype("float32")


def tagger(keras):
    model = classes(keras)[1]()
    model(TOKENS)
    return model


def nested(keras):
    layers = keras.layers
    encoder = keras.Sequential(
        [layers.Conv2D(4, 3, use_bias=False), layers.BatchNormalization(), layers.ReLU()], name="encoder"
    )
    x = keras.Input((8, 8, 3))
    h = layers.GlobalAveragePooling2D()(encoder(x))
    model = keras.Model(x, layers.Dense(3)(classes(keras)[0](4)(h)))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model


def quantized(keras):
    """A model with operations and a model within, of which int8 is made."""
    layers, x = keras.layers, keras.Input((7,))
    inner = keras.Sequential([keras.Input((7,)), layers.Dense(7, "tanh", name="first")], name="inner")
    model = keras.Model(x, layers.Dense(3)(keras.ops.relu(inner(x) + x)))
    model.quantize("int8")
    return model


ROWS = np.linspace(-1, 1, 28).reshape(4, 7).astype("float32")


def main(folder):
    import keras

    keras.utils.set_random_seed(1)
    m = tagger(keras)
    m.save(f"{folder}/tagger.keras")
    m.save_weights(f"{folder}/tagger.weights.h5")
    n = nested(keras)
    n.fit(IMAGES, np.ones((5, 3)), epochs=2, batch_size=5, verbose=0, shuffle=False)
    n.save(f"{folder}/nested.keras")
    n.save(f"{folder}/nested.h5")
    first = n.predict(IMAGES, verbose=0)
    n.fit(IMAGES, np.ones((5, 3)), batch_size=5, verbose=0, shuffle=False)
    later = n.predict(IMAGES, verbose=0)
    q = quantized(keras)
    q.save(f"{folder}/quantized.keras")
    np.savez(f"{folder}/expected.npz", tagger=m.predict(TOKENS, verbose=0), nested=first, trained_on=later,
             quantized=q.predict(ROWS, verbose=0))


if __name__ == "__main__":
    main(sys.argv[1])
