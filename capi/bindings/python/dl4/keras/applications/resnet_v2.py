"""ResNetV2."""

from ..src.applications.resnet import ResNet50V2, ResNet101V2, ResNet152V2
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("tf")
