"""Steps as functions of TensorFlow that give logs: results of metrics after each batch, with a bar of one's own."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import fill, sums

r = np.random.RandomState(85)
x, y = r.rand(14, 4).astype("float32"), r.randint(0, 3, 14)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(5)
model = fill(keras.Sequential([keras.Input((4,)), layers.Dense(3, activation="softmax")]))
loss_fn, optimizer = keras.losses.SparseCategoricalCrossentropy(), keras.optimizers.SGD(0.1)
metrics, loss_tracker = [keras.metrics.SparseCategoricalAccuracy()], keras.metrics.Mean()


def reset_metrics():
    for metric in [*metrics, loss_tracker]:
        metric.reset_state()


@tf.function
def train_step(inputs, targets):
    with tf.GradientTape() as tape:
        predictions = model(inputs, training=True)
        loss = loss_fn(targets, predictions)
    gradients = tape.gradient(loss, model.trainable_weights)
    optimizer.apply_gradients(zip(gradients, model.trainable_weights))
    logs = {}
    for metric in metrics:
        metric.update_state(targets, predictions)
        logs[metric.name] = metric.result()
    loss_tracker.update_state(loss)
    logs["loss"] = loss_tracker.result()
    return logs


@tf.function
def test_step(inputs, targets):
    predictions = model(inputs, training=False)
    logs = {}
    for metric in metrics:
        metric.update_state(targets, predictions)
        logs["val_" + metric.name] = metric.result()
    loss_tracker.update_state(loss_fn(targets, predictions))
    logs["val_loss"] = loss_tracker.result()
    return logs


told, results = [], []
for epoch in range(2):
    reset_metrics()
    bar = keras.utils.Progbar(len(dataset), stateful_metrics=["sparse_categorical_accuracy"])
    for inputs, targets in dataset:
        logs = train_step(inputs, targets)
        bar.add(1, [(key, float(value)) for key, value in logs.items()])
        results += [logs["loss"], logs["sparse_categorical_accuracy"]]
    told += [f"{key}: {value:.4f}" for key, value in logs.items()]
    reset_metrics()
    for inputs, targets in dataset:
        logs = test_step(inputs, targets)
    told += [f"{key}: {value:.4f}" for key, value in logs.items()]
    results += [float(logs["val_loss"]), logs["val_loss"].numpy()]
bar = keras.utils.Progbar(None, verbose=0)
for i in range(3):
    bar.add(2, [("loss", np.float32(i))])
config = keras.utils.serialize_keras_object(layers.Dense(3, name="heads"))
results += [told, sums(model), keras.utils.deserialize_keras_object(config).name, float(bar._values["loss"][0])]
known = keras.utils.get_custom_objects() == keras.saving.get_custom_objects()
results.append([keras.utils.is_keras_tensor(model.inputs[0]), known])
