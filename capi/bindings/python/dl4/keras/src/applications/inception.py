"""InceptionV3 and InceptionResNetV2."""

from ... import layers
from .assembly import architecture, complete, dense_top, image_input, old_file, pooled
from .imagenet_utils import channel_axis

# A branch is a list of convolutions: filters and kernel; a third member is the stride, without padding. A branch
# begins with "max" or "average" where it pools.
SHRINK = 2


def convolved(x, filters, kernel, stride=None, padding="same"):
    if stride is not None:
        padding = "valid"
    x = layers.Conv2D(filters, kernel, strides=stride or 1, padding=padding, use_bias=False)(x)
    x = layers.BatchNormalization(axis=channel_axis(), scale=False)(x)
    return layers.Activation("relu")(x)


def branch(x, steps):
    for step in steps:
        if step == "max":
            x = layers.MaxPooling2D(3, strides=2)(x)
        elif step == "average":
            x = layers.AveragePooling2D(3, strides=1, padding="same")(x)
        else:
            x = convolved(x, *step)
    return x


def joined(tensors, name=None):
    return layers.Concatenate(axis=channel_axis(), **({"name": name} if name else {}))(tensors)


def mixed(x, name, *branches):
    return joined([branch(x, steps) for steps in branches], name)


def stem(x):
    steps = ((32, 3, 2), (32, 3, 1), (64, 3), "max", (80, 1, 1), (192, 3, 1), "max")
    return branch(x, steps)


def inception_v3(asked, file):
    image = image_input(asked, 299, 75)
    x = stem(image)
    for i, pool in enumerate((32, 64, 64)):
        large = ((48, 1), (64, 5))
        x = mixed(x, f"mixed{i}", ((64, 1),), large, ((64, 1), (96, 3), (96, 3)), ("average", (pool, 1)))
    x = mixed(x, "mixed3", ((384, 3, SHRINK),), ((64, 1), (96, 3), (96, 3, SHRINK)), ("max",))
    for i, n in enumerate((128, 160, 160, 192), 4):
        wide, tall = (1, 7), (7, 1)
        x = mixed(
            x,
            f"mixed{i}",
            ((192, 1),),
            ((n, 1), (n, wide), (192, tall)),
            ((n, 1), (n, tall), (n, wide), (n, tall), (192, wide)),
            ("average", (192, 1)),
        )
    x = mixed(
        x,
        "mixed8",
        ((192, 1), (320, 3, SHRINK)),
        ((192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, SHRINK)),
        ("max",),
    )
    for i in range(2):
        first = branch(x, ((320, 1),))
        second = branch(x, ((384, 1),))
        second = mixed(second, f"mixed9_{i}", ((384, (1, 3)),), ((384, (3, 1)),))
        third = branch(x, ((448, 1), (384, 3)))
        third = mixed(third, None, ((384, (1, 3)),), ((384, (3, 1)),))
        x = joined([first, second, third, branch(x, ("average", (192, 1)))], f"mixed{9 + i}")
    x = dense_top(asked, x) if asked.include_top else pooled(asked, x, None, None)
    return complete(asked, image, x, file)


InceptionV3 = architecture(
    "InceptionV3",
    "inception_v3",
    inception_v3,
    old_file("inception_v3", "inception_v3", "9a0d58056eeedaa3f26cb7ebd46da564", "bcbd6486424b2319ff4ef7d526e38f63"),
)


# count, share of what the branches give, branches
RESIDUAL = {
    "block35": (10, 0.17, ((32, 1),), ((32, 1), (32, 3)), ((32, 1), (48, 3), (64, 3))),
    "block17": (20, 0.1, ((192, 1),), ((128, 1), (160, (1, 7)), (192, (7, 1)))),
    "block8": (10, 0.2, ((192, 1),), ((192, 1), (224, (1, 3)), (256, (3, 1)))),
}


def residual(x, kind):
    count, scale, *branches = RESIDUAL[kind]
    for i in range(1, count + 1):
        name = f"{kind}_{i}"
        last = kind == "block8" and i == count  # the whole of it, and no activation
        h = mixed(x, f"{name}_mixed", *branches)
        h = layers.Conv2D(x.shape[channel_axis()], 1, padding="same", name=f"{name}_conv")(h)
        x = layers.CustomScaleLayer(1.0 if last else scale)([x, h])
        x = x if last else layers.Activation("relu", name=f"{name}_ac")(x)
    return x


def inception_resnet_v2(asked, file):
    image = image_input(asked, 299, 75)
    x = mixed(
        stem(image),
        "mixed_5b",
        ((96, 1),),
        ((48, 1), (64, 5)),
        ((64, 1), (96, 3), (96, 3)),
        ("average", (64, 1)),
    )
    x = residual(x, "block35")
    x = mixed(x, "mixed_6a", ((384, 3, SHRINK),), ((256, 1), (256, 3), (384, 3, SHRINK)), ("max",))
    x = residual(x, "block17")
    x = mixed(
        x,
        "mixed_7a",
        ((256, 1), (384, 3, SHRINK)),
        ((256, 1), (288, 3, SHRINK)),
        ((256, 1), (288, 3), (320, 3, SHRINK)),
        ("max",),
    )
    x = residual(x, "block8")
    x = layers.Conv2D(1536, 1, padding="same", use_bias=False, name="conv_7b")(x)
    x = layers.BatchNormalization(axis=channel_axis(), scale=False, name="conv_7b_bn")(x)
    x = layers.Activation("relu", name="conv_7b_ac")(x)
    x = dense_top(asked, x) if asked.include_top else pooled(asked, x, None, None)
    return complete(asked, image, x, file)


H = "e693bd0210a403b3192acc6073ad2e96", "d19885ff4a710c122648d3b5c3b684e4"
InceptionResNetV2 = architecture(
    "InceptionResNetV2",
    "inception_resnet_v2",
    inception_resnet_v2,
    old_file("inception_resnet_v2", "inception_resnet_v2", *H),
)
