"""MobileNetV3."""

from ..src.applications.mobilenet_v3 import MobileNetV3Large, MobileNetV3Small
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation(None)
