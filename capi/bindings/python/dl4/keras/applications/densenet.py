"""DenseNet."""

from ..src.applications.densenet import DenseNet121, DenseNet169, DenseNet201
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("torch")
