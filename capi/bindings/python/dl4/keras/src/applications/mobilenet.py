"""MobileNet and MobileNetV2."""

import warnings

from ... import layers
from .assembly import architecture, complete, dense_top, image_input, pooled, STORE
from .imagenet_utils import channel_axis, correct_pad, first, validate_activation
from ..symbolic.tensor import is_tensor

SIZES = (128, 160, 192, 224)
SIZES_V2 = (96, 128, 160, 192, 224)


def divisible(v, divisor=8):
    """The nearest multiple, not below nine tenths."""
    near = max(divisor, int(v + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * v else near


def sizes_of(shape):
    return shape[1:] if first() else shape[:2]


def size_of_weights(asked, sizes, alphas):
    """The size of the images that ImageNet's weights are for; elsewhere that of the input."""
    rows, columns = sizes_of(asked.input_shape)
    if asked.weights == "imagenet":
        if asked.alpha not in alphas:
            raise ValueError(
                "If imagenet weights are being loaded, alpha can be one of "
                f"{', '.join(f'`{a:0.2f}`' for a in alphas)} only.  Received alpha={asked.alpha}"
            )
        if rows != columns or rows not in sizes:
            rows = 224
            warnings.warn(
                f"`input_shape` is undefined or non-square, or `rows` is not in {list(sizes)}. Weights for input shape "
                "(224, 224) will be loaded as the default.",
                stacklevel=4,
            )
    return rows


def default_size(shape, sizes):
    rows, columns = (None, None) if shape is None else sizes_of(shape)
    return rows if rows == columns and rows in sizes else 224


# filters and strides of MobileNet's blocks
BLOCKS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))


def mobilenet(asked):
    image = image_input(asked, default_size(asked.input_shape, SIZES))
    if asked.weights == "imagenet" and asked.depth_multiplier != 1:
        raise ValueError(
            "If imagenet weights are being loaded, depth multiplier must be 1.  "
            f"Received depth_multiplier={asked.depth_multiplier}"
        )
    rows = size_of_weights(asked, SIZES, (0.25, 0.5, 0.75, 1.0))

    def normalized(x, name, shown):
        x = layers.BatchNormalization(axis=channel_axis(), name=f"{shown}_bn")(x)
        return layers.ReLU(6.0, name=f"{name}_relu")(x)

    x = layers.Conv2D(int(32 * asked.alpha), 3, 2, padding="same", use_bias=False, name="conv1")(image)
    x = normalized(x, "conv1", "conv1")
    for i, (filters, stride) in enumerate(BLOCKS, 1):
        if stride == 2:
            x = layers.ZeroPadding2D(((0, 1), (0, 1)), name=f"conv_pad_{i}")(x)
        x = layers.DepthwiseConv2D(
            3,
            strides=stride,
            padding="same" if stride == 1 else "valid",
            depth_multiplier=asked.depth_multiplier,
            use_bias=False,
            name=f"conv_dw_{i}",
        )(x)
        x = normalized(x, f"conv_dw_{i}", f"conv_dw_{i}")
        x = layers.Conv2D(int(filters * asked.alpha), 1, padding="same", use_bias=False, name=f"conv_pw_{i}")(x)
        x = normalized(x, f"conv_pw_{i}", f"conv_pw_{i}")
    if asked.include_top:
        x = layers.Dropout(asked.dropout, name="dropout")(layers.GlobalAveragePooling2D(keepdims=True)(x))
        x = layers.Conv2D(asked.classes, 1, padding="same", name="conv_preds")(x)
        x = layers.Reshape((asked.classes,), name="reshape_2")(x)
        validate_activation(asked.classifier_activation, asked.weights)
        x = layers.Activation(asked.classifier_activation, name="predictions")(x)
    else:
        x = pooled(asked, x, None, None)
    asked.name = asked.name or f"mobilenet_{asked.alpha:0.2f}_{rows}"

    def file(top):
        alpha = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}[asked.alpha]
        name = f"mobilenet_{alpha}_{rows}_tf{'' if top else '_no_top'}.h5"
        return name, f"{STORE}mobilenet/{name}", None

    return complete(asked, image, x, file)


