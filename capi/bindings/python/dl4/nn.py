"""What Keras programs use of tf.nn."""

from .keras import activations, layers


def softmax(logits, axis=-1):
    return layers.Softmax(axis=axis)(logits)


def __getattr__(name):
    return getattr(activations, name)
