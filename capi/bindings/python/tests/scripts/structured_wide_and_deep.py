"""Tables: inputs by name, StringLookup and embeddings, wide and deep, deep and cross, from a CSV by tf.data."""

import csv
import os
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from filled import curves, fill

NUMERIC_FEATURE_NAMES = ["Elevation", "Slope"]
CATEGORICAL_FEATURES_WITH_VOCABULARY = {"Soil_Type": ["a", "b", "c"], "Area": ["north", "south"]}
FEATURE_NAMES = NUMERIC_FEATURE_NAMES + list(CATEGORICAL_FEATURES_WITH_VOCABULARY.keys())
TARGET_FEATURE_NAME = "Cover_Type"
NUM_CLASSES = 3
CSV_HEADER = FEATURE_NAMES + [TARGET_FEATURE_NAME]
r = np.random.RandomState(30)
path = os.path.join(tempfile.mkdtemp(), "train.csv")
with open(path, "w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(CSV_HEADER)
    for _ in range(40):
        writer.writerow(
            [f"{r.rand():.3f}", f"{r.rand():.3f}", "abc"[r.randint(3)], ["north", "south"][r.randint(2)], r.randint(3)]
        )


def get_dataset_from_csv(csv_file_path, batch_size, shuffle=False):
    return tf.data.experimental.make_csv_dataset(
        csv_file_path,
        batch_size=batch_size,
        column_names=CSV_HEADER,
        column_defaults=[[0.0], [0.0], ["NA"], ["NA"], [0]],
        label_name=TARGET_FEATURE_NAME,
        num_epochs=1,
        header=True,
        shuffle=shuffle,
    ).map(lambda features, target: (dict(features), target))


def create_model_inputs():
    inputs = {}
    for feature_name in FEATURE_NAMES:
        if feature_name in NUMERIC_FEATURE_NAMES:
            inputs[feature_name] = layers.Input(name=feature_name, shape=(), dtype="float32")
        else:
            inputs[feature_name] = layers.Input(name=feature_name, shape=(), dtype="string")
    return inputs


def encode_inputs(inputs, use_embedding=False):
    encoded_features = []
    for feature_name in inputs:
        if feature_name in CATEGORICAL_FEATURES_WITH_VOCABULARY:
            vocabulary = CATEGORICAL_FEATURES_WITH_VOCABULARY[feature_name]
            lookup = layers.StringLookup(
                vocabulary=vocabulary,
                mask_token=None,
                num_oov_indices=0,
                output_mode="int" if use_embedding else "binary",
            )
            if use_embedding:
                encoded_feature = lookup(inputs[feature_name])
                embedding_dims = 2
                embedding = layers.Embedding(input_dim=len(vocabulary), output_dim=embedding_dims)
                encoded_feature = embedding(encoded_feature)
            else:
                encoded_feature = lookup(keras.ops.expand_dims(inputs[feature_name], -1))
        else:
            encoded_feature = keras.ops.expand_dims(inputs[feature_name], -1)
        encoded_features.append(encoded_feature)
    return layers.concatenate(encoded_features)


def create_wide_and_deep_model():
    inputs = create_model_inputs()
    wide = encode_inputs(inputs, use_embedding=True)
    wide = layers.BatchNormalization()(wide)
    deep = encode_inputs(inputs, use_embedding=True)
    for units in [8, 8]:
        deep = layers.Dense(units)(deep)
        deep = layers.BatchNormalization()(deep)
        deep = layers.ReLU()(deep)
        deep = layers.Dropout(0.0)(deep)
    merged = layers.concatenate([wide, deep])
    outputs = layers.Dense(units=NUM_CLASSES, activation="softmax")(merged)
    return keras.Model(inputs=inputs, outputs=outputs)


def create_deep_and_cross_model():
    inputs = create_model_inputs()
    x0 = encode_inputs(inputs, use_embedding=True)
    cross = x0
    for _ in [8, 8]:
        units = cross.shape[-1]
        x = layers.Dense(units)(cross)
        cross = x0 * x + cross
    cross = layers.BatchNormalization()(cross)
    deep = x0
    for units in [8, 8]:
        deep = layers.Dense(units)(deep)
        deep = layers.BatchNormalization()(deep)
        deep = layers.ReLU()(deep)
    merged = layers.concatenate([cross, deep])
    outputs = layers.Dense(units=NUM_CLASSES, activation="softmax")(merged)
    return keras.Model(inputs=inputs, outputs=outputs)


results = []
for create in (create_wide_and_deep_model, create_deep_and_cross_model):
    model = fill(create())
    model.compile(
        optimizer=keras.optimizers.SGD(learning_rate=0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(),
        metrics=[keras.metrics.SparseCategoricalAccuracy()],
    )
    train_dataset = get_dataset_from_csv(path, 10, shuffle=False)
    history = model.fit(train_dataset, epochs=2)
    _, accuracy = model.evaluate(get_dataset_from_csv(path, 10), verbose=0)
    results += [curves(history), accuracy]
