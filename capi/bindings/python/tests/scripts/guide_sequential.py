"""The Sequential model: built by data, by a shape, added to, popped from; features; frozen layers."""

import numpy as np
import keras
from keras import layers, ops
from filled import fill

model = keras.Sequential(
    [
        layers.Dense(2, activation="relu", name="layer1"),
        layers.Dense(3, activation="relu", name="layer2"),
        layers.Dense(4, name="layer3"),
    ]
)
x = ops.ones((3, 3))
try:
    model.weights
    model.summary()
    message = "none"
except ValueError as e:
    message = type(e).__name__
y = model(x)
print("Number of weights after calling the model:", len(model.weights))
fill(model)
model.summary()

grown = keras.Sequential(name="my_sequential")
grown.add(keras.Input(shape=(4,)))
grown.add(layers.Dense(2, activation="relu"))
grown.add(layers.Dense(3))
grown.pop()
lengths = [len(grown.layers)]
grown.add(layers.Dense(5, name="again"))
lengths.append(len(grown.layers))

convolutions = keras.Sequential()
convolutions.add(keras.Input(shape=(50, 50, 3)))
convolutions.add(layers.Conv2D(8, 5, strides=2, activation="relu"))
convolutions.add(layers.Conv2D(8, 3, activation="relu"))
convolutions.add(layers.MaxPooling2D(3))
convolutions.summary()
convolutions.add(layers.Conv2D(8, 3, activation="relu"))
convolutions.add(layers.Conv2D(8, 3, activation="relu"))
convolutions.add(layers.MaxPooling2D(2))
convolutions.add(layers.GlobalMaxPooling2D())
fill(convolutions)

feature_extractor = keras.Model(
    inputs=convolutions.inputs,
    outputs=[layer.output for layer in convolutions.layers],
)
features = feature_extractor(ops.ones((1, 50, 50, 3)))
one = keras.Model(inputs=convolutions.inputs, outputs=convolutions.get_layer(index=1).output)

for layer in convolutions.layers[:-1]:
    layer.trainable = False

results = [
    message,
    model(x),
    lengths,
    [layer.name for layer in grown.layers][-1],
    [list(f.shape) for f in features],
    features[-1],
    ops.mean(one(ops.ones((1, 50, 50, 3)))),
    len(convolutions.trainable_weights),
    len(convolutions.non_trainable_weights),
]
