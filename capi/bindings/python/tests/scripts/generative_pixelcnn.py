"""PixelCNN: masked convolutions by a mask that build() makes, residual blocks of one's own, sampling pixel by pixel."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill

input_shape = (6, 6, 1)
n_residual_blocks = 2
r = np.random.RandomState(24)
data = np.where(r.rand(24, 6, 6, 1) < 0.33, 0, 1).astype("float32")


class PixelConvLayer(layers.Layer):
    def __init__(self, mask_type, **kwargs):
        super().__init__()
        self.mask_type = mask_type
        self.conv = layers.Conv2D(**kwargs)

    def build(self, input_shape):
        self.conv.build(input_shape)
        kernel_shape = ops.shape(self.conv.kernel)
        self.mask = np.zeros(shape=kernel_shape)
        self.mask[: kernel_shape[0] // 2, ...] = 1.0
        self.mask[kernel_shape[0] // 2, : kernel_shape[1] // 2, ...] = 1.0
        if self.mask_type == "B":
            self.mask[kernel_shape[0] // 2, kernel_shape[1] // 2, ...] = 1.0

    def call(self, inputs):
        self.conv.kernel.assign(self.conv.kernel * self.mask)
        return self.conv(inputs)


class ResidualBlock(keras.layers.Layer):
    def __init__(self, filters, **kwargs):
        super().__init__(**kwargs)
        self.conv1 = keras.layers.Conv2D(filters=filters, kernel_size=1, activation="relu")
        self.pixel_conv = PixelConvLayer(
            mask_type="B", filters=filters // 2, kernel_size=3, activation="relu", padding="same"
        )
        self.conv2 = keras.layers.Conv2D(filters=filters, kernel_size=1, activation="relu")

    def call(self, inputs):
        x = self.conv1(inputs)
        x = self.pixel_conv(x)
        x = self.conv2(x)
        return keras.layers.add([inputs, x])


inputs = keras.Input(shape=input_shape, batch_size=8)
x = PixelConvLayer(mask_type="A", filters=8, kernel_size=5, activation="relu", padding="same")(inputs)
for _ in range(n_residual_blocks):
    x = ResidualBlock(filters=8)(x)
for _ in range(1):
    x = PixelConvLayer(
        mask_type="B", filters=8, kernel_size=1, strides=1, activation="relu", padding="valid"
    )(x)
out = keras.layers.Conv2D(filters=1, kernel_size=1, strides=1, activation="sigmoid", padding="valid")(x)
pixel_cnn = fill(keras.Model(inputs, out))
adam = keras.optimizers.Adam(learning_rate=0.0005)
pixel_cnn.compile(optimizer=adam, loss="binary_crossentropy")
pixel_cnn.summary()
history = pixel_cnn.fit(x=data, y=data, batch_size=8, epochs=2, shuffle=False, verbose=2)

batch, rows, cols, channels = 8, *input_shape
pixels = np.zeros(shape=(batch, rows, cols, channels))
for row in range(2):
    for col in range(cols):
        for channel in range(channels):
            probs = pixel_cnn.predict(pixels, verbose=0)[:, row, col, channel]
            pixels[:, row, col, channel] = ops.ceil(probs - 0.5)
results = [curves(history), pixels, pixel_cnn.predict(data[:8])]
