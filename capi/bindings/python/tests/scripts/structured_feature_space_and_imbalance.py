"""FeatureSpace on rows of mixed types in tf.data; classification where one class is rare, by class weights."""

import numpy as np
import tensorflow as tf
import keras
from keras import layers
from keras.utils import FeatureSpace
from filled import curves, fill

r = np.random.RandomState(33)
rows = 40
frame = {
    "age": r.randint(29, 70, rows).astype("float32"),
    "chol": r.randint(120, 400, rows).astype("float32"),
    "sex": r.randint(0, 2, rows),
    "thal": np.array(["normal", "fixed", "reversible"])[r.randint(0, 3, rows)],
}
labels = r.randint(0, 2, rows)
ds = tf.data.Dataset.from_tensor_slices((dict(frame), labels))
for x, y in ds.take(1):
    print("Input:", x)
    print("Target:", y)
train_ds = ds.batch(10)
feature_space = FeatureSpace(
    features={
        "sex": FeatureSpace.integer_categorical(num_oov_indices=0),
        "thal": FeatureSpace.string_categorical(num_oov_indices=0),
        "age": FeatureSpace.float_discretized(num_bins=4),
        "chol": FeatureSpace.float_normalized(),
    },
    crosses=[FeatureSpace.cross(feature_names=("sex", "age"), crossing_dim=8)],
    output_mode="concat",
)
train_ds_with_no_labels = train_ds.map(lambda x, _: x)
feature_space.adapt(train_ds_with_no_labels)
for x, _ in train_ds.take(1):
    preprocessed_x = feature_space(x)
    print("preprocessed_x.shape:", preprocessed_x.shape)
preprocessed_train_ds = train_ds.map(lambda x, y: (feature_space(x), y), num_parallel_calls=tf.data.AUTOTUNE)
preprocessed_train_ds = preprocessed_train_ds.prefetch(tf.data.AUTOTUNE)
dict_inputs = feature_space.get_inputs()
encoded_features = feature_space.get_encoded_features()
x = keras.layers.Dense(8, activation="relu")(encoded_features)
x = keras.layers.Dropout(0.0)(x)
predictions = keras.layers.Dense(1, activation="sigmoid")(x)
training_model = fill(keras.Model(inputs=encoded_features, outputs=predictions))
training_model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
inference_model = keras.Model(inputs=dict_inputs, outputs=predictions)
history = training_model.fit(preprocessed_train_ds, epochs=2, verbose=2)
sample = {"age": 60.0, "chol": 233.0, "sex": 1, "thal": "fixed"}
input_dict = {name: keras.ops.convert_to_tensor([value]) for name, value in sample.items() if name != "thal"}
input_dict["thal"] = tf.constant(["fixed"])
prediction = inference_model.predict(input_dict)

features = r.normal(size=(60, 8)).astype("float32")
targets = (r.rand(60, 1) < 0.2).astype("uint8")
counts = np.bincount(targets[:, 0])
weight_for_0 = 1.0 / counts[0]
weight_for_1 = 1.0 / counts[1]
mean = np.mean(features, axis=0)
features -= mean
std = np.std(features, axis=0)
features /= std
model = keras.Sequential(
    [
        keras.Input(shape=features.shape[1:]),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dropout(0.0),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
fill(model)
metrics = [
    keras.metrics.FalseNegatives(name="fn"),
    keras.metrics.FalsePositives(name="fp"),
    keras.metrics.TrueNegatives(name="tn"),
    keras.metrics.TruePositives(name="tp"),
    keras.metrics.Precision(name="precision"),
    keras.metrics.Recall(name="recall"),
]
model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="binary_crossentropy", metrics=metrics)
class_weight = {0: weight_for_0, 1: weight_for_1}
weighted = model.fit(
    features,
    targets,
    batch_size=20,
    epochs=2,
    verbose=2,
    validation_data=(features, targets),
    class_weight=class_weight,
    shuffle=False,
)
results = [np.asarray(preprocessed_x), curves(history), prediction, curves(weighted)]
