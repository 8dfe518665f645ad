"""A program that mypy and pyright must find no fault with."""

import numpy as np

import dl4.keras as keras
from dl4.keras import layers
from dl4.keras.callbacks import EarlyStopping


class Counts(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        print(epoch, logs)


x = keras.Input((4,))
h = layers.Dense(8, activation="relu")(x)
h = layers.Dropout(0.1)(h)
model = keras.Model(x, layers.Dense(3, "softmax")(h + 1.0))
model.compile(keras.optimizers.Adam(1e-3), keras.losses.CategoricalCrossentropy(), metrics=["accuracy"])
data, targets = np.ones((8, 4)), np.eye(3)[[0, 1, 2, 0, 1, 2, 0, 1]]
stop = EarlyStopping(monitor="loss", patience=3)
history = model.fit(data, targets, epochs=2, verbose=0, callbacks=[stop, Counts()])
losses: list[float] = history.history["loss"]
count: int = model.count_params()
config: dict[str, object] = model.layers[1].get_config()
