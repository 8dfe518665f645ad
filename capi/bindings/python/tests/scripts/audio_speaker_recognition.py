"""Speakers recognised: noise added, spectra of complex numbers in tf.data, one-dimensional residual convolutions."""

import numpy as np
import tensorflow as tf
import keras
from filled import curves, fill, sums

r = np.random.RandomState(15)
SAMPLING_RATE = 64
audios = r.normal(size=(12, SAMPLING_RATE, 1)).astype("float32")
noises = tf.stack([tf.constant(n) for n in r.normal(size=(3, SAMPLING_RATE, 1)).astype("float32")])
labels = np.arange(12) % 3


def add_noise(audio, noises=None, scale=0.5):
    if noises is not None:
        tf_rnd = tf.random.uniform((tf.shape(audio)[0],), 0, 1, dtype=tf.int32)
        noise = tf.gather(noises, tf_rnd, axis=0)
        prop = tf.math.reduce_max(audio, axis=1) / tf.math.reduce_max(noise, axis=1)
        prop = tf.repeat(tf.expand_dims(prop, axis=1), tf.shape(audio)[1], axis=1)
        audio = audio + noise * prop * scale
    return audio


def audio_to_fft(audio):
    audio = tf.squeeze(audio, axis=-1)
    fft = tf.signal.fft(tf.cast(tf.complex(real=audio, imag=tf.zeros_like(audio)), tf.complex64))
    fft = tf.expand_dims(fft, axis=-1)
    return tf.math.abs(fft[:, : (audio.shape[1] // 2), :])


def paths_and_labels_to_dataset(audios, labels):
    return tf.data.Dataset.zip((tf.data.Dataset.from_tensor_slices(audios), tf.data.Dataset.from_tensor_slices(labels)))


train_ds = paths_and_labels_to_dataset(audios, labels).batch(4)
train_ds = train_ds.map(lambda x, y: (add_noise(x, noises, scale=0.5), y), num_parallel_calls=tf.data.AUTOTUNE)
train_ds = train_ds.map(lambda x, y: (audio_to_fft(x), y), num_parallel_calls=tf.data.AUTOTUNE)
train_ds = train_ds.prefetch(tf.data.AUTOTUNE)


def residual_block(x, filters, conv_num=3, activation="relu"):
    s = keras.layers.Conv1D(filters, 1, padding="same")(x)
    for i in range(conv_num - 1):
        x = keras.layers.Conv1D(filters, 3, padding="same")(x)
        x = keras.layers.Activation(activation)(x)
    x = keras.layers.Conv1D(filters, 3, padding="same")(x)
    x = keras.layers.Add()([x, s])
    x = keras.layers.Activation(activation)(x)
    return keras.layers.MaxPool1D(pool_size=2, strides=2)(x)


def build_model(input_shape, num_classes):
    inputs = keras.layers.Input(shape=input_shape, name="input")
    x = residual_block(inputs, 4, 2)
    x = residual_block(x, 4, 2)
    x = keras.layers.AveragePooling1D(pool_size=3, strides=3)(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(8, activation="relu")(x)
    outputs = keras.layers.Dense(num_classes, activation="softmax", name="output")(x)
    return keras.models.Model(inputs=inputs, outputs=outputs)


model = build_model((SAMPLING_RATE // 2, 1), 3)
fill(model)
model.compile(optimizer="Adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
import tempfile, os

path = os.path.join(tempfile.mkdtemp(), "model.keras")
h = model.fit(
    train_ds,
    epochs=2,
    validation_data=train_ds,
    verbose=0,
    callbacks=[
        keras.callbacks.EarlyStopping(patience=10, restore_best_weights=True),
        keras.callbacks.ModelCheckpoint(path, monitor="val_accuracy", save_best_only=True),
    ],
)
results = [curves(h), sums(model), model.evaluate(train_ds, verbose=0)]
