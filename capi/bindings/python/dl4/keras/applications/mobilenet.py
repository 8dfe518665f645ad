"""MobileNet."""

from ..src.applications.mobilenet import MobileNet
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("tf")
