"""ResNet."""

from ..src.applications.resnet import ResNet50, ResNet101, ResNet152
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("caffe")
