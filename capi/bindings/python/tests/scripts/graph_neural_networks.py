"""Graphs: a layer of messages between nodes by segment sums, attention over neighbours, random walks of node2vec."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(37)
num_nodes, num_classes = 12, 3
node_features = r.rand(num_nodes, 6).astype("float32")
edges = r.randint(0, num_nodes, (2, 30))
labels = r.randint(0, num_classes, num_nodes)


def create_ffn(hidden_units, dropout_rate, name=None):
    fnn_layers = []
    for units in hidden_units:
        fnn_layers.append(layers.BatchNormalization())
        fnn_layers.append(layers.Dropout(dropout_rate))
        fnn_layers.append(layers.Dense(units, activation="gelu"))
    return keras.Sequential(fnn_layers, name=name)


class GraphConvLayer(layers.Layer):
    def __init__(self, hidden_units, dropout_rate=0.0, aggregation_type="mean", combination_type="concat", **kwargs):
        super().__init__(**kwargs)
        self.aggregation_type = aggregation_type
        self.combination_type = combination_type
        self.ffn_prepare = create_ffn(hidden_units, dropout_rate)
        self.update_fn = create_ffn(hidden_units, dropout_rate)

    def prepare(self, node_repesentations, weights=None):
        messages = self.ffn_prepare(node_repesentations)
        if weights is not None:
            messages = messages * tf.expand_dims(weights, -1)
        return messages

    def aggregate(self, node_indices, neighbour_messages, node_repesentations):
        num_nodes = node_repesentations.shape[0]
        if self.aggregation_type == "sum":
            return tf.math.unsorted_segment_sum(neighbour_messages, node_indices, num_segments=num_nodes)
        return tf.math.unsorted_segment_mean(neighbour_messages, node_indices, num_segments=num_nodes)

    def update(self, node_repesentations, aggregated_messages):
        h = tf.concat([node_repesentations, aggregated_messages], axis=1)
        node_embeddings = self.update_fn(h)
        return tf.nn.l2_normalize(node_embeddings, axis=-1)

    def call(self, inputs):
        node_repesentations, edges, edge_weights = inputs
        node_indices, neighbour_indices = edges[0], edges[1]
        neighbour_repesentations = tf.gather(node_repesentations, neighbour_indices)
        neighbour_messages = self.prepare(neighbour_repesentations, edge_weights)
        aggregated_messages = self.aggregate(node_indices, neighbour_messages, node_repesentations)
        return self.update(node_repesentations, aggregated_messages)


class GNNNodeClassifier(keras.Model):
    def __init__(self, graph_info, num_classes, hidden_units, aggregation_type="mean", **kwargs):
        super().__init__(**kwargs)
        node_features, edges, edge_weights = graph_info
        self.node_features = node_features
        self.edges = edges
        self.edge_weights = edge_weights
        if self.edge_weights is None:
            self.edge_weights = tf.ones(shape=edges.shape[1])
        self.edge_weights = self.edge_weights / tf.math.reduce_sum(self.edge_weights)
        self.preprocess = create_ffn(hidden_units, 0.0, name="preprocess")
        self.conv1 = GraphConvLayer(hidden_units, aggregation_type=aggregation_type, name="graph_conv1")
        self.postprocess = create_ffn(hidden_units, 0.0, name="postprocess")
        self.compute_logits = layers.Dense(units=num_classes, name="logits")

    def call(self, input_node_indices):
        x = self.preprocess(self.node_features)
        x1 = self.conv1((x, self.edges, self.edge_weights))
        x = x1 + x
        x = self.postprocess(x)
        node_embeddings = tf.gather(x, input_node_indices)
        return self.compute_logits(node_embeddings)


gnn_model = GNNNodeClassifier((tf.constant(node_features), edges, None), num_classes, [8, 8], name="gnn_model")
print("GNN output shape:", gnn_model(np.array([1, 10, 5])))
gnn_model.summary()
fill(gnn_model)
gnn_model.compile(
    optimizer=keras.optimizers.Adam(0.01),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[keras.metrics.SparseCategoricalAccuracy(name="acc")],
)
indices = np.arange(num_nodes)
history = gnn_model.fit(indices, labels, batch_size=6, epochs=2, shuffle=False)
results = [curves(history), sums(gnn_model), gnn_model.predict(indices)[:2]]


class GraphAttention(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[0][-1], self.units), trainable=True, name="kernel")
        self.kernel_attention = self.add_weight(shape=(self.units * 2, 1), trainable=True, name="kernel_attention")
        self.built = True

    def call(self, inputs):
        node_states, edges = inputs
        node_states_transformed = tf.matmul(node_states, self.kernel)
        node_states_expanded = tf.gather(node_states_transformed, edges)
        node_states_expanded = tf.reshape(node_states_expanded, (tf.shape(edges)[0], -1))
        attention_scores = tf.nn.leaky_relu(tf.matmul(node_states_expanded, self.kernel_attention))
        attention_scores = tf.squeeze(attention_scores, -1)
        attention_scores = tf.math.exp(tf.clip_by_value(attention_scores, -2, 2))
        attention_scores_sum = tf.math.unsorted_segment_sum(
            data=attention_scores, segment_ids=edges[:, 0], num_segments=tf.reduce_max(edges[:, 0]) + 1
        )
        attention_scores_sum = tf.gather(attention_scores_sum, edges[:, 0])
        attention_scores_norm = attention_scores / attention_scores_sum
        node_states_neighbors = tf.gather(node_states_transformed, edges[:, 1])
        return tf.math.unsorted_segment_sum(
            data=node_states_neighbors * attention_scores_norm[:, tf.newaxis],
            segment_ids=edges[:, 0],
            num_segments=tf.shape(node_states)[0],
        )


attention = GraphAttention(5)
states, pairs = tf.constant(node_features), tf.constant(edges.T)
attention([states, pairs])
fill(attention)
results += [attention([states, pairs])]

targets, contexts, similar = r.randint(0, 12, 40), r.randint(0, 12, 40), r.randint(0, 2, 40)
inputs = {
    "target": layers.Input(name="target", shape=(), dtype="int32"),
    "context": layers.Input(name="context", shape=(), dtype="int32"),
}
embed_item = layers.Embedding(input_dim=12, output_dim=4, embeddings_initializer="he_normal", name="item_embeddings")
target_embeddings = embed_item(inputs["target"])
context_embeddings = embed_item(inputs["context"])
logits = layers.Dot(axes=1, normalize=False, name="dot_similarity")([target_embeddings, context_embeddings])
model = fill(keras.Model(inputs=inputs, outputs=logits))
model.compile(optimizer=keras.optimizers.SGD(0.1), loss=keras.losses.BinaryCrossentropy(from_logits=True))
walks = model.fit({"target": targets, "context": contexts}, similar, batch_size=10, epochs=2, shuffle=False)
movie_embeddings = model.get_layer("item_embeddings").get_weights()[0]
query = tf.nn.embedding_lookup(tf.constant(movie_embeddings), np.array([1, 2]))
similarities = tf.linalg.matmul(tf.math.l2_normalize(query), tf.math.l2_normalize(movie_embeddings), transpose_b=True)
_, nearest = tf.math.top_k(similarities, k=3)
results += [curves(walks), similarities, nearest]
