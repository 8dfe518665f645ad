"""A conformer's blocks: half feed-forward, attention, convolution with a gated linear unit; spectra of tf.signal."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill

r = np.random.RandomState(84)
waves = np.sin(np.arange(320)[None] * r.uniform(0.05, 0.9, (24, 1))).astype("float32")
labels = r.randint(0, 4, 24)


def spectrogram(wave, label):
    stfts = tf.signal.stft(wave, frame_length=32, frame_step=20, fft_length=32)
    x = tf.math.pow(tf.abs(stfts), 0.5)
    means = tf.math.reduce_mean(x, 1, keepdims=True)
    stddevs = tf.math.reduce_std(x, 1, keepdims=True)
    return (x - means) / (stddevs + 1e-6), label


dataset = tf.data.Dataset.from_tensor_slices((waves, labels)).map(spectrogram).batch(8)


class FeedForward(layers.Layer):
    def __init__(self, dim, **kwargs):
        super().__init__(**kwargs)
        self.norm = layers.LayerNormalization()
        self.expand = layers.Dense(2 * dim, activation="swish")
        self.reduce = layers.Dense(dim)

    def call(self, x):
        return self.reduce(self.expand(self.norm(x)))


class ConvolutionModule(layers.Layer):
    def __init__(self, dim, kernel_size=3, **kwargs):
        super().__init__(**kwargs)
        self.norm = layers.LayerNormalization()
        self.pointwise = layers.Conv1D(2 * dim, 1)
        self.depthwise = layers.DepthwiseConv1D(kernel_size, padding="same")
        self.batch_norm = layers.BatchNormalization()
        self.out = layers.Conv1D(dim, 1)

    def call(self, x, training=None):
        x = self.pointwise(self.norm(x))
        a, gate = ops.split(x, 2, axis=-1)
        x = self.depthwise(a * ops.sigmoid(gate))
        x = ops.silu(self.batch_norm(x, training=training))
        return self.out(x)


class ConformerBlock(layers.Layer):
    def __init__(self, dim, heads, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = FeedForward(dim), FeedForward(dim)
        self.norm = layers.LayerNormalization()
        self.attention = layers.MultiHeadAttention(heads, dim // heads)
        self.convolution = ConvolutionModule(dim)
        self.final = layers.LayerNormalization()

    def call(self, x, training=None):
        x = x + 0.5 * self.first(x)
        y = self.norm(x)
        x = x + self.attention(y, y, training=training)
        x = x + self.convolution(x, training=training)
        x = x + 0.5 * self.second(x)
        return self.final(x)


inputs = keras.Input((15, 17))
x = layers.Dense(8)(inputs)
for i in range(2):
    x = ConformerBlock(8, 2, name=f"conformer_{i}")(x)
x = layers.GlobalAveragePooling1D()(x)
model = fill(keras.Model(inputs, layers.Dense(4)(x)))
model.compile(
    keras.optimizers.SGD(0.05, momentum=0.9),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
history = model.fit(dataset, epochs=2, verbose=2)
batch, _ = next(iter(dataset))
results = [np.array(batch)[0], curves(history), model.predict(dataset, verbose=0)[:4]]
