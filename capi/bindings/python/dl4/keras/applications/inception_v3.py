"""InceptionV3."""

from ..src.applications.inception import InceptionV3
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("tf")
