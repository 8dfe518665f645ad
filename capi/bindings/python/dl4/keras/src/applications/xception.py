"""Xception."""

from ... import layers
from .assembly import architecture, complete, dense_top, image_input, old_file, pooled
from .imagenet_utils import channel_axis


def normalized(x, name=None):
    return layers.BatchNormalization(axis=channel_axis(), **({"name": name} if name else {}))(x)


def separable(x, filters, name):
    x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False, name=name)(x)
    return normalized(x, f"{name}_bn")


def relu(x, name):
    return layers.Activation("relu", name=f"{name}_act")(x)


def shrinking(x, block, filters, begins_active):
    kept = normalized(layers.Conv2D(filters[1], 1, strides=2, padding="same", use_bias=False)(x))
    for i, n in enumerate(filters, 1):
        name = f"block{block}_sepconv{i}"
        x = separable(relu(x, name) if begins_active or i > 1 else x, n, name)
    x = layers.MaxPooling2D(3, strides=2, padding="same", name=f"block{block}_pool")(x)
    return layers.add([x, kept])


def xception(asked, file):
    x = image = image_input(asked, 299, 71)
    for name, filters, strides in (("block1_conv1", 32, 2), ("block1_conv2", 64, 1)):
        x = layers.Conv2D(filters, 3, strides=strides, use_bias=False, name=name)(x)
        x = relu(normalized(x, f"{name}_bn"), name)
    for block, filters in ((2, 128), (3, 256), (4, 728)):
        x = shrinking(x, block, (filters, filters), block > 2)
    for block in range(5, 13):
        kept = x
        for i in (1, 2, 3):
            name = f"block{block}_sepconv{i}"
            x = separable(relu(x, name), 728, name)
        x = layers.add([x, kept])
    x = shrinking(x, 13, (728, 1024), True)
    for name, filters in (("block14_sepconv1", 1536), ("block14_sepconv2", 2048)):
        x = relu(separable(x, filters, name), name)
    x = dense_top(asked, x) if asked.include_top else pooled(asked, x, None, None)
    return complete(asked, image, x, file)


Xception = architecture(
    "Xception",
    "xception",
    xception,
    old_file("xception", "xception", "0a58e3b7378bc2990ea3b43d5981f1f6", "b0042744bf5b25fce3cb969f33bebb97"),
)
