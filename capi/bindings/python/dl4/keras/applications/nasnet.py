"""NASNet."""

from ..src.applications.nasnet import NASNetLarge, NASNetMobile
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("tf")
