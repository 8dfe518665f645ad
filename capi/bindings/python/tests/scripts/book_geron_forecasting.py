"""Forecasts: windows of tf.data, linear, recurrent and convolutional models, sequences to sequences."""

import numpy as np
import tensorflow as tf
from filled import curves, fill

r = np.random.RandomState(80)
series = (np.sin(np.arange(160) / 5)[:, None] + 0.1 * r.normal(size=(160, 2))).astype("float32")


def to_windows(dataset, length):
    dataset = dataset.window(length, shift=1, drop_remainder=True)
    return dataset.flat_map(lambda window_ds: window_ds.batch(length))


dataset = to_windows(tf.data.Dataset.range(6), 4)
dataset = dataset.map(lambda window: (window[:-1], window[-1]))
seen = [[np.array(a), np.array(b)] for a, b in dataset.batch(2)]


def to_seq2seq_dataset(series, seq_length=12, ahead=3, target_col=1, batch_size=16):
    ds = to_windows(tf.data.Dataset.from_tensor_slices(series), ahead + 1)
    ds = to_windows(ds, seq_length).map(lambda S: (S[:, 0], S[:, 1:, target_col]))
    return ds.batch(batch_size)


seq2seq_train = to_seq2seq_dataset(series[:110])
valid = tf.keras.utils.timeseries_dataset_from_array(
    series[110:], targets=series[110 + 12 :, 1], sequence_length=12, batch_size=16
)
train = tf.keras.utils.timeseries_dataset_from_array(
    series[:110], targets=series[12:110, 1], sequence_length=12, batch_size=16
)
results = [seen]
for model in (
    tf.keras.Sequential([tf.keras.Input((12, 2)), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]),
    tf.keras.Sequential([tf.keras.layers.SimpleRNN(8, input_shape=[None, 2]), tf.keras.layers.Dense(1)]),
    tf.keras.Sequential(
        [
            tf.keras.layers.Input([None, 2]),
            tf.keras.layers.SimpleRNN(6, return_sequences=True),
            tf.keras.layers.SimpleRNN(6),
            tf.keras.layers.Dense(1),
        ]
    ),
):
    fill(model)
    early_stopping_cb = tf.keras.callbacks.EarlyStopping(monitor="val_mae", patience=1, restore_best_weights=True)
    opt = tf.keras.optimizers.SGD(learning_rate=0.02, momentum=0.9)
    model.compile(loss=tf.keras.losses.Huber(), optimizer=opt, metrics=["mae"])
    history = model.fit(train, validation_data=valid, epochs=2, callbacks=[early_stopping_cb], verbose=0)
    valid_loss, valid_mae = model.evaluate(valid, verbose=0)
    results += [curves(history), valid_mae]

wavenet = tf.keras.Sequential()
wavenet.add(tf.keras.layers.Input(shape=[None, 2]))
for rate in (1, 2, 4):
    wavenet.add(tf.keras.layers.Conv1D(6, kernel_size=2, padding="causal", activation="relu", dilation_rate=rate))
wavenet.add(tf.keras.layers.LayerNormalization())
wavenet.add(tf.keras.layers.GRU(6, return_sequences=True))
wavenet.add(tf.keras.layers.Conv1D(filters=3, kernel_size=1))
fill(wavenet)
wavenet.compile(loss="huber", optimizer="sgd", metrics=["mae"])
results.append(curves(wavenet.fit(seq2seq_train, epochs=1, verbose=0)))
X = series[np.newaxis, 110:122]
for step_ahead in range(4):
    y_pred_one = wavenet.predict(X, verbose=0)[:, -1:, :2]
    X = np.concatenate([X, y_pred_one], axis=1)
results.append(X[:, -4:])
