"""Separation of sounds: spectra and their inverses in a model, blocks that build their layers, a loss of spectra."""

import os
import tempfile

import numpy as np
import keras
from keras import layers, ops, saving
from filled import curves, fill, sums

r = np.random.RandomState(86)
fft_size, hop, subbands, instruments, chunk = 32, 16, 2, 1, 16 * 8


class Songs(keras.utils.PyDataset):
    def __init__(self, batches, **kwargs):
        super().__init__(**kwargs)
        self.batches = batches

    def __len__(self):
        return self.batches

    def __getitem__(self, index):
        tracks = np.random.RandomState(index or 0).randn(3, 4, chunk).astype("float32")
        return ops.sum(tracks, axis=1), ops.convert_to_tensor(tracks[:, :instruments])


def stft(inputs):
    real_x, imag_x = ops.stft(inputs, fft_size, hop, fft_size)
    real_x, imag_x = ops.expand_dims(real_x, -1), ops.expand_dims(imag_x, -1)
    x = ops.concatenate((real_x, imag_x), axis=-1)
    return ops.split(x, [x.shape[2] - 1], axis=2)[0]


def inverse_stft(x):
    real_x, imag_x = ops.split(x, 2, axis=-1)
    return ops.istft((ops.squeeze(real_x, -1), ops.squeeze(imag_x, -1)), fft_size, hop, fft_size)


@saving.register_keras_serializable("audio_vocal_separation")
class FullyConnected(layers.Layer):
    def __init__(self, bottleneck, fft_dim, **kwargs):
        super().__init__(**kwargs)
        self.bottleneck, self.fft_dim, self.hidden_dim = bottleneck, fft_dim, fft_dim // bottleneck

    def build(self, *_):
        self.group_norm_1, self.group_norm_2 = (layers.GroupNormalization(groups=-1) for _ in range(2))
        self.dense_1 = layers.Dense(self.hidden_dim, use_bias=False)
        self.dense_2 = layers.Dense(self.fft_dim, use_bias=False)

    def call(self, x):
        x = self.dense_1(ops.swapaxes(ops.gelu(self.group_norm_1(x)), -1, -2))
        x = self.dense_2(ops.swapaxes(ops.gelu(self.group_norm_2(ops.swapaxes(x, -1, -2))), -1, -2))
        return ops.swapaxes(x, -1, -2)

    def get_config(self):
        return {**super().get_config(), "bottleneck": self.bottleneck, "fft_dim": self.fft_dim}


@saving.register_keras_serializable("audio_vocal_separation")
class Downscale(layers.Layer):
    conv_cls = layers.Conv2D

    def __init__(self, channels, scale, **kwargs):
        super().__init__(**kwargs)
        self.channels, self.scale = channels, scale

    def build(self, *_):
        self.conv = self.conv_cls(self.channels, self.scale, self.scale, use_bias=False)
        self.norm = layers.GroupNormalization(groups=-1)

    def call(self, inputs):
        return self.norm(ops.gelu(self.conv(inputs)))

    def get_config(self):
        return {**super().get_config(), "channels": self.channels, "scale": self.scale}


@saving.register_keras_serializable("audio_vocal_separation")
class Upscale(Downscale):
    conv_cls = layers.Conv2DTranspose


def build_model(inputs):
    x = stft(inputs)
    mix = ops.reshape(x, (-1, x.shape[1], x.shape[2] // subbands, 2 * subbands))
    first = layers.Conv2D(4, 1, 1, use_bias=False)(mix)
    x = FullyConnected(2, first.shape[2])(first)
    skip = x
    x = Downscale(6, (2, 2))(x)
    x = Upscale(4, (2, 2))(x)
    x = layers.Concatenate()([x[:, : skip.shape[1]], skip[:, : x.shape[1]]])
    x = layers.Conv2D(4, 1, 1, use_bias=False)(x)
    x = x * first[:, : x.shape[1]]
    x = ops.concatenate([mix[:, : x.shape[1]], x], axis=-1)
    x = layers.Conv2D(instruments * subbands * 2, 1, 1)(x)
    x = ops.reshape(x, (-1, x.shape[1], x.shape[2] * subbands, 2))
    x = ops.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)))
    return keras.Model(inputs=inputs, outputs=ops.reshape(inverse_stft(x), (-1, instruments, hop * 7)))


@saving.register_keras_serializable("audio_vocal_separation")
def spectral_loss(y_true, y_pred):
    y_true, y_pred = (ops.reshape(v, (-1, hop * 7)) for v in (y_true[..., : hop * 7], y_pred))
    target, prediction = stft(y_true), stft(y_pred)
    return ops.mean(ops.absolute(target - prediction))


@saving.register_keras_serializable("audio_vocal_separation")
def sdr(y_true, y_pred):
    y_true = y_true[..., : hop * 7]
    difference = ops.mean(ops.square(y_true - y_pred), axis=-1)
    ratio = ops.mean(ops.square(y_true), axis=-1) / (difference + 1e-8)
    return 10 * ops.log10(ratio + 1e-8)


model = fill(build_model(keras.Input(sorted([chunk]))))
model.compile(keras.optimizers.Adam(5e-3, gradient_accumulation_steps=2), loss=spectral_loss, metrics=[sdr])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.keras")
    callbacks = [
        keras.callbacks.ModelCheckpoint(path, monitor="val_sdr", mode="max", save_best_only=True),
        keras.callbacks.CSVLogger(os.path.join(folder, "log.csv")),
    ]
    history = model.fit(Songs(4), validation_data=Songs(2), epochs=2, callbacks=callbacks, shuffle=False, verbose=0)
    loaded = saving.load_model(path, compile=False)
mixed, _ = Songs(2)[0]
results = [curves(history), sums(model), model.predict(mixed, verbose=0).shape, loaded.count_params()]
results.append(model.predict(mixed, verbose=0))
