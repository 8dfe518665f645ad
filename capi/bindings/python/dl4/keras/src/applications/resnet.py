"""ResNet, and its second version, which normalizes before it convolves."""

from ... import layers
from .assembly import architecture, complete, dense_top, image_input, old_file, pooled
from .imagenet_utils import channel_axis


def normalized(x, name, relu=True):
    x = layers.BatchNormalization(axis=channel_axis(), epsilon=1.001e-5, name=f"{name}_bn")(x)
    return layers.Activation("relu", name=f"{name}_relu")(x) if relu else x


def padded(x, width, name):
    return layers.ZeroPadding2D(((width, width), (width, width)), name=name)(x)


def block(x, filters, stride, widen, name):
    kept = x
    if widen:
        kept = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(x)
        kept = normalized(kept, f"{name}_0", relu=False)
    x = normalized(layers.Conv2D(filters, 1, strides=stride, name=f"{name}_1_conv")(x), f"{name}_1")
    x = normalized(layers.Conv2D(filters, 3, padding="same", name=f"{name}_2_conv")(x), f"{name}_2")
    x = normalized(layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(x), f"{name}_3", relu=False)
    return layers.Activation("relu", name=f"{name}_out")(layers.Add(name=f"{name}_add")([kept, x]))


def block_v2(x, filters, stride, widen, name):
    ready = normalized(x, f"{name}_preact")
    if widen:
        kept = layers.Conv2D(4 * filters, 1, strides=stride, name=f"{name}_0_conv")(ready)
    else:
        kept = layers.MaxPooling2D(1, strides=stride)(x) if stride > 1 else x
    x = normalized(layers.Conv2D(filters, 1, use_bias=False, name=f"{name}_1_conv")(ready), f"{name}_1")
    x = padded(x, 1, f"{name}_2_pad")
    x = layers.Conv2D(filters, 3, strides=stride, use_bias=False, name=f"{name}_2_conv")(x)
    x = layers.Conv2D(4 * filters, 1, name=f"{name}_3_conv")(normalized(x, f"{name}_2"))
    return layers.Add(name=f"{name}_out")([kept, x])


def resnet(asked, depths, second, file):
    image = image_input(asked, 224)
    x = layers.Conv2D(64, 7, strides=2, name="conv1_conv")(padded(image, 3, "conv1_pad"))
    x = x if second else normalized(x, "conv1")
    x = layers.MaxPooling2D(3, strides=2, name="pool1_pool")(padded(x, 1, "pool1_pad"))
    for stage, depth in enumerate(depths):
        # The first version shrinks where a stage begins, the second where it ends.
        narrow = depth if second else 1
        stride = 1 if stage == (len(depths) - 1 if second else 0) else 2
        for i in range(1, depth + 1):
            make = block_v2 if second else block
            x = make(x, 64 << stage, stride if i == narrow else 1, i == 1, f"conv{stage + 2}_block{i}")
    x = normalized(x, "post") if second else x
    x = dense_top(asked, x) if asked.include_top else pooled(asked, x)
    return complete(asked, image, x, file)


def of(name, depths, second, *hashes):
    return architecture(name, name.lower(), resnet, depths, second, old_file("resnet", name.lower(), *hashes))


H = "2cb95161c43110f7111970584f804107", "4d473c1dd8becc155b73f8504c6f6626"
ResNet50 = of("ResNet50", (3, 4, 6, 3), False, *H)
H = "f1aeb4b969a6efcfb50fad2f0c20cfc5", "88cf7a10940856eca736dc7b7e228a21"
ResNet101 = of("ResNet101", (3, 4, 23, 3), False, *H)
H = "100835be76be38e30d865e96f2aaae62", "ee4c566cf9a93f14d82f913c2dc6dd0c"
ResNet152 = of("ResNet152", (3, 8, 36, 3), False, *H)
H = "3ef43a0b657b3be2300d5770ece849e0", "fac2f116257151a9d068a22e544a4917"
ResNet50V2 = of("ResNet50V2", (3, 4, 6, 3), True, *H)
H = "6343647c601c52e1368623803854d971", "c0ed64b8031c3730f411d2eb4eea35b5"
ResNet101V2 = of("ResNet101V2", (3, 4, 23, 3), True, *H)
H = "a49b44d1979771252814e80f8ec446f9", "ed17cf2e0169df9d443503ef94b23b33"
ResNet152V2 = of("ResNet152V2", (3, 8, 36, 3), True, *H)
