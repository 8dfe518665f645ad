"""Keras on TensorFlow: model(x) and train_on_batch."""
import keras_rows
import protocol

protocol.serve(keras_rows.keras_model, keras_rows.version)
