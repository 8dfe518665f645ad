"""What models of ImageNet share: preparation of images, names of classes, the checks of arguments."""

import json
import warnings

from ... import activations, ops
from ..backend import config
from ..backend.lazy import np
from ..utils.file_utils import get_file

CLASSES = {}  # names of ImageNet's classes by number, once they have been read
CLASSES_FROM = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
CLASSES_HASH = "c2c37ea517e94d9795004a39431a14cb"
MEANS = {"torch": (0.485, 0.456, 0.406), "caffe": (103.939, 116.779, 123.68)}
DEVIATIONS = (0.229, 0.224, 0.225)


def first():
    """Do channels come first?"""
    return config.image_data_format() == "channels_first"


def channel_axis():
    return 1 if first() else 3


def preprocess_input(x, data_format=None, mode="caffe"):
    """Images of 0 to 255 as a model was trained with: "tf" between -1 and 1, "torch" less the means of ImageNet over
    their deviations, "caffe" less the means, and in the order BGR. An array of floats is written over."""
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: mode={mode}")
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(
            "Expected data_format to be one of `channels_first` or `channels_last`. "
            f"Received: data_format={data_format}"
        )
    shape = (3, 1, 1) if (data_format or config.image_data_format()) == "channels_first" else (3,)
    if isinstance(x, np.ndarray):
        return _prepared_in_place(x if issubclass(x.dtype.type, np.floating) else x.astype("float32"), shape, mode)
    if mode == "tf":
        return x / 127.5 - 1.0
    means = np.reshape(np.array(MEANS[mode], "float32"), shape)
    if mode == "torch":
        return (x / 255.0 - means) / np.reshape(np.array(DEVIATIONS, "float32"), shape)
    return ops.flip(x, axis=-len(shape)) - means


def _prepared_in_place(x, shape, mode):
    if mode == "tf":
        x /= 127.5
        x -= 1.0
        return x
    if mode == "torch":
        x /= 255.0
    else:
        x = np.flip(x, axis=-len(shape))
    x -= np.reshape(MEANS[mode], shape)
    if mode == "torch":
        x /= np.reshape(DEVIATIONS, shape)
    return x


def preparation(mode):
    """preprocess_input() of one model; None: the model prepares its images itself."""

    def prepare(x, data_format=None):
        return x if mode is None else preprocess_input(x, data_format=data_format, mode=mode)

    prepare.__name__ = prepare.__qualname__ = "preprocess_input"
    prepare.__doc__ = preprocess_input.__doc__ if mode else "The images themselves: the model prepares them."
    return prepare


def decode_predictions(preds, top=5):
    """The `top` most likely classes of each image: (number in WordNet, name, score)."""
    if len(preds.shape) != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). "
            f"Received array with shape: {preds.shape}"
        )
    if not CLASSES:
        path = get_file("imagenet_class_index.json", CLASSES_FROM, cache_subdir="models", file_hash=CLASSES_HASH)
        with open(path) as f:
            CLASSES.update(json.load(f))
    preds = np.asarray(preds)
    best = [(p, p.argsort()[-top:][::-1]) for p in preds]
    return [sorted((tuple(CLASSES[str(i)]) + (p[i],) for i in of), key=lambda c: c[2], reverse=True) for p, of in best]


def obtain_input_shape(input_shape, default_size, min_size, data_format, require_flatten, weights=None):
    """The shape of an image that a model takes, by what its user asks for."""
    heads = data_format == "channels_first"
    at = 0 if heads else -1
    channels = 3
    if weights != "imagenet" and input_shape and len(input_shape) == 3:
        channels = input_shape[at]
        if channels not in (1, 3):
            warnings.warn(
                "This model usually expects 1 or 3 input channels. However, it was passed an input_shape with "
                f"{channels} input channels.",
                stacklevel=2,
            )
    default = (channels, default_size, default_size) if heads else (default_size, default_size, channels)
    if weights == "imagenet" and require_flatten:
        if input_shape is not None and input_shape != default:
            raise ValueError(
                "When setting `include_top=True` and loading `imagenet` weights, `input_shape` should be "
                f"{default}.  Received: input_shape={input_shape}"
            )
        return default
    if not input_shape:
        input_shape = default if require_flatten else (3, None, None) if heads else (None, None, 3)
    else:
        if len(input_shape) != 3:
            raise ValueError("`input_shape` must be a tuple of three integers.")
        if input_shape[at] != 3 and weights == "imagenet":
            raise ValueError(f"The input must have 3 channels; Received `input_shape={input_shape}`")
        if any(n is not None and n < min_size for n in (input_shape[1:] if heads else input_shape[:2])):
            raise ValueError(f"Input size must be at least {min_size}x{min_size}; Received: input_shape={input_shape}")
    if require_flatten and None in input_shape:
        raise ValueError(
            f"If `include_top` is True, you should specify a static `input_shape`. Received: input_shape={input_shape}"
        )
    return input_shape


def correct_pad(inputs, kernel_size):
    """The zeros around an image before a convolution of stride 2: what "same" adds there, but evenly at the start."""
    at = 2 if first() else 1
    sizes = inputs.shape[at : at + 2]
    kernel = (kernel_size,) * 2 if isinstance(kernel_size, int) else kernel_size
    odd = (1, 1) if sizes[0] is None else (1 - sizes[0] % 2, 1 - sizes[1] % 2)
    return tuple((k // 2 - o, k // 2) for k, o in zip(kernel, odd))


def validate_activation(classifier_activation, weights):
    """Raises for another activation than those that weights from a file were trained with."""
    if weights is not None and activations.get(classifier_activation) not in (
        activations.get("softmax"),
        activations.get(None),
    ):
        raise ValueError(
            "Only `None` and `softmax` activations are allowed for the `classifier_activation` argument when using "
            "pretrained weights, with `include_top=True`; "
            f"Received: classifier_activation={classifier_activation}"
        )
