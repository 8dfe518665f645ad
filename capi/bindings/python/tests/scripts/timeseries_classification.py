"""Series: a fully convolutional net, and a transformer, with checkpoints, plateaus and early stopping."""

import os
import tempfile

import numpy as np
import keras
from keras import layers
from filled import curves, fill

r = np.random.RandomState(35)
x_train, y_train = r.normal(size=(40, 20)), r.choice([-1, 1], 40)
x_train = x_train.reshape((x_train.shape[0], x_train.shape[1], 1))
num_classes = len(np.unique(y_train))
y_train[y_train == -1] = 0


def make_model(input_shape):
    input_layer = keras.layers.Input(input_shape)
    conv1 = keras.layers.Conv1D(filters=8, kernel_size=3, padding="same")(input_layer)
    conv1 = keras.layers.BatchNormalization()(conv1)
    conv1 = keras.layers.ReLU()(conv1)
    conv2 = keras.layers.Conv1D(filters=8, kernel_size=3, padding="same")(conv1)
    conv2 = keras.layers.BatchNormalization()(conv2)
    conv2 = keras.layers.ReLU()(conv2)
    gap = keras.layers.GlobalAveragePooling1D()(conv2)
    output_layer = keras.layers.Dense(num_classes, activation="softmax")(gap)
    return keras.models.Model(inputs=input_layer, outputs=output_layer)


model = fill(make_model(input_shape=x_train.shape[1:]))
best = os.path.join(tempfile.mkdtemp(), "best_model.keras")
callbacks = [
    keras.callbacks.ModelCheckpoint(best, save_best_only=True, monitor="val_loss"),
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=1, min_lr=0.0001),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=50, verbose=1),
]
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
history = model.fit(
    x_train, y_train, batch_size=8, epochs=4, callbacks=callbacks, validation_split=0.2, verbose=1, shuffle=False
)
model = keras.models.load_model(best)
test_loss, test_acc = model.evaluate(x_train, y_train)


def transformer_encoder(inputs, head_size, num_heads, ff_dim, dropout=0):
    x = layers.MultiHeadAttention(key_dim=head_size, num_heads=num_heads, dropout=dropout)(inputs, inputs)
    x = layers.Dropout(dropout)(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    res = x + inputs
    x = layers.Conv1D(filters=ff_dim, kernel_size=1, activation="relu")(res)
    x = layers.Dropout(dropout)(x)
    x = layers.Conv1D(filters=inputs.shape[-1], kernel_size=1)(x)
    x = layers.LayerNormalization(epsilon=1e-6)(x)
    return x + res


inputs = keras.Input(shape=x_train.shape[1:])
x = inputs
for _ in range(2):
    x = transformer_encoder(x, 8, 2, 4)
x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
for dim in [8]:
    x = layers.Dense(dim, activation="relu")(x)
outputs = layers.Dense(num_classes, activation="softmax")(x)
transformer = fill(keras.Model(inputs, outputs))
transformer.compile(
    loss="sparse_categorical_crossentropy",
    optimizer=keras.optimizers.Adam(learning_rate=1e-4),
    metrics=["sparse_categorical_accuracy"],
)
transformed = transformer.fit(x_train, y_train, validation_split=0.2, epochs=2, batch_size=8, shuffle=False)
results = [curves(history), sorted(history.history), test_loss, test_acc, curves(transformed)]
