"""Forecasts of weather by windows of a series, a TCN of causal dilated convolutions, a stateful GRU."""

import numpy as np
import keras
from keras import layers
from filled import curves, fill

r = np.random.RandomState(36)
raw = np.sin(np.arange(200)[:, None] * np.array([0.1, 0.23, 0.05])) + 0.1 * r.normal(size=(200, 3))
split_fraction, step, past, future, batch_size = 0.715, 2, 24, 6, 16
train_split = int(split_fraction * int(raw.shape[0]))


def normalize(data, train_split):
    data_mean = data[:train_split].mean(axis=0)
    data_std = data[:train_split].std(axis=0)
    return (data - data_mean) / data_std


features = normalize(raw, train_split)
train_data, val_data = features[:train_split], features[train_split:]
start = past + future
end = start + train_split
x_train = train_data
y_train = features[start:end][:, [1]]
sequence_length = int(past / step)
dataset_train = keras.preprocessing.timeseries_dataset_from_array(
    x_train,
    y_train,
    sequence_length=sequence_length,
    sampling_rate=step,
    batch_size=batch_size,
)
x_end = len(val_data) - past - future
label_start = train_split + past + future
x_val = val_data[:x_end]
y_val = features[label_start:][:, [1]]
dataset_val = keras.preprocessing.timeseries_dataset_from_array(
    x_val, y_val, sequence_length=sequence_length, sampling_rate=step, batch_size=batch_size
)
for batch in dataset_train.take(1):
    inputs, targets = batch
print("Input shape:", inputs.numpy().shape)
print("Target shape:", targets.numpy().shape)
inputs = keras.layers.Input(shape=(inputs.shape[1], inputs.shape[2]))
lstm_out = keras.layers.LSTM(8)(inputs)
outputs = keras.layers.Dense(1)(lstm_out)
model = fill(keras.Model(inputs=inputs, outputs=outputs))
model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.001), loss="mse")
model.summary()
history = model.fit(dataset_train, epochs=2, validation_data=dataset_val)
for x, y in dataset_val.take(1):
    forecast = model.predict(x)[0]


class ResidualBlock(layers.Layer):
    def __init__(self, filters, dilation_rate, **kwargs):
        super().__init__(**kwargs)
        self.convolutions = [
            layers.Conv1D(filters, 3, padding="causal", dilation_rate=dilation_rate, activation="relu")
            for _ in range(2)
        ]
        self.down = layers.Conv1D(filters, 1)
        self.dropout = layers.SpatialDropout1D(0.0)

    def call(self, x, training=None):
        y = x
        for conv in self.convolutions:
            y = self.dropout(conv(y), training=training)
        return keras.activations.relu(y + self.down(x))


tcn = keras.Sequential([layers.Input((12, 3))] + [ResidualBlock(6, 2**i) for i in range(3)])
tcn.add(layers.Lambda(lambda t: t[:, -1, :]))
tcn.add(layers.Dense(1))
fill(tcn)
tcn.compile("adam", "huber", metrics=["mape"])
tcn_history = tcn.fit(dataset_train, epochs=1, validation_data=dataset_val)

stateful = keras.Sequential(
    [layers.Input(batch_shape=(1, 4, 1)), layers.GRU(5, stateful=True, return_sequences=True), layers.Dense(1)]
)
fill(stateful)
stateful.compile("rmsprop", "mae")
series = features[:40, :1].reshape(10, 4, 1)


class ResetStates(keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        for layer in self.model.layers:
            if hasattr(layer, "reset_states"):
                layer.reset_states()


stateful_history = stateful.fit(series, series, epochs=2, batch_size=1, shuffle=False, callbacks=[ResetStates()])
results = [curves(history), forecast, curves(tcn_history), curves(stateful_history)]
