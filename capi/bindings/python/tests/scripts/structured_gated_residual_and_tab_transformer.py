"""Gated residual networks with selection of variables, and a TabTransformer, on tables of numbers and categories."""

import numpy as np
import keras
from keras import layers, ops
from filled import curves, fill

r = np.random.RandomState(31)
numeric = {name: r.normal(size=(48,)).astype("float32") for name in ("age", "wage")}
categorical = {name: r.randint(0, 4, (48,)) for name in ("class", "race")}
data, labels = {**numeric, **categorical}, r.randint(0, 2, 48)
encoding_size = 6


class GatedLinearUnit(layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.linear = layers.Dense(units)
        self.sigmoid = layers.Dense(units, activation="sigmoid")

    def call(self, inputs):
        return self.linear(inputs) * self.sigmoid(inputs)

    def build(self, input_shape):
        self.linear.build(input_shape)
        self.sigmoid.build(input_shape)
        self.built = True


class GatedResidualNetwork(layers.Layer):
    def __init__(self, units, dropout_rate):
        super().__init__()
        self.units = units
        self.elu_dense = layers.Dense(units, activation="elu")
        self.linear_dense = layers.Dense(units)
        self.dropout = layers.Dropout(dropout_rate)
        self.gated_linear_unit = GatedLinearUnit(units)
        self.layer_norm = layers.LayerNormalization()
        self.project = layers.Dense(units)

    def call(self, inputs):
        x = self.elu_dense(inputs)
        x = self.linear_dense(x)
        x = self.dropout(x)
        if inputs.shape[-1] != self.units:
            inputs = self.project(inputs)
        x = inputs + self.gated_linear_unit(x)
        x = self.layer_norm(x)
        return x


class VariableSelection(layers.Layer):
    def __init__(self, num_features, units, dropout_rate):
        super().__init__()
        self.units = units
        self.grns = list()
        for idx in range(num_features):
            grn = GatedResidualNetwork(units, dropout_rate)
            self.grns.append(grn)
        self.grn_concat = GatedResidualNetwork(units, dropout_rate)
        self.softmax = layers.Dense(units=num_features, activation="softmax")

    def call(self, inputs):
        concat_inputs = []
        for key in sorted(inputs):
            concat_inputs.append(inputs[key])
        v = layers.concatenate(concat_inputs)
        v = self.grn_concat(v)
        v = ops.expand_dims(self.softmax(v), axis=-1)
        x = []
        for idx, key in enumerate(sorted(inputs)):
            x.append(self.grns[idx](inputs[key]))
        x = ops.stack(x, axis=1)
        return ops.squeeze(ops.matmul(ops.transpose(v, axes=(0, 2, 1)), x), axis=1)


def create_model_inputs():
    inputs = {name: layers.Input(name=name, shape=(), dtype="float32") for name in numeric}
    inputs.update({name: layers.Input(name=name, shape=(), dtype="int64") for name in categorical})
    return inputs


def create_grn_model():
    inputs = create_model_inputs()
    features = {}
    for name, x in inputs.items():
        if name in categorical:
            features[name] = layers.Embedding(input_dim=4, output_dim=encoding_size)(x)
        else:
            features[name] = layers.Dense(encoding_size)(ops.expand_dims(x, -1))
    features = VariableSelection(len(features), encoding_size, 0.0)(features)
    outputs = layers.Dense(units=1, activation="sigmoid")(features)
    return keras.Model(inputs=inputs, outputs=outputs)


def create_mlp(hidden_units, dropout_rate, activation, normalization_layer, name=None):
    mlp_layers = []
    for units in hidden_units:
        mlp_layers.append(normalization_layer())
        mlp_layers.append(layers.Dense(units, activation=activation))
        mlp_layers.append(layers.Dropout(dropout_rate))
    return keras.Sequential(mlp_layers, name=name)


class ColumnEmbedding(layers.Layer):
    def __init__(self, num_columns):
        super().__init__()
        self.num_columns = num_columns
        self.embedding = layers.Embedding(input_dim=num_columns, output_dim=encoding_size)

    def call(self, encoded):
        column_indices = ops.arange(start=0, stop=self.num_columns, step=1)
        return encoded + self.embedding(column_indices)


def create_tabtransformer_classifier():
    inputs = create_model_inputs()
    encoded, numbers = [], []
    for name, x in inputs.items():
        if name in categorical:
            encoded.append(layers.Embedding(input_dim=4, output_dim=encoding_size)(x))
        else:
            numbers.append(ops.expand_dims(x, -1))
    encoded = ops.stack(encoded, axis=1)
    numbers = layers.concatenate(numbers)
    encoded = ColumnEmbedding(encoded.shape[1])(encoded)
    for block_idx in range(2):
        attention_output = layers.MultiHeadAttention(
            num_heads=2, key_dim=encoding_size, dropout=0.0, name=f"multihead_attention_{block_idx}"
        )(encoded, encoded)
        x = layers.Add(name=f"skip_connection1_{block_idx}")([attention_output, encoded])
        x = layers.LayerNormalization(name=f"layer_norm1_{block_idx}", epsilon=1e-6)(x)
        feedforward_output = create_mlp(
            hidden_units=[encoding_size],
            dropout_rate=0.0,
            activation=keras.activations.gelu,
            normalization_layer=lambda: layers.LayerNormalization(epsilon=1e-6),
            name=f"feedforward_{block_idx}",
        )(x)
        x = layers.Add(name=f"skip_connection2_{block_idx}")([feedforward_output, x])
        encoded = layers.LayerNormalization(name=f"layer_norm2_{block_idx}", epsilon=1e-6)(x)
    categorical_features = layers.Flatten()(encoded)
    numbers = layers.LayerNormalization(epsilon=1e-6)(numbers)
    features = layers.concatenate([categorical_features, numbers])
    features = create_mlp([8, 4], 0.0, keras.activations.selu, layers.BatchNormalization, name="MLP")(features)
    outputs = layers.Dense(units=1, activation="sigmoid", name="sigmoid")(features)
    return keras.Model(inputs=inputs, outputs=outputs)


results = []
for create in (create_grn_model, create_tabtransformer_classifier):
    model = fill(create())
    model.compile(
        optimizer=keras.optimizers.SGD(learning_rate=0.05, momentum=0.9, nesterov=True),
        loss=keras.losses.BinaryCrossentropy(),
        metrics=[keras.metrics.BinaryAccuracy(name="accuracy"), keras.metrics.AUC(name="auc")],
    )
    history = model.fit(data, labels, batch_size=16, epochs=2, validation_split=0.25, shuffle=False)
    results += [curves(history), model.count_params(), model.evaluate(data, labels, verbose=0)]
