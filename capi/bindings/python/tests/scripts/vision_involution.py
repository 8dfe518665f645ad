"""Involution: kernels that each place of an image makes, patches by tf.image, kernels as outputs of a model."""

import numpy as np
import tensorflow as tf
import keras
from filled import curves, fill, sums

r = np.random.RandomState(2)


class Involution(keras.layers.Layer):
    def __init__(self, channel, group_number, kernel_size, stride, reduction_ratio, name):
        super().__init__(name=name)
        self.channel = channel
        self.group_number = group_number
        self.kernel_size = kernel_size
        self.stride = stride
        self.reduction_ratio = reduction_ratio

    def build(self, input_shape):
        _, height, width, num_channels = input_shape
        height = height // self.stride
        width = width // self.stride
        self.stride_layer = (
            keras.layers.AveragePooling2D(pool_size=self.stride, strides=self.stride, padding="same")
            if self.stride > 1
            else tf.identity
        )
        self.kernel_gen = keras.Sequential(
            [
                keras.layers.Conv2D(filters=self.channel // self.reduction_ratio, kernel_size=1),
                keras.layers.BatchNormalization(),
                keras.layers.ReLU(),
                keras.layers.Conv2D(filters=self.kernel_size * self.kernel_size * self.group_number, kernel_size=1),
            ]
        )
        self.kernel_reshape = keras.layers.Reshape(
            target_shape=(height, width, self.kernel_size * self.kernel_size, 1, self.group_number)
        )
        self.input_patches_reshape = keras.layers.Reshape(
            target_shape=(
                height,
                width,
                self.kernel_size * self.kernel_size,
                num_channels // self.group_number,
                self.group_number,
            )
        )
        self.output_reshape = keras.layers.Reshape(target_shape=(height, width, num_channels))

    def call(self, x):
        kernel_input = self.stride_layer(x)
        kernel = self.kernel_gen(kernel_input)
        kernel = self.kernel_reshape(kernel)
        input_patches = tf.image.extract_patches(
            images=x,
            sizes=[1, self.kernel_size, self.kernel_size, 1],
            strides=[1, self.stride, self.stride, 1],
            rates=[1, 1, 1, 1],
            padding="SAME",
        )
        input_patches = self.input_patches_reshape(input_patches)
        output = tf.multiply(kernel, input_patches)
        output = tf.reduce_sum(output, axis=3)
        output = self.output_reshape(output)
        return output, kernel


input_tensor = tf.constant(r.normal(size=(32, 16, 16, 3)).astype("float32"))
output_tensor, _ = Involution(channel=3, group_number=1, kernel_size=5, stride=2, reduction_ratio=1, name="inv")(
    input_tensor
)
results = [str(tuple(output_tensor.shape))]
train_images, train_labels = r.rand(16, 16, 16, 3).astype("float32"), r.randint(0, 10, (16, 1))
train_ds = tf.data.Dataset.from_tensor_slices((train_images, train_labels)).batch(8)
inputs = keras.Input(shape=(16, 16, 3))
x, kernel1 = Involution(channel=3, group_number=1, kernel_size=3, stride=1, reduction_ratio=2, name="inv_1")(inputs)
x = keras.layers.ReLU()(x)
x = keras.layers.MaxPooling2D((2, 2))(x)
x, kernel2 = Involution(channel=3, group_number=1, kernel_size=3, stride=1, reduction_ratio=2, name="inv_2")(x)
x = keras.layers.ReLU()(x)
x = keras.layers.Flatten()(x)
x = keras.layers.Dense(16, activation="relu")(x)
outputs = keras.layers.Dense(10)(x)
inv_model = keras.Model(inputs=[inputs], outputs=[outputs], name="inv_model")
fill(inv_model)
inv_model.compile(
    optimizer="sgd",
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
hist = inv_model.fit(train_ds, epochs=2, validation_data=train_ds, verbose=0)
results += [curves(hist), sums(inv_model)]
layer_names = ["inv_1", "inv_2"]
outputs = [inv_model.get_layer(name).output[1] for name in layer_names]
vis_model = keras.Model(inv_model.input, outputs)
for k in vis_model.predict(train_images[:4], verbose=0):
    results.append(tf.reduce_sum(k, axis=[-1, -2, -3]).numpy())
