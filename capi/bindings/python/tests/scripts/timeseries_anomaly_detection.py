"""Anomalies by what an autoencoder of convolutions does not reconstruct; windows by NumPy."""

import numpy as np
import keras
from keras import layers
from filled import curves, fill

r = np.random.RandomState(81)
values = np.sin(np.arange(120) / 4) + 0.05 * r.normal(size=120)
training_value = (values - values.mean()) / values.std()
TIME_STEPS = 16


def create_sequences(values, time_steps=TIME_STEPS):
    output = []
    for i in range(len(values) - time_steps + 1):
        output.append(values[i : (i + time_steps)])
    return np.stack(output)


x_train = create_sequences(training_value[:, None])
print("Training input shape: ", x_train.shape)
model = keras.Sequential(
    [
        layers.Input(shape=(x_train.shape[1], x_train.shape[2])),
        layers.Conv1D(filters=8, kernel_size=7, padding="same", strides=2, activation="relu"),
        layers.Dropout(rate=0.0),
        layers.Conv1D(filters=4, kernel_size=7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(filters=4, kernel_size=7, padding="same", strides=2, activation="relu"),
        layers.Dropout(rate=0.0),
        layers.Conv1DTranspose(filters=8, kernel_size=7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(filters=1, kernel_size=7, padding="same"),
    ]
)
fill(model)
model.compile(optimizer=keras.optimizers.Adam(learning_rate=0.001), loss="mse")
history = model.fit(
    x_train,
    x_train,
    epochs=3,
    batch_size=32,
    validation_split=0.1,
    shuffle=False,
    callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, mode="min")],
)
x_train_pred = model.predict(x_train)
train_mae_loss = np.mean(np.abs(x_train_pred - x_train), axis=1)
threshold = np.max(train_mae_loss)
x_test = create_sequences((training_value + (np.arange(120) == 60) * 9)[:, None])
test_mae_loss = np.mean(np.abs(model.predict(x_test) - x_test), axis=1).reshape((-1))
anomalies = test_mae_loss > threshold
results = [curves(history), float(threshold), np.where(anomalies)[0]]
