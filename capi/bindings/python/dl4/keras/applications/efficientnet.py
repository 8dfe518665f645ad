"""EfficientNet."""

from ..src.applications.efficientnet import (
    EfficientNetB0,
    EfficientNetB1,
    EfficientNetB2,
    EfficientNetB3,
    EfficientNetB4,
    EfficientNetB5,
    EfficientNetB6,
    EfficientNetB7,
)
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation(None)