MobileNet = architecture(
    "MobileNet",
    None,
    mobilenet,
    arguments="input_shape alpha depth_multiplier dropout include_top weights input_tensor pooling classes "
    "classifier_activation name",
    depth_multiplier=1,
    dropout=0.001,
)

# expansion, filters, stride and count of MobileNetV2's blocks
BLOCKS_V2 = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 2, 3),
    (6, 64, 2, 4),
    (6, 96, 1, 3),
    (6, 160, 2, 3),
    (6, 320, 1, 1),
)


def normalized(x, name):
    return layers.BatchNormalization(axis=channel_axis(), epsilon=1e-3, momentum=0.999, name=name)(x)


def bottleneck(x, expansion, filters, stride, number):
    kept, channels = x, x.shape[channel_axis()]
    name = f"block_{number}" if number else "expanded_conv"
    if number:
        x = layers.Conv2D(expansion * channels, 1, padding="same", use_bias=False, name=f"{name}_expand")(x)
        x = layers.ReLU(6.0, name=f"{name}_expand_relu")(normalized(x, f"{name}_expand_BN"))
    if stride == 2:
        x = layers.ZeroPadding2D(correct_pad(x, 3), name=f"{name}_pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = layers.DepthwiseConv2D(3, strides=stride, padding=padding, use_bias=False, name=f"{name}_depthwise")(x)
    x = layers.ReLU(6.0, name=f"{name}_depthwise_relu")(normalized(x, f"{name}_depthwise_BN"))
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=f"{name}_project")(x)
    x = normalized(x, f"{name}_project_BN")
    return layers.Add(name=f"{name}_add")([kept, x]) if channels == filters and stride == 1 else x


def mobilenet_v2(asked):
    given, shape = asked.input_tensor, asked.input_shape
    if given is not None and is_tensor(given):
        if shape is not None and given.shape[1 if first() else 2] != shape[1]:
            raise ValueError(
                "input_tensor.shape[2] must equal input_shape[1]; Received "
                f"`input_tensor.shape={given.shape}`, `input_shape={shape}`"
            )
        shape = shape or given.shape[1:]
    image = image_input(asked, default_size(shape, SIZES_V2))
    rows = size_of_weights(asked, SIZES_V2, (0.35, 0.50, 0.75, 1.0, 1.3, 1.4))
    x = layers.Conv2D(divisible(32 * asked.alpha), 3, 2, padding="same", use_bias=False, name="Conv1")(image)
    x = layers.ReLU(6.0, name="Conv1_relu")(normalized(x, "bn_Conv1"))
    number = 0
    for expansion, filters, stride, count in BLOCKS_V2:
        for i in range(count):
            x = bottleneck(x, expansion, divisible(int(filters * asked.alpha)), stride if i == 0 else 1, number)
            number += 1
    x = layers.Conv2D(divisible(1280 * max(asked.alpha, 1.0)), 1, use_bias=False, name="Conv_1")(x)
    x = layers.ReLU(6.0, name="out_relu")(normalized(x, "Conv_1_bn"))
    x = dense_top(asked, x, None) if asked.include_top else pooled(asked, x, None, None)
    asked.name = asked.name or f"mobilenetv2_{asked.alpha:0.2f}_{rows}"

    def file(top):
        size = f"{float(asked.alpha)}_{rows}{'' if top else '_no_top'}"
        name = f"mobilenet_v2_weights_tf_dim_ordering_tf_kernels_{size}.h5"
        return name, f"{STORE}mobilenet_v2/{name}", None

    return complete(asked, image, x, file)


MobileNetV2 = architecture(
    "MobileNetV2",
    None,
    mobilenet_v2,
    arguments="input_shape alpha include_top weights input_tensor pooling classes classifier_activation name",
)
