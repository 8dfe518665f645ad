"""A model from nothing but tensors: plain classes, a generator of batches, updates by hand."""

import math

import numpy as np
import tensorflow as tf
from tensorflow.keras import optimizers

r = np.random.RandomState(51)
optimizer = optimizers.SGD(learning_rate=1e-1)


class NaiveDense:
    def __init__(self, input_size, output_size, activation):
        self.activation = activation
        w_shape = (input_size, output_size)
        w_initial_value = tf.constant(r.uniform(0, 1e-1, w_shape), dtype=tf.float32)
        self.W = tf.Variable(w_initial_value)
        b_shape = (output_size,)
        b_initial_value = tf.zeros(b_shape)
        self.b = tf.Variable(b_initial_value)

    def __call__(self, inputs):
        return self.activation(tf.matmul(inputs, self.W) + self.b)

    @property
    def weights(self):
        return [self.W, self.b]


class NaiveSequential:
    def __init__(self, layers):
        self.layers = layers

    def __call__(self, inputs):
        x = inputs
        for layer in self.layers:
            x = layer(x)
        return x

    @property
    def weights(self):
        weights = []
        for layer in self.layers:
            weights += layer.weights
        return weights


class BatchGenerator:
    def __init__(self, images, labels, batch_size=128):
        assert len(images) == len(labels)
        self.index = 0
        self.images = images
        self.labels = labels
        self.batch_size = batch_size
        self.num_batches = math.ceil(len(images) / batch_size)

    def next(self):
        images = self.images[self.index : self.index + self.batch_size]
        labels = self.labels[self.index : self.index + self.batch_size]
        self.index += self.batch_size
        return images, labels


def update_weights(gradients, weights):
    for g, w in zip(gradients, weights):
        w.assign_sub(g * 1e-2)


def one_training_step(model, images_batch, labels_batch):
    with tf.GradientTape() as tape:
        predictions = model(images_batch)
        per_sample_losses = tf.keras.losses.sparse_categorical_crossentropy(labels_batch, predictions)
        average_loss = tf.reduce_mean(per_sample_losses)
    gradients = tape.gradient(average_loss, model.weights)
    update_weights(gradients, model.weights)
    optimizer.apply_gradients(zip(gradients, model.weights))
    return average_loss


def fit(model, images, labels, epochs, batch_size=128):
    losses = []
    for epoch_counter in range(epochs):
        print(f"Epoch {epoch_counter}")
        batch_generator = BatchGenerator(images, labels, batch_size)
        for batch_counter in range(batch_generator.num_batches):
            images_batch, labels_batch = batch_generator.next()
            loss = one_training_step(model, images_batch, labels_batch)
            losses.append(float(loss))
            if batch_counter % 2 == 0:
                print(f"loss at batch {batch_counter}: {loss:.2f}")
    return losses


images, labels = r.rand(48, 20).astype("float32"), r.randint(0, 4, 48)
model = NaiveSequential([NaiveDense(20, 16, tf.nn.relu), NaiveDense(16, 4, tf.nn.softmax)])
losses = fit(model, images, labels, epochs=2, batch_size=16)
predictions = model(images).numpy()
predicted_labels = np.argmax(predictions, axis=1)
matches = predicted_labels == labels

negative = r.multivariate_normal(mean=[0, 3], cov=[[1, 0.5], [0.5, 1]], size=30)
positive = r.multivariate_normal(mean=[3, 0], cov=[[1, 0.5], [0.5, 1]], size=30)
inputs = np.vstack((negative, positive)).astype(np.float32)
targets = np.vstack((np.zeros((30, 1), dtype="float32"), np.ones((30, 1), dtype="float32")))
W = tf.Variable(initial_value=tf.constant(r.uniform(size=(2, 1)), tf.float32))
b = tf.Variable(initial_value=tf.zeros(shape=(1,)))


def square_loss(targets, predictions):
    per_sample_losses = tf.square(targets - predictions)
    return tf.reduce_mean(per_sample_losses)


def training_step(inputs, targets):
    with tf.GradientTape() as tape:
        predictions = tf.matmul(inputs, W) + b
        loss = square_loss(targets, predictions)
    grad_loss_wrt_W, grad_loss_wrt_b = tape.gradient(loss, [W, b])
    W.assign_sub(grad_loss_wrt_W * 0.1)
    b.assign_sub(grad_loss_wrt_b * 0.1)
    return loss


steps = [float(training_step(inputs, targets)) for _ in range(10)]

time = tf.Variable(0.0)
with tf.GradientTape() as outer_tape:
    with tf.GradientTape() as inner_tape:
        position = 4.9 * time**2
    speed = inner_tape.gradient(position, time)
acceleration = outer_tape.gradient(speed, time)
x = tf.ones((2, 2))
assert x.shape == (2, 2)
y = tf.square(x) + tf.sqrt(x) * tf.matmul(x, x)
results = [losses, float(matches.mean()), steps, W, b, speed, acceleration, y]
