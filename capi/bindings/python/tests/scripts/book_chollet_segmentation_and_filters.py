"""Segmentation of images, activations of inner layers, patterns that filters like, a heat map of a class."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from filled import curves, fill

r = np.random.RandomState(52)
input_imgs = r.randint(0, 255, (16, 16, 16, 3)).astype("float32")
targets = r.randint(1, 4, (16, 16, 16, 1)).astype("uint8") - 1


def get_model(img_size, num_classes):
    inputs = keras.Input(shape=img_size + (3,))
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(8, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(8, 3, activation="relu", padding="same")(x)
    x = layers.Conv2D(12, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2DTranspose(12, 3, activation="relu", padding="same")(x)
    x = layers.Conv2DTranspose(12, 3, activation="relu", padding="same", strides=2)(x)
    x = layers.Conv2DTranspose(8, 3, activation="relu", padding="same", strides=2)(x)
    outputs = layers.Conv2D(num_classes, 3, activation="softmax", padding="same")(x)
    return keras.Model(inputs, outputs)


model = fill(get_model(img_size=(16, 16), num_classes=3))
model.summary()
foreground_iou = keras.metrics.IoU(
    num_classes=3, target_class_ids=(0,), name="foreground_iou", sparse_y_true=True, sparse_y_pred=False
)
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=[foreground_iou])
history = model.fit(input_imgs[:12], targets[:12], epochs=2, batch_size=4, shuffle=False, validation_split=0.25)
mask = model.predict(np.expand_dims(input_imgs[0], 0))[0]
mask = np.argmax(mask, axis=-1)

layer_outputs, layer_names = [], []
for layer in model.layers:
    if isinstance(layer, layers.Conv2D):
        layer_outputs.append(layer.output)
        layer_names.append(layer.name)
activation_model = keras.Model(inputs=model.input, outputs=layer_outputs)
activations = activation_model.predict(input_imgs[:1])
first_layer_activation = activations[0]
print(first_layer_activation.shape)

layer = model.get_layer(name=layer_names[1])
feature_extractor = keras.Model(inputs=model.input, outputs=layer.output)


def compute_loss(image, filter_index):
    activation = feature_extractor(image)
    filter_activation = activation[:, 2:-2, 2:-2, filter_index]
    return tf.reduce_mean(filter_activation)


@tf.function
def gradient_ascent_step(image, filter_index, learning_rate):
    with tf.GradientTape() as tape:
        tape.watch(image)
        loss = compute_loss(image, filter_index)
    grads = tape.gradient(loss, image)
    grads = tf.math.l2_normalize(grads)
    image += learning_rate * grads
    return image


start = tf.constant(r.uniform(0.4, 0.6, (1, 16, 16, 3)).astype("float32"))
patterns = []
for filter_index in (0, 3):
    image = start
    for i in range(4):
        image = gradient_ascent_step(image, filter_index, 10.0)
    image = image[0].numpy()
    image -= image.mean()
    image /= image.std()
    image *= 64
    image += 128
    patterns.append(np.clip(image, 0, 255)[5:-5, 5:-5, :])

inputs = keras.Input((16, 16, 3))
x = layers.SeparableConv2D(8, 3, activation="relu", name="last")(inputs)
x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
x = layers.Dense(3, activation="softmax", name="predictions")(x)
classifier = fill(keras.Model(inputs, x))
last_conv_layer = classifier.get_layer("last")
last_conv_layer_model = keras.Model(classifier.inputs, last_conv_layer.output)
classifier_input = keras.Input(shape=last_conv_layer.output.shape[1:])
x = classifier_input
for layer_name in ["avg_pool", "predictions"]:
    x = classifier.get_layer(layer_name)(x)
classifier_model = keras.Model(classifier_input, x)
img_array = input_imgs[:1] / 255
with tf.GradientTape() as tape:
    last_conv_layer_output = last_conv_layer_model(img_array)
    tape.watch(last_conv_layer_output)
    preds = classifier_model(last_conv_layer_output)
    top_pred_index = tf.argmax(preds[0])
    top_class_channel = preds[:, top_pred_index]
grads = tape.gradient(top_class_channel, last_conv_layer_output)
pooled_grads = tf.reduce_mean(grads, axis=(0, 1, 2)).numpy()
last_conv_layer_output = last_conv_layer_output.numpy()[0]
for i in range(pooled_grads.shape[-1]):
    last_conv_layer_output[:, :, i] *= pooled_grads[i]
heatmap = np.mean(last_conv_layer_output, axis=-1)
heatmap = np.maximum(heatmap, 0)
results = [curves(history), mask, layer_names, first_layer_activation, patterns, heatmap]
