"""EfficientNet and EfficientNetV2."""

import math

from ... import layers
from .assembly import architecture, classifier, complete, image_input, pooled, STORE
from .imagenet_utils import channel_axis, correct_pad, DEVIATIONS, first, MEANS
from .mobilenet import divisible


def scaling(scale, distribution):
    config = {"scale": scale, "mode": "fan_out", "distribution": distribution}
    return {"class_name": "VarianceScaling", "config": config}


KERNEL = scaling(2.0, "truncated_normal")
DENSE_KERNEL = scaling(1.0 / 3.0, "uniform")


def convolved(x, filters, name, kernel=1, strides=1, padding="same"):
    given = {"use_bias": False, "kernel_initializer": KERNEL, "name": name}
    return layers.Conv2D(filters, kernel, strides=strides, padding=padding, **given)(x)


def normalized(x, name, activation=None, momentum=0.99):
    """`activation`: the name of the layer behind it."""
    x = layers.BatchNormalization(axis=channel_axis(), momentum=momentum, name=name)(x)
    return layers.Activation("swish", name=activation)(x) if activation else x


def squeezed(x, filters, narrow, name):
    s = layers.GlobalAveragePooling2D(name=f"{name}se_squeeze")(x)
    s = layers.Reshape((filters, 1, 1) if first() else (1, 1, filters), name=f"{name}se_reshape")(s)
    given = {"padding": "same", "kernel_initializer": KERNEL}
    s = layers.Conv2D(narrow, 1, activation="swish", name=f"{name}se_reduce", **given)(s)
    s = layers.Conv2D(filters, 1, activation="sigmoid", name=f"{name}se_expand", **given)(s)
    return layers.multiply([x, s], name=f"{name}se_excite")


def joined(x, kept, drop, name):
    """Behind what a block is skipped with."""
    if drop > 0:
        x = layers.Dropout(drop, noise_shape=(None, 1, 1, 1), name=f"{name}drop")(x)
    return layers.add([x, kept], name=f"{name}add")


def topped(asked, x, dropout, **dense):
    if not asked.include_top:
        return pooled(asked, x)
    x = layers.GlobalAveragePooling2D(name="avg_pool")(x)
    x = layers.Dropout(dropout, name="top_dropout")(x) if dropout > 0 else x
    return classifier(asked, x, kernel_initializer=DENSE_KERNEL, **dense)


# kernel, count, filters before, filters, expansion, strides
BLOCKS = (
    (3, 1, 32, 16, 1, 1),
    (3, 2, 16, 24, 6, 2),
    (5, 2, 24, 40, 6, 2),
    (3, 3, 40, 80, 6, 2),
    (5, 3, 80, 112, 6, 1),
    (5, 4, 112, 192, 6, 2),
    (3, 1, 192, 320, 6, 1),
)


def block(x, kernel, before, filters, expansion, strides, drop, name):
    kept, wide = x, before * expansion
    if expansion != 1:
        x = normalized(convolved(x, wide, f"{name}expand_conv"), f"{name}expand_bn", f"{name}expand_activation")
    if strides == 2:
        x = layers.ZeroPadding2D(correct_pad(x, kernel), name=f"{name}dwconv_pad")(x)
    given = {"padding": "valid" if strides == 2 else "same", "use_bias": False, "depthwise_initializer": KERNEL}
    x = layers.DepthwiseConv2D(kernel, strides=strides, name=f"{name}dwconv", **given)(x)
    x = squeezed(normalized(x, f"{name}bn", f"{name}activation"), wide, max(1, int(before * 0.25)), name)
    x = normalized(convolved(x, filters, f"{name}project_conv"), f"{name}project_bn")
    return joined(x, kept, drop, name) if strides == 1 and before == filters else x


def efficientnet(asked, width, depth, size, dropout, hashes):
    image = image_input(asked, size)
    x = layers.Normalization(axis=channel_axis())(layers.Rescaling(1.0 / 255.0)(image))
    if asked.weights == "imagenet":  # as those weights were trained
        x = layers.Rescaling([1.0 / math.sqrt(d) for d in DEVIATIONS])(x)
    x = layers.ZeroPadding2D(correct_pad(x, 3), name="stem_conv_pad")(x)
    x = convolved(x, divisible(32 * width), "stem_conv", 3, 2, "valid")
    x = normalized(x, "stem_bn", "stem_activation")
    counts = [math.ceil(depth * b[1]) for b in BLOCKS]
    done = 0
    for i, (kernel, _, before, filters, expansion, strides) in enumerate(BLOCKS):
        before, filters = divisible(before * width), divisible(filters * width)
        for j in range(counts[i]):
            name = f"block{i + 1}{chr(ord('a') + j)}_"
            at = (before, filters, expansion, strides) if j == 0 else (filters, filters, expansion, 1)
            x = block(x, kernel, *at, 0.2 * done / sum(counts), name)
            done += 1
    x = normalized(convolved(x, divisible(1280 * width), "top_conv"), "top_bn", "top_activation")
    x = topped(asked, x, dropout)

    def file(top):
        name = f"{asked.name}{'' if top else '_notop'}.h5"
        return name, f"https://storage.googleapis.com/keras-applications/{name}", hashes[0 if top else 1]

    return complete(asked, image, x, file)


