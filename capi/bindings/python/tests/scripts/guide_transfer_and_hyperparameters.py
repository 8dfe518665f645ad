"""Transfer learning with a frozen base and fine-tuning; hyperparameters searched by hand with seeds of one's own."""

import itertools

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(74)
images, labels = r.rand(24, 16, 16, 3).astype("float32") * 255, r.randint(0, 2, 24)
train_ds = tf.data.Dataset.from_tensor_slices((images[:16], labels[:16]))
validation_ds = tf.data.Dataset.from_tensor_slices((images[16:], labels[16:]))
resize_fn = keras.layers.Resizing(12, 12)
train_ds = train_ds.map(lambda x, y: (resize_fn(x), y)).batch(8).prefetch(tf.data.AUTOTUNE).cache()
validation_ds = validation_ds.map(lambda x, y: (resize_fn(x), y)).batch(8)

layer = keras.layers.BatchNormalization()
layer.build((None, 4))
counts = [len(layer.weights), len(layer.trainable_weights), len(layer.non_trainable_weights)]


def make_base():
    inputs = keras.Input((12, 12, 3))
    x = layers.Conv2D(6, 3, use_bias=False, name="block1_conv")(inputs)
    x = layers.BatchNormalization(name="block1_bn")(x)
    x = layers.ReLU()(x)
    x = layers.DepthwiseConv2D(3, name="block2_conv")(x)
    return fill(keras.Model(inputs, x, name="base"))


base_model = make_base()
base_model.trainable = False
inputs = keras.Input(shape=(12, 12, 3))
scale_layer = keras.layers.Rescaling(scale=1 / 127.5, offset=-1)
x = scale_layer(inputs)
x = base_model(x, training=False)
x = keras.layers.GlobalAveragePooling2D()(x)
x = keras.layers.Dropout(0.0)(x)
outputs = keras.layers.Dense(1)(x)
model = keras.Model(inputs, outputs)
fill(model)
model.summary(show_trainable=True)
model.compile(
    optimizer=keras.optimizers.Adam(),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy()],
)
first = curves(model.fit(train_ds, epochs=2, validation_data=validation_ds))
frozen = [len(model.trainable_weights), len(model.non_trainable_weights)]
base_model.trainable = True
base_model.get_layer("block1_bn").trainable = False
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy()],
)
second = curves(model.fit(train_ds, epochs=1, validation_data=validation_ds))
statistics = np.array(base_model.get_layer("block1_bn").moving_mean)

space = {"units": [4, 8], "activation": ["relu", "tanh"], "learning_rate": [1e-2, 1e-1]}
x_train, y_train = r.normal(size=(40, 5)), r.randint(0, 3, 40)


def build_model(units, activation, learning_rate):
    model = keras.Sequential([keras.Input((5,)), layers.Dense(units, activation=activation), layers.Dense(3)])
    model.compile(
        optimizer=keras.optimizers.SGD(learning_rate),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return fill(model)


trials = {}
for values in itertools.product(*space.values()):
    keras.backend.clear_session()
    model_now = build_model(**dict(zip(space, values)))
    stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=1, restore_best_weights=True)
    history = model_now.fit(
        x_train, y_train, validation_split=0.25, epochs=4, batch_size=10, shuffle=False, verbose=0, callbacks=[stop]
    )
    trials[values] = min(history.history["val_loss"])
best = min(trials, key=trials.get)
results = [counts, first, frozen, second, statistics, sums(model), list(trials.values()), str(best)]
