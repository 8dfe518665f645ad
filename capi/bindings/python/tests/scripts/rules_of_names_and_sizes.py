"""tf.Variable and sums of segments by TensorFlow's names, tables by defaults of columns; what logs call losses and
metrics of several outputs, in which order evaluate() gives them; batches of other sizes than an input said."""

import os
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import fill

x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], "float32")
results = []
for name in ("sum", "mean", "max", "min", "prod"):
    results.append(getattr(tf.math, "unsorted_segment_" + name)(x, [2, 0, -1, 2], 4))
    results.append(getattr(tf.math, "segment_" + name)(x, [0, 0, 2, 2]))
results.append(tf.math.unsorted_segment_sqrt_n(x, [2, 0, -1, 2], 4))
results.append(tf.math.unsorted_segment_mean([4, 5, 8], [0, 0, 1], 2))


@tf.function
def segments(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        ids = tf.constant([2, 0, 1, 2])
        sums, means = tf.math.unsorted_segment_sum(x, ids, 4), tf.math.unsorted_segment_mean(x, ids, 4)
        greatest, least = tf.math.unsorted_segment_max(x, ids, 4), tf.math.unsorted_segment_min(x, ids, 3)
        loss = tf.reduce_sum(sums * sums) + tf.reduce_sum(means * means)
        loss += tf.reduce_sum(tf.math.unsorted_segment_sqrt_n(x, ids, 4)) + tf.reduce_sum(x[:, tf.argmax(x[0])])
    return greatest, least, loss, tape.gradient(loss, x)


results += segments(tf.constant(x))
v = tf.Variable(initial_value=[1, 2], dtype=tf.float32, name="v")
w = tf.Variable(3, trainable=False)
w.assign_add(2)
results += [v, v.dtype == tf.float32, isinstance(v, tf.Variable), w, int(w), w.trainable, isinstance(x, tf.Variable)]

path = os.path.join(tempfile.mkdtemp(), "rows.csv")
with open(path, "w") as f:
    f.write("a,b,c,d\n1,,x,0\n2,2.5,,1\n,3,z,1\n4,5,?,0\n")
table = tf.data.experimental.make_csv_dataset(
    path, 2, column_defaults=[[7], [0.5], ["none"], tf.int32], label_name="d", num_epochs=1, shuffle=False
)
for rows, labels in table:
    results += [dict(rows), labels]

r = np.random.RandomState(61)
data, a, b = r.rand(16, 3), r.rand(16, 1), np.eye(4)[r.randint(0, 4, 16)]


class TwoOutputs(keras.Model):
    def __init__(self):
        super().__init__()
        self.one = layers.Dense(1)
        self.other = layers.Dense(4, activation="softmax")

    def call(self, x):
        return self.one(x), self.other(x)


inputs = keras.Input((3,))
outputs = [layers.Dense(1, name="z")(inputs), layers.Dense(4, activation="softmax", name="c")(inputs)]
for model in (TwoOutputs(), keras.Model(inputs, outputs)):
    model(data)
    fill(model)
    model.compile("adam", loss=["mse", keras.losses.CategoricalCrossentropy()], metrics=[["mae", "mse"], ["accuracy"]])
    history = model.fit(data, [a, b], epochs=1, shuffle=False, verbose=0).history
    results += [sorted(history), [history[k] for k in sorted(history)], model.evaluate(data, [a, b], verbose=0)]
    results += [model.test_on_batch(data, [a, b]), model.train_on_batch(data, [a, b])]
    results.append(model.evaluate(data, [a, b], verbose=0, return_dict=True))

inputs = keras.Input((3,), batch_size=4)
model = fill(keras.Model(inputs, layers.Dense(2)(inputs)))
results += [model(data[:6]), model.predict(data[:6], verbose=0)]
model.compile("sgd", "mse")
results += [model.fit(data, r.rand(16, 2), batch_size=5, shuffle=False, verbose=0).history["loss"]]
built = keras.Sequential([layers.Dense(2)])
built.build((7, 3))
results += [built.output_shape, fill(built).predict(data, verbose=0)]
