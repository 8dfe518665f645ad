"""A FeatureSpace in a file, from which data is prepared, and a model of what it encodes."""

import os
import tempfile

import numpy as np
import tensorflow as tf
import keras
from keras.utils import FeatureSpace
from filled import curves, fill, sums

r = np.random.RandomState(83)
table = {
    "sex": r.randint(0, 2, 40),
    "age": r.randint(20, 70, 40).astype("float32"),
    "thal": r.choice(["fixed", "normal", "reversible"], 40),
    "vessels": r.randint(0, 4, 40),
    "slope": r.rand(40).astype("float32"),
    "peak": r.rand(40).astype("float32"),
}
targets = r.randint(0, 2, 40).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((table, targets)).batch(8)
feature_space = FeatureSpace(
    features={
        "sex": FeatureSpace.integer_categorical(num_oov_indices=0),
        "age": FeatureSpace.float_discretized(num_bins=5),
        "thal": FeatureSpace.string_categorical(num_oov_indices=0),
        "vessels": "integer_categorical",
        "slope": FeatureSpace.float_normalized(),
        "peak": FeatureSpace.float_rescaled(scale=2.0),
    },
    crosses=[FeatureSpace.cross(feature_names=("sex", "age"), crossing_dim=8)],
    output_mode="concat",
)
feature_space.adapt(dataset.map(lambda x, _: x))
some = {key: value[:4] for key, value in table.items()}
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "space.keras")
    feature_space.save(path)
    loaded = keras.models.load_model(path)
results = [feature_space(some), loaded(some), type(loaded).__name__]

preprocessed = dataset.map(lambda x, y: (loaded(x), y), num_parallel_calls=tf.data.AUTOTUNE).prefetch(2)
x = keras.layers.Dense(4, activation="relu")(loaded.get_encoded_features())
predictions = keras.layers.Dense(1, activation="sigmoid")(x)
training_model = fill(keras.Model(inputs=loaded.get_encoded_features(), outputs=predictions))
training_model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
results.append(curves(training_model.fit(preprocessed, epochs=2, verbose=0)))
inference_model = keras.Model(inputs=loaded.get_inputs(), outputs=predictions)
sample = {key: tf.convert_to_tensor(value[:1]) for key, value in table.items()}
results += [inference_model.predict(sample, verbose=0), sums(training_model)]
