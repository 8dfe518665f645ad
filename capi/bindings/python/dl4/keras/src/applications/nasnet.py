"""NASNet: cells that a search found."""

from ... import layers
from .assembly import architecture, complete, dense_top, image_input, pooled, STORE
from .imagenet_utils import correct_pad, first

MULTIPLIER = 2


def normalized(x, name):
    return layers.BatchNormalization(axis=-1, momentum=0.9997, epsilon=1e-3, name=name)(x)


def convolved(x, filters, name):
    given = {"padding": "same", "use_bias": False, "kernel_initializer": "he_normal"}
    return layers.Conv2D(filters, 1, name=name, **given)(x)


def relu(x):
    return layers.Activation("relu")(x)


def separable(x, filters, kernel, block, strides=1):
    x = relu(x)
    if strides == 2:
        x = layers.ZeroPadding2D(correct_pad(x, kernel), name=f"separable_conv_1_pad_{block}")(x)
    for i, stride in ((1, strides), (2, 1)):
        x = relu(x) if i == 2 else x
        x = layers.SeparableConv2D(
            filters,
            kernel,
            strides=stride,
            padding="same" if stride == 1 else "valid",
            use_bias=False,
            name=f"separable_conv_{i}_{block}",
        )(x)
        x = normalized(x, f"separable_conv_{i}_bn_{block}")
    return x


def adjusted(p, x, filters, block):
    """What came before, in the size of what comes now."""
    if p is None:
        return x
    if p.shape[-2] != x.shape[-2]:
        p = layers.Activation("relu", name=f"adjust_relu_1_{block}")(p)
        halves = []
        for i in (1, 2):
            h = p
            if i == 2:
                h = layers.ZeroPadding2D(((0, 1), (0, 1)))(h)
                h = layers.Cropping2D(((1, 0), (1, 0)))(h)
            h = layers.AveragePooling2D(1, strides=2, name=f"adjust_avg_pool_{i}_{block}")(h)
            halves.append(convolved(h, filters // 2, f"adjust_conv_{i}_{block}"))
        return normalized(layers.concatenate(halves, axis=-1), f"adjust_bn_{block}")
    if p.shape[-1] != filters:
        return normalized(convolved(relu(p), filters, f"adjust_conv_projection_{block}"), f"adjust_bn_{block}")
    return p


def average(x, name):
    return layers.AveragePooling2D(3, strides=1, padding="same", name=name)(x)


def started(x, p, filters, kind, block):
    p = adjusted(p, x, filters, block)
    return p, normalized(convolved(relu(x), filters, f"{kind}_conv_1_{block}"), f"{kind}_bn_1_{block}")


def normal(x, p, filters, block):
    def name(part):
        return f"normal_{part}_{block}"

    p, h = started(x, p, filters, "normal", block)
    pairs = [
        lambda: (separable(h, filters, 5, name("left1")), separable(p, filters, 3, name("right1"))),
        lambda: (separable(p, filters, 5, name("left2")), separable(p, filters, 3, name("right2"))),
        lambda: (average(h, name("left3")), p),
        lambda: (average(p, name("left4")), average(p, name("right4"))),
        lambda: (separable(h, filters, 3, name("left5")), h),
    ]
    sums = [layers.add(list(pair()), name=name(f"add_{i}")) for i, pair in enumerate(pairs, 1)]
    return layers.concatenate([p, *sums], axis=-1, name=name("concat")), x


def reduction(x, p, filters, block):
    def name(part):
        return f"reduction_{part}_{block}"

    p, h = started(x, p, filters, "reduction", block)
    wide = layers.ZeroPadding2D(correct_pad(h, 3), name=name("pad_1"))(h)
    left, right = separable(h, filters, 5, name("left1"), 2), separable(p, filters, 7, name("right1"), 2)
    x1 = layers.add([left, right], name=name("add_1"))
    left = layers.MaxPooling2D(3, strides=2, name=name("left2"))(wide)
    x2 = layers.add([left, separable(p, filters, 7, name("right2"), 2)], name=name("add_2"))
    left = layers.AveragePooling2D(3, strides=2, name=name("left3"))(wide)
    x3 = layers.add([left, separable(p, filters, 5, name("right3"), 2)], name=name("add3"))
    x4 = layers.add([x2, average(x1, name("left4"))])
    left = separable(x1, filters, 3, name("left4"))
    x5 = layers.add([left, layers.MaxPooling2D(3, strides=2, name=name("right5"))(wide)], name=name("add4"))
    return layers.concatenate([x2, x3, x4, x5], axis=-1, name=name("concat")), x


def nasnet(asked, size, penultimate, count, stem, skips, file):
    if first():
        raise ValueError(
            "NASNet does not support the `channels_first` image data format. Switch to `channels_last` by editing "
            "your local config file at ~/.keras/keras.json"
        )
    shape = asked.input_shape
    if isinstance(shape, tuple) and None in shape and asked.weights == "imagenet":
        raise ValueError(
            "When specifying the input shape of a NASNet and loading `ImageNet` weights, the input_shape argument must "
            f"be static (no None entries). Got: `input_shape={shape}`."
        )
    if size == 224 and not asked.include_top and shape is None:
        asked.input_shape = (224, 224, 3)
    image = image_input(asked, size)
    filters = penultimate // 24
    given = {"use_bias": False, "kernel_initializer": "he_normal", "name": "stem_conv1"}
    x = normalized(layers.Conv2D(stem, 3, strides=2, **given)(image), "stem_bn1")
    x, p = reduction(x, None, filters // MULTIPLIER**2, "stem_1")
    x, p = reduction(x, p, filters // MULTIPLIER, "stem_2")
    for stage in range(3):
        width = filters * MULTIPLIER**stage
        if stage:
            x, before = reduction(x, p, width, f"reduce_{stage * count}")
            p = p if skips else before
        for i in range(count):
            x, p = normal(x, p, width, f"{stage * count + i + (1 if stage else 0)}")
    x = relu(x)
    x = dense_top(asked, x, None) if asked.include_top else pooled(asked, x, None, None)
    return complete(asked, image, x, file)


def of(name, size, penultimate, count, stem, skips, *hashes):
    kind = name[6:].lower()

    def file(top):
        address = f"{STORE}nasnet/NASNet-{kind}{'' if top else '-no-top'}.h5"
        return f"nasnet_{kind}{'' if top else '_no_top'}.h5", address, hashes[0 if top else 1]

    arguments = "input_shape include_top weights input_tensor pooling classes classifier_activation name"
    given = (size, penultimate, count, stem, skips, file)
    return architecture(name, f"nasnet_{kind}", nasnet, *given, arguments=arguments)


H = "020fb642bf7360b370c678b08e0adf61", "1ed92395b5b598bdda52abe5c0dbfd63"
NASNetMobile = of("NASNetMobile", 224, 1056, 4, 32, False, *H)
H = "11577c9a518f0070763c2b964a382f17", "d81d89dc07e6e56530c4e77faddd61b5"
NASNetLarge = of("NASNetLarge", 331, 4032, 6, 96, True, *H)
