"""Brain signals: complex spectra in a layer, a dense layer for each channel, a network of layers of one's own."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(87)
channels, samples, n_classes, nfft, start, end = 4, 32, 3, 64, 4, 12
small = keras.initializers.RandomNormal(mean=0.0, stddev=0.01, seed=None)
x, y = r.randn(18, channels, samples).astype("float32"), r.randint(0, n_classes, 18).astype("float32")


class ComplexSpectrum(layers.Layer):
    def __init__(self, nfft, fft_start, fft_end):
        super().__init__()
        self.nfft, self.fft_start, self.fft_end = nfft, fft_start, fft_end

    def call(self, x):
        samples = x.shape[-1]
        x = keras.ops.rfft(x, fft_length=self.nfft)
        real = x[0] / samples
        imag = x[1] / samples
        real = real[:, :, self.fft_start : self.fft_end]
        imag = imag[:, :, self.fft_start : self.fft_end]
        return keras.ops.concatenate((real, imag), axis=-1)


class ChannelCombination(layers.Layer):
    def __init__(self, n_channels):
        super().__init__()
        self.conv = layers.Conv1D(2 * n_channels, 1, padding="same", kernel_initializer=small)
        self.normalization = layers.LayerNormalization()
        self.activation = layers.Activation(activation="gelu")
        self.drop = layers.Dropout(0.0)

    def call(self, x):
        return self.drop(self.activation(self.normalization(self.conv(x))))


class ConvAttention(layers.Layer):
    def __init__(self, n_channels):
        super().__init__()
        self.norm = layers.LayerNormalization()
        self.conv = layers.Conv1D(2 * n_channels, 5, padding="same", kernel_initializer=small)
        self.activation = layers.Activation(activation="gelu")

    def call(self, x):
        return self.activation(self.conv(self.norm(x))) + x


class ChannelMLP(layers.Layer):
    def __init__(self, n_features):
        super().__init__()
        self.norm = layers.LayerNormalization()
        self.mlp = layers.Dense(n_features, kernel_initializer=small)
        self.cat = layers.Concatenate(axis=1)

    def call(self, x):
        input, channels = x, x.shape[1]
        x = self.norm(x)
        output_channels = []
        for i in range(channels):
            c = self.mlp(x[:, i, :])
            c = layers.Reshape([1, -1])(c)
            output_channels.append(c)
        return self.cat(output_channels) + input


class Head(layers.Layer):
    def __init__(self, n_classes):
        super().__init__()
        self.flatten, self.norm = layers.Flatten(), layers.LayerNormalization()
        self.linear1 = layers.Dense(2 * n_classes, kernel_initializer=small)
        self.linear2 = layers.Dense(n_classes, kernel_initializer=small)

    def call(self, x):
        return self.linear2(self.norm(self.linear1(self.flatten(x))))


def accuracy_of(fold):
    others = np.delete(np.arange(18), fold)
    train = tf.data.Dataset.from_tensor_slices((x[others], y[others])).batch(6).prefetch(tf.data.AUTOTUNE)
    test = tf.data.Dataset.from_tensor_slices((x[fold], y[fold])).batch(6).prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential(
        [
            keras.Input(shape=(channels, samples)),
            ComplexSpectrum(nfft, start, end),
            ChannelCombination(channels),
            ConvAttention(channels),
            ChannelMLP(2 * channels),
            Head(n_classes),
            layers.Activation(activation="softmax"),
        ]
    )
    fill(model)
    sgd = keras.optimizers.SGD(learning_rate=0.01, momentum=0.9, weight_decay=0.001)
    model.compile(loss="sparse_categorical_crossentropy", optimizer=sgd, metrics=["accuracy"], jit_compile=True)
    history = model.fit(train, batch_size=6, epochs=2, validation_data=test, verbose=0)
    return [curves(history), model.evaluate(test, verbose=0), sums(model)]


results = [accuracy_of(np.arange(6)), accuracy_of(np.arange(6, 12))]
