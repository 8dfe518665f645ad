"""VGG16 and VGG19."""

from ... import layers
from .assembly import architecture, classifier, complete, image_input, old_file, pooled


def vgg(asked, convolutions, file):
    x = image = image_input(asked, 224)
    for block, (count, filters) in enumerate(zip(convolutions, (64, 128, 256, 512, 512)), 1):
        for i in range(1, count + 1):
            x = layers.Conv2D(filters, 3, activation="relu", padding="same", name=f"block{block}_conv{i}")(x)
        x = layers.MaxPooling2D(2, strides=2, name=f"block{block}_pool")(x)
    if asked.include_top:
        x = layers.Flatten(name="flatten")(x)
        for name in ("fc1", "fc2"):
            x = layers.Dense(4096, activation="relu", name=name)(x)
        x = classifier(asked, x)
    else:
        x = pooled(asked, x, None, None)
    return complete(asked, image, x, file)


VGG16 = architecture(
    "VGG16",
    "vgg16",
    vgg,
    (2, 2, 3, 3, 3),
    old_file("vgg16", "vgg16", "64373286793e3c8b2b4e3219cbf3544b", "6d6bbae143d832006294945121d1f1fc"),
)
VGG19 = architecture(
    "VGG19",
    "vgg19",
    vgg,
    (2, 2, 4, 4, 4),
    old_file("vgg19", "vgg19", "cbe5617147190e668d6c5d5026f83318", "253f8cb515780f3b799900260a226db6"),
)
