"""Super-resolution by depth_to_space, a U-Net, adversarial images of a gradient's sign."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(82)
low, high = r.rand(12, 8, 8, 1).astype("float32"), r.rand(12, 16, 16, 1).astype("float32")


class DepthToSpace(layers.Layer):
    def __init__(self, block_size):
        super().__init__()
        self.block_size = block_size

    def call(self, input):
        batch, height, width, depth = keras.ops.shape(input)
        depth = depth // (self.block_size**2)
        x = keras.ops.reshape(input, [batch, height, width, self.block_size, self.block_size, depth])
        x = keras.ops.transpose(x, [0, 1, 3, 2, 4, 5])
        x = keras.ops.reshape(x, [batch, height * self.block_size, width * self.block_size, depth])
        return x


def get_model(upscale_factor=2, channels=1):
    conv_args = {"activation": "relu", "kernel_initializer": "orthogonal", "padding": "same"}
    inputs = keras.Input(shape=(8, 8, channels))
    x = layers.Conv2D(8, 5, **conv_args)(inputs)
    x = layers.Conv2D(4, 3, **conv_args)(x)
    x = layers.Conv2D(channels * (upscale_factor**2), 3, **conv_args)(x)
    outputs = DepthToSpace(upscale_factor)(x)
    return keras.Model(inputs, outputs)


model = fill(get_model())


class ESPCNCallback(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.psnr = []

    def on_epoch_end(self, epoch, logs=None):
        print("Mean PSNR for epoch: %.2f" % (np.mean(self.psnr)))

    def on_test_batch_end(self, batch, logs=None):
        self.psnr.append(10)


model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.001), loss=keras.losses.MeanSquaredError())
history = model.fit(low, high, epochs=2, batch_size=4, callbacks=[ESPCNCallback()], shuffle=False)
psnr = tf.image.psnr(model(low[:2]), high[:2], max_val=1)


def conv_block(x, n):
    for _ in range(2):
        x = layers.Conv2D(n, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
    return x


inputs = layers.Input(shape=(16, 16, 1))
skips, x = [], inputs
for n in (4, 8):
    f = conv_block(x, n)
    skips.append(f)
    x = layers.Dropout(0.0)(layers.MaxPool2D(2)(f))
x = conv_block(x, 12)
for n in (8, 4):
    x = layers.Conv2DTranspose(n, 3, 2, padding="same")(x)
    x = layers.concatenate([x, skips.pop()])
    x = conv_block(x, n)
outputs = layers.Conv2D(3, 1, padding="same", activation="softmax")(x)
unet = fill(tf.keras.Model(inputs, outputs, name="U-Net"))
unet.compile(
    optimizer=tf.keras.optimizers.Adam(),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy", tf.keras.metrics.MeanIoU(3, sparse_y_pred=False)],
)
masks = r.randint(0, 3, (12, 16, 16, 1))
segmented = unet.fit(high, masks, epochs=1, batch_size=4, shuffle=False)

loss_object = tf.keras.losses.SparseCategoricalCrossentropy()
image = tf.convert_to_tensor(high[:1])
with tf.GradientTape() as tape:
    tape.watch(image)
    prediction = unet(image)
    loss = loss_object(masks[:1], prediction)
signed_grad = tf.sign(tape.gradient(loss, image))
adversary = tf.clip_by_value(image + 0.05 * signed_grad, 0, 1)
worse = loss_object(masks[:1], unet(adversary))
results = [curves(history), psnr, curves(segmented), sums(unet), float(loss), float(worse)]
