"""ConvMixer: patches by a convolution, depthwise and pointwise mixing with residuals."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill

r = np.random.RandomState(10)
x, y = r.randint(0, 255, (40, 16, 16, 3)).astype("uint8"), r.randint(0, 10, (40, 1))
val_indices = int(len(x) * 0.2)
new_x_train, new_y_train = x[val_indices:], y[val_indices:]
x_val, y_val = x[:val_indices], y[:val_indices]
auto = tf.data.AUTOTUNE


def make_datasets(images, labels, is_train=False):
    dataset = tf.data.Dataset.from_tensor_slices((images, labels))
    if is_train:
        dataset = dataset.shuffle(8 * 10)
    dataset = dataset.batch(8)
    if is_train:
        dataset = dataset.map(lambda x, y: (tf.cast(x, tf.float32), y), num_parallel_calls=auto)
    return dataset.prefetch(auto)


def activation_block(x):
    x = layers.Activation("gelu")(x)
    return layers.BatchNormalization()(x)


def conv_stem(x, filters: int, patch_size: int):
    x = layers.Conv2D(filters, kernel_size=patch_size, strides=patch_size)(x)
    return activation_block(x)


def conv_mixer_block(x, filters: int, kernel_size: int):
    x0 = x
    x = layers.DepthwiseConv2D(kernel_size=kernel_size, padding="same")(x)
    x = layers.Add()([activation_block(x), x0])
    x = layers.Conv2D(filters, kernel_size=1)(x)
    return activation_block(x)


def get_conv_mixer_256_8(image_size=16, filters=16, depth=3, kernel_size=5, patch_size=2, num_classes=10):
    inputs = keras.Input((image_size, image_size, 3))
    x = layers.Rescaling(scale=1.0 / 255)(inputs)
    x = conv_stem(x, filters, patch_size)
    for _ in range(depth):
        x = conv_mixer_block(x, filters, kernel_size)
    x = layers.GlobalAvgPool2D()(x)
    outputs = layers.Dense(num_classes, activation="softmax")(x)
    return keras.Model(inputs, outputs)


train_dataset = make_datasets(new_x_train, new_y_train)
shuffled = make_datasets(new_x_train, new_y_train, is_train=True)
print(next(iter(shuffled))[0].shape)
val_dataset = make_datasets(x_val, y_val)
model = fill(get_conv_mixer_256_8())
optimizer = keras.optimizers.AdamW(learning_rate=0.001, weight_decay=0.0001)
model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(train_dataset, validation_data=val_dataset, epochs=2)
_, accuracy = model.evaluate(val_dataset)
patch_embeddings = model.layers[2].get_weights()[0]
print("Patch embedding shape:", patch_embeddings.shape)
p_min, p_max = patch_embeddings.min(), patch_embeddings.max()
results = [curves(history), accuracy, patch_embeddings.shape, float(p_min), float(p_max), len(shuffled)]
