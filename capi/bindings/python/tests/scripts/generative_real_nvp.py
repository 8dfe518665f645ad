"""Density by RealNVP: couplings in a list, a call() that trains unless told otherwise, directions of its own."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, regularizers
from filled import curves, fill, sums

r = np.random.RandomState(30)
norm = layers.Normalization()
data = r.normal(size=(24, 2)).astype("float32")
norm.adapt(data)
normalized_data = norm(data)


def Coupling(input_shape):
    input = layers.Input(shape=(input_shape,))
    t = layers.Dense(8, activation="relu", kernel_regularizer=regularizers.l2(0.01))(input)
    t = layers.Dense(input_shape, activation="linear", kernel_regularizer=regularizers.l2(0.01))(t)
    s = layers.Dense(8, activation="relu", kernel_regularizer=regularizers.l2(0.01))(input)
    s = layers.Dense(input_shape, activation="tanh", kernel_regularizer=regularizers.l2(0.01))(s)
    return keras.Model(inputs=input, outputs=[s, t])


class RealNVP(keras.Model):
    def __init__(self, num_coupling_layers):
        super().__init__()
        self.num_coupling_layers = num_coupling_layers
        self.masks = np.array([[0, 1], [1, 0]] * (num_coupling_layers // 2), dtype="float32")
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.layers_list = [Coupling(2) for i in range(num_coupling_layers)]

    @property
    def metrics(self):
        return [self.loss_tracker]

    def call(self, x, training=True):
        log_det_inv = 0
        direction = 1
        if training:
            direction = -1
        for i in range(self.num_coupling_layers)[::direction]:
            x_masked = x * self.masks[i]
            reversed_mask = 1 - self.masks[i]
            s, t = self.layers_list[i](x_masked)
            s *= reversed_mask
            t *= reversed_mask
            gate = (direction - 1) / 2
            x = reversed_mask * (x * keras.ops.exp(direction * s) + direction * t * keras.ops.exp(gate * s)) + x_masked
            log_det_inv += gate * keras.ops.sum(s, axis=1)
        return x, log_det_inv

    def log_loss(self, x):
        y, logdet = self(x)
        log_likelihood = -0.5 * keras.ops.sum(y * y, axis=-1) - np.log(2 * np.pi) + logdet
        return -keras.ops.mean(log_likelihood)

    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = self.log_loss(data)
        g = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(g, self.trainable_variables))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}

    def test_step(self, data):
        loss = self.log_loss(data)
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


model = RealNVP(4)
for m in model.layers_list:
    fill(m)
model.compile(optimizer=keras.optimizers.SGD(0.01))
h = model.fit(normalized_data, batch_size=8, epochs=2, verbose=0, validation_split=0.25, shuffle=False)
z, _ = model(normalized_data)
x, _ = model.predict(np.asarray(z), verbose=0)
results = [curves(h), z, x]
