"""EfficientNetV2."""

from ..src.applications.efficientnet import (
    EfficientNetV2B0,
    EfficientNetV2B1,
    EfficientNetV2B2,
    EfficientNetV2B3,
    EfficientNetV2L,
    EfficientNetV2M,
    EfficientNetV2S,
)
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation(None)
