"""ConvNeXt."""

from ... import layers
from ...models import Sequential
from .assembly import architecture, complete, image_input, pooled, STORE
from .imagenet_utils import DEVIATIONS, first, MEANS, validate_activation


def normalized(name=None):
    return layers.LayerNormalization(epsilon=1e-6, **({"name": name} if name else {}))


def block(x, width, name):
    h = layers.Conv2D(width, 7, padding="same", groups=width, name=f"{name}_depthwise_conv")(x)
    h = normalized(f"{name}_layernorm")(h)
    h = layers.Dense(4 * width, name=f"{name}_pointwise_conv_1")(h)
    h = layers.Activation("gelu", name=f"{name}_gelu")(h)
    h = layers.Dense(width, name=f"{name}_pointwise_conv_2")(h)
    h = layers.LayerScale(1e-6, width, name=f"{name}_layer_scale")(h)
    return x + layers.Activation("linear", name=f"{name}_identity")(h)


def convnext(asked, variant, depths, widths, hashes):
    if first():
        raise ValueError(
            "ConvNeXt does not support the `channels_first` image data format. Switch to `channels_last` by editing "
            "your local config file at ~/.keras/keras.json"
        )
    x = image = image_input(asked, 224)
    name = asked.name
    if asked.include_preprocessing and asked.input_shape[2] == 3:
        means, variances = [255 * m for m in MEANS["torch"]], [(255 * d) ** 2 for d in DEVIATIONS]
        x = layers.Normalization(mean=means, variance=variances, name=f"{name}_prestem_normalization")(x)
    shrinking = [
        Sequential(
            [layers.Conv2D(widths[0], 4, strides=4, name=f"{name}_stem_conv"), normalized(f"{name}_stem_layernorm")],
            name=f"{name}_stem",
        )
    ]
    for i, width in enumerate(widths[1:]):
        convolution = layers.Conv2D(width, 2, strides=2, name=f"{name}_downsampling_conv_{i}")
        parts = [normalized(f"{name}_downsampling_layernorm_{i}"), convolution]
        shrinking.append(Sequential(parts, name=f"{name}_downsampling_block_{i}"))
    for i, (depth, width) in enumerate(zip(depths, widths)):
        x = shrinking[i](x)
        for j in range(depth):
            x = block(x, width, f"{name}_stage_{i}_block_{j}")
    if asked.include_top:
        validate_activation(asked.classifier_activation, asked.weights)
        x = normalized(f"{name}_head_layernorm")(layers.GlobalAveragePooling2D(name=f"{name}_head_gap")(x))
        x = layers.Dense(asked.classes, activation=asked.classifier_activation, name=f"{name}_head_dense")(x)
    else:
        x = normalized()(pooled(asked, x, None, None))

    def file(top):
        if variant not in name:
            raise ValueError(
                f'Model name "{name}" does not match weights variant "{variant}". When using imagenet weights, model '
                f'name must contain the weights variant (e.g., "{variant}").'
            )
        full = f"{name}{'' if top else '_notop'}.h5"
        return full, f"{STORE}convnext/{full}", hashes[0 if top else 1]

    return complete(asked, image, x, file)


def of(size, depths, widths, hashes):
    variant = f"convnext_{size.lower()}"
    arguments = (
        "include_top include_preprocessing weights input_tensor input_shape pooling classes classifier_activation name"
    )
    return architecture(f"ConvNeXt{size}", variant, convnext, variant, depths, widths, hashes, arguments=arguments)


H = (
    "8ae6e78ce2933352b1ef4008e6dd2f17bc40771563877d156bc6426c7cf503ff",
    "d547c096cabd03329d7be5562c5e14798aa39ed24b474157cef5e85ab9e49ef1",
)
ConvNeXtTiny = of("Tiny", (3, 3, 9, 3), (96, 192, 384, 768), H)
H = (
    "ce1277d8f1ee5a0ef0e171469089c18f5233860ceaf9b168049cb9263fd7483c",
    "6fc8009faa2f00c1c1dfce59feea9b0745eb260a7dd11bee65c8e20843da6eab",
)
ConvNeXtSmall = of("Small", (3, 3, 27, 3), (96, 192, 384, 768), H)
H = (
    "52cbb006d3dadd03f6e095a8ca1aca47aecdd75acb4bc74bce1f5c695d0086e6",
    "40a20c5548a5e9202f69735ecc06c990e6b7c9d2de39f0361e27baeb24cb7c45",
)
ConvNeXtBase = of("Base", (3, 3, 27, 3), (128, 256, 512, 1024), H)
H = (
    "070c5ed9ed289581e477741d3b34beffa920db8cf590899d6d2c67fba2a198a6",
    "96f02b6f0753d4f543261bc9d09bed650f24dd6bc02ddde3066135b63d23a1cd",
)
ConvNeXtLarge = of("Large", (3, 3, 27, 3), (192, 384, 768, 1536), H)
H = (
    "c1f5ccab661354fc3a79a10fa99af82f0fbf10ec65cb894a3ae0815f17a889ee",
    "de3f8a54174130e0cecdc71583354753d557fcf1f4487331558e2a16ba0cfe05",
)
ConvNeXtXLarge = of("XLarge", (3, 3, 27, 3), (256, 512, 1024, 2048), H)
