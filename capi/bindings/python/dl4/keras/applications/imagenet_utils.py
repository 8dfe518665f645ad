"""Images for models of ImageNet, and the names of its classes."""

from ..src.applications.imagenet_utils import decode_predictions, preprocess_input
