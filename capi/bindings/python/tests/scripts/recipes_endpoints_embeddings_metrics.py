"""Recipes: an endpoint with metrics, an antirectifier, embeddings of less memory, a metric by callback."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(20)
results = []


class LogisticEndpoint(keras.layers.Layer):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.loss_fn = keras.losses.BinaryCrossentropy(from_logits=True)
        self.accuracy_metric = keras.metrics.BinaryAccuracy(name="accuracy")

    def call(self, logits, targets=None, sample_weight=None):
        if targets is not None:
            loss = self.loss_fn(targets, logits, sample_weight)
            self.add_loss(loss)
            self.accuracy_metric.update_state(targets, logits, sample_weight)
        return ops.sigmoid(logits)


inputs = keras.Input((6,), name="inputs")
targets = keras.Input((1,), name="targets")
logits = keras.layers.Dense(1)(inputs)
preds = LogisticEndpoint(name="predictions")(logits, targets)
model = keras.Model([inputs, targets], preds)
fill(model)
data = {"inputs": r.rand(16, 6).astype("float32"), "targets": r.randint(0, 2, (16, 1)).astype("float32")}
model.compile(keras.optimizers.Adam(1e-3))
results.append(model.fit(data, epochs=2, verbose=0).history["loss"])
results.append(sums(model))


class Antirectifier(layers.Layer):
    def __init__(self, initializer="he_normal", **kwargs):
        super().__init__(**kwargs)
        self.initializer = keras.initializers.get(initializer)

    def build(self, input_shape):
        output_dim = input_shape[-1]
        self.kernel = self.add_weight(
            shape=(output_dim * 2, output_dim), initializer=self.initializer, name="kernel", trainable=True
        )

    def call(self, inputs):
        inputs -= ops.mean(inputs, axis=-1, keepdims=True)
        pos = ops.relu(inputs)
        neg = ops.relu(-inputs)
        concatenated = ops.concatenate([pos, neg], axis=-1)
        mixed = ops.matmul(concatenated, self.kernel)
        return mixed

    def get_config(self):
        base_config = super().get_config()
        config = {"initializer": keras.initializers.serialize(self.initializer)}
        return dict(list(base_config.items()) + list(config.items()))


model = keras.Sequential(
    [
        keras.Input(shape=(10,)),
        layers.Dense(6),
        Antirectifier(),
        layers.Dense(6),
        Antirectifier(),
        layers.Dropout(0.0),
        layers.Dense(3),
    ]
)
fill(model)
model.compile(
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    optimizer=keras.optimizers.RMSprop(),
    metrics=[keras.metrics.SparseCategoricalAccuracy()],
)
x, y = r.rand(20, 10).astype("float32"), r.randint(0, 3, 20)
h = model.fit(x, y, batch_size=5, epochs=2, validation_split=0.15, shuffle=False, verbose=0)
results += [curves(h), model.evaluate(x, y, verbose=0)]
clone = keras.models.model_from_json(model.to_json(), custom_objects={"Antirectifier": Antirectifier})
clone.set_weights(model.get_weights())
results.append(clone.predict(x, verbose=0))


class QREmbedding(keras.layers.Layer):
    def __init__(self, vocabulary, embedding_dim, num_buckets, name=None):
        super().__init__(name=name)
        self.num_buckets = num_buckets
        self.index_lookup = keras.layers.StringLookup(vocabulary=vocabulary, mask_token=None, num_oov_indices=0)
        self.q_embeddings = layers.Embedding(num_buckets, embedding_dim)
        self.r_embeddings = layers.Embedding(num_buckets, embedding_dim)

    def call(self, inputs):
        embedding_index = self.index_lookup(inputs)
        quotient_index = tf.math.floordiv(embedding_index, self.num_buckets)
        remainder_index = tf.math.floormod(embedding_index, self.num_buckets)
        quotient_embedding = self.q_embeddings(quotient_index)
        remainder_embedding = self.r_embeddings(remainder_index)
        return quotient_embedding * remainder_embedding


class MDEmbedding(keras.layers.Layer):
    def __init__(self, blocks_vocabulary, blocks_embedding_dims, base_embedding_dim, name=None):
        super().__init__(name=name)
        self.num_blocks = len(blocks_vocabulary)
        keys, values = [], []
        for block_idx, block_vocab in enumerate(blocks_vocabulary):
            keys.extend(block_vocab)
            values.extend([block_idx] * len(block_vocab))
        self.vocab_to_block = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, values), default_value=-1
        )
        self.block_embedding_encoders = []
        self.block_embedding_projectors = []
        for idx in range(self.num_blocks):
            self.block_embedding_encoders.append(
                keras.Sequential(
                    [
                        keras.layers.StringLookup(
                            vocabulary=blocks_vocabulary[idx], mask_token=None, num_oov_indices=1
                        ),
                        layers.Embedding(len(blocks_vocabulary[idx]) + 1, blocks_embedding_dims[idx]),
                    ]
                )
            )
            if blocks_embedding_dims[idx] == base_embedding_dim:
                self.block_embedding_projectors.append(layers.Lambda(lambda x: x))
            else:
                self.block_embedding_projectors.append(layers.Dense(units=base_embedding_dim))

    def call(self, inputs):
        return sum(p(e(inputs)) for e, p in zip(self.block_embedding_encoders, self.block_embedding_projectors))


vocab = [f"user_{i}" for i in range(9)]
users = np.array([[v] for v in r.choice(vocab, 12)])
ratings = r.rand(12, 1).astype("float32")
for make in (lambda: QREmbedding(vocab, 4, 3), lambda: MDEmbedding([vocab[:4], vocab[4:]], [4, 2], 4)):
    i = layers.Input(name="user_id", shape=(), dtype=tf.string)
    e = make()(i)
    o = layers.Dense(1, activation="sigmoid")(e)
    m = keras.Model(i, o)
    fill(m)
    m.compile(optimizer=keras.optimizers.SGD(0.1), loss=keras.losses.MeanSquaredError(), metrics=["mae"])
    ds = tf.data.Dataset.from_tensor_slices(({"user_id": users[:, 0]}, ratings)).batch(4)
    results += [curves(m.fit(ds, epochs=2, verbose=0)), sums(m)]


class JaccardScoreCallback(keras.callbacks.Callback):
    def __init__(self, name, x_test, y_test, log_dir):
        super().__init__()
        self.x_test, self.y_test = x_test, y_test
        self.keras_metric = keras.metrics.Mean("jaccard_score")
        self.epoch = 0
        self.seen = []

    def on_epoch_end(self, batch, logs=None):
        self.epoch += 1
        self.keras_metric.reset_state()
        predictions = self.model.predict(self.x_test, verbose=0)
        value = np.mean(np.argmax(predictions, axis=-1) == self.y_test)
        self.keras_metric.update_state(value)
        self.seen.append(float(self.keras_metric.result().numpy().tolist()))


c = JaccardScoreCallback(model.name, x, y, "logs")
model.fit(x, y, epochs=2, batch_size=10, shuffle=False, callbacks=[c], verbose=0)
results.append(c.seen)


class MyModel(keras.Model):
    def train_step(self, data):
        inputs, targets = data
        trainable_vars = self.trainable_variables
        with tf.GradientTape() as tape2:
            with tf.GradientTape() as tape1:
                preds = self(inputs, training=True)
                loss = self.compute_loss(inputs, targets, preds)
            dl_dw = tape1.gradient(loss, trainable_vars)
        d2l_dw2 = tape2.gradient(dl_dw, trainable_vars)
        grads = [0.5 * w1 + 0.5 * w2 for (w1, w2) in zip(d2l_dw2, dl_dw)]
        self.optimizer.apply_gradients(zip(grads, trainable_vars))
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(targets, preds)
        return {m.name: m.result() for m in self.metrics}


i = keras.Input((4,))
h = layers.Dense(5, activation="tanh")(i)
m = MyModel(i, layers.Dense(2)(h))
fill(m)
m.compile(optimizer=keras.optimizers.SGD(0.01), loss="mse", metrics=["mae"])
results += [curves(m.fit(r.rand(8, 4), r.rand(8, 2), batch_size=4, epochs=2, shuffle=False, verbose=0)), sums(m)]
