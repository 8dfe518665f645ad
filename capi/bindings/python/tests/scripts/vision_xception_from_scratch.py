"""Image classification from scratch: separable convolutions with residuals, augmentation, callbacks."""

import os
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill

image_size = (24, 24)
batch_size = 8
r = np.random.RandomState(7)
images, labels = r.randint(0, 255, (32, 24, 24, 3)).astype("float32"), r.randint(0, 2, 32)
train_ds = tf.data.Dataset.from_tensor_slices((images[:24], labels[:24])).batch(batch_size)
val_ds = tf.data.Dataset.from_tensor_slices((images[24:], labels[24:])).batch(batch_size)

data_augmentation_layers = [
    layers.RandomFlip("horizontal"),
    layers.RandomRotation(0.1),
]


def data_augmentation(images):
    for layer in data_augmentation_layers:
        images = layer(images)
    return images


augmented = train_ds.map(lambda img, label: (data_augmentation(img), label), num_parallel_calls=tf.data.AUTOTUNE)
for image_batch, _ in augmented.take(1):
    augmented_shape = image_batch.shape
train_ds = train_ds.prefetch(tf.data.AUTOTUNE)
val_ds = val_ds.prefetch(tf.data.AUTOTUNE)


def make_model(input_shape, num_classes):
    inputs = keras.Input(shape=input_shape)
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(16, 3, strides=2, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    previous_block_activation = x
    for size in [16, 24]:
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Activation("relu")(x)
        x = layers.SeparableConv2D(size, 3, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        residual = layers.Conv2D(size, 1, strides=2, padding="same")(previous_block_activation)
        x = layers.add([x, residual])
        previous_block_activation = x
    x = layers.SeparableConv2D(32, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    x = layers.Activation("relu")(x)
    x = layers.GlobalAveragePooling2D()(x)
    units = 1 if num_classes == 2 else num_classes
    x = layers.Dropout(0.0)(x)
    outputs = layers.Dense(units, activation=None)(x)
    return keras.Model(inputs, outputs)


model = fill(make_model(input_shape=image_size + (3,), num_classes=2))
folder = tempfile.mkdtemp()
callbacks = [keras.callbacks.ModelCheckpoint(os.path.join(folder, "save_at_{epoch}.keras"))]
model.compile(
    optimizer=keras.optimizers.Adam(3e-4),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy(name="acc")],
)
history = model.fit(train_ds, epochs=2, callbacks=callbacks, validation_data=val_ds)

img_array = keras.utils.img_to_array(images[0])
img_array = keras.ops.expand_dims(img_array, 0)
predictions = model.predict(img_array)
score = float(keras.ops.sigmoid(predictions[0][0]))
print(f"This image is {100 * (1 - score):.2f}% cat and {100 * score:.2f}% dog.")
again = keras.models.load_model(os.path.join(folder, "save_at_2.keras"))
results = [augmented_shape, curves(history), score, sorted(os.listdir(folder)), again.predict(img_array)]