def of(name, *given):
    return architecture(name, name.lower(), efficientnet, *given)


H = "902e53a9f72be733fc0bcb005b3ebbac", "50bc09e76180e00e4465e1a485ddc09d"
EfficientNetB0 = of("EfficientNetB0", 1.0, 1.0, 224, 0.2, H)
H = "1d254153d4ab51201f1646940f018540", "74c4e6b3e1f6a1eea24c589628592432"
EfficientNetB1 = of("EfficientNetB1", 1.0, 1.1, 240, 0.2, H)
H = "b15cce36ff4dcbd00b6dd88e7857a6ad", "111f8e2ac8aa800a7a99e3239f7bfb39"
EfficientNetB2 = of("EfficientNetB2", 1.1, 1.2, 260, 0.3, H)
H = "ffd1fdc53d0ce67064dc6a9c7960ede0", "af6d107764bb5b1abb91932881670226"
EfficientNetB3 = of("EfficientNetB3", 1.2, 1.4, 300, 0.3, H)
H = "18c95ad55216b8f92d7e70b3a046e2fc", "ebc24e6d6c33eaebbd558eafbeedf1ba"
EfficientNetB4 = of("EfficientNetB4", 1.4, 1.8, 380, 0.4, H)
H = "ace28f2a6363774853a83a0b21b9421a", "38879255a25d3c92d5e44e04ae6cec6f"
EfficientNetB5 = of("EfficientNetB5", 1.6, 2.2, 456, 0.4, H)
H = "165f6e37dce68623721b423839de8be5", "9ecce42647a20130c1f39a5d4cb75743"
EfficientNetB6 = of("EfficientNetB6", 1.8, 2.6, 528, 0.5, H)
H = "8c03f828fec3ef71311cd463b6759d99", "cbcfe4450ddf6f3ad90b1b398090fe4a"
EfficientNetB7 = of("EfficientNetB7", 2.0, 3.1, 600, 0.5, H)

# The second version: count, filters before, filters, expansion, strides, whether it squeezes and its convolution is
# in two steps
SMALL = (
    (2, 24, 24, 1, 1, 0),
    (4, 24, 48, 4, 2, 0),
    (4, 48, 64, 4, 2, 0),
    (6, 64, 128, 4, 2, 1),
    (9, 128, 160, 6, 1, 1),
    (15, 160, 256, 6, 2, 1),
)
MEDIUM = (
    (3, 24, 24, 1, 1, 0),
    (5, 24, 48, 4, 2, 0),
    (5, 48, 80, 4, 2, 0),
    (7, 80, 160, 4, 2, 1),
    (14, 160, 176, 6, 1, 1),
    (18, 176, 304, 6, 2, 1),
    (5, 304, 512, 6, 1, 1),
)
LARGE = (
    (4, 32, 32, 1, 1, 0),
    (7, 32, 64, 4, 2, 0),
    (7, 64, 96, 4, 2, 0),
    (10, 96, 192, 4, 2, 1),
    (19, 192, 224, 6, 1, 1),
    (25, 224, 384, 6, 2, 1),
    (7, 384, 640, 6, 1, 1),
)
BASE = (
    (1, 32, 16, 1, 1, 0),
    (2, 16, 32, 4, 2, 0),
    (2, 32, 48, 4, 2, 0),
    (3, 48, 96, 4, 2, 1),
    (5, 96, 112, 6, 1, 1),
    (8, 112, 192, 6, 2, 1),
)
MOMENTUM = 0.9


