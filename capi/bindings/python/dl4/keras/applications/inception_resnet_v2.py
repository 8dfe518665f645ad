"""InceptionResNetV2."""

from ..src.applications.inception import InceptionResNetV2
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("tf")
