"""A learning-rate finder as a callback, gradients accumulated in train_step(), k-fold with clone_model, class weights,
sample weights by time, and a warm-up schedule of one's own."""

import math

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(3)
x = r.randn(96, 10).astype("float32")
y = (x[:, :3].sum(1) + 0.3 * r.randn(96) > 0.7).astype("int32")
results = []


class LRFinder(keras.callbacks.Callback):
    def __init__(self, low, high, steps):
        super().__init__()
        self.low, self.high, self.steps, self.step = low, high, steps, 0
        self.rates, self.losses, self.best = [], [], math.inf

    def on_train_begin(self, logs=None):
        self.kept = self.model.get_weights()
        self.model.optimizer.learning_rate = self.low

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        self.rates.append(float(ops.convert_to_numpy(self.model.optimizer.learning_rate)))
        self.losses.append(logs["loss"])
        self.best = min(self.best, logs["loss"])
        if logs["loss"] > 4 * self.best or self.step >= self.steps:
            self.model.stop_training = True
        rate = self.low * (self.high / self.low) ** (self.step / self.steps)
        self.model.optimizer.learning_rate.assign(rate)

    def on_train_end(self, logs=None):
        self.model.set_weights(self.kept)


def make():
    model = keras.Sequential(
        [
            keras.Input((10,)),
            layers.Dense(12, activation="gelu", kernel_regularizer=keras.regularizers.L1L2(1e-4, 1e-4)),
            layers.Dense(2),
        ]
    )
    return fill(model)


model = make()
model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
finder = LRFinder(1e-4, 1.0, 18)
model.fit(x, y, batch_size=16, epochs=5, shuffle=False, verbose=0, callbacks=[finder])
results += [finder.rates, finder.losses, sums(model)]


class Accumulating(keras.Model):
    def __init__(self, inner, every=3, **kwargs):
        super().__init__(**kwargs)
        self.inner, self.every = inner, every
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False, name="count")
        self.sums = [
            self.add_weight(shape=w.shape, initializer="zeros", trainable=False, name=f"sum_{i}")
            for i, w in enumerate(inner.trainable_variables)
        ]

    def call(self, inputs, training=False):
        return self.inner(inputs, training=training)

    def train_step(self, data):
        x, y = data
        self.count.assign_add(1.0)
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred)
        grads = tape.gradient(loss, self.inner.trainable_variables)
        due = ops.cast(ops.equal(self.count % self.every, 0.0), "float32")
        for s, g in zip(self.sums, grads):
            s.assign_add(g / self.every)
        self.optimizer.apply_gradients([(due * s, w) for s, w in zip(self.sums, self.inner.trainable_variables)])
        for s in self.sums:
            s.assign((1.0 - due) * s)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


accumulating = Accumulating(make())
accumulating.compile(
    keras.optimizers.SGD(0.2), keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"]
)
history = accumulating.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
results += [curves(history), sums(accumulating.inner), accumulating.evaluate(x, y, verbose=0)]


@keras.saving.register_keras_serializable()
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, base, warm):
        self.base, self.warm = base, warm

    def __call__(self, step):
        step = ops.cast(step, "float32")
        slope = step / self.warm
        decay = self.base * ops.cos(0.5 * math.pi * ops.minimum((step - self.warm) / 20.0, 1.0))
        return ops.where(step < self.warm, self.base * slope, decay)

    def get_config(self):
        return {"base": self.base, "warm": self.warm}


original, scores = make(), []
folds = np.arange(len(x)) % 3
for k in range(3):
    clone = keras.models.clone_model(original)
    clone.set_weights(original.get_weights())
    clone.compile(
        keras.optimizers.AdamW(WarmUp(0.02, 4), weight_decay=1e-2, clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(1, name="top1")],
    )
    inside, outside = x[folds != k], x[folds == k]
    counts = np.bincount(y[folds != k])
    weights = {0: len(inside) / (2 * counts[0]), 1: len(inside) / (2 * counts[1])}
    history = clone.fit(
        inside,
        y[folds != k],
        validation_data=(outside, y[folds == k]),
        class_weight=weights,
        batch_size=16,
        epochs=2,
        verbose=0,
        shuffle=False,
    )
    scores.append(clone.evaluate(outside, y[folds == k], verbose=0, return_dict=True))
    results.append(curves(history))
results += [scores, sums(original)]

weighted = make()
weighted.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True), weighted_metrics=["accuracy"])
decay = np.linspace(0.1, 1.0, len(x)).astype("float32")
history = weighted.fit(x, y, sample_weight=decay, batch_size=32, epochs=2, verbose=0, shuffle=False)
results += [curves(history), weighted.evaluate(x, y, sample_weight=decay, verbose=0)]
