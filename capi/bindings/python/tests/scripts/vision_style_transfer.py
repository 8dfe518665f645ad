"""Style transfer on features of a network of one's own: Gram matrices, total variation, updates of an image."""

import numpy as np
import tensorflow as tf
import keras
from filled import fill

r = np.random.RandomState(77)
img_nrows, img_ncols = 16, 16
total_variation_weight, style_weight, content_weight = 1e-4, 1e-2, 1e-3
base, style = [r.rand(1, img_nrows, img_ncols, 3).astype("float32") for _ in range(2)]
layers = keras.layers
vgg = keras.Sequential(
    [
        keras.Input((None, None, 3)),
        layers.Conv2D(6, 3, padding="same", activation="relu", name="block1_conv1"),
        layers.MaxPooling2D(name="block1_pool"),
        layers.Conv2D(8, 3, padding="same", activation="relu", name="block2_conv1"),
        layers.Conv2D(8, 3, padding="same", activation="relu", name="block2_conv2"),
    ]
)
fill(vgg)
vgg.trainable = False
outputs_dict = dict([(layer.name, layer.output) for layer in vgg.layers])
feature_extractor = keras.Model(inputs=vgg.inputs, outputs=outputs_dict)


def gram_matrix(x):
    x = tf.transpose(x, (2, 0, 1))
    features = tf.reshape(x, (tf.shape(x)[0], -1))
    return tf.matmul(features, tf.transpose(features))


def style_loss(style, combination):
    S = gram_matrix(style)
    C = gram_matrix(combination)
    channels = 3
    size = img_nrows * img_ncols
    return tf.reduce_sum(tf.square(S - C)) / (4.0 * (channels**2) * (size**2))


def content_loss(base, combination):
    return tf.reduce_sum(tf.square(combination - base))


def total_variation_loss(x):
    a = tf.square(x[:, : img_nrows - 1, : img_ncols - 1, :] - x[:, 1:, : img_ncols - 1, :])
    b = tf.square(x[:, : img_nrows - 1, : img_ncols - 1, :] - x[:, : img_nrows - 1, 1:, :])
    return tf.reduce_sum(tf.pow(a + b, 1.25))


style_layer_names, content_layer_name = ["block1_conv1", "block2_conv1"], "block2_conv2"


def compute_loss(combination_image, base_image, style_reference_image):
    input_tensor = tf.concat([base_image, style_reference_image, combination_image], axis=0)
    features = feature_extractor(input_tensor)
    loss = tf.zeros(shape=())
    layer_features = features[content_layer_name]
    loss = loss + content_weight * content_loss(layer_features[0, :, :, :], layer_features[2, :, :, :])
    for layer_name in style_layer_names:
        layer_features = features[layer_name]
        sl = style_loss(layer_features[1, :, :, :], layer_features[2, :, :, :])
        loss += (style_weight / len(style_layer_names)) * sl
    loss += total_variation_weight * total_variation_loss(combination_image)
    return loss


@tf.function
def compute_loss_and_grads(combination_image, base_image, style_reference_image):
    with tf.GradientTape() as tape:
        loss = compute_loss(combination_image, base_image, style_reference_image)
    grads = tape.gradient(loss, combination_image)
    return loss, grads


optimizer = keras.optimizers.SGD(
    keras.optimizers.schedules.ExponentialDecay(initial_learning_rate=1.0, decay_steps=2, decay_rate=0.96)
)
combination_image = tf.Variable(base * 0.9)
losses = []
for i in range(1, 5):
    loss, grads = compute_loss_and_grads(combination_image, tf.constant(base), tf.constant(style))
    optimizer.apply_gradients([(grads, combination_image)])
    losses.append(float(loss))
results = [losses, combination_image]
