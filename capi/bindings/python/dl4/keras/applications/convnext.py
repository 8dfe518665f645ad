"""ConvNeXt."""

from ..src.applications.convnext import ConvNeXtBase, ConvNeXtLarge, ConvNeXtSmall, ConvNeXtTiny, ConvNeXtXLarge
from ..src.applications.imagenet_utils import decode_predictions, preparation as _preparation

preprocess_input = _preparation(None)
