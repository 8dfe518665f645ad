"""Masks: Masking, Embedding, layers that make, pass and use them; recurrent layers with cells of one's own."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

raw_inputs = [[711, 632, 71], [73, 8, 3215, 55, 927], [83, 91, 1, 645, 1253, 927]]
padded_inputs = keras.utils.pad_sequences(raw_inputs, padding="post")
embedding = layers.Embedding(input_dim=5000, output_dim=4, mask_zero=True)
masked_output = embedding(padded_inputs)
results = [padded_inputs, embedding.compute_mask(padded_inputs)]
masking_layer = layers.Masking()
unmasked_embedding = ops.cast(ops.tile(ops.expand_dims(padded_inputs, axis=-1), [1, 1, 4]), dtype="float32")
masked_embedding = masking_layer(unmasked_embedding)
results.append(masking_layer.compute_mask(unmasked_embedding))


class TemporalSplit(keras.layers.Layer):
    def call(self, inputs):
        return ops.split(inputs, 2, axis=1)

    def compute_mask(self, inputs, mask=None):
        if mask is None:
            return None
        return ops.split(mask, 2, axis=1)


first_half, second_half = TemporalSplit()(masked_embedding)


class CustomEmbedding(keras.layers.Layer):
    def __init__(self, input_dim, output_dim, mask_zero=False, **kwargs):
        super().__init__(**kwargs)
        self.input_dim = input_dim
        self.output_dim = output_dim
        self.mask_zero = mask_zero

    def build(self, input_shape):
        self.embeddings = self.add_weight(
            shape=(self.input_dim, self.output_dim), initializer="random_normal", dtype="float32"
        )

    def call(self, inputs):
        inputs = ops.cast(inputs, "int32")
        return ops.take(self.embeddings, inputs, axis=0)

    def compute_mask(self, inputs, mask=None):
        if not self.mask_zero:
            return None
        return ops.not_equal(inputs, 0)


class TemporalSoftmax(keras.layers.Layer):
    def call(self, inputs, mask=None):
        if mask is None:
            raise ValueError("TemporalSoftmax layer requires a previous layer to support masking.")
        broadcast_float_mask = ops.expand_dims(ops.cast(mask, "float32"), -1)
        inputs_exp = ops.exp(inputs) * broadcast_float_mask
        inputs_sum = ops.sum(inputs_exp * broadcast_float_mask, axis=-1, keepdims=True)
        return inputs_exp / inputs_sum

    def compute_mask(self, inputs, mask=None):
        return mask


class MyActivation(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs):
        return ops.relu(inputs)


inputs = keras.Input((6,), dtype="int32")
x = CustomEmbedding(20, 5, mask_zero=True)(inputs)
x = MyActivation()(x)
x = layers.Dense(4)(x)
probabilities = TemporalSoftmax()(x)
last = layers.LSTM(5)(x)
model = fill(keras.Model(inputs, [probabilities, last]))
y = np.random.RandomState(72).randint(0, 20, (4, 6)) * (np.arange(6) < np.array([[6], [3], [4], [1]]))
probabilities, last = model.predict(y, verbose=0)
results += [probabilities[0], last]


class MinimalRNNCell(keras.layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), initializer="uniform", name="kernel")
        self.recurrent_kernel = self.add_weight(
            shape=(self.units, self.units), initializer="uniform", name="recurrent_kernel"
        )

    def call(self, inputs, states):
        prev_output = states[0]
        h = ops.matmul(inputs, self.kernel)
        output = h + ops.matmul(prev_output, self.recurrent_kernel)
        return output, [output]


inputs = keras.Input((6, 3))
x = layers.RNN(MinimalRNNCell(5), return_sequences=True)(inputs)
x = layers.RNN([MinimalRNNCell(4), layers.GRUCell(3)])(x)
cells = fill(keras.Model(inputs, layers.Dense(1)(x)))
cells.compile("sgd", "mse")
data = np.random.RandomState(73).rand(16, 6, 3)
results += [curves(cells.fit(data, data[:, 0, :1], epochs=2, batch_size=8, shuffle=False, verbose=0)), sums(cells)]

encoder_vocab, decoder_vocab = 20, 25
encoder_input = layers.Input(shape=(None,))
encoder_embedded = layers.Embedding(input_dim=encoder_vocab, output_dim=6)(encoder_input)
output, state_h, state_c = layers.LSTM(6, return_state=True, name="encoder")(encoder_embedded)
decoder_input = layers.Input(shape=(None,))
decoder_embedded = layers.Embedding(input_dim=decoder_vocab, output_dim=6)(decoder_input)
decoder_output = layers.LSTM(6, name="decoder")(decoder_embedded, initial_state=[state_h, state_c])
output = layers.Dense(10)(decoder_output)
model = fill(keras.Model([encoder_input, decoder_input], output))
model.summary()
results.append(model.predict([y, y[:, :3]], verbose=0))

paragraph1, paragraph2 = data[:2], data[2:4]
lstm_layer = layers.LSTM(4, stateful=True)
stateful = fill(keras.Sequential([keras.Input(batch_shape=(2, 6, 3)), lstm_layer]))
outputs = [np.array(stateful(paragraph1)), np.array(stateful(paragraph2))]
lstm_layer.reset_states()
outputs.append(np.array(stateful(paragraph2)))
both = keras.Sequential([keras.Input((6, 3)), layers.Bidirectional(layers.LSTM(4, return_sequences=True))])
both.add(layers.Bidirectional(layers.LSTM(3), merge_mode="sum"))
results += [outputs, fill(both).predict(data[:3], verbose=0)]
