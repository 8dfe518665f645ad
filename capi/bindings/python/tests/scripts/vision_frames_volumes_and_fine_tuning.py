"""Next frames by ConvLSTM, a 3-D net, fine-tuning of a base called with training=False, Barlow twins."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(34)
results = []
inp = layers.Input(shape=(None, 8, 8, 1))
x = layers.ConvLSTM2D(filters=3, kernel_size=(5, 5), padding="same", return_sequences=True, activation="relu")(inp)
x = layers.BatchNormalization()(x)
x = layers.ConvLSTM2D(filters=3, kernel_size=(1, 1), padding="same", return_sequences=True, activation="relu")(x)
x = layers.Conv3D(filters=1, kernel_size=(3, 3, 3), activation="sigmoid", padding="same")(x)
m = keras.models.Model(inp, x)
fill(m)
m.compile(loss=keras.losses.binary_crossentropy, optimizer=keras.optimizers.SGD(0.01))
frames = r.rand(4, 5, 8, 8, 1).astype("float32")
h = m.fit(frames[:, :-1], frames[:, 1:], batch_size=2, epochs=1, shuffle=False, verbose=0)
new = m.predict(np.expand_dims(frames[0], axis=0), verbose=0)
results += [curves(h), sums(m), np.squeeze(new, axis=0)]
inputs = keras.Input((8, 8, 4, 1))
x = layers.Conv3D(filters=4, kernel_size=3, activation="relu", padding="same")(inputs)
x = layers.MaxPool3D(pool_size=2)(x)
x = layers.BatchNormalization()(x)
x = layers.GlobalAveragePooling3D()(x)
x = layers.Dropout(0.0)(x)
m = keras.Model(inputs, layers.Dense(units=1, activation="sigmoid")(x), name="3dcnn")
fill(m)
lr = keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=2, decay_rate=0.96, staircase=True)
m.compile(
    loss="binary_crossentropy", optimizer=keras.optimizers.SGD(learning_rate=lr), metrics=["acc"], run_eagerly=False
)
h = m.fit(r.rand(6, 8, 8, 4, 1), r.randint(0, 2, 6), epochs=2, batch_size=3, shuffle=False, verbose=0)
results += [curves(h), sums(m)]
base = keras.Sequential(
    [keras.Input((12, 12, 3)), layers.Conv2D(4, 3), layers.BatchNormalization(), layers.ReLU()], name="base"
)
fill(base)
base.trainable = False
i = keras.Input((12, 12, 3))
x = layers.Rescaling(scale=1 / 127.5, offset=-1)(i)
x = base(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.0)(x)
m = keras.Model(i, layers.Dense(1)(x))
fill(m)
X, Y = (r.rand(8, 12, 12, 3) * 255).astype("float32"), r.randint(0, 2, (8, 1))
m.compile(
    optimizer=keras.optimizers.SGD(0.1),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy()],
)
results += [curves(m.fit(X, Y, epochs=2, batch_size=4, shuffle=False, verbose=0)), len(m.trainable_weights)]
base.trainable = True
m.compile(
    optimizer=keras.optimizers.SGD(1e-2),
    loss=keras.losses.BinaryCrossentropy(from_logits=True),
    metrics=[keras.metrics.BinaryAccuracy()],
)
results += [
    curves(m.fit(X, Y, epochs=2, batch_size=4, shuffle=False, verbose=0)),
    sums(m),
    [np.abs(w).sum() for w in base.get_weights()],
]


class BarlowLoss(keras.losses.Loss):
    def __init__(self, batch_size):
        super().__init__()
        self.lambda_amt = 5e-3
        self.batch_size = batch_size

    def get_off_diag(self, c):
        zero_diag = tf.zeros(c.shape[-1])
        return tf.linalg.set_diag(c, zero_diag)

    def call(self, z_a, z_b):
        z_a = (z_a - tf.reduce_mean(z_a, axis=0)) / tf.math.reduce_std(z_a, axis=0)
        z_b = (z_b - tf.reduce_mean(z_b, axis=0)) / tf.math.reduce_std(z_b, axis=0)
        c = tf.matmul(tf.transpose(z_a), z_b) / self.batch_size
        on_diag = tf.linalg.diag_part(c)
        inv = tf.reduce_sum(tf.pow(on_diag - tf.ones(c.shape[-1]), 2))
        return inv + tf.reduce_sum(tf.pow(self.get_off_diag(c), 2)) * self.lambda_amt


enc = keras.Sequential([keras.Input((4,)), layers.Dense(6, activation="relu"), layers.Dense(5)])
fill(enc)
opt = keras.optimizers.SGD(0.01)
loss_fn = BarlowLoss(8)
for _ in range(2):
    with tf.GradientTape() as tape:
        za, zb = enc(X[:, 0, :4, 0] / 255), enc(X[:, 1, :4, 1] / 255)
        loss = loss_fn(za, zb)
    g = tape.gradient(loss, enc.trainable_variables)
    opt.apply_gradients(zip(g, enc.trainable_variables))
    results.append(loss)
results.append(sums(enc))
