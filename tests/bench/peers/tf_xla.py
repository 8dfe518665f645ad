"""TensorFlow with XLA: the Keras model in a tf.function with jit_compile."""
import keras_rows
import protocol

protocol.serve(keras_rows.graph(jit=True), keras_rows.version)
