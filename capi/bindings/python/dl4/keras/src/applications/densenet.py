"""DenseNet: each block reads all those before it."""

from ... import layers
from .assembly import architecture, complete, dense_top, image_input, old_file, pooled
from .imagenet_utils import first

GROWTH = 32


def normalized(x, name):
    x = layers.BatchNormalization(axis=3, epsilon=1.001e-5, name=f"{name}bn")(x)
    return layers.Activation("relu", name=f"{name}relu")(x)


def densenet(asked, depths, file):
    if first():
        raise ValueError(
            "DenseNet does not support the `channels_first` image data format. Switch to `channels_last` by editing "
            "your local config file at ~/.keras/keras.json"
        )
    image = image_input(asked, 224)
    x = layers.ZeroPadding2D(((3, 3), (3, 3)))(image)
    x = normalized(layers.Conv2D(64, 7, strides=2, use_bias=False, name="conv1_conv")(x), "conv1_")
    x = layers.MaxPooling2D(3, strides=2, name="pool1")(layers.ZeroPadding2D(((1, 1), (1, 1)))(x))
    for stage, depth in enumerate(depths, 2):
        for i in range(1, depth + 1):
            name = f"conv{stage}_block{i}"
            h = layers.Conv2D(4 * GROWTH, 1, use_bias=False, name=f"{name}_1_conv")(normalized(x, f"{name}_0_"))
            h = normalized(h, f"{name}_1_")
            h = layers.Conv2D(GROWTH, 3, padding="same", use_bias=False, name=f"{name}_2_conv")(h)
            x = layers.Concatenate(axis=3, name=f"{name}_concat")([x, h])
        if stage < 5:
            x = normalized(x, f"pool{stage}_")
            x = layers.Conv2D(x.shape[3] // 2, 1, use_bias=False, name=f"pool{stage}_conv")(x)
            x = layers.AveragePooling2D(2, strides=2, name=f"pool{stage}_pool")(x)
    x = normalized(x, "")
    x = dense_top(asked, x) if asked.include_top else pooled(asked, x)
    return complete(asked, image, x, file)


def of(name, depths, *hashes):
    return architecture(name, name.lower(), densenet, depths, old_file("densenet", name.lower(), *hashes))


H = "9d60b8095a5708f2dcce2bca79d332c7", "30ee3e1110167f948a6b9946edeeb738"
DenseNet121 = of("DenseNet121", (6, 12, 24, 16), *H)
H = "d699b8f76981ab1b30698df4c175e90b", "b8c4d4c20dd625c148057b9ff1c1176b"
DenseNet169 = of("DenseNet169", (6, 12, 32, 32), *H)
H = "1ceb130c1ea1b78c3bf6114dbdfd8807", "c13680b51ded0fb44dff2d8f86ac8bb1"
DenseNet201 = of("DenseNet201", (6, 12, 48, 32), *H)
