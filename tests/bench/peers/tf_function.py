"""TensorFlow: the Keras model in a tf.function."""
import keras_rows
import protocol

protocol.serve(keras_rows.graph(jit=None), keras_rows.version)
