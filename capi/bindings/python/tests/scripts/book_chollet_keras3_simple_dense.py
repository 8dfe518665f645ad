"""Keras 3 alone: layers of Variables, a customer tickets model, transfer from a frozen base, metrics of one's own."""

import keras
import numpy as np
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(53)


class SimpleDense(keras.Layer):
    def __init__(self, units, activation=None):
        super().__init__()
        self.units = units
        self.activation = activation

    def build(self, input_shape):
        batch_dim, input_dim = input_shape
        self.W = self.add_weight(shape=(input_dim, self.units), initializer="random_normal")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros")

    def call(self, inputs):
        y = ops.matmul(inputs, self.W) + self.b
        if self.activation is not None:
            y = self.activation(y)
        return y


my_dense = SimpleDense(units=8, activation=ops.relu)
output_tensor = my_dense(ops.ones(shape=(2, 16)))
print(output_tensor.shape)
model = keras.Sequential([SimpleDense(8), SimpleDense(4), SimpleDense(1)])
model(np.zeros((1, 3)))
fill(model)

vocabulary_size, num_tags, num_departments = 30, 10, 4
title = keras.Input(shape=(vocabulary_size,), name="title")
text_body = keras.Input(shape=(vocabulary_size,), name="text_body")
tags = keras.Input(shape=(num_tags,), name="tags")
features = layers.Concatenate()([title, text_body, tags])
features = layers.Dense(16, activation="relu", name="dense_features")(features)
priority = layers.Dense(1, activation="sigmoid", name="priority")(features)
department = layers.Dense(num_departments, activation="softmax", name="department")(features)
tickets = fill(keras.Model(inputs=[title, text_body, tags], outputs=[priority, department]))
title_data, text_body_data = r.randint(0, 2, (32, vocabulary_size)), r.randint(0, 2, (32, vocabulary_size))
tags_data = r.randint(0, 2, (32, num_tags))
priority_data = r.rand(32, 1)
department_data = np.eye(num_departments)[r.randint(0, num_departments, 32)]
tickets.compile(
    optimizer="adam",
    loss=["mean_squared_error", "categorical_crossentropy"],
    metrics=[["mean_absolute_error"], ["accuracy"]],
)
first = tickets.fit(
    [title_data, text_body_data, tags_data], [priority_data, department_data], epochs=1, batch_size=8, shuffle=False
)
evaluated = tickets.evaluate([title_data, text_body_data, tags_data], [priority_data, department_data])
priority_preds, department_preds = tickets.predict([title_data, text_body_data, tags_data])
features = tickets.layers[4].output
difficulty = layers.Dense(3, activation="softmax", name="difficulty")(features)
new_model = keras.Model(inputs=[title, text_body, tags], outputs=[priority, department, difficulty])
names = [layer.name for layer in new_model.layers]


class CustomerTicketModel(keras.Model):
    def __init__(self, num_departments):
        super().__init__()
        self.concat_layer = layers.Concatenate()
        self.mixing_layer = layers.Dense(16, activation="relu")
        self.priority_scorer = layers.Dense(1, activation="sigmoid")
        self.department_classifier = layers.Dense(num_departments, activation="softmax")

    def call(self, inputs):
        features = self.concat_layer([inputs["title"], inputs["text_body"], inputs["tags"]])
        features = self.mixing_layer(features)
        return self.priority_scorer(features), self.department_classifier(features)


subclassed = CustomerTicketModel(num_departments=num_departments)
data = {"title": title_data, "text_body": text_body_data, "tags": tags_data}
priority_now, department_now = subclassed(data)
fill(subclassed)
subclassed.compile(
    optimizer="adam",
    loss=["mean_squared_error", "categorical_crossentropy"],
    metrics=[["mean_absolute_error"], ["accuracy"]],
)
second = subclassed.fit(data, [priority_data, department_data], epochs=2, batch_size=8, shuffle=False)
scores = subclassed.evaluate(data, [priority_data, department_data], verbose=0)


class RootMeanSquaredError(keras.metrics.Metric):
    def __init__(self, name="rmse", **kwargs):
        super().__init__(name=name, **kwargs)
        self.mse_sum = self.add_weight(name="mse_sum", initializer="zeros")
        self.total_samples = self.add_weight(name="total_samples", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true = ops.one_hot(y_true, num_classes=ops.shape(y_pred)[1])
        mse = ops.sum(ops.square(y_true - y_pred))
        self.mse_sum.assign_add(mse)
        num_samples = ops.shape(y_pred)[0]
        self.total_samples.assign_add(num_samples)

    def result(self):
        return ops.sqrt(self.mse_sum / self.total_samples)

    def reset_state(self):
        self.mse_sum.assign(0.0)
        self.total_samples.assign(0.0)


inputs = keras.Input(shape=(20,))
x = layers.Dense(16, activation="relu")(inputs)
x = layers.Dropout(0.0)(x)
outputs = layers.Dense(10, activation="softmax")(x)
digits = fill(keras.Model(inputs, outputs))
digits.compile(
    optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy", RootMeanSquaredError()]
)
images, labels = r.rand(40, 20), r.randint(0, 10, 40)
third = digits.fit(images, labels, epochs=2, batch_size=10, validation_split=0.2, shuffle=False)

conv_base = keras.Sequential(
    [layers.Input((12, 12, 3)), layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(2)], name="base"
)
fill(conv_base)
pictures, kinds = r.rand(20, 12, 12, 3), r.randint(0, 2, 20)
train_features = conv_base.predict(pictures)
inputs = keras.Input(shape=train_features.shape[1:])
x = layers.Flatten()(inputs)
x = layers.Dense(8)(x)
outputs = layers.Dense(1, activation="sigmoid")(x)
head = fill(keras.Model(inputs, outputs))
head.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["accuracy"])
fourth = head.fit(train_features, kinds, epochs=2, batch_size=5, shuffle=False)
conv_base.trainable = False
inputs = keras.Input(shape=(12, 12, 3))
x = conv_base(inputs, training=False)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(1, activation="sigmoid", name="out")(x)
transfer = keras.Model(inputs, outputs)
fill(transfer)
transfer.compile(loss="binary_crossentropy", optimizer=keras.optimizers.RMSprop(learning_rate=1e-3), metrics=["acc"])
fifth = transfer.fit(pictures, kinds, epochs=1, batch_size=5, shuffle=False)
conv_base.trainable = True
for layer in conv_base.layers[:-2]:
    layer.trainable = False
transfer.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(learning_rate=1e-5), metrics=["acc"])
sixth = transfer.fit(pictures, kinds, epochs=1, batch_size=5, shuffle=False)
results = [model(np.ones((2, 3))), curves(first), evaluated, priority_preds[:2], department_preds[:2], names]
results += [curves(second), scores, curves(third), curves(fourth), curves(fifth), curves(sixth), sums(transfer)]
