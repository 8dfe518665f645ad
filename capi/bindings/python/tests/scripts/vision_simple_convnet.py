"""A simple convolutional net on small grey images, as the first example of keras.io."""

import numpy as np
import keras
from keras import layers
from filled import curves, fill

num_classes = 10
input_shape = (28, 28, 1)

r = np.random.RandomState(6)
x_train, y_train = r.randint(0, 256, (48, 28, 28)).astype("uint8"), r.randint(0, 10, 48).astype("uint8")
x_test, y_test = r.randint(0, 256, (16, 28, 28)).astype("uint8"), r.randint(0, 10, 16).astype("uint8")
x_train = x_train.astype("float32") / 255
x_test = x_test.astype("float32") / 255
x_train = np.expand_dims(x_train, -1)
x_test = np.expand_dims(x_test, -1)
print("x_train shape:", x_train.shape)
y_train = keras.utils.to_categorical(y_train, num_classes)
y_test = keras.utils.to_categorical(y_test, num_classes)

model = keras.Sequential(
    [
        keras.Input(shape=input_shape),
        layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Flatten(),
        layers.Dropout(0.0),
        layers.Dense(num_classes, activation="softmax"),
    ]
)
model.summary()
fill(model)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=16, epochs=2, validation_split=0.1, shuffle=False)
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])
results = [curves(history), score, model.predict(x_test[:4]).argmax(axis=-1)]
