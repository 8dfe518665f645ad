"""A training loop from scratch: tape, metrics, losses of layers, tf.function."""

import time

import numpy as np
import tensorflow as tf
import keras
from filled import fill, sums

r = np.random.RandomState(4)
x_all, y_all = r.rand(120, 32).astype("float32"), r.randint(0, 10, 120)
x_train, x_val, y_train, y_val = x_all[:-24], x_all[-24:], y_all[:-24], y_all[-24:]


def get_model():
    inputs = keras.Input(shape=(32,), name="digits")
    x1 = keras.layers.Dense(16, activation="relu")(inputs)
    x2 = keras.layers.Dense(16, activation="relu")(x1)
    outputs = keras.layers.Dense(10, name="predictions")(x2)
    return fill(keras.Model(inputs=inputs, outputs=outputs))


batch_size = 32
train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(batch_size)
val_dataset = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(batch_size)

model = get_model()
optimizer = keras.optimizers.Adam(learning_rate=1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
seen = []
for epoch in range(2):
    print(f"\nStart of epoch {epoch}")
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        with tf.GradientTape() as tape:
            logits = model(x_batch_train, training=True)
            loss_value = loss_fn(y_batch_train, logits)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply(grads, model.trainable_weights)
        if step % 2 == 0:
            print(f"Training loss (for 1 batch) at step {step}: {float(loss_value):.4f}")
            print(f"Seen so far: {(step + 1) * batch_size} samples")
        seen.append(float(loss_value))

model = get_model()
optimizer = keras.optimizers.Adam(learning_rate=1e-3)
train_acc_metric = keras.metrics.SparseCategoricalAccuracy()
val_acc_metric = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss_value = loss_fn(y, logits)
        loss_value += sum(model.losses)
    grads = tape.gradient(loss_value, model.trainable_weights)
    optimizer.apply(grads, model.trainable_weights)
    train_acc_metric.update_state(y, logits)
    return loss_value


@tf.function
def test_step(x, y):
    val_logits = model(x, training=False)
    val_acc_metric.update_state(y, val_logits)


accuracies = []
for epoch in range(2):
    start_time = time.time()
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        loss_value = train_step(x_batch_train, y_batch_train)
        seen.append(loss_value.numpy())
    train_acc = train_acc_metric.result()
    print(f"Training acc over epoch: {float(train_acc):.4f}")
    accuracies.append(float(train_acc))
    train_acc_metric.reset_state()
    for x_batch_val, y_batch_val in val_dataset:
        test_step(x_batch_val, y_batch_val)
    val_acc = val_acc_metric.result()
    val_acc_metric.reset_state()
    print(f"Validation acc: {float(val_acc):.4f}")
    print(f"Time taken: {time.time() - start_time:.2f}s")
    accuracies.append(float(val_acc))


class ActivityRegularizationLayer(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(1e-2 * tf.reduce_sum(inputs))
        return inputs


inputs = keras.Input(shape=(32,), name="digits")
x = keras.layers.Dense(16, activation="relu")(inputs)
x = ActivityRegularizationLayer()(x)
outputs = keras.layers.Dense(10, name="predictions")(x)
model = fill(keras.Model(inputs=inputs, outputs=outputs))
optimizer = keras.optimizers.SGD(0.01)
for x, y in train_dataset:
    seen.append(float(train_step.python_function(x, y)))
results = [seen, accuracies, sums(model)]
