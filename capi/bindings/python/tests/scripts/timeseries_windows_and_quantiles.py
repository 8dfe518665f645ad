"""Forecasts from windows of timeseries_dataset_from_array: a baseline, quantile losses by name of output, a WaveNet of
dilated convolutions, and a recurrent decoder that repeats its last state."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(7)
steps = np.arange(160)
series = np.stack([np.sin(steps / 5), np.cos(steps / 9), steps / 160 + 0.05 * r.randn(160)], -1).astype("float32")
past, future = 12, 3
train = keras.utils.timeseries_dataset_from_array(
    series[:-future],
    series[past + future - 1 :, 0],
    sequence_length=past,
    sampling_rate=1,
    batch_size=16,
    end_index=110,
)
valid = keras.utils.timeseries_dataset_from_array(
    series[:-future], series[past + future - 1 :, 0], sequence_length=past, batch_size=16, start_index=110
)
results = []
for x, y in train.take(1):
    results += [x, y]


def naive(dataset):
    total, n = 0.0, 0
    for x, y in dataset:
        total += np.sum(np.abs(x[:, -1, 0].numpy() - y.numpy()))
        n += x.shape[0]
    return total / n


results.append(float(naive(valid)))


@keras.saving.register_keras_serializable()
class Pinball(keras.losses.Loss):
    def __init__(self, quantile=0.5, name="pinball", **kwargs):
        super().__init__(name=name, **kwargs)
        self.quantile = quantile

    def call(self, y_true, y_pred):
        e = ops.cast(y_true, y_pred.dtype) - ops.squeeze(y_pred, -1)
        return ops.maximum(self.quantile * e, (self.quantile - 1) * e)

    def get_config(self):
        return {**super().get_config(), "quantile": self.quantile}


inputs = keras.Input((past, 3))
h = inputs
skips = []
for i, rate in enumerate([1, 2, 4]):
    gate = layers.Conv1D(4, 2, dilation_rate=rate, padding="causal", activation="sigmoid")(h)
    value = layers.Conv1D(4, 2, dilation_rate=rate, padding="causal", activation="tanh")(h)
    z = layers.multiply([gate, value])
    skips.append(layers.Conv1D(4, 1)(z))
    h = layers.Conv1D(3, 1)(z) + h
z = layers.ReLU()(layers.add(skips))
last = layers.Lambda(lambda t: t[:, -1, :], output_shape=(4,))(z)
outputs = {name: layers.Dense(1, name=name)(last) for name in ("low", "middle", "high")}
wavenet = fill(keras.Model(inputs, outputs))
wavenet.compile(
    optimizer=keras.optimizers.RMSprop(5e-3),
    loss={"low": Pinball(0.1), "middle": Pinball(0.5), "high": Pinball(0.9)},
    loss_weights={"low": 0.5, "middle": 1.0, "high": 0.5},
)


def thrice(x, y):
    return x, {"low": y, "middle": y, "high": y}


whole = train.take(6)  # of whole batches
history = wavenet.fit(whole.map(thrice), validation_data=valid.take(2).map(thrice), epochs=2, verbose=0, shuffle=False)
results += [curves(history), sums(wavenet), wavenet.predict(valid, verbose=0)]

x, y = np.concatenate([a for a, _ in train]), np.concatenate([b for _, b in train])
decoder = fill(
    keras.Sequential(
        [
            layers.Input((past, 3)),
            layers.GRU(6, recurrent_dropout=0.0),
            layers.RepeatVector(future),
            layers.Bidirectional(layers.LSTM(4, return_sequences=True), merge_mode="ave"),
            layers.TimeDistributed(layers.Dense(1)),
        ]
    )
)
decoder.compile("adam", keras.losses.Huber(0.5), metrics=[keras.metrics.RootMeanSquaredError(name="rmse"), "mape"])
targets = np.repeat(y[:, None, None], future, 1)
history = decoder.fit(
    x,
    targets,
    epochs=4,
    batch_size=32,
    verbose=0,
    shuffle=False,
    validation_split=0.2,
    callbacks=[
        keras.callbacks.EarlyStopping("val_loss", patience=1, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau("loss", factor=0.5, patience=1, min_lr=1e-5),
    ],
)
results += [curves(history), decoder.evaluate(x, targets, verbose=0), decoder.predict(x[:4], verbose=0)]
