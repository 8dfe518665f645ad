"""Traffic: a graph convolution by sums of segments and an LSTM, windows of two sequences zipped."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers, ops
from filled import curves, fill, sums

r = np.random.RandomState(33)
nodes, seq, horizon = 5, 6, 2


class GraphInfo:
    def __init__(self, edges, num_nodes):
        self.edges, self.num_nodes = edges, num_nodes


adj = (r.rand(nodes, nodes) > 0.5).astype(int)
ni, nb = np.where(adj == 1)
graph = GraphInfo(edges=(ni.tolist(), nb.tolist()), num_nodes=nodes)


class GraphConv(layers.Layer):
    def __init__(
        self,
        in_feat,
        out_feat,
        graph_info,
        aggregation_type="mean",
        combination_type="concat",
        activation=None,
        **kwargs
    ):
        super().__init__(**kwargs)
        self.in_feat, self.out_feat, self.graph_info = in_feat, out_feat, graph_info
        self.aggregation_type, self.combination_type = aggregation_type, combination_type
        self.weight = self.add_weight(
            initializer=keras.initializers.GlorotUniform(), shape=(in_feat, out_feat), dtype="float32", trainable=True
        )
        self.activation = layers.Activation(activation)

    def aggregate(self, neighbour_representations):
        f = {
            "sum": tf.math.unsorted_segment_sum,
            "mean": tf.math.unsorted_segment_mean,
            "max": tf.math.unsorted_segment_max,
        }[self.aggregation_type]
        return f(neighbour_representations, self.graph_info.edges[0], num_segments=self.graph_info.num_nodes)

    def call(self, features):
        nodes_representation = ops.matmul(features, self.weight)
        neighbour = tf.gather(features, self.graph_info.edges[1])
        aggregated = ops.matmul(self.aggregate(neighbour), self.weight)
        h = ops.concatenate([nodes_representation, aggregated], axis=-1)
        return self.activation(h)


class LSTMGC(layers.Layer):
    def __init__(
        self, in_feat, out_feat, lstm_units, input_seq_len, output_seq_len, graph_info, graph_conv_params=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.graph_conv = GraphConv(in_feat, out_feat, graph_info, **graph_conv_params)
        self.lstm = layers.LSTM(lstm_units, activation="relu")
        self.dense = layers.Dense(output_seq_len)
        self.input_seq_len, self.output_seq_len = input_seq_len, output_seq_len

    def call(self, inputs):
        inputs = ops.transpose(inputs, [2, 0, 1, 3])
        gcn_out = self.graph_conv(inputs)
        shape = ops.shape(gcn_out)
        num_nodes, batch_size, input_seq_len, out_feat = (shape[0], shape[1], shape[2], shape[3])
        gcn_out = ops.reshape(gcn_out, (batch_size * num_nodes, input_seq_len, out_feat))
        lstm_out = self.lstm(gcn_out)
        dense_output = self.dense(lstm_out)
        output = ops.reshape(dense_output, (num_nodes, batch_size, self.output_seq_len))
        return ops.transpose(output, [1, 2, 0])


def create_tf_dataset(data_array, input_sequence_length, forecast_horizon, batch_size):
    inputs = keras.utils.timeseries_dataset_from_array(
        np.expand_dims(data_array[:-forecast_horizon], axis=-1),
        None,
        sequence_length=input_sequence_length,
        shuffle=False,
        batch_size=batch_size,
    )
    targets = keras.utils.timeseries_dataset_from_array(
        data_array[input_sequence_length:], None, sequence_length=forecast_horizon, shuffle=False, batch_size=batch_size
    )
    return tf.data.Dataset.zip((inputs, targets)).prefetch(16).cache()


ds = create_tf_dataset(r.rand(30, nodes).astype("float32"), seq, horizon, 8)
st_gcn = LSTMGC(
    1, 4, 6, seq, horizon, graph, {"aggregation_type": "mean", "combination_type": "concat", "activation": None}
)
inputs = layers.Input((seq, nodes, 1))
m = keras.models.Model(inputs, st_gcn(inputs))
fill(m)
m.compile(optimizer=keras.optimizers.SGD(0.01), loss=keras.losses.MeanSquaredError())
h = m.fit(ds, validation_data=ds, epochs=2, verbose=0, callbacks=[keras.callbacks.EarlyStopping(patience=10)])
x_test, y = next(ds.as_numpy_iterator())
results = [curves(h), sums(m), m.predict(x_test, verbose=0)]
