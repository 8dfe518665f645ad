"""Layers that change images at random: NumPy on arrays, as Keras on TensorFlow computes."""
