"""The functional API: models in models, summaries, features, Function, Operation, several inputs and outputs."""

import io
import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(31)
results = []
encoder_input = keras.Input(shape=(12, 12, 1), name="img")
x = layers.Conv2D(4, 3, activation="relu")(encoder_input)
x = layers.MaxPooling2D(3)(x)
encoder_output = layers.GlobalMaxPooling2D()(x)
encoder = keras.Model(encoder_input, encoder_output, name="encoder")
decoder_input = keras.Input(shape=(4,), name="encoded_img")
x = layers.Reshape((2, 2, 1))(decoder_input)
x = layers.Conv2DTranspose(2, 3, activation="relu")(x)
x = layers.UpSampling2D(3)(x)
decoder_output = layers.Conv2DTranspose(1, 1)(x)
decoder = keras.Model(decoder_input, decoder_output, name="decoder")
autoencoder_input = keras.Input(shape=(12, 12, 1), name="img")
autoencoder = keras.Model(autoencoder_input, decoder(encoder(autoencoder_input)), name="autoencoder")
fill(encoder, decoder)
lines = []
autoencoder.summary(expand_nested=True, print_fn=lambda s, **k: lines.append(s))
results.append([w for line in "\n".join(lines).split("\n") for w in line.replace("│", " ").split() if w.isalnum()])
part = []
encoder.summary(layer_range=["conv2d.*", "max_.*"], print_fn=lambda s, **k: part.append(s))
results.append([name in "".join(part) for name in ("img", "conv2d", "max_pooling2d", "global_max")])
try:
    encoder.summary(line_length=5)
except ValueError as e:
    results.append(str(e))
results.append(autoencoder.predict(r.rand(2, 12, 12, 1), verbose=0))
model = keras.Sequential([keras.Input((12, 12, 1)), layers.Conv2D(4, 3, name="c"), layers.Flatten(), layers.Dense(3)])
fill(model)
features = keras.Model(model.inputs, [l.output for l in model.layers])
results += [f for f in features(r.rand(1, 12, 12, 1).astype("float32"))]
f = keras.Function(inputs=model.inputs, outputs=[model.get_layer("c").output, model.layers[-1].output])
results += list(f([np.ones((1, 12, 12, 1), "float32")]))


class CustomDense(layers.Layer):
    def __init__(self, units=32):
        super().__init__()
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", trainable=True)
        self.b = self.add_weight(shape=(self.units,), initializer="random_normal", trainable=True)

    def call(self, inputs):
        return ops.matmul(inputs, self.w) + self.b

    def get_config(self):
        return {"units": self.units}


inputs = keras.Input((4,))
outputs = CustomDense(10)(inputs)
m = keras.Model(inputs, outputs)
config = m.get_config()
new = keras.Model.from_config(config, custom_objects={"CustomDense": CustomDense})
fill(m, new)
results.append(new(np.ones((2, 4), "float32")))


class Scale(keras.Operation):
    def __init__(self, by):
        super().__init__()
        self.by = by

    def call(self, x):
        return x * self.by

    def compute_output_spec(self, x):
        return keras.KerasTensor(x.shape, x.dtype)


results.append(Scale(3.0)(np.ones(3, "float32")))
inp = keras.Input((3,))
mm = keras.Model(inp, Scale(2.0)(inp))
results.append(mm.predict(np.ones((2, 3)), verbose=0))
dense = layers.Dense(2)
dense.build((None, 3))
fill(dense)
results.append(dense(np.ones((1, 3), "float32")))
num_tags, num_words, num_departments = 3, 20, 2
title_input = keras.Input(shape=(None,), name="title")
body_input = keras.Input(shape=(None,), name="body")
tags_input = keras.Input(shape=(num_tags,), name="tags")
t = layers.LSTM(4)(layers.Embedding(num_words, 4)(title_input))
b = layers.LSTM(3)(layers.Embedding(num_words, 4)(body_input))
x = layers.concatenate([t, b, tags_input])
p = layers.Dense(1, name="priority")(x)
d = layers.Dense(num_departments, name="department")(x)
m = keras.Model(inputs=[title_input, body_input, tags_input], outputs={"priority": p, "department": d})
fill(m)
m.compile(
    optimizer=keras.optimizers.SGD(0.1),
    loss={
        "priority": keras.losses.BinaryCrossentropy(from_logits=True),
        "department": keras.losses.CategoricalCrossentropy(from_logits=True),
    },
    loss_weights={"priority": 1.0, "department": 0.2},
)
h = m.fit(
    {
        "title": r.randint(20, size=(8, 5)),
        "body": r.randint(20, size=(8, 6)),
        "tags": r.randint(2, size=(8, 3)).astype("float32"),
    },
    {"priority": r.rand(8, 1), "department": np.eye(2)[r.randint(2, size=8)]},
    epochs=2,
    batch_size=4,
    shuffle=False,
    verbose=0,
)
results += [curves(h), sums(m)]
