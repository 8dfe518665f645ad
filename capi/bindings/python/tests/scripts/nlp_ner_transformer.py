"""Entities in a sentence: a lookup of words, a loss that does not count padding, from_generator and padded_batch."""

import numpy as np
import tensorflow as tf
import keras
from keras import ops, layers
from collections import Counter
from filled import fill, sums

sentences = [
    ("eu rejects german call to boycott", [3, 0, 7, 0, 0, 0]),
    ("peter blackburn", [1, 2]),
    ("brussels 1996-08-22", [5, 0]),
    ("the commission said on thursday", [0, 3, 0, 0, 0]),
]
all_tokens = [word for text, _ in sentences for word in text.split()]
counter = Counter(all_tokens)
vocabulary = [token for token, count in counter.most_common(12)]
lookup_layer = keras.layers.StringLookup(vocabulary=vocabulary)


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.0):
        super().__init__()
        self.att = keras.layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential(
            [keras.layers.Dense(ff_dim, activation="relu"), keras.layers.Dense(embed_dim)]
        )
        self.layernorm1 = keras.layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = keras.layers.Dropout(rate)

    def call(self, inputs, training=False):
        attn_output = self.att(inputs, inputs)
        attn_output = self.dropout1(attn_output, training=training)
        out1 = self.layernorm1(inputs + attn_output)
        return self.layernorm2(out1 + self.ffn(out1))


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim):
        super().__init__()
        self.token_emb = keras.layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = keras.layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, inputs):
        maxlen = ops.shape(inputs)[-1]
        positions = ops.arange(start=0, stop=maxlen, step=1)
        return self.token_emb(inputs) + self.pos_emb(positions)


class NERModel(keras.Model):
    def __init__(self, num_tags, vocab_size, maxlen=16, embed_dim=8, num_heads=2, ff_dim=8):
        super().__init__()
        self.embedding_layer = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)
        self.transformer_block = TransformerBlock(embed_dim, num_heads, ff_dim)
        self.dropout1 = layers.Dropout(0.0)
        self.ff = layers.Dense(ff_dim, activation="relu")
        self.ff_final = layers.Dense(num_tags, activation="softmax")

    def call(self, inputs, training=False):
        x = self.embedding_layer(inputs)
        x = self.transformer_block(x)
        x = self.dropout1(x, training=training)
        x = self.ff(x)
        return self.ff_final(x)


class CustomNonPaddingTokenLoss(keras.losses.Loss):
    def __init__(self, name="custom_ner_loss"):
        super().__init__(name=name)

    def call(self, y_true, y_pred):
        loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=False, reduction=None)
        loss = loss_fn(y_true, y_pred)
        mask = ops.cast((y_true > 0), dtype="float32")
        loss = loss * mask
        return ops.sum(loss) / ops.sum(mask)


def rows():
    for text, tags in sentences:
        yield text.split(), [t + 1 for t in tags]


data = tf.data.Dataset.from_generator(
    rows,
    output_signature=(tf.TensorSpec(shape=(None,), dtype=tf.string), tf.TensorSpec(shape=(None,), dtype=tf.int64)),
)
train_dataset = data.map(lambda tokens, tags: (lookup_layer(tokens), tags)).padded_batch(2)
batches = [[np.array(x), np.array(y)] for x, y in train_dataset]

num_tags = 10
ner_model = NERModel(num_tags, vocab_size=20)
ner_model(batches[0][0])
fill(ner_model)
ner_model.compile(optimizer="sgd", loss=CustomNonPaddingTokenLoss())
history = ner_model.fit(train_dataset, epochs=3)
sample_input = lookup_layer("eu rejects german call to boycott".split())
output = ner_model.predict(tf.reshape(sample_input, shape=[1, -1]))
prediction = np.argmax(output, axis=-1)[0]
results = [batches, history.history["loss"], prediction, sums(ner_model)]
