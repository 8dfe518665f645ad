"""Training with compile() and fit(): own losses and metrics, data of tf.data and PyDataset, weights."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(2)
x_train, y_train = r.rand(80, 20).astype("float32"), r.randint(0, 10, 80).astype("float32")
x_val, y_val, x_train, y_train = x_train[-16:], y_train[-16:], x_train[:-16], y_train[:-16]


def get_uncompiled_model():
    inputs = keras.Input(shape=(20,), name="digits")
    x = layers.Dense(16, activation="relu", name="dense_1")(inputs)
    x = layers.Dense(16, activation="relu", name="dense_2")(x)
    outputs = layers.Dense(10, activation="softmax", name="predictions")(x)
    return fill(keras.Model(inputs=inputs, outputs=outputs))


def get_compiled_model():
    model = get_uncompiled_model()
    model.compile(
        optimizer="rmsprop",
        loss="sparse_categorical_crossentropy",
        metrics=["sparse_categorical_accuracy"],
    )
    return model


def custom_mean_squared_error(y_true, y_pred):
    return ops.mean(ops.square(y_true - y_pred), axis=-1)


@keras.saving.register_keras_serializable()
class CustomMSE(keras.losses.Loss):
    def __init__(self, regularization_factor=0.1, name="custom_mse"):
        super().__init__(name=name)
        self.regularization_factor = regularization_factor

    def call(self, y_true, y_pred):
        mse = ops.mean(ops.square(y_true - y_pred), axis=-1)
        reg = ops.mean(ops.square(0.5 - y_pred), axis=-1)
        return mse + reg * self.regularization_factor

    def get_config(self):
        return {"regularization_factor": self.regularization_factor, "name": self.name}


y_train_one_hot = ops.one_hot(y_train.astype("int32"), num_classes=10)
histories = []
for loss in (custom_mean_squared_error, CustomMSE()):
    model = get_uncompiled_model()
    model.compile(optimizer=keras.optimizers.Adam(), loss=loss)
    histories.append(curves(model.fit(x_train, y_train_one_hot, batch_size=16, epochs=1, shuffle=False)))


class CategoricalTruePositives(keras.metrics.Metric):
    def __init__(self, name="categorical_true_positives", **kwargs):
        super().__init__(name=name, **kwargs)
        self.true_positives = self.add_variable(shape=(), name="ctp", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.reshape(ops.argmax(y_pred, axis=1), (-1, 1))
        values = ops.cast(y_true, "int32") == ops.cast(y_pred, "int32")
        values = ops.cast(values, "float32")
        if sample_weight is not None:
            sample_weight = ops.cast(sample_weight, "float32")
            values = ops.multiply(values, sample_weight)
        self.true_positives.assign_add(ops.sum(values))

    def result(self):
        return self.true_positives.value

    def reset_state(self):
        self.true_positives.assign(0.0)


model = get_uncompiled_model()
model.compile(
    optimizer=keras.optimizers.RMSprop(learning_rate=1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    metrics=[CategoricalTruePositives()],
)
histories.append(curves(model.fit(x_train, y_train, batch_size=16, epochs=2, shuffle=False)))


@keras.saving.register_keras_serializable()
class ActivityRegularizationLayer(layers.Layer):
    def call(self, inputs):
        self.add_loss(ops.sum(inputs) * 0.1)
        return inputs


inputs = keras.Input(shape=(20,), name="digits")
x = layers.Dense(16, activation="relu", name="dense_1")(inputs)
x = ActivityRegularizationLayer()(x)
outputs = layers.Dense(10, name="predictions")(x)
model = fill(keras.Model(inputs=inputs, outputs=outputs))
model.compile(
    optimizer=keras.optimizers.RMSprop(learning_rate=1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
histories.append(curves(model.fit(x_train, y_train, batch_size=16, epochs=1, shuffle=False)))

train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).batch(16)
val_dataset = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(16)
model = get_compiled_model()
histories.append(
    curves(model.fit(train_dataset, epochs=2, steps_per_epoch=2, validation_data=val_dataset, validation_steps=1))
)
print("Evaluate")
evaluated = model.evaluate(val_dataset, return_dict=True)


class ExamplePyDataset(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size, **kwargs):
        super().__init__(**kwargs)
        self.x, self.y, self.batch_size = x, y, batch_size

    def __len__(self):
        return int(np.ceil(len(self.x) / float(self.batch_size)))

    def __getitem__(self, idx):
        batch_x = self.x[idx * self.batch_size : (idx + 1) * self.batch_size]
        batch_y = self.y[idx * self.batch_size : (idx + 1) * self.batch_size]
        return batch_x, batch_y


model = get_compiled_model()
history = model.fit(ExamplePyDataset(x_train, y_train, 16), validation_data=(x_val, y_val), shuffle=False)
histories.append(curves(history))

class_weight = {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 2.0, 6: 1.0, 7: 1.0, 8: 1.0, 9: 1.0}
histories.append(curves(model.fit(x_train, y_train, class_weight=class_weight, batch_size=64, epochs=1, shuffle=False)))
sample_weight = np.ones(shape=(len(y_train),))
sample_weight[y_train == 5] = 2.0
history = model.fit(x_train, y_train, sample_weight=sample_weight, batch_size=64, epochs=1, shuffle=False)
histories.append(curves(history))

lr_schedule = keras.optimizers.schedules.ExponentialDecay(
    0.1, decay_steps=3, decay_rate=0.96, staircase=True
)
model.compile(optimizer=keras.optimizers.RMSprop(lr_schedule), loss="sparse_categorical_crossentropy", metrics=["acc"])
histories.append(curves(model.fit(x_train, y_train, batch_size=16, epochs=2, shuffle=False)))
results = [histories, evaluated, sums(model)]
