"""MixUp and CutMix in tf.data, with a beta distribution from gammas; a small ResNet."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill, sums

r = np.random.RandomState(14)
x_train = r.rand(16, 12, 12, 1).astype("float32")
y_train = tf.one_hot(r.randint(0, 4, 16), 4)
AUTO = tf.data.AUTOTUNE
ds_one = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(4)
ds_two = tf.data.Dataset.from_tensor_slices((x_train[::-1].copy(), tf.reverse(y_train, axis=[0]))).batch(4)
train_ds = tf.data.Dataset.zip((ds_one, ds_two))


def sample_beta_distribution(size, concentration_0=0.2, concentration_1=0.2):
    gamma_1_sample = tf.random.gamma(shape=[size], alpha=concentration_1)
    gamma_2_sample = tf.random.gamma(shape=[size], alpha=concentration_0)
    l = gamma_1_sample / (gamma_1_sample + gamma_2_sample)
    return tf.clip_by_value(l, 0.3, 0.3)


def mix_up(ds_one, ds_two, alpha=0.2):
    images_one, labels_one = ds_one
    images_two, labels_two = ds_two
    batch_size = keras.ops.shape(images_one)[0]
    l = sample_beta_distribution(batch_size, alpha, alpha)
    x_l = keras.ops.reshape(l, (batch_size, 1, 1, 1))
    y_l = keras.ops.reshape(l, (batch_size, 1))
    images = images_one * x_l + images_two * (1 - x_l)
    labels = labels_one * y_l + labels_two * (1 - y_l)
    return (images, labels)


IMG_SIZE = 12


def get_box(lambda_value):
    cut_rat = tf.math.sqrt(1.0 - lambda_value)
    cut_w = IMG_SIZE * cut_rat
    cut_w = tf.cast(cut_w, tf.int32)
    cut_h = IMG_SIZE * cut_rat
    cut_h = tf.cast(cut_h, tf.int32)
    cut_x = tf.random.uniform((1,), minval=0, maxval=IMG_SIZE, dtype=tf.int32) * 0 + 6
    cut_y = tf.random.uniform((1,), minval=0, maxval=IMG_SIZE, dtype=tf.int32) * 0 + 5
    boundaryx1 = tf.clip_by_value(cut_x[0] - cut_w // 2, 0, IMG_SIZE)
    boundaryy1 = tf.clip_by_value(cut_y[0] - cut_h // 2, 0, IMG_SIZE)
    bbx2 = tf.clip_by_value(cut_x[0] + cut_w // 2, 0, IMG_SIZE)
    bby2 = tf.clip_by_value(cut_y[0] + cut_h // 2, 0, IMG_SIZE)
    target_h = bby2 - boundaryy1
    if target_h == 0:
        target_h += 1
    target_w = bbx2 - boundaryx1
    if target_w == 0:
        target_w += 1
    return boundaryx1, boundaryy1, target_h, target_w


def cutmix(train_ds_one, train_ds_two):
    (image1, label1), (image2, label2) = train_ds_one, train_ds_two
    lambda_value = sample_beta_distribution(1, 0.25, 0.25)
    lambda_value = lambda_value[0]
    boundaryx1, boundaryy1, target_h, target_w = get_box(lambda_value)
    crop2 = tf.image.crop_to_bounding_box(image2, boundaryy1, boundaryx1, target_h, target_w)
    image2 = tf.image.pad_to_bounding_box(crop2, boundaryy1, boundaryx1, IMG_SIZE, IMG_SIZE)
    crop1 = tf.image.crop_to_bounding_box(image1, boundaryy1, boundaryx1, target_h, target_w)
    img1 = tf.image.pad_to_bounding_box(crop1, boundaryy1, boundaryx1, IMG_SIZE, IMG_SIZE)
    image1 = image1 - img1
    image = image1 + image2
    lambda_value = 1 - (target_w * target_h) / (IMG_SIZE * IMG_SIZE)
    lambda_value = tf.cast(lambda_value, tf.float32)
    label = lambda_value * label1 + (1 - lambda_value) * label2
    return image, label


mixed = train_ds.map(lambda a, b: mix_up(a, b, alpha=0.2), num_parallel_calls=AUTO)
cut = train_ds.map(cutmix, num_parallel_calls=AUTO).prefetch(AUTO)
a, b = next(iter(mixed)), next(iter(cut))
results = [a, b]


def resnet_layer(inputs, num_filters=4, kernel_size=3, strides=1, activation="relu", batch_normalization=True):
    conv = layers.Conv2D(
        num_filters,
        kernel_size=kernel_size,
        strides=strides,
        padding="same",
        kernel_initializer="he_normal",
        kernel_regularizer=keras.regularizers.L2(1e-4),
    )
    x = conv(inputs)
    if batch_normalization:
        x = layers.BatchNormalization()(x)
    if activation is not None:
        x = layers.Activation(activation)(x)
    return x


def resnet_v20():
    inputs = layers.Input(shape=(12, 12, 1))
    x = resnet_layer(inputs)
    for stack in range(2):
        strides = 2 if stack else 1
        y = resnet_layer(x, 4 * (stack + 1), strides=strides)
        y = resnet_layer(y, 4 * (stack + 1), activation=None)
        if stack > 0:
            x = resnet_layer(
                x, 4 * (stack + 1), kernel_size=1, strides=strides, activation=None, batch_normalization=False
            )
        x = keras.layers.add([x, y])
        x = layers.Activation("relu")(x)
    x = layers.AveragePooling2D(pool_size=6)(x)
    y = layers.Flatten()(x)
    outputs = layers.Dense(4, activation="softmax", kernel_initializer="he_normal")(y)
    return keras.models.Model(inputs=inputs, outputs=outputs)


model = resnet_v20()
fill(model)
model.compile(loss="categorical_crossentropy", optimizer="sgd", metrics=["accuracy"])
h = model.fit(mixed, validation_data=cut, epochs=2, verbose=0)
results += [curves(h), sums(model)]
