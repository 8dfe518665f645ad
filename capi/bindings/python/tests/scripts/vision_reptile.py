"""Few-shot learning by Reptile: weights read and set around an inner loop of tapes."""

import random
import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import fill, sums

r = np.random.RandomState(4)

learning_rate, meta_step_size, inner_batch_size, eval_batch_size = 0.003, 0.25, 5, 5
meta_iters, inner_iters, eval_iters, train_shots, shots, classes = 2, 2, 2, 4, 2, 3


class Dataset:
    def __init__(self, training):
        self.data = {}
        for i in range(6):
            self.data[str(i)] = [
                tf.image.convert_image_dtype(tf.constant(r.randint(0, 255, (12, 12, 1)).astype("uint8")), tf.float32)
                for _ in range(5)
            ]
        self.labels = list(self.data.keys())

    def get_mini_dataset(self, batch_size, repetitions, shots, num_classes, split=False):
        temp_labels = np.zeros(shape=(num_classes * shots))
        temp_images = np.zeros(shape=(num_classes * shots, 12, 12, 1))
        if split:
            test_labels = np.zeros(shape=(num_classes))
            test_images = np.zeros(shape=(num_classes, 12, 12, 1))
        label_subset = random.sample(self.labels, k=num_classes)
        for class_idx, class_obj in enumerate(label_subset):
            temp_labels[class_idx * shots : (class_idx + 1) * shots] = class_idx
            if split:
                test_labels[class_idx] = class_idx
                images_to_split = random.choices(self.data[label_subset[class_idx]], k=shots + 1)
                test_images[class_idx] = images_to_split[-1]
                temp_images[class_idx * shots : (class_idx + 1) * shots] = images_to_split[:-1]
            else:
                temp_images[class_idx * shots : (class_idx + 1) * shots] = random.choices(
                    self.data[label_subset[class_idx]], k=shots
                )
        dataset = tf.data.Dataset.from_tensor_slices((temp_images.astype(np.float32), temp_labels.astype(np.int32)))
        dataset = dataset.batch(batch_size).repeat(repetitions)
        if split:
            return dataset, test_images, test_labels
        return dataset


train_dataset = Dataset(training=True)


def conv_bn(x):
    x = layers.Conv2D(filters=4, kernel_size=3, strides=2, padding="same")(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(x)


inputs = layers.Input(shape=(12, 12, 1))
x = conv_bn(inputs)
x = conv_bn(x)
x = layers.Flatten()(x)
outputs = layers.Dense(classes, activation="softmax")(x)
model = keras.Model(inputs=inputs, outputs=outputs)
model.compile()
fill(model)
optimizer = keras.optimizers.SGD(learning_rate=learning_rate)
results = []
random.seed(4)
for meta_iter in range(meta_iters):
    frac_done = meta_iter / meta_iters
    cur_meta_step_size = (1 - frac_done) * meta_step_size
    old_vars = model.get_weights()
    mini_dataset = train_dataset.get_mini_dataset(inner_batch_size, inner_iters, train_shots, classes)
    for images, labels in mini_dataset:
        with tf.GradientTape() as tape:
            preds = model(images)
            loss = keras.losses.sparse_categorical_crossentropy(labels, preds)
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
    new_vars = model.get_weights()
    for var in range(len(new_vars)):
        new_vars[var] = old_vars[var] + ((new_vars[var] - old_vars[var]) * cur_meta_step_size)
    model.set_weights(new_vars)
    accuracies = []
    train_set, test_images, test_labels = train_dataset.get_mini_dataset(
        eval_batch_size, eval_iters, shots, classes, split=True
    )
    old_vars = model.get_weights()
    for images, labels in train_set:
        with tf.GradientTape() as tape:
            preds = model(images)
            loss = keras.losses.sparse_categorical_crossentropy(labels, preds)
        grads = tape.gradient(loss, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
    test_preds = model.predict(test_images, verbose=0)
    results.append(test_preds)
    test_preds = tf.argmax(test_preds).numpy()
    num_correct = (test_preds == test_labels).sum()
    model.set_weights(old_vars)
    accuracies.append(num_correct / classes)
    results += [accuracies, sums(model), tf.reduce_mean(loss)]
