"""MobileNetV3."""

import warnings

from ... import layers
from .assembly import architecture, check_weights, complete, pooled, STORE, tensor_of
from .imagenet_utils import channel_axis, correct_pad, first, validate_activation
from .mobilenet import divisible, normalized, sizes_of
from ..symbolic.tensor import is_tensor

# expansion, filters, whether the kernel is the large one, stride, whether it squeezes, whether it swishes
SMALL = (
    (1, 16, 0, 2, 1, 0),
    (72.0 / 16, 24, 0, 2, 0, 0),
    (88.0 / 24, 24, 0, 1, 0, 0),
    (4, 40, 1, 2, 1, 1),
    (6, 40, 1, 1, 1, 1),
    (6, 40, 1, 1, 1, 1),
    (3, 48, 1, 1, 1, 1),
    (3, 48, 1, 1, 1, 1),
    (6, 96, 1, 2, 1, 1),
    (6, 96, 1, 1, 1, 1),
    (6, 96, 1, 1, 1, 1),
)
LARGE = (
    (1, 16, 0, 1, 0, 0),
    (4, 24, 0, 2, 0, 0),
    (3, 24, 0, 1, 0, 0),
    (3, 40, 1, 2, 1, 0),
    (3, 40, 1, 1, 1, 0),
    (3, 40, 1, 1, 1, 0),
    (6, 80, 0, 2, 0, 1),
    (2.5, 80, 0, 1, 0, 1),
    (2.3, 80, 0, 1, 0, 1),
    (2.3, 80, 0, 1, 0, 1),
    (6, 112, 0, 1, 1, 1),
    (6, 112, 0, 1, 1, 1),
    (6, 160, 1, 2, 1, 1),
    (6, 160, 1, 1, 1, 1),
    (6, 160, 1, 1, 1, 1),
)
HASHES = {
    "large_224_0.75_float": ("765b44a33ad4005b3ac83185abf1d0eb", "40af19a13ebea4e2ee0c676887f69a2e"),
    "large_224_1.0_float": ("59e551e166be033d707958cf9e29a6a7", "07fb09a5933dd0c8eaafa16978110389"),
    "large_minimalistic_224_1.0_float": ("675e7b876c45c57e9e63e6d90a36599c", "ec5221f64a2f6d1ef965a614bdae7973"),
    "small_224_0.75_float": ("cb65d4e5be93758266aa0a7f2c6708b7", "ebdb5cc8e0b497cd13a7c275d475c819"),
    "small_224_1.0_float": ("8768d4c2e7dee89b9d02b2d03d65d862", "d3e8ec802a04aa4fc771ee12a9a9b836"),
    "small_minimalistic_224_1.0_float": ("99cd97fb2fcdad2bf028eb838de69e37", "cde8136e733e811080d9fcd8a252f7e4"),
}


def relu(x):
    return layers.ReLU()(x)


def swish(x):
    return layers.Activation("hard_swish")(x)


def squeezed(x, filters, name):
    name = f"{name}_squeeze_excite"
    s = layers.GlobalAveragePooling2D(keepdims=True, name=f"{name}_avg_pool")(x)
    s = layers.Conv2D(divisible(filters * 0.25), 1, padding="same", name=f"{name}_conv")(s)
    s = layers.ReLU(name=f"{name}_relu")(s)
    s = layers.Conv2D(filters, 1, padding="same", name=f"{name}_conv_1")(s)
    s = layers.ReLU(6.0)(s + 3.0) * (1.0 / 6.0)
    return layers.Multiply(name=f"{name}_mul")([x, s])


def block(x, expansion, filters, kernel, stride, squeezes, activation, number):
    kept, channels = x, x.shape[channel_axis()]
    wide = divisible(channels * expansion)
    name = f"expanded_conv_{number}" if number else "expanded_conv"
    if number:
        x = layers.Conv2D(wide, 1, padding="same", use_bias=False, name=f"{name}_expand")(x)
        x = activation(normalized(x, f"{name}_expand_bn"))
    if stride == 2:
        x = layers.ZeroPadding2D(correct_pad(x, kernel), name=f"{name}_depthwise_pad")(x)
    padding = "same" if stride == 1 else "valid"
    x = layers.DepthwiseConv2D(kernel, strides=stride, padding=padding, use_bias=False, name=f"{name}_depthwise")(x)
    x = activation(normalized(x, f"{name}_depthwise_bn"))
    x = squeezed(x, wide, name) if squeezes else x
    x = layers.Conv2D(filters, 1, padding="same", use_bias=False, name=f"{name}_project")(x)
    x = normalized(x, f"{name}_project_bn")
    return layers.Add(name=f"{name}_add")([kept, x]) if stride == 1 and channels == filters else x


