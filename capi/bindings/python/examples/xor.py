"""XOR with Keras's words."""
import numpy as np

import dl4.keras as keras
from dl4.keras import layers

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((2,)), layers.Dense(8, activation="tanh"), layers.Dense(1, activation="sigmoid")])
model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy", metrics=["accuracy"])
x = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], "float32")
y = np.array([[0], [1], [1], [0]], "float32")
history = model.fit(x, y, epochs=300, verbose=0)
print(f"accuracy {history.history['accuracy'][-1]}, answers {model.predict(x, verbose=0).round(2).ravel()}")
