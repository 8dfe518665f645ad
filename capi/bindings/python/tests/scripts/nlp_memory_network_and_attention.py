"""Question answering by a memory network; Bahdanau attention as a layer of one's own."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
from filled import curves, fill

vocab, story_len, query_len = 20, 9, 4
r = np.random.RandomState(17)
stories, queries = r.randint(1, vocab, (24, story_len)), r.randint(1, vocab, (24, query_len))
answers = r.randint(0, vocab, 24)

input_sequence = keras.Input((story_len,))
question = keras.Input((query_len,))
input_encoder_m = keras.Sequential([layers.Embedding(vocab, 8), layers.Dropout(0.0)])
input_encoder_c = keras.Sequential([layers.Embedding(vocab, query_len), layers.Dropout(0.0)])
question_encoder = keras.Sequential([layers.Embedding(vocab, 8), layers.Dropout(0.0)])
input_encoded_m = input_encoder_m(input_sequence)
input_encoded_c = input_encoder_c(input_sequence)
question_encoded = question_encoder(question)
match = layers.Dot(axes=(2, 2))([input_encoded_m, question_encoded])
match = layers.Activation("softmax")(match)
response = layers.add([match, input_encoded_c])
response = layers.Permute((2, 1))(response)
answer = layers.concatenate([response, question_encoded])
answer = layers.LSTM(12)(answer)
answer = layers.Dropout(0.0)(answer)
answer = layers.Dense(vocab)(answer)
answer = layers.Activation("softmax")(answer)
model = fill(keras.Model([input_sequence, question], answer))
model.compile(optimizer=keras.optimizers.SGD(0.05), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit([stories, queries], answers, batch_size=8, epochs=2, shuffle=False)


class BahdanauAttention(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.W1 = layers.Dense(units)
        self.W2 = layers.Dense(units)
        self.V = layers.Dense(1)

    def call(self, query, values):
        query_with_time_axis = tf.expand_dims(query, 1)
        score = self.V(tf.nn.tanh(self.W1(query_with_time_axis) + self.W2(values)))
        attention_weights = tf.nn.softmax(score, axis=1)
        context_vector = attention_weights * values
        context_vector = tf.reduce_sum(context_vector, axis=1)
        return context_vector, attention_weights


attention_layer = BahdanauAttention(10)
query, values = r.normal(size=(3, 6)).astype("float32"), r.normal(size=(3, 7, 5)).astype("float32")
attention_layer(query, values)
fill(attention_layer)
context, weights = attention_layer(tf.constant(query), tf.constant(values))
print("Attention result shape: (batch size, units) {}".format(context.shape))
results = [curves(history), model.predict([stories[:2], queries[:2]]), context, weights]