def image_of(asked):
    check_weights(asked)
    given, shape = asked.input_tensor, asked.input_shape
    if given is not None and is_tensor(given):
        if shape is not None and given.shape[1 if first() else 2] != shape[1]:
            raise ValueError(
                "input_shape[1] must equal input_tensor.shape[2].  Received "
                f"input_shape={shape}, input_tensor.shape={given.shape}"
            )
        rows, columns = sizes_of(given.shape[1:])
        shape = shape or ((3, columns, rows) if first() else (columns, rows, 3))
    asked.input_shape = shape or ((3, None, None) if first() else (None, None, 3))
    rows, columns = sizes_of(asked.input_shape)
    if rows and columns and (rows < 32 or columns < 32):
        raise ValueError(f"Input size must be at least 32x32; Received `input_shape={asked.input_shape}`")
    if asked.weights == "imagenet":
        if asked.alpha not in ((1.0,) if asked.minimalistic else (0.75, 1.0)):
            raise ValueError(
                "If imagenet weights are being loaded, alpha can be one of `0.75`, `1.0` for non minimalistic or "
                "`1.0` for minimalistic only."
            )
        if rows != columns or rows != 224:
            warnings.warn(
                "`input_shape` is undefined or non-square, or `rows` is not 224. Weights for input shape (224, 224) "
                "will be loaded as the default.",
                stacklevel=4,
            )
    return tensor_of(asked)


def mobilenet_v3(asked, blocks, size, last):
    x = image = image_of(asked)
    if asked.include_preprocessing:
        x = layers.Rescaling(scale=1.0 / 127.5, offset=-1.0)(x)
    activation = relu if asked.minimalistic else swish
    x = layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False, name="conv")(x)
    x = activation(normalized(x, "conv_bn"))
    for number, (expansion, filters, large, stride, squeezes, swishes) in enumerate(blocks):
        large, squeezes = (large, squeezes) if not asked.minimalistic else (0, 0)
        used = activation if swishes else relu
        filters = divisible(filters * asked.alpha)
        x = block(x, expansion, filters, 5 if large else 3, stride, squeezes, used, number)
    wide = divisible(x.shape[channel_axis()] * 6)
    x = layers.Conv2D(wide, 1, padding="same", use_bias=False, name="conv_1")(x)
    x = activation(normalized(x, "conv_1_bn"))
    if asked.include_top:
        x = layers.GlobalAveragePooling2D(keepdims=True)(x)
        last = divisible(last * asked.alpha) if asked.alpha > 1.0 else last
        x = activation(layers.Conv2D(last, 1, padding="same", name="conv_2")(x))
        x = layers.Dropout(asked.dropout_rate)(x) if asked.dropout_rate > 0 else x
        x = layers.Flatten()(layers.Conv2D(asked.classes, 1, padding="same", name="logits")(x))
        validate_activation(asked.classifier_activation, asked.weights)
        x = layers.Activation(asked.classifier_activation, name="predictions")(x)
    else:
        x = pooled(asked, x)

    def file(top):
        model = f"{size}{'_minimalistic' if asked.minimalistic else ''}_224_{asked.alpha}_float"
        name = f"weights_mobilenet_v3_{model}{'' if top else '_no_top_v2'}.h5"
        return name, f"{STORE}mobilenet_v3/{name}", HASHES[model][0 if top else 1]

    return complete(asked, image, x, file)


ARGUMENTS = (
    "input_shape alpha minimalistic include_top weights input_tensor classes pooling dropout_rate "
    "classifier_activation include_preprocessing name"
)


def of(name, blocks, size, last):
    given = {"arguments": ARGUMENTS, "minimalistic": False, "dropout_rate": 0.2}
    return architecture(name, name, mobilenet_v3, blocks, size, last, **given)


MobileNetV3Small = of("MobileNetV3Small", SMALL, "small", 1024)
MobileNetV3Large = of("MobileNetV3Large", LARGE, "large", 1280)
