"""Calls that assign, read the weights of other layers, take sizes that change, and draw for batches of any size."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(60)
x, y = r.rand(32, 4).astype("float32"), r.rand(32, 2)


class Centered(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False, name="seen")
        self.mean = self.add_weight(shape=(4,), initializer="zeros", trainable=False, name="mean")
        self.dense = layers.Dense(2)

    def call(self, x, training=False):
        if training:
            self.seen.assign_add(1.0)
            self.mean.assign(0.9 * self.mean + 0.1 * ops.mean(x, axis=0))
        return self.dense(x - self.mean)


inputs = keras.Input((4,))
counted = fill(keras.Model(inputs, Centered()(inputs)))
counted.compile("adam", "mse", metrics=["mae"])
history = counted.fit(x, y, epochs=2, batch_size=8, shuffle=False, verbose=0, validation_data=(x, y))
results = [curves(history), counted.predict(x[:2], verbose=0), counted.evaluate(x, y, verbose=0)]
results += [np.array(w) for w in counted.non_trainable_weights]


class Tied(keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(10, 4)
        self.dense = layers.Dense(4)
        self.out = layers.Dense(10)

    def call(self, x):
        h = self.dense(self.embedding(x))
        scores = ops.matmul(h, ops.transpose(self.embedding.embeddings))
        return scores + 0.1 * self.out(h) + 1e-3 * ops.sum(ops.square(self.dense.kernel))


ids, words = r.randint(0, 10, (24, 3)), r.randint(0, 10, (24, 3))
tied = Tied()
tied(ids[:2])
fill(tied)
tied.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
results += [curves(tied.fit(ids, words, epochs=2, batch_size=8, shuffle=False, verbose=0)), sums(tied)]
results += [tied.predict(ids[:4, :2], verbose=0), tied.predict(r.randint(0, 10, (2, 5)), verbose=0).shape]
results += [curves(tied.fit(ids[:, :2], words[:, :2], batch_size=8, shuffle=False, verbose=0)), sums(tied)]

rows = [[1, 2, 3], [4], [5, 6], [7, 8, 9, 1]]
ragged = tf.data.Dataset.from_generator(lambda: ((row, row) for row in rows), output_types=(tf.int64, tf.int64))
padded = ragged.padded_batch(2, padded_shapes=([None], [None]))
results += [curves(tied.fit(padded, epochs=2, verbose=0)), sums(tied)]


class Drawn(layers.Layer):
    def __init__(self):
        super().__init__()
        self.seed = keras.random.SeedGenerator(3)

    def call(self, x):
        real = keras.random.uniform((ops.shape(x)[0], 50), -1.0, 3.0, seed=self.seed)
        whole = keras.random.randint((ops.shape(x)[0], 50), 2, 5, seed=self.seed)
        return real, whole


inputs = keras.Input((1,))
real, whole = keras.Model(inputs, Drawn()(inputs)).predict(np.zeros((200, 1)), verbose=0)
results += [real.shape, bool(real.min() >= -1 and real.max() < 3 and abs(real.mean() - 1) < 0.1)]
results += [whole.dtype.name, np.unique(whole), bool(abs(real.std() - 4 / 12**0.5) < 0.05)]


class Shapes(layers.Layer):
    def call(self, x):
        batch, steps = ops.shape(x)[0], ops.shape(x)[1]
        pairs = ops.arange(steps)[:, None] * 10 + ops.arange(steps)
        pairs = ops.reshape(pairs, (1, steps, steps))
        every = ops.tile(pairs, (batch, 1, 1))
        return ops.cast(every, "float32") + ops.repeat(x, 2, axis=-1)[:, :, :1], ops.repeat(x[..., 0], [3], axis=1)


inputs = keras.Input((None, 1))
results += keras.Model(inputs, Shapes()(inputs)).predict(r.rand(2, 3, 1), verbose=0)
texts = tf.constant(["¿Qué, tal?", "año 2020!"])
results += [tf.strings.regex_replace(texts, "[¿?,!]", ""), tf.strings.regex_replace(texts, "[^a-z ]", "_")]
results += [tf.strings.regex_full_match(texts, ".*a.o.*"), tf.strings.regex_replace(texts, r"(\w+)", r"<\1>")]
