"""What the calls of layers leave: outputs of those that were called on arrays before, weights of models without layers,
losses of texts of any width."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(84)
x, y = r.rand(12, 3).astype("float32"), r.rand(12, 1).astype("float32")
results = []

normalization, shared = layers.Normalization(), layers.Dense(4, activation="relu")
normalization.adapt(x)
shared(np.ones((1, 3), "float32"))
inputs = keras.Input((3,))
model = fill(keras.Model(inputs, layers.Dense(1)(shared(normalization(inputs)))))
parts = keras.Model(model.inputs, [layer.output for layer in model.layers])
results += [parts(x), [shared.input is normalization.output, normalization.input is inputs]]


class Scaling(layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale")

    def call(self, inputs):
        return inputs * self.scale


scaling = Scaling()
scaling(x)
scaled = scaling(inputs)
results += [keras.Model(inputs, scaling.output)(x), scaling.output is scaled]


class Linear(keras.Model):
    def build(self, input_shape):
        self.matrices = [self.add_weight(shape=(input_shape[-1], 1), name="matrix")]

    def call(self, inputs):
        return tf.matmul(inputs, self.matrices[0])


linear = Linear()
results.append(len(linear.trainable_variables))
linear(x)
results.append(len(linear.trainable_variables))
fill(linear)
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((linear(x) - y) ** 2)
results += [loss, tape.gradient(loss, linear.trainable_variables)]


class Transcripts(layers.Layer):
    def call(self, y_true, y_pred):
        ones = tf.ones((tf.shape(y_true)[0], 1), "int64")
        steps, width = tf.cast(tf.shape(y_pred)[1], "int64"), tf.cast(tf.shape(y_true)[1], "int64")
        self.add_loss(tf.keras.backend.ctc_batch_cost(y_true, y_pred, steps * ones, width * ones))
        return y_pred


sound, text = keras.Input((9, 4), name="sound"), keras.Input((None,), name="text")
probabilities = layers.Dense(6, activation="softmax")(layers.SimpleRNN(5, return_sequences=True)(sound))
reader = fill(keras.Model([sound, text], Transcripts()(text, probabilities)))
reader.compile("adam")
data = {"sound": r.rand(8, 9, 4).astype("float32"), "text": r.randint(0, 5, (8, 3)).astype("float32")}
results += [curves(reader.fit(data, batch_size=4, epochs=2, shuffle=False, verbose=0)), sums(reader)]