def nearest(filters):
    """The nearest multiple of 8: unlike divisible() it may be much smaller."""
    return max(8, int(filters + 4) // 8 * 8)


def block_v2(x, before, filters, expansion, strides, two_steps, drop, name):
    kept, wide = x, before * expansion
    if expansion != 1:
        x = convolved(x, wide, f"{name}expand_conv", *((1, 1) if two_steps else (3, strides)))
        x = normalized(x, f"{name}expand_bn", f"{name}expand_activation", MOMENTUM)
    if two_steps:
        given = {"padding": "same", "use_bias": False, "depthwise_initializer": KERNEL}
        x = layers.DepthwiseConv2D(3, strides=strides, name=f"{name}dwconv2", **given)(x)
        x = normalized(x, f"{name}bn", f"{name}activation", MOMENTUM)
        x = squeezed(x, wide, max(1, int(before * 0.25)), name)
    last = (3, strides) if expansion == 1 and not two_steps else (1, 1)
    x = convolved(x, filters, f"{name}project_conv", *last)
    active = f"{name}project_activation" if expansion == 1 and not two_steps else None
    x = normalized(x, f"{name}project_bn", active, MOMENTUM)
    return joined(x, kept, drop, name) if strides == 1 and before == filters else x


def efficientnet_v2(asked, blocks, width, depth, size, hashes):
    x = image = image_input(asked, size)
    if asked.include_preprocessing:
        channels = asked.input_shape[channel_axis() - 1]
        if asked.name.split("-")[-1].startswith("b") and channels == 3:
            x = layers.Rescaling(1.0 / 255)(x)
            variance = [d**2 for d in DEVIATIONS]
            x = layers.Normalization(mean=list(MEANS["torch"]), variance=variance, axis=channel_axis())(x)
        else:
            x = layers.Rescaling(scale=1.0 / 128.0, offset=-1)(x)
    x = convolved(x, nearest(blocks[0][1] * width), "stem_conv", 3, 2)
    x = normalized(x, "stem_bn", "stem_activation", MOMENTUM)
    done, total = 0, sum(b[0] for b in blocks)
    for i, (count, before, filters, expansion, strides, two_steps) in enumerate(blocks):
        before, filters = nearest(before * width), nearest(filters * width)
        for j in range(math.ceil(depth * count)):
            name = f"block{i + 1}{chr(ord('a') + j)}_"
            at = (before, filters, expansion, strides) if j == 0 else (filters, filters, expansion, 1)
            x = block_v2(x, *at, two_steps, 0.2 * done / total, name)
            done += 1
    x = convolved(x, nearest(1280 * width), "top_conv")
    x = normalized(x, "top_bn", "top_activation", MOMENTUM)
    x = topped(asked, x, 0.2, bias_initializer="zeros")

    def file(top):
        name = f"{asked.name}{'' if top else '_notop'}.h5"
        return name, f"{STORE}efficientnet_v2/{name}", hashes[0 if top else 1]

    return complete(asked, image, x, file)


def of_v2(size, *given):
    arguments = (
        "include_top weights input_tensor input_shape pooling classes classifier_activation include_preprocessing name"
    )
    model_name = f"efficientnetv2-{size.lower()}"
    return architecture(f"EfficientNetV2{size}", model_name, efficientnet_v2, *given, arguments=arguments)


H = "21ecbf6da12460d5c40bb2f29ceb2188", "893217f2bb855e2983157299931e43ff"
EfficientNetV2B0 = of_v2("B0", BASE, 1.0, 1.0, 224, H)
H = "069f0534ff22adf035c89e2d9547a9dc", "0e80663031ca32d657f9caa404b6ec37"
EfficientNetV2B1 = of_v2("B1", BASE, 1.0, 1.1, 240, H)
H = "424e49f28180edbde1e94797771950a7", "1dfe2e7a5d45b6632553a8961ea609eb"
EfficientNetV2B2 = of_v2("B2", BASE, 1.1, 1.2, 260, H)
H = "1f1fc43bd98a6e4fd8fdfd551e02c7a0", "f6abf7b5849ac99a89b50dd3fd532856"
EfficientNetV2B3 = of_v2("B3", BASE, 1.2, 1.4, 300, H)
H = "e1d88a8495beba45748fedd0cecbe016", "af0682fb74e8c54910f2d4393339c070"
EfficientNetV2S = of_v2("S", SMALL, 1.0, 1.0, 384, H)
H = "a3bf6aa3276309f4fc6a34aa114c95cd", "1b8dc055df72dde80d614482840fe342"
EfficientNetV2M = of_v2("M", MEDIUM, 1.0, 1.0, 480, H)
H = "27e6d408b53c7ebc868fefa357689935", "b0b66b5c863aef5b46e8608fe1711615"
EfficientNetV2L = of_v2("L", LARGE, 1.0, 1.0, 480, H)
