"""A model that trains another, centred gradients, a resizer that is learned, convolutions with standardised kernels."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(21)
results = []
x_train, y_train = r.rand(16, 8, 8, 1).astype("float32"), r.randint(0, 4, 16)


class MyTrainer(keras.Model):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.total_loss_tracker = keras.metrics.Mean(name="loss")
        self.accuracy_metric = keras.metrics.SparseCategoricalAccuracy(name="accuracy")

    def call(self, x):
        return self.model(x)

    @property
    def metrics(self):
        return [self.accuracy_metric, self.total_loss_tracker]

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self.model(x, training=True)
            loss = self.compute_loss(y=y, y_pred=y_pred)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.total_loss_tracker.update_state(loss)
        self.accuracy_metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}

    def test_step(self, data):
        x, y = data
        y_pred = self.model(x, training=False)
        loss = self.compute_loss(y=y, y_pred=y_pred)
        self.total_loss_tracker.update_state(loss)
        self.accuracy_metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


model_a = keras.models.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.Flatten(),
        layers.Dense(4, activation="softmax"),
    ]
)
fill(model_a)
trainer_1 = MyTrainer(model_a)
trainer_1.compile(optimizer=keras.optimizers.SGD(), loss=keras.losses.SparseCategoricalCrossentropy())
h = trainer_1.fit(
    x_train, y_train, validation_data=(x_train, y_train), epochs=2, batch_size=8, shuffle=False, verbose=0
)
results += [curves(h), trainer_1.evaluate(x_train, y_train, verbose=0), trainer_1.predict(x_train[:3], verbose=0)]


class GCRMSprop(keras.optimizers.RMSprop):
    def get_gradients(self, loss, params):
        raise NotImplementedError

    def compute_gradients(self):
        pass

    def apply(self, grads, trainable_variables=None):
        centered = []
        for grad in grads:
            if len(grad.shape) > 1:
                axis = list(range(len(grad.shape) - 1))
                grad -= ops.mean(grad, axis=axis, keepdims=True)
            centered.append(grad)
        return super().apply(centered, trainable_variables)


model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(4, (3, 3), activation="relu"),
        layers.MaxPooling2D(2, 2),
        layers.Flatten(),
        layers.Dense(4, activation="softmax"),
    ]
)
fill(model)
model.compile(loss="sparse_categorical_crossentropy", optimizer=GCRMSprop(learning_rate=1e-3), metrics=["accuracy"])
results += [curves(model.fit(x_train, y_train, batch_size=8, epochs=2, shuffle=False, verbose=0)), sums(model)]

TARGET = 6


def conv_block(x, filters, kernel_size, strides, activation=layers.LeakyReLU(0.2)):
    x = layers.Conv2D(filters, kernel_size, strides, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    if activation:
        x = activation(x)
    return x


def res_block(x):
    inputs = x
    x = conv_block(x, 4, 3, 1)
    x = conv_block(x, 4, 3, 1, activation=None)
    return layers.Add()([inputs, x])


def get_learnable_resizer(filters=4, num_res_blocks=1, interpolation="bilinear"):
    inputs = layers.Input(shape=[None, None, 3])
    naive_resize = layers.Resizing(TARGET, TARGET, interpolation=interpolation)(inputs)
    x = layers.Conv2D(filters=filters, kernel_size=7, strides=1, padding="same")(inputs)
    x = layers.LeakyReLU(0.2)(x)
    x = layers.Conv2D(filters=filters, kernel_size=1, strides=1, padding="same")(x)
    x = layers.LeakyReLU(0.2)(x)
    x = layers.BatchNormalization()(x)
    bottleneck = layers.Resizing(TARGET, TARGET, interpolation=interpolation)(x)
    x = res_block(bottleneck)
    for _ in range(num_res_blocks - 1):
        x = res_block(x)
    x = layers.Conv2D(filters=filters, kernel_size=3, strides=1, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Add()([bottleneck, x])
    x = layers.Conv2D(filters=3, kernel_size=7, strides=1, padding="same")(x)
    final_resize = layers.Add()([naive_resize, x])
    return keras.Model(inputs, final_resize, name="learnable_resizer")


learnable_resizer = get_learnable_resizer()
i = layers.Input((10, 10, 3))
x = layers.Rescaling(1.0 / 255)(i)
x = learnable_resizer(x)
x = layers.Conv2D(4, 3)(x)
x = layers.GlobalAveragePooling2D()(x)
m = keras.Model(i, layers.Dense(2, activation="softmax")(x))
fill(m)
m.compile(loss=keras.losses.CategoricalCrossentropy(label_smoothing=0.1), optimizer="sgd", metrics=["accuracy"])
im, la = (r.rand(8, 10, 10, 3) * 255).astype("float32"), keras.utils.to_categorical(r.randint(0, 2, 8), 2)
results += [curves(m.fit(im, la, epochs=2, batch_size=4, shuffle=False, verbose=0)), sums(m)]
learned = m.get_layer("learnable_resizer")
results.append(learned.predict(im / 255, verbose=0))


class StandardizedConv2DWithOverride(layers.Conv2D):
    def convolution_op(self, inputs, kernel):
        mean, var = tf.nn.moments(kernel, axes=[0, 1, 2], keepdims=True)
        return tf.nn.conv2d(
            inputs,
            (kernel - mean) / tf.sqrt(var + 1e-10),
            padding="VALID",
            strides=list(self.strides),
            name=self.__class__.__name__,
        )


class StandardizedConv2DWithCall(layers.Conv2D):
    def call(self, inputs):
        mean, var = tf.nn.moments(self.kernel, axes=[0, 1, 2], keepdims=True)
        result = self.convolution_op(inputs, (self.kernel - mean) / tf.sqrt(var + 1e-10))
        if self.use_bias:
            result = result + self.bias
        return result


for kind in (StandardizedConv2DWithCall, StandardizedConv2DWithOverride):
    model = keras.Sequential(
        [
            keras.layers.Input(shape=(8, 8, 1)),
            layers.Rescaling(scale=1.0 / 2),
            kind(4, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D((2, 2)),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )
    fill(model)
    model.compile(loss="sparse_categorical_crossentropy", optimizer="sgd", metrics=["accuracy"])
    results += [
        curves(model.fit(x_train, y_train, batch_size=8, epochs=2, validation_split=0.1, shuffle=False, verbose=0)),
        sums(model),
    ]
