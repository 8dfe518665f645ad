"""A generator of batches of a series, recurrent baselines; a bag of words and an embedding from texts of files."""

import os
import pathlib
import tempfile

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers
from filled import curves, fill

r = np.random.RandomState(54)
raw_data = np.cumsum(r.normal(size=(300, 4)), axis=0)
temperature = raw_data[:, 1].copy()
num_train_samples, num_val_samples = int(0.5 * len(raw_data)), int(0.25 * len(raw_data))
mean = raw_data[:num_train_samples].mean(axis=0)
raw_data -= mean
std = raw_data[:num_train_samples].std(axis=0)
raw_data /= std
sampling_rate, sequence_length, batch_size = 2, 10, 16
delay = sampling_rate * (sequence_length + 4 - 1)
train_dataset = keras.utils.timeseries_dataset_from_array(
    raw_data[:-delay],
    targets=temperature[delay:],
    sampling_rate=sampling_rate,
    sequence_length=sequence_length,
    shuffle=False,
    batch_size=batch_size,
    start_index=0,
    end_index=num_train_samples,
)
val_dataset = keras.utils.timeseries_dataset_from_array(
    raw_data[:-delay],
    targets=temperature[delay:],
    sampling_rate=sampling_rate,
    sequence_length=sequence_length,
    batch_size=batch_size,
    start_index=num_train_samples,
    end_index=num_train_samples + num_val_samples,
)


def evaluate_naive_method(dataset):
    total_abs_err = 0.0
    samples_seen = 0
    for samples, targets in dataset:
        preds = samples[:, -1, 1] * std[1] + mean[1]
        total_abs_err += np.sum(np.abs(preds - targets))
        samples_seen += samples.shape[0]
    return total_abs_err / samples_seen


naive = evaluate_naive_method(val_dataset)
results = [float(naive)]
for build in (
    lambda x: layers.Dense(16, activation="relu")(layers.Flatten()(x)),
    lambda x: layers.GlobalAveragePooling1D()(layers.MaxPooling1D(2)(layers.Conv1D(8, 4, activation="relu")(x))),
    lambda x: layers.LSTM(6, recurrent_dropout=0.0)(x),
    lambda x: layers.GRU(6)(layers.GRU(6, return_sequences=True)(x)),
    lambda x: layers.Bidirectional(layers.LSTM(4))(x),
    lambda x: layers.SimpleRNN(5)(x),
):
    inputs = keras.Input(shape=(sequence_length, raw_data.shape[-1]))
    outputs = layers.Dense(1)(build(inputs))
    model = fill(keras.Model(inputs, outputs))
    path = os.path.join(tempfile.mkdtemp(), "jena.keras")
    callbacks = [keras.callbacks.ModelCheckpoint(path, save_best_only=True)]
    model.compile(optimizer="rmsprop", loss="mse", metrics=["mae"])
    history = model.fit(train_dataset, epochs=1, validation_data=val_dataset, callbacks=callbacks, verbose=0)
    model = keras.models.load_model(path)
    results += [curves(history), model.evaluate(val_dataset, verbose=0)[1]]

base_dir = pathlib.Path(tempfile.mkdtemp()) / "aclImdb"
words = ["good", "bad", "film", "fine", "dull", "the", "a", "plot"]
for category in ("neg", "pos"):
    os.makedirs(base_dir / "train" / category)
    for i in range(8):
        with open(base_dir / "train" / category / f"{i}.txt", "w") as f:
            f.write(" ".join(r.choice(words, 6)))
train_ds = keras.utils.text_dataset_from_directory(base_dir / "train", batch_size=4, shuffle=False)
text_only_train_ds = train_ds.map(lambda x, y: x)
text_vectorization = layers.TextVectorization(ngrams=2, max_tokens=20, output_mode="multi_hot")
text_vectorization.adapt(text_only_train_ds)
binary_2gram_train_ds = train_ds.map(lambda x, y: (text_vectorization(x), y), num_parallel_calls=4)
for inputs, targets in binary_2gram_train_ds:
    print("inputs.shape:", inputs.shape)
    break


def get_model(max_tokens=20, hidden_dim=16):
    inputs = keras.Input(shape=(len(text_vectorization.get_vocabulary()),))
    x = layers.Dense(hidden_dim, activation="relu")(inputs)
    x = layers.Dropout(0.0)(x)
    outputs = layers.Dense(1, activation="sigmoid")(x)
    model = fill(keras.Model(inputs, outputs))
    model.compile(optimizer="rmsprop", loss="binary_crossentropy", metrics=["accuracy"])
    return model


bag = get_model().fit(binary_2gram_train_ds.cache(), validation_data=binary_2gram_train_ds.cache(), epochs=2)
int_vectorization = layers.TextVectorization(max_tokens=12, output_mode="int", output_sequence_length=5)
int_vectorization.adapt(text_only_train_ds)
int_train_ds = train_ds.map(lambda x, y: (int_vectorization(x), y))
inputs = keras.Input(shape=(None,), dtype="int64")
embedded = layers.Embedding(input_dim=12, output_dim=6, mask_zero=True)(inputs)
x = layers.Bidirectional(layers.LSTM(5))(embedded)
x = layers.Dropout(0.0)(x)
outputs = layers.Dense(1, activation="sigmoid")(x)
model = fill(keras.Model(inputs, outputs))
model.compile(optimizer="sgd", loss="binary_crossentropy", metrics=["accuracy"])
model.summary()
masked = model.fit(int_train_ds, epochs=2)
results += [np.array(sorted(text_vectorization.get_vocabulary())), curves(bag), curves(masked)]
