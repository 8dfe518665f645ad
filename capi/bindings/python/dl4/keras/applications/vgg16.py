"""VGG16."""

from ..src.applications.vgg import VGG16
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation("caffe")
