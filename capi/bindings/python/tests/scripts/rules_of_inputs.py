"""What models are given: numbers of other types than their inputs have, and texts for a layer of one's own."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(81)
frames = r.randint(0, 255, (6, 8, 8, 2)).astype("uint8")
results = []


def q_network():
    frame = keras.Input((8, 8, 2))
    x = layers.Flatten()(layers.Conv2D(3, 4, strides=2, activation="relu")(frame))
    return keras.Model(frame, layers.Dense(4)(x))


network, target = fill(q_network()), fill(q_network(), seed=6)
optimizer = keras.optimizers.Adam(0.01, clipnorm=1.0)
action_values = target.predict(frames, verbose=0)
mask = tf.one_hot(r.randint(0, 4, 6), 4)
for _ in range(2):
    with tf.GradientTape() as tape:
        q_action = tf.reduce_sum(network(frames) * mask, axis=1)
        loss = keras.losses.Huber()(tf.reduce_max(action_values, axis=1), q_action)
    gradients = tape.gradient(loss, network.trainable_variables)
    optimizer.apply_gradients(zip(gradients, network.trainable_variables))
    results += [loss, q_action]
results += [sums(network), network(tf.constant(frames))]

pixels = keras.Input((8, 8, 2), dtype="uint8")
results.append(keras.Model(pixels, target(pixels))(frames))
unsized = keras.Sequential([layers.Conv2D(2, 3, activation="relu"), layers.GlobalAveragePooling2D()])
unsized(frames.astype("int32"))
fill(unsized)
results += [unsized(frames), unsized.predict(frames, verbose=0)]


class RemainderEmbedding(layers.Layer):
    def __init__(self, vocabulary, size, buckets, **kwargs):
        super().__init__(**kwargs)
        self.buckets = buckets
        self.lookup = layers.StringLookup(vocabulary=vocabulary, mask_token=None, num_oov_indices=0)
        self.quotients, self.remainders = layers.Embedding(buckets, size), layers.Embedding(buckets, size)

    def call(self, texts):
        index = self.lookup(texts)
        return self.quotients(index // self.buckets) * self.remainders(index % self.buckets)


users, words = [f"user_{i}" for i in range(9)], ["a", "b", "c"]
user, age = keras.Input((), name="user", dtype="string"), keras.Input((1,), name="age")
x = layers.Concatenate()([RemainderEmbedding(users, 4, 3, name="remainders")(user), age])
ratings = fill(keras.Model([user, age], layers.Dense(1)(x)))
ratings.compile("sgd", "mse", metrics=["mae"])
data = {"user": r.choice(users, 12), "age": r.rand(12, 1).astype("float32")}
dataset = tf.data.Dataset.from_tensor_slices((data, r.rand(12, 1).astype("float32"))).batch(5)
results.append(curves(ratings.fit(dataset, epochs=2, validation_data=dataset, verbose=0)))
results += [ratings.evaluate(dataset, verbose=0), ratings.predict(dataset, verbose=0)]
results.append(ratings([tf.constant(data["user"][:3]), tf.constant(data["age"][:3])]))
