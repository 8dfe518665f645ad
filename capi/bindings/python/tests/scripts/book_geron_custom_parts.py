"""Customising: losses, initializers, regularizers, constraints, metrics, layers, models and loops of one's own."""

import numpy as np
import tensorflow as tf
from filled import curves, fill, sums

r = np.random.RandomState(70)
X_train, y_train = r.normal(size=(64, 8)).astype("float32"), r.normal(size=(64, 1)).astype("float32")
X_valid, y_valid = r.normal(size=(16, 8)).astype("float32"), r.normal(size=(16, 1)).astype("float32")


def huber_fn(y_true, y_pred):
    error = y_true - y_pred
    is_small_error = tf.abs(error) < 1
    squared_loss = tf.square(error) / 2
    linear_loss = tf.abs(error) - 0.5
    return tf.where(is_small_error, squared_loss, linear_loss)


class HuberLoss(tf.keras.losses.Loss):
    def __init__(self, threshold=1.0, **kwargs):
        self.threshold = threshold
        super().__init__(**kwargs)

    def call(self, y_true, y_pred):
        error = y_true - y_pred
        is_small_error = tf.abs(error) < self.threshold
        squared_loss = tf.square(error) / 2
        linear_loss = self.threshold * tf.abs(error) - self.threshold**2 / 2
        return tf.where(is_small_error, squared_loss, linear_loss)

    def get_config(self):
        base_config = super().get_config()
        return {**base_config, "threshold": self.threshold}


def my_softplus(z):
    return tf.math.log(1.0 + tf.exp(z))


def my_l1_regularizer(weights):
    return tf.reduce_sum(tf.abs(0.01 * weights))


def my_positive_weights(weights):
    return tf.where(weights < 0.0, tf.zeros_like(weights), weights)


class HuberMetric(tf.keras.metrics.Metric):
    def __init__(self, threshold=1.0, **kwargs):
        super().__init__(**kwargs)
        self.threshold = threshold
        self.total = self.add_weight(name="total", initializer="zeros")
        self.count = self.add_weight(name="count", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        sample_metrics = huber_fn(y_true, y_pred)
        self.total.assign_add(tf.reduce_sum(sample_metrics))
        self.count.assign_add(tf.cast(tf.size(y_true), tf.float32))

    def result(self):
        return self.total / self.count


class MyDense(tf.keras.layers.Layer):
    def __init__(self, units, activation=None, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.activation = tf.keras.activations.get(activation)

    def build(self, batch_input_shape):
        self.kernel = self.add_weight(
            name="kernel", shape=[batch_input_shape[-1], self.units], initializer="glorot_normal"
        )
        self.bias = self.add_weight(name="bias", shape=[self.units], initializer="zeros")

    def call(self, X):
        return self.activation(X @ self.kernel + self.bias)

    def get_config(self):
        base_config = super().get_config()
        return {**base_config, "units": self.units, "activation": tf.keras.activations.serialize(self.activation)}


class ResidualBlock(tf.keras.layers.Layer):
    def __init__(self, n_layers, n_neurons, **kwargs):
        super().__init__(**kwargs)
        self.hidden = [
            tf.keras.layers.Dense(n_neurons, activation="relu", kernel_initializer="he_normal")
            for _ in range(n_layers)
        ]

    def call(self, inputs):
        Z = inputs
        for layer in self.hidden:
            Z = layer(Z)
        return inputs + Z


class ResidualRegressor(tf.keras.Model):
    def __init__(self, output_dim, **kwargs):
        super().__init__(**kwargs)
        self.hidden1 = tf.keras.layers.Dense(10, activation="relu", kernel_initializer="he_normal")
        self.block1 = ResidualBlock(2, 10)
        self.block2 = ResidualBlock(2, 10)
        self.out = tf.keras.layers.Dense(output_dim)

    def call(self, inputs):
        Z = self.hidden1(inputs)
        for _ in range(1 + 3):
            Z = self.block1(Z)
        Z = self.block2(Z)
        return self.out(Z)


def compiled(model, loss, metrics=None, optimizer="nadam"):
    model(X_train[:1])
    fill(model)
    model.compile(loss=loss, optimizer=optimizer, metrics=metrics)
    valid = (X_valid, y_valid)
    return curves(
        model.fit(X_train, y_train, epochs=2, batch_size=16, shuffle=False, validation_data=valid, verbose=0)
    )


layers = tf.keras.layers
results = [
    compiled(tf.keras.Sequential([layers.Dense(8, activation="relu"), layers.Dense(1)]), huber_fn, ["mae"]),
    compiled(tf.keras.Sequential([layers.Dense(8, "elu"), layers.Dense(1)]), HuberLoss(2.0), [HuberMetric()]),
    compiled(
        tf.keras.Sequential(
            [
                layers.Dense(8, activation="relu", kernel_initializer="he_normal"),
                layers.Dense(
                    1,
                    activation=my_softplus,
                    kernel_regularizer=my_l1_regularizer,
                    kernel_constraint=my_positive_weights,
                ),
            ]
        ),
        "mse",
    ),
    compiled(tf.keras.Sequential([MyDense(8, activation="relu"), MyDense(1)]), "mse"),
    compiled(ResidualRegressor(1), "mse"),
]

l2_reg = tf.keras.regularizers.l2(0.05)
model = tf.keras.models.Sequential(
    [
        tf.keras.Input((8,)),
        tf.keras.layers.Dense(10, activation="relu", kernel_initializer="he_normal", kernel_regularizer=l2_reg),
        tf.keras.layers.Dense(1, kernel_regularizer=l2_reg),
    ]
)
fill(model)
n_epochs, batch_size = 2, 16
n_steps = len(X_train) // batch_size
optimizer = tf.keras.optimizers.SGD(learning_rate=0.01)
loss_fn = tf.keras.losses.MeanSquaredError()
mean_loss = tf.keras.metrics.Mean(name="mean_loss")
metrics = [tf.keras.metrics.MeanAbsoluteError()]
told = []


def print_status_bar(step, total, loss, metrics=None):
    told.append([float(m.result()) for m in [loss] + (metrics or [])])


for epoch in range(1, n_epochs + 1):
    for step in range(1, n_steps + 1):
        X_batch, y_batch = X_train[(step - 1) * 16 : step * 16], y_train[(step - 1) * 16 : step * 16]
        with tf.GradientTape() as tape:
            y_pred = model(X_batch, training=True)
            main_loss = loss_fn(y_batch, y_pred)
            loss = tf.add_n([main_loss] + model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        for variable in model.variables:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable))
        mean_loss(loss)
        for metric in metrics:
            metric(y_batch, y_pred)
        print_status_bar(step, n_steps, mean_loss, metrics)
    for metric in [mean_loss] + metrics:
        metric.reset_state()


@tf.function
def cube(x):
    return x**3


results += [told, sums(model), float(cube(tf.constant(2.0)))]
