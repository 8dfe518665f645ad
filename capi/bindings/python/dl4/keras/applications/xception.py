"""Xception."""

from ..src.applications.xception import Xception
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("tf")
